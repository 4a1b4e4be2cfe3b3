"""Changes to source text: edits of a solution, replacement of single tests. Text that is not touched stays as it is."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from autocoder_jupyter.types import Edit
from autocoder_jupyter.untrusted.parsing import complaint, parse, same_substance


class PatchError(ValueError):
    """A change does not fit the text; the message says which and why, in words for the model."""


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """Apply edits one after the other.

    Args:
        source: a module.
        edits: each `find` must stand in the text exactly once; differences in trailing white space are forgiven.

    Raises:
        PatchError: an edit does not fit, or the outcome does not parse.
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
    """Add imports above the first of a module, or below its docstring; those that stand there already are left out.

    Args:
        source: a module that parses.
        imports: one or more import statements each.

    Raises:
        PatchError: something else than an import.
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
    """How many lines stand above: a docstring and `from __future__`, which must be first."""
    above = 0
    for node in body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and above == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        above = node.end_lineno or above
    return above


def changed_in_substance(old: str, new: str) -> bool:
    """Whether two modules differ in more than comments, docstrings' layout and formatting."""
    return not same_substance(old, new)


def replace_tests(source: str, replacements: Mapping[str, str | None]) -> str:
    """Put new test functions in the place of old ones.

    Comments, imports and everything between the functions stay; decorators belong to their function.

    Args:
        source: the test module.
        replacements: by test id (`test_x`, `TestC::test_x`) the new function with its decorators, or None to drop it.

    Raises:
        PatchError: an id is not in the module, a replacement is not one function of that name, or the outcome does
            not parse.
    """
    spans = dict(test_spans(parse(source)))
    lines = source.split("\n")
    for name in sorted(replacements, key=lambda name: spans.get(name, (0, 0, 0)), reverse=True):
        if name not in spans:
            raise PatchError(f"there is no test {name!r}")
        first, last, indent = spans[name]
        new = replacements[name]
        body = [] if new is None else _function_lines(new, name.rpartition("::")[2], indent)
        lines[first - 1 : last] = body
    text = "\n".join(lines)
    try:
        parse(text)
    except SyntaxError as error:
        raise PatchError(f"after the change the tests do not parse: {complaint(error)}") from None
    return text


def test_spans(module: ast.Module) -> Iterable[tuple[str, tuple[int, int, int]]]:
    """(test id, (first line, last line, indentation)), decorators included; 1-based."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}::{member.name}", _span(member)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _span(node)


def _span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno, node.col_offset


def _function_lines(code: str, name: str, indent: int) -> list[str]:
    text = textwrap.dedent(code).strip("\n")
    try:
        body = parse(text).body
    except SyntaxError as error:
        raise PatchError(f"the new {name} does not parse: {complaint(error)}") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef) or body[0].name != name:
        raise PatchError(f"the replacement of {name} must be that one function, without imports or other code")
    return [" " * indent + line if line.strip() else "" for line in text.split("\n")]


def excerpt(source: str, names: Iterable[str]) -> str:
    """A test module without the tests that are not named: imports and helpers stay, so that the rest can be read."""
    wanted = set(names)
    others = [
        span
        for name, span in test_spans(parse(source))
        if name not in wanted and name.rpartition("::")[2].startswith("test")
    ]
    left_out = {number for first, last, _ in others for number in range(first, last + 1)}
    lines = [line for number, line in enumerate(source.split("\n"), start=1) if number not in left_out]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
