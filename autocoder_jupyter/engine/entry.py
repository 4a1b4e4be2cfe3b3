"""Removes what a module does only as a script. It would not be tested, so a solution must not have it."""

from __future__ import annotations

import ast
import re

from autocoder_jupyter.untrusted.parsing import parse

_NAMES = ("__name__", "__main__")


def without_entry(code: str) -> str:
    """The module without its `if __name__ == "__main__":` blocks, with which models often end a module."""
    try:
        module = parse(code)
    except SyntaxError:
        return code
    lines = re.split("\r\n|\r|\n", code)  # as Python counts them
    for node in reversed(module.body):
        if isinstance(node, ast.If) and not node.orelse and _asks_for_main(node.test):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).rstrip("\n") + "\n"


def entry_problem(module: ast.Module) -> str:
    """Why a module could behave differently as a script than as a module, as text for the model."""
    for node in ast.walk(module):
        by_name = isinstance(node, ast.Name) and node.id in _NAMES
        if by_name or (isinstance(node, ast.Constant) and node.value in _NAMES):
            return (
                "it asks for its own `__name__`; it is only ever imported, so it must do the same under every name "
                'and have no `if __name__ == "__main__":` part'
            )
    return ""


def _asks_for_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    names = [side.id if isinstance(side, ast.Name) else getattr(side, "value", None) for side in sides]
    return sorted(map(str, names)) == sorted(_NAMES)
