"""Helpers: functions, classes and modules of the user, captured as the source of one module for the sandbox.

What a helper needs goes along: other functions and classes of the user, constants, and imports of libraries. Nothing of
the user's code is run or imported to find it.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import datetime as dt
import decimal
import functools
import hashlib
import inspect
import io
import linecache
import logging
import math
import os
import re
import symtable
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn

from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import SHORTEST
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import HELPERS, Helper, Helpers
from autocoder_jupyter.types.helpers import HelperKind
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import complaint, parse
from autocoder_jupyter.untrusted.visible import visible, visible_block

LONGEST = 60_000
"""Most characters of all helpers together. The model reads them with each question."""

LONGEST_CONSTANT = 4_000
"""Most characters of one constant."""

_RESERVED = frozenset({"run", "pd", "np", "pandas", "numpy", "solution", HELPERS})
"""Names that the function uses itself."""

_NOT_THERE = frozenset({"IPython", "ipykernel", "autocoder_jupyter", "__main__", "__mp_main__"})
"""Modules that the sandbox does not have."""

_LONG_ENOUGH = 8
"""The value of an environment variable with a name of no secret that is recognised in a constant."""

_SECRET_NAME = re.compile(r"(?i)key|token|secret|passw|credential|auth")


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


@dataclass(frozen=True)
class _Definition:
    """A function or class in its source.

    Args:
        names: global names that it uses.
        namespace: the globals of its module.
    """

    text: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names: tuple[str, ...]
    namespace: Mapping[str, Any]


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
            members = dict(_members(value))
            self._namespace(name, value, members)
            shown = [_shown(_definition(self, one)) for one in members.values() if isinstance(one, FunctionType | type)]
            return "module", "\n".join(signature for signature, _ in shown), _text(value.__dict__.get("__doc__"))
        if is_of_library(value):
            self._refuse(
                f"is of the library {str(getattr(value, '__module__', ''))!r}",
                "The function can import libraries itself: name it in the request without an at sign.",
            )
        self.need(name, value)
        found = _definition(self, value)
        if isinstance(found.node, ast.AsyncFunctionDef):
            self._refuse("is an async function", "The function that is written is not, so it cannot await it.")
        return ("class" if isinstance(value, type) else "function"), *_shown(found)

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
        if known is not value and (_constant(known) is None or _constant(known) != _constant(value)):
            self._refuse(
                f"uses two different things called {name}",
                "All helpers of a request are in one module, in which a name means one thing.",
                "Give one of them another name, or refer to the one helper only.",
            )
        return True

    def _bind(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            self._import(value.__name__, "", name)
        elif (place := _place_in_library(name, value)) is not None:
            self._import(place[0], place[1], name)
        elif (written := _constant(value)) is not None:
            self._add_constant(name, value, written)
        elif isinstance(value, logging.Logger):
            self._lines.add("import logging as _logging")
            self.parts.append(f"{name} = _logging.getLogger({HELPERS!r})")
        elif isinstance(inspect.unwrap(value) if callable(value) else value, FunctionType | type):
            self._define(name, value)
        else:
            self._refuse(*_why_not(value))

    def _import(self, module: str, attribute: str, name: str) -> None:
        if module.partition(".")[0] in _NOT_THERE:
            self._refuse(f"uses {name} of {module}", "The sandbox does not have this package.")
        if attribute:
            line = f"from {module} import {attribute}" + (f" as {name}" if attribute != name else "")
        else:
            line = f"import {module}" + (f" as {name}" if module != name else "")
        self._lines.add(line)

    def _add_constant(self, name: str, value: Any, written: _Constant) -> None:
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
        found = _definition(self, value)
        node = found.node
        if node.name != name:
            self.need(node.name, value)
            self.parts.append(f"{name} = {node.name}")
            return
        used = _attributes(node)
        for one in found.names:
            if one == name or one not in found.namespace:
                continue  # its own name, a builtin, or a name that is missing in the notebook too
            self.path.append(one)
            self.need(one, found.namespace[one], attributes=used.get(one, ()))
            self.path.pop()
        self._require_no_import(node, found.namespace)
        self._require_no_environment(node)
        for text in _strings(node):
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
                        "Import what it needs at the top of the module or in a cell: then it goes along.",
                    )

    def _require_no_environment(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for one in _at_definition(node):
            if (isinstance(one, ast.Attribute) and one.attr in ("environ", "getenv")) or (
                isinstance(one, ast.Name) and one.id in ("environ", "getenv")
            ):
                self._refuse(
                    f"reads an environment variable where {node.name} is defined",
                    "The sandbox has no variables of the notebook, except those that you give it.",
                    'Read it inside of the function, and pass it: --secret NAME, or --env NAME="value".',
                )

    def _require_no_secret(self, name: str, value: Any) -> None:
        """Refuse text that holds the value of an environment variable, or that looks like a secret."""
        for text in _texts(value):
            for variable, hidden in os.environ.items():
                least = SHORTEST if _SECRET_NAME.search(variable) else _LONG_ENOUGH
                if len(hidden) >= least and (text == hidden or (_SECRET_NAME.search(variable) and hidden in text)):
                    self._refuse_secret(name, f"has the value of the environment variable {variable}", variable)
            for shown in (text, f"{name} = {text!r}") if name else (text,):
                if Masker().mask(shown, secrets_only=True) != shown:
                    self._refuse_secret(name, "has a text that looks like a key or a password", "NAME")

    def _refuse_secret(self, name: str, what: str, variable: str) -> NoReturn:
        self._refuse(
            f"uses {name}, which {what.replace('has', 'holds', 1)}" if name else what,
            "The source of a helper is sent to the model and recorded.",
            f'Read it inside of the function, os.environ["{variable}"], and pass it with --secret {variable}.',
        )

    def _refuse(self, what: str, why: str, hint: str = "") -> NoReturn:
        first, *rest = self.path
        through = f" (through {' → '.join(rest)})" if rest else ""
        raise InvalidRequest(visible(f"{first}{through} {what}, so it cannot go along."), why=visible(why), hint=hint)


def _why_not(value: Any) -> tuple[str, str, str]:
    kind = type(value)
    what = f"uses an object of type {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " ")
    if isinstance(value, io.IOBase):
        return "uses an open file", "A file is open in the notebook only.", "Pass it as an input: File(…)."
    if isinstance(value, MethodType | functools.partial | BuiltinFunctionType):
        return what, "It belongs to an object of the notebook, and is not source.", "Write a function that calls it."
    if hasattr(kind, "to_pandas") or kind.__module__.partition(".")[0] in ("pandas", "numpy", "polars", "pyarrow"):
        return (
            what,
            "Data are passed to a function, and are not a part of its code.",
            "Make it a parameter of the helper.",
        )
    return (
        what,
        "It exists in the notebook only: a helper is source, and its constants are numbers, texts and containers.",
        "Make it a parameter of the helper, or create it inside of the function.",
    )


# Libraries and modules of the user


@functools.cache
def _library_folders() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [Path(path).resolve() for name in names if (path := sysconfig.get_path(name))]
    return tuple(folders)


def is_library(module: str) -> bool:
    """Whether a module belongs to the standard library or to an installed package, by where it is. Imports nothing."""
    root = module.partition(".")[0]
    if root in ("__main__", "__mp_main__", ""):
        return False
    if root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return True
    found = sys.modules.get(root)
    if found is None:
        return True  # it is not loaded, so the function imports it when it is called
    file = found.__dict__.get("__file__") or next(iter(found.__dict__.get("__path__", ())), None)
    if not isinstance(file, str):
        return False
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _library_folders()) or "site-packages" in path.parts


def is_of_library(value: Any) -> bool:
    """Whether a function or class is defined in a library."""
    module = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None)
    return isinstance(module, str) and is_library(module)


def _place_in_library(name: str, value: Any) -> tuple[str, str] | None:
    """The module of a library, and the name in it, under which a value is found there; None if there is none."""
    of_type = type(value).__module__
    own = value.__module__ if isinstance(getattr(value, "__module__", None), str) else of_type
    names = [getattr(value, label, None) for label in ("__qualname__", "__name__", "_name")]
    for module in dict.fromkeys((own.partition(".")[0], own, of_type.partition(".")[0], of_type)):
        if module == "builtins" or not is_library(module):
            continue
        known = sys.modules.get(module)
        for label in (*names, name):
            if known is not None and isinstance(label, str) and known.__dict__.get(label) is value:
                return module, label
    return None


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions and classes that a module defines, and its constants."""
    listed = module.__dict__.get("__all__")
    for name, value in module.__dict__.items():
        is_public = name in listed if isinstance(listed, list | tuple) else not name.startswith("_")
        own = isinstance(value, FunctionType | type) and value.__module__ == module.__name__
        wrapped = not own and callable(value) and hasattr(value, "__wrapped__") and not is_of_library(value)
        if is_public and (own or wrapped or _constant(value) is not None):
            yield name, value


# Constants

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_OF_TIME = (dt.date, dt.time, dt.datetime, dt.timedelta, dt.timezone)
_TOO_LARGE = "…" * (LONGEST_CONSTANT + 1)


@dataclass(frozen=True)
class _Constant:
    """An expression that gives a constant again, with the imports that it needs."""

    text: str
    lines: frozenset[str] = frozenset()


def _constant(value: Any) -> _Constant | None:
    """A constant as source, the same in each process; None if it is none. No method of the user is called."""
    if type(value) in (*_PLAIN, *_OF_TIME, decimal.Decimal, re.Pattern):
        return _single(value)
    if type(value) not in (list, tuple, dict, set, frozenset):
        return None
    with contextlib.suppress(RecursionError):  # it may contain itself
        inside = [one for pair in value.items() for one in pair] if type(value) is dict else list(value)
        if len(inside) > LONGEST_CONSTANT:
            return _Constant(_TOO_LARGE)
        parts = [_constant(one) for one in inside]
        if None in parts:
            return None
        texts = [part.text for part in parts if part]
        lines = frozenset[str]().union(*(part.lines for part in parts if part))
        return _Constant(_together(type(value), texts)[: len(_TOO_LARGE)], lines)
    return None


def _single(value: Any) -> _Constant | None:
    if type(value) is float and not math.isfinite(value):
        return _Constant(f"float({str(value)!r})")
    if type(value) in _PLAIN:
        return _Constant(repr(value)) if type(value) is not int or abs(value) < 10**300 else _Constant(_TOO_LARGE)
    if type(value) is re.Pattern:
        return _Constant(f"_re.compile({value.pattern!r}, {int(value.flags)})", frozenset({"import re as _re"}))
    if type(value) is decimal.Decimal:
        return _Constant(f"_decimal.{value!r}", frozenset({"import decimal as _decimal"}))
    if getattr(value, "tzinfo", None) not in (None, dt.UTC):
        return None
    return _Constant(repr(value).replace("datetime.", "_datetime."), frozenset({"import datetime as _datetime"}))


def _together(kind: type, texts: list[str]) -> str:
    if kind is dict:
        return "{" + ", ".join(f"{key}: {one}" for key, one in zip(texts[::2], texts[1::2], strict=True)) + "}"
    if kind is list:
        return f"[{', '.join(texts)}]"
    if kind is tuple:
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    of_set = "{" + ", ".join(sorted(texts)) + "}" if texts else ""
    return of_set if kind is set and texts else f"{kind.__name__}({of_set})"


def _texts(value: Any) -> Iterator[str]:
    """The texts in a constant."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, re.Pattern):
        yield from _texts(value.pattern)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts(key)
            yield from _texts(one)
            if isinstance(key, str) and isinstance(one, str):
                yield f"{key} = {one!r}"


# Source


def _definition(capture: _Capture, value: Any) -> _Definition:
    """A function or class in its source."""
    whole = inspect.unwrap(value) if callable(value) else value
    name, module = getattr(whole, "__qualname__", ""), getattr(whole, "__module__", None)
    if name.endswith("<lambda>"):
        capture._refuse("is a lambda", "What goes along is a definition with a name.", "Write it with def.")
    if "<locals>" in name:
        capture._refuse(
            f"is defined inside of another function ({name.partition('.')[0]})",
            "It may use variables of that function, which exist in the notebook only.",
            "Define it at the top of a cell or a module; a decorator needs functools.wraps.",
        )
    if not isinstance(whole, FunctionType | type):
        capture._refuse(*_why_not(value))
    codes = [whole.__code__] if isinstance(whole, FunctionType) else list(_codes(whole))
    file = codes[0].co_filename if codes else getattr(sys.modules.get(str(module)), "__file__", None)
    texts = [file] if isinstance(file, str) else _cells()
    found = [
        (text, node)
        for text in filter(None, map(_read, texts))
        for node in _tops(capture, text)
        if node.name == name and (isinstance(whole, type) or _first_line(node) == codes[0].co_firstlineno)
    ]
    found = found[-1:] if len({_segment(text, node) for text, node in found}) == 1 else found
    if len(found) != 1:
        problem = "was defined more than once" if found else "has no source here"
        capture._refuse(
            problem,
            "What goes along is the source of its definition, at the top of a cell or a module.",
            "Define it there again, or in a module (a file), and import it.",
        )
    text, node = found[0]
    segment = _segment(text, node)
    flags = codes[0].co_flags & __future__.annotations.compiler_flag if codes else 0
    if codes and not _is_compiled_from(text, codes, flags):
        capture._refuse(
            "is not what its source says any more",
            "The source was changed after it was defined.",
            "Run its cell again, or reload its module.",
        )
    namespace = whole.__globals__ if isinstance(whole, FunctionType) else _globals_of(whole)
    if isinstance(whole, FunctionType) and whole.__closure__:
        capture._refuse("is a closure", "Its variables exist in the notebook only.")
    return _Definition(segment, node, _global_names(segment), namespace)


def _globals_of(kind: type) -> Mapping[str, Any]:
    module = sys.modules.get(kind.__module__)
    return module.__dict__ if module is not None else {}


def _codes(kind: type) -> Iterator[CodeType]:
    """The code of the methods that a class defines."""
    for value in vars(kind).values():
        inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        inner = inspect.unwrap(inner) if isinstance(inner, FunctionType) else inner
        is_own = isinstance(inner, FunctionType) and inner.__qualname__.startswith(f"{kind.__qualname__}.")
        if is_own and not inner.__code__.co_filename.startswith("<string"):  # those are written by dataclasses
            yield inner.__code__


def _cells() -> list[str]:
    """The files of the notebook's cells: they are in memory only."""
    return [name for name in list(linecache.cache) if "ipykernel" in name or name.startswith("<ipython-input")]


def _read(file: str) -> str:
    """The text of a module or a cell; "" if it cannot be read."""
    known = linecache.cache.get(file)
    if known is not None and len(known) == 4 and known[1] is None:  # of a cell, which is no file
        return "".join(known[2])
    path = Path(file)
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError):
        return Folder(path.parent).read_text(path.name, 2**20)
    return ""


_Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _tops(capture: _Capture, text: str) -> list[_Node]:
    try:
        return [node for node in parse(text).body if isinstance(node, _Node)]
    except SyntaxError as error:
        capture._refuse(f"is in a source that cannot be read ({complaint(error)})", "Only source that is read can go.")


def _first_line(node: _Node) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _segment(text: str, node: _Node) -> str:
    lines = re.split(r"\r\n|\r|\n", text)
    return "\n".join(lines[_first_line(node) - 1 : node.end_lineno])


def _is_compiled_from(text: str, codes: Collection[CodeType], flags: int) -> bool:
    """Whether each code object is one of those that the source gives."""
    made = [_content(code) for code in _nested(compile(text, HELPERS, "exec", flags, dont_inherit=True))]
    return all(_content(code) in made for code in codes)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _content(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_content(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts)
    return code.co_name, code.co_code, code.co_names, code.co_varnames, constants


def _global_names(segment: str) -> tuple[str, ...]:
    """The global names that a definition uses, where it is defined and where it is called."""
    top = symtable.symtable(segment, HELPERS, "exec")
    found = [one.get_name() for one in top.get_symbols() if one.is_referenced() and not one.is_assigned()]

    def walk(table: symtable.SymbolTable) -> None:
        for inner in table.get_children():
            found.extend(one.get_name() for one in inner.get_symbols() if one.is_global() and one.is_referenced())
            walk(inner)

    walk(top)
    return tuple(dict.fromkeys(name for name in found))


def _attributes(node: ast.AST) -> dict[str, list[str]]:
    """The attributes of each name that is used, in order."""
    found: dict[str, list[str]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            names = found.setdefault(one.value.id, [])
            names += [one.attr] if one.attr not in names else []
    return found


def _at_definition(node: _Node) -> Iterator[ast.AST]:
    """Everything that is evaluated when a function or class is defined."""
    for one in node.decorator_list:
        yield from ast.walk(one)
    if isinstance(node, ast.ClassDef):
        for given in (*node.bases, *node.keywords):
            yield from ast.walk(given)
        for statement in node.body:
            yield from _at_definition(statement) if isinstance(statement, _Node) else ast.walk(statement)
    else:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield from ast.walk(default)


def _strings(node: ast.AST) -> Iterator[str]:
    """The texts in a source, and each with the name that it is given."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.keyword) and isinstance(one.value, ast.Constant):
            targets = (
                one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
            )
            names = [one.arg] if isinstance(one, ast.keyword) else [getattr(target, "id", "") for target in targets]
            if isinstance(one.value.value, str):
                yield from (f"{name} = {one.value.value!r}" for name in names if name)


def _shown(found: _Definition) -> tuple[str, str]:
    """The signature of a definition, and its docstring."""
    node = found.node
    lines = [_head(node)]
    if isinstance(node, ast.ClassDef):
        public = (one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"))
        own = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        fields = (ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign))
        lines += [f"    {line}" for line in (*fields, *map(_head, (*own, *public)))]
    return "\n".join(lines)[:10_000], _text(ast.get_docstring(node))


def _head(node: _Node) -> str:
    if isinstance(node, ast.ClassDef):
        given = ", ".join(ast.unparse(one) for one in (*node.bases, *node.keywords))
        return f"class {node.name}{f'({given})' if given else ''}: ..."
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"def {node.name}({ast.unparse(node.args)}){returned}: ..."


def _text(value: object) -> str:
    return inspect.cleandoc(value)[:10_000] if isinstance(value, str) else ""


# Helpers for the model


def helpers_text(helpers: Helpers, share: Share, masker: Masker) -> str:
    """The helpers as the model sees them: source where rows are shared, else signatures and docstrings. "" for none."""
    if not helpers:
        return ""
    shown = [f"{one.signature}\n{_indented(one.doc)}".rstrip() for one in helpers.given]
    sources = helpers.modules() if share == "rows" else {}
    names = ", ".join(one.name for one in helpers.given)
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
