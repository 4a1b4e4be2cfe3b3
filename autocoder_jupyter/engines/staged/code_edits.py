"""Applies edits to a module's text. The rest of the text stays unchanged."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

from autocoder_jupyter.engine.repair import PatchError
from autocoder_jupyter.types import Edit
from autocoder_jupyter.untrusted.parsing import complaint, parse, same_code


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """Apply edits in order.

    Args:
        source: a module.
        edits: each `find` must occur in the text exactly once; trailing white space is ignored.

    Raises:
        PatchError: an edit does not fit, or the result does not parse.
    """
    if not edits:
        raise PatchError("there is no edit")
    text = source
    for number, edit in enumerate(edits, start=1):
        lines = [line.rstrip() for line in edit.find.strip("\n").split("\n")]
        if not any(lines):
            raise PatchError(f"edit {number} has nothing to find")
        places = list(re.finditer(r"[ \t]*\n".join(map(re.escape, lines)), text))
        if len(places) != 1:
            find = "\n".join(lines)
            raise PatchError(
                f"the text of edit {number} stands {len(places)} times in the module, it must stand once: {find!r}"
            )
        first, last = places[0].span()
        text = text[:first] + edit.replace.strip("\n") + text[last:]
    try:
        parse(text)
    except SyntaxError as error:
        raise PatchError(f"after the edits the module does not parse: {complaint(error)}") from None
    return text


def add_imports(source: str, imports: Sequence[str]) -> str:
    """Add imports above the first import of a module, or below its docstring. Existing ones are not added again.

    Args:
        source: a module that parses.
        imports: texts of one or more import statements.

    Raises:
        PatchError: a text is not an import.
    """
    body = parse(source).body
    present = {ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)}
    new: dict[str, None] = {}
    for text in imports:
        try:
            nodes = parse(textwrap.dedent(text).strip()).body
        except SyntaxError as error:
            raise PatchError(f"the import {text!r} does not parse: {complaint(error)}") from None
        if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes):
            raise PatchError(f"{text!r} among the imports is no import")
        new |= dict.fromkeys(ast.unparse(node) for node in nodes)
    added = [line for line in new if line not in present]
    lines = source.split("\n")
    at = _first_line_for_imports(body)
    return "\n".join([*lines[:at], *added, *lines[at:]])


def _first_line_for_imports(body: Sequence[ast.stmt]) -> int:
    """The number of lines above: a docstring and `from __future__`, which must be first."""
    above = 0
    for node in body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and above == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        above = node.end_lineno or above
    return above


def changed_in_substance(old: str, new: str) -> bool:
    """Whether two modules differ in more than comments, layout of docstrings and formatting."""
    return not same_code(old, new)
