"""Replaces and selects single tests of a module in its text. The rest of the text stays unchanged."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping

from autocoder_jupyter.untrusted.parsing import complaint, parse


class PatchError(ValueError):
    """A change does not fit the text. The message says which and why; it is text for the model."""


def replace_tests(source: str, replacements: Mapping[str, str | None]) -> str:
    """Replace test functions by new ones.

    Comments, imports and everything between the functions stay. Decorators are replaced with their function.

    Args:
        source: the test module.
        replacements: for each test id (`test_x`, `TestC::test_x`) the new function with its decorators, or None to
            drop the test.

    Raises:
        PatchError: an id is not in the module, a replacement is not exactly one function of that name, or the result
            does not parse.
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
    """Pairs of test id and (first line, last line, indentation), including decorators. Lines count from 1."""
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
    """A test module with only the named tests. Imports and helpers stay, so that the tests can be understood."""
    wanted = set(names)
    others = [
        span
        for name, span in test_spans(parse(source))
        if name not in wanted and name.rpartition("::")[2].startswith("test")
    ]
    left_out = {number for first, last, _ in others for number in range(first, last + 1)}
    lines = [line for number, line in enumerate(source.split("\n"), start=1) if number not in left_out]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
