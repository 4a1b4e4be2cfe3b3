"""Whether new source in a test module leaves the tests that were there as they are.

The usual ways to change them are found: a name that is bound again, a hook of pytest, an attribute or item of something
shared that is set, a method that changes a shared object, a way to reach the module's names. A program that hides what
it does is not found.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_RUN_BY_PYTEST = re.compile(r"pytest|(?i:(?:setup|teardown)_?(?:module|function|class|method)?)$")
"""Names that pytest calls around the tests of a module, and its hooks."""

_REACHES_OTHERS = re.compile(
    r"__\w+|globals|locals|vars|[sgd]e[tl]attr|exec|eval|f_(?:globals|locals|back|builtins)|_getframe|currentframe"
    r"|attrgetter|methodcaller|import_module|(?:monkey_?)?patch|mocker|MonkeyPatch"
)
"""Names, also of attributes and imports, with which code reaches names that are bound elsewhere."""

_REACHING_MODULES = frozenset(
    ("builtins", "sys", "gc", "inspect", "ctypes", "importlib", "operator", "runpy", "code", "tests", "unittest")
)
_ENDS_A_MODULE = frozenset(("skip", "importorskip", "exit", "xfail", "fail", "_exit"))
_CHANGES_ITS_OBJECT = frozenset(
    (
        *("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"),
        *("add", "appendleft", "discard", "difference_update", "intersection_update", "symmetric_difference_update"),
    )
)


@dataclass(frozen=True)
class Surroundings:
    """The names of a test module.

    Args:
        known: the names that the first versions of its parts bind.
        imported: the names that its imports bind.
    """

    known: Collection[str]
    imported: Collection[str]


def is_harmless(nodes: Sequence[ast.AST], bound: Sequence[str] | None, around: Surroundings) -> bool:
    """Whether new source does not change what the other tests test.

    Args:
        nodes: the source: a test, or statements that bind names.
        bound: the names; None for a test.
        around: the names of the module.
    """
    inner = [one for node in nodes for one in ast.walk(node)]
    own = set(_own_names(inner))
    if any(_reaches_others(node, own, around) for node in inner):
        return False
    if bound is None:
        return True
    if any(isinstance(node, ast.Attribute) and node.attr in _ENDS_A_MODULE for node in inner):
        return False
    return bool(bound) and all(_is_a_new_name(name, around) for name in bound)


def _is_a_new_name(name: str, around: Surroundings) -> bool:
    return (
        name.isidentifier()
        and name not in around.known
        and not hasattr(builtins, name)
        and not name.startswith("__")
        and not _RUN_BY_PYTEST.match(name)
    )


def _reaches_others(node: ast.AST, own: set[str], around: Surroundings) -> bool:
    match node:
        case ast.Global() | ast.NamedExpr():
            return True
        case ast.Name(id=name) | ast.alias(name=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _REACHING_MODULES for alias in names)
        case ast.ImportFrom(module=module):
            return (module or "").partition(".")[0] in _REACHING_MODULES
        case ast.Attribute(attr=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _root(node) not in own
        case ast.Attribute(attr=name) if name in _CHANGES_ITS_OBJECT:
            root = _root(node)
            return bool(root) and root not in own and root not in around.imported
    return False


def _root(node: ast.AST) -> str:
    """The name at the beginning of `name.a[b].c`; "" if it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _own_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that functions in the source bind for themselves."""
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg))
            inner = [one for statement in function.body for one in ast.walk(statement)]
            yield from (one.id for one in inner if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
