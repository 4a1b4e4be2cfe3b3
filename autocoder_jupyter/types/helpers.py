"""Helpers: code of the user, and functions that were verified before, which a generated function may import."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from autocoder_jupyter.types.records import Record

HELPERS = "helpers"
"""The module beside the solution from which helpers are imported."""

LONGEST_SOURCE = 2**18
"""Most characters of one module."""

HelperKind = Literal["function", "class", "module", "result", "built-in"]


class Helper(Record):
    """One helper that a request names.

    `digest` is a hash of everything that is sent with it. `signature` are its `def` or `class` lines, of a module
    those of its functions. One that is `built-in` is of this package, and like a result has a module of its own.
    """

    name: str = Field(pattern=r"^[^\W\d]\w*$", max_length=200)
    kind: HelperKind
    digest: str = Field(pattern=r"^[0-9a-f]{1,64}$")
    signature: str = Field(default="", max_length=10_000)
    doc: str = Field(default="", max_length=10_000)


_Module = Annotated[str, Field(pattern=rf"^{HELPERS}(\.[^\W\d]\w*)+$", max_length=1_000)]
"""The name of a module of a verified function. A record cannot name one that would hide another, such as pandas."""


class Helpers(Record):
    """All helpers of a request, and the modules that hold them.

    `source` is the module of the user's functions, classes and modules; `results` are the modules of verified
    functions, by their full names. `packages` are what these need besides what they import.
    """

    given: tuple[Helper, ...] = Field(default=(), max_length=100)
    source: str = Field(default="", max_length=LONGEST_SOURCE)
    results: dict[_Module, str] = Field(default_factory=dict, max_length=300)
    packages: tuple[str, ...] = Field(default=(), max_length=300)

    def __bool__(self) -> bool:
        return bool(self.given)

    @property
    def digests(self) -> dict[str, str]:
        """The hash of each helper, by its name."""
        return {helper.name: helper.digest for helper in self.given}

    def modules(self, *, for_tests: bool = False) -> dict[str, str]:
        """The source of each module by its full name; empty without helpers.

        Args:
            for_tests: without generated code, which must not run in the process of tests.
        """
        if not self:
            return {}
        if for_tests:
            return {HELPERS: self.source}
        apart = (one.name for one in self.given if one.kind in ("result", "built-in"))
        lines = [f"from {module_of(name)} import run as {name}" for name in apart]
        return {HELPERS: "\n".join(filter(None, (self.source, *lines))), **self.results}

    def files(self) -> dict[str, str]:
        """The source of each module by its path, where an import finds it."""
        return {f"{module.replace('.', '/')}/__init__.py": source for module, source in self.modules().items()}


def module_of(result: str) -> str:
    """The full name of the module of a verified function, or of one that is built in."""
    return f"{HELPERS}._{result}"
