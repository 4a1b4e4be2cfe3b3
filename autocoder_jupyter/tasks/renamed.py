"""Rename the function of a solution to the name of its result: a cell with the code defines `growth`, not `run`."""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import re
from collections.abc import Iterator

from autocoder_jupyter.untrusted.parsing import parse

ENTRY = "run"
"""The name of the function in a solution."""


def renamed(code: str, name: str) -> str:
    """The code with its function renamed to `name`; unchanged if the rename would change what it does.

    Args:
        code: a solution.
        name: the name of the result.
    """
    for place in reversed(places(code, name)):
        code = code[:place] + name + code[place + len(ENTRY) :]
    return code


def places(code: str, name: str) -> tuple[int, ...]:
    """The offsets in characters where the code names its function; empty if it cannot be renamed."""
    if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name) or "\r" in code:
        return ()
    try:
        module = parse(code)
    except SyntaxError:
        return ()
    definitions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    bound = list(_bound(module))
    uses = [node for node in ast.walk(module) if isinstance(node, ast.Name)]
    if len(definitions) != 1 or bound.count(ENTRY) != 1 or name in bound or any(node.id == name for node in uses):
        return ()
    lines = code.split("\n")
    begins = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

    def offset(node: ast.FunctionDef | ast.Name) -> int:
        """The offset of a node in characters; the parser counts the bytes of a line."""
        line = lines[node.lineno - 1]
        before = node.col_offset if line.isascii() else len(line.encode()[: node.col_offset].decode())
        return begins[node.lineno - 1] + before

    start = offset(definitions[0])
    own = re.compile(rf"def\s+(?={ENTRY}\b)").match(code, start)
    found = [own.end() if own else -1, *(offset(use) for use in uses if use.id == ENTRY)]
    # Python 3.11 has no correct positions for names inside f-strings.
    return tuple(sorted(found)) if all(code.startswith(ENTRY, place) for place in found) else ()


def _bound(module: ast.Module) -> Iterator[str]:
    """Every name that is bound in the module, once per binding; attributes are left out."""
    methods = {id(one) for node in ast.walk(module) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.MatchMapping):
            yield node.rest or ""
        elif id(node) not in methods or isinstance(node, ast.ClassDef):
            found = getattr(node, "name", None)  # function, class, exception or pattern
            if isinstance(found, str):
                yield found
