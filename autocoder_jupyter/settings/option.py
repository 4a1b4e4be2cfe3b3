"""An option of `%%autocode`: how it is written, which values it accepts, and whether a folder may set it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings import parameters

Kind = Literal[
    "text",
    "integer",
    "number",
    "choice",
    "flag",
    "names",
    "columns",
    "mapping",
    "variable",
    "variables",
    "size",
    "version",
]

Check = Callable[[str, Any], Any]
"""Takes a name for the error and a value. Returns the value in canonical form, or raises InvalidRequest."""

Rule = Literal["free", "stricter", "asks"]
"""What a folder without permission may do with a setting: set it, because it is harmless (`free`); only make it
stricter (`stricter`); or only ask for it (`asks`)."""

Mode = Literal["function", "tools"]
"""The mode of a cell: generate a tested function, or answer once by code that calls the user's functions."""

FUNCTION: tuple[Mode, ...] = ("function",)
TOOLS: tuple[Mode, ...] = ("tools",)
BOTH: tuple[Mode, ...] = ("function", "tools")

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off", "")


@dataclass(frozen=True)
class Option:
    """One option.

    Args:
        name: its name as a trait, as a key in pyproject.toml and, in upper case after `AUTOCODE_`, in the environment.
            In the record of a setting, "" means the setting's name.
        help: a description in one line. In the record of a setting, "" means the setting's help.
        flags: how it is written in a cell; empty if it can only be a setting.
        kind: what its value is; `names` is a tuple of words, `columns` of names with blanks, `mapping` a dictionary,
            `variable` an environment variable's name, `variables` a tuple of them, `size` an amount of memory,
            `version` a Python as `3.12`.
        placeholder: the value in the help text.
        choices: the values of a `choice`.
        repeatable: whether a cell may give it more than once.
        is_setting: whether it can be set outside of a cell.
        field: the field of `AgentConfig` with its value and default, dotted for a part of a record; empty if there is
            none.
        check: checks a value; that of the setting by default, or else that of its kind.
        expects: a description of the accepted values; by default that of its kind.
        rule: what a folder without permission may do with it; None if a folder can never set it.
        order: the values of a `stricter` choice or flag, beginning with the one that allows most. A smaller number or
            size is stricter, and no value allows most.
        allowed: for a `stricter` choice without a total order, the values that each value allows.
        risk: the effect of letting a folder set it, for the user; empty if it is free.
        modes: the kinds of cells that it can be written in.
        example: a value for the documentation: what follows the flag in a cell, or, where there is no flag, what
            `%config` gets. Empty for a `flag`.
    """

    name: str = ""
    help: str = ""
    flags: tuple[str, ...] = ()
    kind: Kind = "text"
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    is_setting: bool = True
    field: str = ""
    check: Check | None = dataclasses.field(default=None, repr=False, compare=False)
    expects: str = ""
    rule: Rule | None = None
    order: tuple[str | bool, ...] = ()
    allowed: Mapping[str, frozenset[str]] | None = None
    risk: str = ""
    modes: tuple[Mode, ...] = FUNCTION
    example: str = ""

    @property
    def takes_value(self) -> bool:
        """Whether a value must follow the flag."""
        return self.kind != "flag"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AUTOCODE_{self.name.upper()}"

    @property
    def accepted(self) -> str:
        """A description of the accepted values."""
        if self.kind == "choice":
            return " or ".join(self.choices)
        return (
            self.expects
            or {
                "text": "text",
                "integer": "a whole number",
                "number": "a number",
                "flag": "true or false",
                "names": "a list of names",
                "columns": "a list of columns",
                "mapping": "a dictionary",
                "variable": "the name of an environment variable",
                "variables": "a list of names of environment variables",
                "size": "an amount of memory such as 512Mi or 2Gi",
                "version": "a version of Python such as 3.12, as text",
            }[self.kind]
        )

    def from_text(self, text: str, called: str = "") -> Any:
        """Parse and check a word of a cell or an environment variable; see `checked`.

        Raises:
            InvalidRequest: it is not a valid value.
        """
        called = called or self.name
        if self.kind == "mapping":
            raise InvalidRequest(
                f"{called} is a dictionary, which cannot be written as text.", hint="Use %config or pyproject.toml."
            )
        return self.checked(_parsed(self.kind, text), called)

    def checked(self, value: Any, called: str = "") -> Any:
        """Check a value, and return it in canonical form.

        Args:
            value: the value.
            called: how the option is written where the value stands, for the error; its name by default.

        Raises:
            InvalidRequest: it is not a valid value.
        """
        if self.kind == "choice" and self.choices:
            return parameters.choice(called or self.name, value, self.choices)
        return (self.check or _BY_KIND[self.kind])(called or self.name, value)

    def allows_more(self, value: Any, other: Any) -> bool:
        """Whether one value of a `stricter` option, or of one with columns to withhold, allows more than another."""
        if self.kind == "columns":
            return not set(other) <= set(value)
        if self.allowed:
            return not self.allowed[value] <= self.allowed[other]
        if self.order:
            return self.order.index(value) < self.order.index(other)
        if value is None or other is None:
            return other is not None
        return self._amount(value) > self._amount(other)

    def _amount(self, value: Any) -> float:
        from autocoder_jupyter.types import parse_memory

        return parse_memory(value) if self.kind == "size" else value


def _parsed(kind: Kind, text: str) -> Any:
    """The value that a text stands for; the text itself if it stands for none, so that the check names it."""
    if kind in ("integer", "number"):
        with contextlib.suppress(ValueError):
            return int(text) if kind == "integer" else float(text)
    if kind == "flag":
        folded = text.strip().casefold()
        return folded in TRUE_WORDS if folded in TRUE_WORDS + FALSE_WORDS else text
    if kind in ("names", "variables"):
        return tuple(text.replace(",", " ").split())
    if kind == "columns":
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return text


_BY_KIND: dict[Kind, Check] = {
    "text": parameters.text,
    "number": parameters.positive,
    "flag": parameters.flag,
    "names": parameters.texts,
    "columns": parameters.texts,
    "variable": parameters.variable_name,
    "variables": parameters.variable_names,
    "size": parameters.memory,
    "version": parameters.python_version,
}
