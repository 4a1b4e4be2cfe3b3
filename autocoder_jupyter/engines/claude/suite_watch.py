"""Compares an agent's tests with their first versions, so that a test that was weakened is noticed.

It does not matter what the agent ran or saw in between: it may hide a failure from us, as with `pytest || true`. The
source is compared. What a new test changes only when it runs, for example through another module, is not found.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator

from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.untrusted.parsing import parse

OUTSIDE = "what the tests share"
"""The name for the imports, helper functions and constants of a test module."""

_RUN_BY_PYTEST = re.compile(r"pytest|(?i:(?:setup|teardown)_?(?:module|function|class|method)?)$")
"""Names that pytest calls around the tests of a module, and its hooks."""

_REACHES_OTHERS = re.compile(
    r"\bGlobal\(|\bNamedExpr\(|\bName\(id='(?:globals|locals|vars|setattr|delattr|exec|eval|__\w+)'|\battr='__"
)
"""In a dump, what can change names of the module that are bound elsewhere."""

_CHANGED_ATTRIBUTE = re.compile(r"\bAttribute\(value=Name\(id='(\w+)', ctx=Load\(\)\), attr='\w+', ctx=(?:Store|Del)\(")

_Part = tuple[str, str]
"""The id of a test and "", or `OUTSIDE` and the names that a statement binds."""


class SuiteWatch:
    """Notes each version of the tests."""

    def __init__(self) -> None:
        self._first: dict[_Part, str] = {}
        self._now: dict[_Part, str] = {}
        self._added: set[str] = set()

    @property
    def changed(self) -> tuple[str, ...]:
        """The tests that are not as they were first written, in order. A new test is no change."""
        differing = [name for (name, of), text in self._first.items() if self._now.get((name, of)) != text]
        return tuple(dict.fromkeys([*differing, *self._added]))

    def see(self, source: str) -> None:
        """Note the current tests. A module that does not parse is ignored."""
        try:
            parts = _parts(source)
        except SyntaxError:
            return
        known = {
            name for test, bound in self._first for name in (bound.split() if bound else [test.partition("::")[0]])
        }
        new = [part for part in parts if part not in self._first]
        if self._first and not all(_is_harmless(part, parts[part], known) for part in new):
            self._added.add(OUTSIDE)
        for part, text in parts.items():
            self._first.setdefault(part, text)
        self._now = parts

    def take(self, source: str) -> None:
        """Note tests that the agent did not write. They are the first versions from now on."""
        self._first = dict(_parts(source))
        self._now = dict(self._first)


def _is_harmless(part: _Part, text: str, known: set[str]) -> bool:
    """Whether the source of a new part does not change what the others test.

    Args:
        part: a test, or a statement that binds names.
        text: its dump.
        known: the names that the first versions bind.
    """
    if _REACHES_OTHERS.search(text) or not known.isdisjoint(_CHANGED_ATTRIBUTE.findall(text)):
        return False
    name, bound = part
    if name != OUTSIDE:
        return True
    names = bound.split()
    return bool(names) and all(
        one.isidentifier()
        and one not in known
        and not hasattr(builtins, one)
        and not one.startswith("__")
        and not _RUN_BY_PYTEST.match(one)
        for one in names
    )


def _parts(source: str) -> dict[_Part, str]:
    """The tests of a module and the statements that they share, without comments and layout."""
    parts: dict[_Part, str] = {}
    ids = set(read_suite(source).ids)
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef):
            inner = {f"{node.name}::{getattr(member, 'name', '')}": member for member in node.body}
            parts |= {(name, ""): ast.dump(member) for name, member in inner.items() if name in ids}
            rest = [member for name, member in inner.items() if name not in ids]
            parts[OUTSIDE, node.name] = _dumped([*node.decorator_list, *node.bases, *node.keywords, *rest])
        elif getattr(node, "name", None) in ids:
            parts[str(getattr(node, "name", "")), ""] = ast.dump(node)
        else:
            bound = " ".join(_bound(node))
            parts[OUTSIDE, bound] = parts.get((OUTSIDE, bound), "") + ast.dump(node)
    return parts


def _dumped(nodes: Iterable[ast.AST]) -> str:
    return "\n".join(map(ast.dump, nodes))


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
