"""Watches whether an agent changes its tests after it has seen one fail."""

from __future__ import annotations

import ast

from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.untrusted.parsing import parse

OUTSIDE = "what the tests share"
"""The name for the imports, helper functions and constants of a test module."""


class SuiteWatch:
    """Compares each version of the tests with the one before."""

    def __init__(self) -> None:
        self._last: dict[str, str] | None = None
        self._failed = False
        self._changed: list[str] = []

    @property
    def changed(self) -> tuple[str, ...]:
        """The tests that were changed, removed or added after the agent saw a failure, in order."""
        return tuple(dict.fromkeys(self._changed))

    def see(self, source: str) -> None:
        """Note the current tests. A module that does not parse is ignored."""
        try:
            parts = _parts(source)
        except SyntaxError:
            return
        if self._failed and self._last is not None:
            names = dict.fromkeys((*self._last, *parts))
            self._changed += [name for name in names if self._last.get(name) != parts.get(name)]
        self._last = parts

    def take(self, source: str) -> None:
        """Note tests that the agent did not write."""
        self._last = _parts(source)

    def failed(self) -> None:
        """Note that the agent has seen a failure of these tests."""
        self._failed = True


def _parts(source: str) -> dict[str, str]:
    """The tests of a module by id, without comments and layout, and the rest of the module under one name."""
    parts: dict[str, str] = {}
    rest: list[str] = []
    ids = set(read_suite(source).ids)
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef):
            inner = [member for member in node.body if f"{node.name}::{getattr(member, 'name', '')}" in ids]
            parts |= {f"{node.name}::{member.name}": ast.dump(member) for member in inner if hasattr(member, "name")}
            rest += [ast.dump(member) for member in node.body if member not in inner]
        elif getattr(node, "name", None) in ids:
            parts[str(getattr(node, "name", ""))] = ast.dump(node)
        else:
            rest.append(ast.dump(node))
    return {**parts, OUTSIDE: "\n".join(rest)}
