"""Reads a block of code before it runs, whether a model wrote it now or it comes from a record.

The names of tools and frames always mean what the user passed. Otherwise earlier code, which may come from somebody
else, could put another function in the place of a harmless tool, and later code would call it.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterable, Iterator

from autocoder_jupyter.untrusted.parsing import parse

_RUN_TEXT = frozenset({"exec", "eval", "compile", "globals", "locals", "__builtins__", "__import__"})
"""Built-ins that could bind a name without naming it in the syntax tree."""

_BINDS_NOTHING = {
    (ast.Attribute, "attr"),
    (ast.Constant, "kind"),
    (ast.Constant, "value"),
    (ast.ImportFrom, "module"),
    (ast.MatchClass, "kwd_attrs"),
    (ast.keyword, "arg"),
}
"""Fields that contain names without binding them. A field that is not here counts as one that does, also a field of a
later version of Python."""


def runnable(source: str, reserved: Iterable[str]) -> str:
    """The code as it is run. Line numbers do not change.

    Args:
        source: a block of code.
        reserved: the names of tools and frames, which the code must not bind.

    Raises:
        SyntaxError: it is not Python, or it binds a reserved name.
    """
    tree = parse(source)
    _require_names_unbound(tree, {unicodedata.normalize("NFKC", name) for name in reserved})
    return _with_own_to_thread(source, tree)


def _require_names_unbound(tree: ast.Module, reserved: set[str]) -> None:
    for node in ast.walk(tree):
        for name in _bound_by(node):
            if name in reserved:
                raise _error(
                    node,
                    f"{name!r} is the name of a tool or a frame. It cannot be assigned, defined, deleted or used for a "
                    "parameter; choose another name",
                )
        if isinstance(node, ast.alias) and node.name == "*":
            raise _error(node, "import the names that you need, not *")
        if isinstance(node, ast.Name) and node.id in _RUN_TEXT:
            raise _error(node, f"{node.id} is not available")


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node may bind, without its children; of a change of an attribute or item the changed name."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield from _root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        yield from _root(*node.args[:1])
    for field, value in ast.iter_fields(node):
        if (type(node), field) not in _BINDS_NOTHING:
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str):
                    yield text.partition(".")[0]  # `import a.b` binds `a`


def _root(*nodes: ast.expr) -> Iterator[str]:
    """`a` of `a.b[0].c`."""
    for node in nodes:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            yield node.id


def _error(node: ast.AST, message: str) -> SyntaxError:
    return SyntaxError(message, ("", getattr(node, "lineno", None), None, None))


def _with_own_to_thread(source: str, tree: ast.Module) -> str:
    """The code with our `to_thread` instead of asyncio's, which the sandbox lacks."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "to_thread" and ast.unparse(node.value) == "asyncio"
    ]
    lines = source.encode().splitlines(keepends=True)
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + b"to_thread" + line[node.end_col_offset :]
    return b"".join(lines).decode()
