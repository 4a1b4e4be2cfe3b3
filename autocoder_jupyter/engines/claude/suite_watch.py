"""Compares an agent's tests with their first versions, so that a test that was weakened is noticed.

It does not matter what the agent ran or saw in between: it may hide a failure from us, as with `pytest || true`. The
source is compared. What a new test changes only when it runs, for example through another module, is not found.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.untrusted.parsing import parse

OUTSIDE = "what the tests share"
"""The name for the imports, helper functions and constants of a test module."""

_Part = tuple[str, str]
"""The id of a test and "", or `OUTSIDE` and the names that a statement binds."""

_Parts = dict[_Part, list[ast.AST]]


class SuiteWatch:
    """Notes each version of the tests."""

    def __init__(self) -> None:
        self._first: dict[_Part, str] = {}
        self._now: dict[_Part, str] = {}
        self._added: set[str] = set()

    @property
    def changed(self) -> tuple[str, ...]:
        """The tests that are not as they were first written, in order. A new test is not a change."""
        differing = [name for (name, of), text in self._first.items() if self._now.get((name, of)) != text]
        return tuple(dict.fromkeys([*differing, *self._added]))

    def see(self, source: str) -> None:
        """Note the current tests. A module that does not parse is ignored."""
        try:
            parts = _parts(source)
        except SyntaxError:
            return
        if self._first and not all(
            is_harmless(nodes, part[1].split() if part[0] == OUTSIDE else None, self._module_names(parts))
            for part, nodes in parts.items()
            if part not in self._first
        ):
            self._added.add(OUTSIDE)
        self._now = _dumped(parts)
        self._first = {**self._now, **self._first}

    def take(self, source: str) -> None:
        """Note tests that the agent did not write. They are the first versions from now on."""
        self._now = _dumped(_parts(source))
        self._first = dict(self._now)

    def _module_names(self, parts: _Parts) -> ModuleNames:
        imports = (node for nodes in parts.values() for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        bound = (bound.split() if bound else [test.partition("::")[0]] for test, bound in self._first)
        return ModuleNames(frozenset(chain(*bound)), frozenset(chain(*map(_bound, imports))))


def _parts(source: str) -> _Parts:
    """The tests of a module and the statements that they share. If these bind a name twice, their order counts too."""
    parts: _Parts = {}
    ids = set(read_suite(source).ids)
    shared: list[tuple[str, list[ast.AST]]] = []
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef):
            tests = {f"{node.name}::{member.name}": member for member in node.body if hasattr(member, "name")}
            parts |= {(name, ""): [member] for name, member in tests.items() if name in ids}
            rest = [one for one in node.body if f"{node.name}::{getattr(one, 'name', '')}" not in ids]
            shared.append((node.name, [*node.decorator_list, *node.bases, *node.keywords, *rest]))
        elif getattr(node, "name", None) in ids:
            parts[str(getattr(node, "name", "")), ""] = [node]
        else:
            shared.append((" ".join(_bound(node)), [node]))
    bound = [name for names, _ in shared for name in names.split()]
    is_ordered = len(set(bound)) < len(bound)
    for names, nodes in shared:
        parts.setdefault((OUTSIDE, "" if is_ordered else names), []).extend(nodes)
    return parts


def _dumped(parts: _Parts) -> dict[_Part, str]:
    """The source of the parts without comments and layout."""
    return {part: "\n".join(map(ast.dump, nodes)) for part, nodes in parts.items()}


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, if it does nothing else; none for any other statement."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if all(isinstance(target, ast.Name) for target in targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


# New source
#
# The usual ways to change existing tests are found: a name that is bound again, a hook of pytest, an attribute or item
# of something shared that is set, a method that changes a shared object, a way to reach the module's names. A program
# that hides what it does is not found.

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
class ModuleNames:
    """The names of a test module.

    Args:
        known: the names that the first versions of its parts bind.
    """

    known: Collection[str]
    imported: Collection[str]


def is_harmless(nodes: Sequence[ast.AST], bound: Sequence[str] | None, module: ModuleNames) -> bool:
    """Whether new source does not change what the other tests test."""
    inner = [one for node in nodes for one in ast.walk(node)]
    own = set(_own_names(inner))
    if any(_reaches_others(node, own, module) for node in inner):
        return False
    if bound is None:
        return True
    if any(isinstance(node, ast.Attribute) and node.attr in _ENDS_A_MODULE for node in inner):
        return False
    return bool(bound) and all(_is_a_new_name(name, module) for name in bound)


def _is_a_new_name(name: str, module: ModuleNames) -> bool:
    return (
        name.isidentifier()
        and name not in module.known
        and not hasattr(builtins, name)
        and not name.startswith("__")
        and not _RUN_BY_PYTEST.match(name)
    )


def _reaches_others(node: ast.AST, own: set[str], module: ModuleNames) -> bool:
    match node:
        case ast.Global() | ast.NamedExpr():
            return True
        case ast.Name(id=name) | ast.alias(name=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _REACHING_MODULES for alias in names)
        case ast.ImportFrom(module=source):
            return (source or "").partition(".")[0] in _REACHING_MODULES
        case ast.Attribute(attr=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _root(node) not in own
        case ast.Attribute(attr=name) if name in _CHANGES_ITS_OBJECT:
            root = _root(node)
            return bool(root) and root not in own and root not in module.imported
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
