"""Definitions and constants of the user as source, and what belongs to a library. Nothing of the user's code is run."""

from __future__ import annotations
import __future__

import ast
import contextlib
import datetime as dt
import decimal
import functools
import inspect
import io
import linecache
import math
import re
import symtable
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from autocoder_jupyter.types import HELPERS
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import complaint, parse

LONGEST_CONSTANT = 4_000
"""Most characters of one constant."""


class CannotPass(Exception):
    """Something cannot go into the sandbox: what it is or does, why that is refused, and what to do."""

    def __init__(self, what: str, why: str, hint: str = "") -> None:
        super().__init__(what, why, hint)
        self.reasons = what, why, hint


@dataclass(frozen=True)
class Definition:
    """A function or class in its source.

    Args:
        names: global names that it uses.
        namespace: the globals of its module.
    """

    text: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names: tuple[str, ...]
    namespace: Mapping[str, Any]


def why_not(value: Any) -> tuple[str, str, str]:
    """Why a value cannot be passed: what it is, the reason, and what to do."""
    module = _of_type(value, "__module__")
    what = f"uses an object of type {module}.{_of_type(value, '__qualname__')}".replace(" builtins.", " ")
    if io.IOBase.__base__ in _bases(value):
        return "uses an open file", "A file is open in the notebook only.", "Pass it as an input: File(…)."
    if isinstance(value, MethodType | functools.partial | BuiltinFunctionType):
        return what, "It belongs to an object of the notebook, and is not source.", "Write a function that calls it."
    converts = _inherited(value, "to_pandas") is not None
    if converts or module.partition(".")[0] in ("pandas", "numpy", "polars", "pyarrow"):
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
    found = sys.modules.get(root)
    if found is None:
        return True  # it is not loaded, so the function imports it when it is called
    file = found.__dict__.get("__file__") or next(iter(found.__dict__.get("__path__", ())), None)
    if not isinstance(file, str):
        return root in sys.stdlib_module_names  # it is compiled into Python
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _library_folders()) or "site-packages" in path.parts


def is_of_library(value: Any) -> bool:
    """Whether a function or class is defined in a library."""
    module = _label(unwrapped(value), "__module__")
    return bool(module) and is_library(module)


_CACHED = type(functools.lru_cache(len))
_PLAIN_CODE = (FunctionType, BuiltinFunctionType, _CACHED)


def _of_type(value: Any, name: str) -> str:
    """The `__module__` or `__qualname__` of the type of a value, without asking its metaclass."""
    return str(type.__getattribute__(type(value), name))


def _bases(value: Any) -> tuple[type, ...]:
    """The type of a value, and those that it inherits from."""
    found: tuple[type, ...] = type.__getattribute__(type(value), "__mro__")
    return found


def _inherited(value: Any, name: str) -> Any:
    """An attribute of the type of a value as it is defined; None if there is none."""
    found = (type.__getattribute__(one, "__dict__") for one in _bases(value))
    return next((names[name] for names in found if name in names), None)


def unwrapped(value: Any) -> Any:
    """The function that was decorated, of one with `functools.wraps`."""
    seen: set[int] = set()  # one may name itself
    while isinstance(value, FunctionType | _CACHED) and "__wrapped__" in value.__dict__ and id(value) not in seen:
        seen.add(id(value))
        value = value.__dict__["__wrapped__"]
    return value


def _label(value: Any, name: str) -> str:
    """A name of a value, such as `__module__`; "" if it has none. No code of the user is run to find it."""
    own = (_inherited(value, one) for one in ("__getattribute__", "__getattr__"))
    if isinstance(value, type):
        found = type.__getattribute__(value, name) if name in ("__module__", "__qualname__", "__name__") else ""
    elif isinstance(value, _PLAIN_CODE) or _of_type(value, "__module__") == "typing":
        found = getattr(value, name, "")
    else:
        found = getattr(value, name, "") if tuple(own) == (object.__getattribute__, None) else ""
    return found if isinstance(found, str) else ""


def place_in_library(name: str, value: Any) -> tuple[str, str] | None:
    """The module of a library, and the name in it, under which a value is found there; None if there is none."""
    of_type = _of_type(value, "__module__")
    own = _label(value, "__module__") or of_type
    names = [_label(value, label) for label in ("__qualname__", "__name__", "_name")]
    for module in dict.fromkeys((own.partition(".")[0], own, of_type.partition(".")[0], of_type)):
        if module == "builtins" or not is_library(module):
            continue
        known = sys.modules.get(module)
        for label in (*names, name):
            if known is not None and label and known.__dict__.get(label) is value:
                return module, label
    return None


def members_of(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions and classes that a module defines, and its constants."""
    listed = module.__dict__.get("__all__")
    for name, value in module.__dict__.items():
        is_public = name in listed if isinstance(listed, list | tuple) else not name.startswith("_")
        own = isinstance(unwrapped(value), FunctionType | type) and _label(value, "__module__") == module.__name__
        if is_public and (own or constant(value) is not None):
            yield name, value


# Constants

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
_OF_TIME = (dt.date, dt.time, dt.datetime, dt.timedelta, dt.timezone)
_TOO_LARGE = "…" * (LONGEST_CONSTANT + 1)


@dataclass(frozen=True)
class Constant:
    """An expression that gives a constant again, with the imports that it needs."""

    text: str
    lines: frozenset[str] = frozenset()


def constant(value: Any) -> Constant | None:
    """A constant as source, the same in each process; None if it is none. No method of the user is called."""
    if type(value) in (*_PLAIN, *_OF_TIME, decimal.Decimal, re.Pattern):
        return _single(value)
    if type(value) not in (list, tuple, dict, set, frozenset):
        return None
    with contextlib.suppress(RecursionError):  # it may contain itself
        inside = [one for pair in value.items() for one in pair] if type(value) is dict else list(value)
        if len(inside) > LONGEST_CONSTANT:
            return Constant(_TOO_LARGE)
        parts = [constant(one) for one in inside]
        if None in parts:
            return None
        texts = [part.text for part in parts if part]
        lines = frozenset[str]().union(*(part.lines for part in parts if part))
        return Constant(_together(type(value), texts)[: len(_TOO_LARGE)], lines)
    return None


def _single(value: Any) -> Constant | None:
    if type(value) is float and not math.isfinite(value):
        return Constant(f"float({str(value)!r})")
    if type(value) in _PLAIN:
        return Constant(repr(value)) if type(value) is not int or abs(value) < 10**300 else Constant(_TOO_LARGE)
    if type(value) is re.Pattern:
        return Constant(f"_re.compile({value.pattern!r}, {int(value.flags)})", frozenset({"import re as _re"}))
    if type(value) is decimal.Decimal:
        return Constant(f"_decimal.{value!r}", frozenset({"import decimal as _decimal"}))
    if getattr(value, "tzinfo", None) not in (None, dt.UTC):
        return None
    return Constant(repr(value).replace("datetime.", "_datetime."), frozenset({"import datetime as _datetime"}))


def _together(kind: type, texts: list[str]) -> str:
    if kind is dict:
        return "{" + ", ".join(f"{key}: {one}" for key, one in zip(texts[::2], texts[1::2], strict=True)) + "}"
    if kind is list:
        return f"[{', '.join(texts)}]"
    if kind is tuple:
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    of_set = "{" + ", ".join(sorted(texts)) + "}" if texts else ""
    return of_set if kind is set and texts else f"{kind.__name__}({of_set})"


def texts_of(value: Any) -> Iterator[str]:
    """The texts in a constant."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, re.Pattern):
        yield from texts_of(value.pattern)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from texts_of(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts_of(key)
            yield from texts_of(one)
            if isinstance(key, str) and isinstance(one, str):
                yield f"{key} = {one!r}"


# Source


def definition(value: Any) -> Definition:
    """A function or class in its source."""
    whole = unwrapped(value)
    name, module = _label(whole, "__qualname__"), _label(whole, "__module__")
    if name.endswith("<lambda>"):
        raise CannotPass("is a lambda", "Only a definition with a name can be passed.", "Write it with def.")
    if "<locals>" in name:
        raise CannotPass(
            f"is defined inside of another function ({name.partition('.')[0]})",
            "It may use variables of that function, which exist in the notebook only.",
            "Define it at the top of a cell or a module; a decorator needs functools.wraps.",
        )
    if not isinstance(whole, FunctionType | type):
        raise CannotPass(*why_not(value))
    codes = [whole.__code__] if isinstance(whole, FunctionType) else list(_codes(whole))
    file = codes[0].co_filename if codes else getattr(sys.modules.get(module), "__file__", None)
    texts = [file] if isinstance(file, str) and (codes or module != "__main__") else _cells()
    found = [
        (text, node)
        for text in filter(None, map(_read, texts))
        for node in _tops(text)
        if node.name == name and (isinstance(whole, type) or _first_line(node) == codes[0].co_firstlineno)
    ]
    found = found[-1:] if len({_segment(text, node) for text, node in found}) == 1 else found
    if len(found) != 1:
        problem = "was defined more than once" if found else "has no source here"
        raise CannotPass(
            problem,
            "Only a definition at the top level of a cell or a module can be passed.",
            "Define it there again, or in a module (a file), and import it.",
        )
    text, node = found[0]
    segment = _segment(text, node)
    flags = codes[0].co_flags & __future__.annotations.compiler_flag if codes else 0
    if codes and not _is_compiled_from(text, codes, flags):
        raise CannotPass(
            "is not what its source says any more",
            "The source was changed after it was defined.",
            "Run its cell again, or reload its module.",
        )
    namespace = whole.__globals__ if isinstance(whole, FunctionType) else _globals_of(whole)
    if isinstance(whole, FunctionType) and whole.__closure__:
        raise CannotPass("is a closure", "Its variables exist in the notebook only.")
    return Definition(segment, node, _global_names(segment), namespace)


def _globals_of(kind: type) -> Mapping[str, Any]:
    module = sys.modules.get(_label(kind, "__module__"))
    return module.__dict__ if module is not None else {}


def _codes(kind: type) -> Iterator[CodeType]:
    """The code of the methods that a class defines."""
    for value in type.__getattribute__(kind, "__dict__").values():
        is_method = isinstance(value, staticmethod | classmethod)
        inner = unwrapped(value.__func__ if is_method else value.fget if isinstance(value, property) else value)
        is_own = isinstance(inner, FunctionType) and inner.__qualname__.startswith(f"{_label(kind, '__qualname__')}.")
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
    path = Path(file).resolve()
    with contextlib.suppress(OSError, UnicodeDecodeError, ValueError):
        return Folder(path.parent).read_text(path.name, 2**20)
    return ""


Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _tops(text: str) -> list[Node]:
    try:
        return [node for node in parse(text).body if isinstance(node, Node)]
    except SyntaxError as error:
        problem = f"is in a source that cannot be read ({complaint(error)})"
        raise CannotPass(problem, "Its source is parsed before it is passed.") from None


def _first_line(node: Node) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _segment(text: str, node: Node) -> str:
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


def attributes_of(node: ast.AST) -> dict[str, list[str]]:
    """The attributes of each name that is used, in order."""
    found: dict[str, list[str]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            names = found.setdefault(one.value.id, [])
            names += [one.attr] if one.attr not in names else []
    return found


def at_definition(node: Node) -> Iterator[ast.AST]:
    """Everything that is evaluated when a function or class is defined."""
    for one in node.decorator_list:
        yield from ast.walk(one)
    if isinstance(node, ast.ClassDef):
        for given in (*node.bases, *node.keywords):
            yield from ast.walk(given)
        for statement in node.body:
            yield from at_definition(statement) if isinstance(statement, Node) else ast.walk(statement)
    else:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield from ast.walk(default)


def strings_in(node: ast.AST) -> Iterator[str]:
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


def shown_of(found: Definition) -> tuple[str, str]:
    """The signature of a definition, and its docstring."""
    node = found.node
    lines = [_head(node)]
    if isinstance(node, ast.ClassDef):
        public = (one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"))
        own = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        fields = (ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign))
        lines += [f"    {line}" for line in (*fields, *map(_head, (*own, *public)))]
    return "\n".join(lines)[:10_000], cleaned(ast.get_docstring(node))


def _head(node: Node) -> str:
    if isinstance(node, ast.ClassDef):
        given = ", ".join(ast.unparse(one) for one in (*node.bases, *node.keywords))
        return f"class {node.name}{f'({given})' if given else ''}: ..."
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"def {node.name}({ast.unparse(node.args)}){returned}: ..."


def cleaned(value: object) -> str:
    return inspect.cleandoc(value)[:10_000] if isinstance(value, str) else ""
