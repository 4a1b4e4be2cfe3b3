"""Compares an agent's tests with their first versions, so that a test that was weakened is noticed.

It does not matter what the agent ran or saw in between: it may hide a failure from us, as with `pytest || true`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.untrusted.parsing import parse

OUTSIDE = "what the tests share"
"""The name for the imports, helper functions and constants of a test module."""

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
        if self._first and any(part not in self._first and not _is_harmless(part, parts[part]) for part in parts):
            self._added.add(OUTSIDE)
        for part, text in parts.items():
            self._first.setdefault(part, text)
        self._now = parts

    def take(self, source: str) -> None:
        """Note tests that the agent did not write. They are the first versions from now on."""
        self._first = dict(_parts(source))
        self._now = dict(self._first)


def _is_harmless(part: _Part, text: str) -> bool:
    """Whether a part that is new cannot change what the others test: a test, or something with a name of its own."""
    name, bound = part
    if name != OUTSIDE:
        return True
    names = bound.split()
    return bool(names) and not any(hasattr(builtins, one) or one.startswith("pytest") for one in names)


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
