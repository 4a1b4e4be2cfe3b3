"""Whether an agent changed its tests after it had seen one fail."""

from __future__ import annotations

import ast

from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.untrusted.parsing import parse

OUTSIDE = "what the tests share"
"""Stands for the imports, helper functions and constants of a module of tests."""


class SuiteWatch:
    """Looks at each version of the tests."""

    def __init__(self) -> None:
        self._last: dict[str, str] | None = None
        self._failed = False
        self._changed: list[str] = []

    @property
    def changed(self) -> tuple[str, ...]:
        """The tests that were changed, taken out or added after a failure was seen, in order."""
        return tuple(dict.fromkeys(self._changed))

    def see(self, source: str) -> None:
        """Look at the tests as they are now. What cannot be read is no version."""
        try:
            parts = _parts(source)
        except SyntaxError:
            return
        if self._failed and self._last is not None:
            names = dict.fromkeys((*self._last, *parts))
            self._changed += [name for name in names if self._last.get(name) != parts.get(name)]
        self._last = parts

    def take(self, source: str) -> None:
        """The tests were changed by somebody else."""
        self._last = _parts(source)

    def failed(self) -> None:
        """The agent has seen a failure of these tests."""
        self._failed = True


def _parts(source: str) -> dict[str, str]:
    """The tests of a module by id, without comments and layout, and all the rest of it under one name."""
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
