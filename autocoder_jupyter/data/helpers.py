"""Helpers: functions, classes and modules of the user, captured as the source of one module for the sandbox.

What a helper needs is passed with it: other functions and classes of the user, constants, and imports of libraries.
Nothing of the user's code is run or imported to find it.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from autocoder_jupyter.data.definitions import (
    LONGEST_CONSTANT,
    CannotPass,
    Constant,
    Definition,
    at_definition,
    attributes_of,
    cleaned,
    constant,
    definition,
    is_library,
    is_of_library,
    members_of,
    place_in_library,
    shown_of,
    strings_in,
    texts_of,
    unwrapped,
    why_not,
)
from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import HELPERS, Helper, Helpers
from autocoder_jupyter.types.helpers import HelperKind, module_of
from autocoder_jupyter.untrusted.visible import visible, visible_block

LONGEST = 60_000
"""Most characters of all helpers together. The model reads them with each question."""

_RESERVED = frozenset({"run", "pd", "np", "pandas", "numpy", "solution", HELPERS})
"""Names that the function uses itself."""

_NOT_THERE = frozenset({"IPython", "ipykernel", "autocoder_jupyter", "__main__", "__mp_main__"})
"""Modules that the sandbox does not have."""

_SHORTEST_SECRET = 8
"""A shorter value of an environment variable, such as `false`, is in many texts."""

_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|pwd|credential|auth|dsn")
"""A part of the name of an environment variable that holds a secret."""


def capture_helpers(values: Mapping[str, Any]) -> Helpers:
    """The helpers by name, as source.

    Raises:
        InvalidRequest: one of them, or something that it needs, cannot go into the sandbox.
    """
    together, given = _Capture(), []
    for name, value in values.items():
        if name in _RESERVED:
            raise InvalidRequest(
                f"@{name} cannot be a helper under this name.",
                why="The function that is written uses it for something else.",
                hint=f"Give it another name: my_{name} = {name}",
            )
        alone = _Capture()
        kind, signature, doc = alone.add(name, value)
        together.add(name, value)
        given.append(
            Helper(
                name=name,
                kind=kind,
                digest=hashlib.sha256(alone.source.encode()).hexdigest()[:16],
                signature=signature,
                doc=doc,
            )
        )
    source = together.source if given else ""
    if len(source) > LONGEST:
        raise InvalidRequest(
            f"The helpers {', '.join(values)} have {len(source):,} characters with all that they use.",
            why=f"The model reads them with each question, so they may have at most {LONGEST:,}.",
            hint="Name a function of the module, not the whole module, or do a part of it before the request.",
        )
    return Helpers(given=tuple(given), source=source)


# Capture


@dataclass
class _Capture:
    """A module that is being put together: each part after those that it needs.

    Attributes:
        path: the names from the helper to what is captured now, for errors.
    """

    parts: list[str] = field(default_factory=list)
    bound: dict[str, object] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    _lines: set[str] = field(default_factory=set)

    @property
    def source(self) -> str:
        """The module."""
        imports = sorted(line for line in self._lines)
        return "\n".join(["from __future__ import annotations", *imports, *self.parts]) + "\n"

    def add(self, name: str, value: Any) -> tuple[HelperKind, str, str]:
        """Add a helper. Returns its kind, signature and docstring."""
        self.path = [f"@{name}"]
        if isinstance(value, ModuleType):
            if is_library(value.__name__):
                self._refuse(f"is the library {value.__name__}", "The function can import libraries itself.")
            members = dict(members_of(value))
            self._namespace(name, value, members)
            shown = [
                shown_of(self._definition(one)) for one in members.values() if isinstance(one, FunctionType | type)
            ]
            return "module", "\n".join(signature for signature, _ in shown), cleaned(value.__dict__.get("__doc__"))
        if is_of_library(value):
            self._refuse(
                f"is of the library {str(getattr(value, '__module__', ''))!r}",
                "The function can import libraries itself: name it in the request without an at sign.",
            )
        self.need(name, value)
        found = self._definition(value)
        if isinstance(found.node, ast.AsyncFunctionDef):
            self._refuse("is an async function", "The function that is written is not, so it cannot await it.")
        return ("class" if isinstance(value, type) else "function"), *shown_of(found)

    def need(self, name: str, value: Any, *, attributes: Iterable[str] = ()) -> None:
        """Bind a name of the module to a value."""
        if isinstance(value, ModuleType) and not is_library(value.__name__):
            members = {one: self._attribute(value, one) for one in attributes}
            self._namespace(name, value, members)
        elif not self._is_bound(name, value):
            self._bind(name, value)

    def _is_bound(self, name: str, value: Any) -> bool:
        if name not in self.bound:
            self.bound[name] = value
            return False
        known = self.bound[name]
        if known is not value and (constant(known) is None or constant(known) != constant(value)):
            self._refuse(
                f"uses two different things called {name}",
                "All helpers of a request are in one module, in which a name means one thing.",
                "Give one of them another name, or refer to the one helper only.",
            )
        return True

    def _bind(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            self._import(value.__name__, "", name)
        elif (place := place_in_library(name, value)) is not None:
            self._import(place[0], place[1], name)
        elif (written := constant(value)) is not None:
            self._add_constant(name, value, written)
        elif isinstance(value, logging.Logger):
            self._lines.add("import logging as _logging")
            self.parts.append(f"{name} = _logging.getLogger({HELPERS!r})")
        elif isinstance(unwrapped(value), FunctionType | type):
            self._define(name, value)
        else:
            self._refuse(*why_not(value))

    def _import(self, module: str, attribute: str, name: str) -> None:
        if module.partition(".")[0] in _NOT_THERE:
            self._refuse(f"uses {name} of {module}", "The sandbox does not have this package.")
        if attribute:
            line = f"from {module} import {attribute}" + (f" as {name}" if attribute != name else "")
        else:
            line = f"import {module}" + (f" as {name}" if module != name else "")
        self._lines.add(line)

    def _add_constant(self, name: str, value: Any, written: Constant) -> None:
        if len(written.text) > LONGEST_CONSTANT:
            self._refuse(
                f"uses {name}, a constant of more than {LONGEST_CONSTANT:,} characters",
                "The model reads the constants of a helper.",
                "Pass it as an argument, or as a table or file that the request names.",
            )
        self._require_no_secret(name, value)
        self._lines |= written.lines
        self.parts.append(f"{name} = {written.text}")

    def _define(self, name: str, value: Any) -> None:
        found = self._definition(value)
        node = found.node
        if node.name != name:
            self.need(node.name, value)
            self.parts.append(f"{name} = {node.name}")
            return
        used = attributes_of(node)
        for one in found.names:
            if one == name or one not in found.namespace:
                continue  # its own name, a builtin, or a name that is missing in the notebook too
            self.path.append(one)
            self.need(one, found.namespace[one], attributes=used.get(one, ()))
            self.path.pop()
        self._require_no_import(node, found.namespace)
        self._require_no_environment(node)
        for text in strings_in(node):
            self._require_no_secret("", text)
        self.parts.append(f"\n\n{found.text}\n")

    def _namespace(self, name: str, module: ModuleType, members: Mapping[str, Any]) -> None:
        """Bind a name to an object that has these members of a module of the user."""
        if not self._is_bound(name, module):
            self._lines.add("import types as _types")
            self.parts.append(f"{name} = _types.SimpleNamespace()")
        for one, value in members.items():
            line = f"{name}.{one} = {one}"
            if line not in self.parts:
                self.path.append(one)
                self.need(one, value)
                self.path.pop()
                self.parts.append(line)

    def _attribute(self, module: ModuleType, name: str) -> Any:
        if name not in module.__dict__:
            self._refuse(f"uses {module.__name__}.{name}", "The module has no such name now.")
        return module.__dict__[name]

    def _definition(self, value: Any) -> Definition:
        try:
            return definition(value)
        except CannotPass as error:
            self._refuse(*error.reasons)

    # What is refused

    def _require_no_import(self, node: ast.AST, namespace: Mapping[str, Any]) -> None:
        """Refuse an import of a module of the user inside of a function: the sandbox does not have that module."""
        for one in ast.walk(node):
            if isinstance(one, ast.Import):
                modules = [alias.name for alias in one.names]
            elif isinstance(one, ast.ImportFrom):
                modules = [one.module or "."] if one.level == 0 else ["."]
            else:
                continue
            for module in modules:
                if not is_library(module):
                    self._refuse(
                        f"imports {module if module != '.' else 'a module of its package'} inside of a function",
                        "It is a module of yours, which the sandbox does not have.",
                        "Import what it needs at the top of the module or in a cell: then it is passed with it.",
                    )

    def _require_no_environment(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for one in at_definition(node):
            if (isinstance(one, ast.Attribute) and one.attr in ("environ", "getenv")) or (
                isinstance(one, ast.Name) and one.id in ("environ", "getenv")
            ):
                self._refuse(
                    f"reads an environment variable where {node.name} is defined",
                    "The sandbox has no variables of the notebook, except those that you give it.",
                    'Read it inside of the function, and allow it: %config Autocode.secrets = ["NAME"].',
                )

    def _require_no_secret(self, name: str, value: Any) -> None:
        """Refuse text that holds the value of an environment variable, or that looks like a secret."""
        for text in texts_of(value):
            for variable, hidden in os.environ.items():
                if len(hidden) >= _SHORTEST_SECRET and hidden in text and _SECRET_NAME.search(variable):
                    self._refuse_secret(name, f"has the value of the environment variable {variable}", variable)
            for shown in (text, f"{name} = {text!r}") if name else (text,):
                if Masker().mask(shown, secrets_only=True) != shown:
                    self._refuse_secret(name, "has a text that looks like a key or a password", "NAME")

    def _refuse_secret(self, name: str, what: str, variable: str) -> NoReturn:
        self._refuse(
            f"uses {name}, which {what.replace('has', 'holds', 1)}" if name else what,
            "The source of a helper is sent to the model and recorded.",
            f'Read it inside of the function, os.environ["{variable}"], and allow it: '
            f'%config Autocode.secrets = ["{variable}"].',
        )

    def _refuse(self, what: str, why: str, hint: str = "") -> NoReturn:
        first, *rest = self.path
        through = f" (through {' → '.join(rest)})" if rest else ""
        raise InvalidRequest(visible(f"{first}{through} {what}, so it cannot be passed."), why=visible(why), hint=hint)


# Helpers for the model


def helpers_text(helpers: Helpers, share: Share, masker: Masker) -> str:
    """The helpers as the model sees them: source where rows are shared, else signatures and docstrings. "" for none."""
    given = [one for one in helpers.given if one.kind != "built-in"]  # what is said of databases describes these
    if not given:
        return ""
    shown = [f"{one.signature}\n{_indented(one.doc)}".rstrip() for one in given]
    own = {module_of(one.name) for one in helpers.given if one.kind == "built-in"}
    sources = {name: text for name, text in helpers.modules().items() if name not in own} if share == "rows" else {}
    names = ", ".join(one.name for one in given)
    results = [one.name for one in helpers.given if one.kind == "result"]
    parts = [
        prompt("shared.helpers", names=names),
        *([prompt("shared.helpers in tests", names=", ".join(results))] if results else []),
        _block(HELPERS, "\n\n".join(shown), masker),
        *(_block(f"{module}.py", source, masker) for module, source in sources.items()),
    ]
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _block(name: str, text: str, masker: Masker) -> str:
    lines = (neutral(line) for line in visible_block(masker.mask(text, bare_numbers=False)).splitlines())
    return "\n".join([f'<data name="{name}">', *lines, "</data>"])
