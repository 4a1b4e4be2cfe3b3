"""The page parses a cell as the kernel does. The TypeScript tests use the same table of cells.

Its column `problem` is for the kernel only: the page asks the kernel for problems of a cell.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_cell, read_arguments, split_cell, split_words
from autocoder_jupyter.magics.options import FLAGS
from autocoder_jupyter.magics.problems import find_problems
from autocoder_jupyter.magics.references import find_references
from tests.cases import each

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))


def python_reading(cell: str) -> dict[str, Any]:
    """The kernel's result for a cell, in the terms of the table; `problem` is its first message with the hint."""
    arguments = magic_arguments(cell)
    if arguments is None:
        return {"ours": False}
    line, body = arguments
    options, prose = split_cell(line, body)
    reading: dict[str, Any] = {"ours": True, "request": prose, "references": list(find_references(prose))}
    try:
        reading["words"] = words = split_words(options)
        given = read_arguments(words, FLAGS).given
        reading["given"] = {name: texts(value) for name, value in given.items()}
    except InvalidRequest:
        pass
    try:
        reading |= {"name": parse_cell(line, body).name, "problem": None}
    except InvalidRequest as error:
        reading["problem"] = {"what": error.what, "hint": error.hint}
    return reading


def magic_arguments(cell: str) -> tuple[str, str] | None:
    """The line and the body with which IPython calls `%%autocode`; None if it does not call it."""
    try:
        call = ast.parse(TransformerManager().transform_cell(cell)).body[0]
    except SyntaxError:  # not a magic, and not Python either
        return None
    match call:
        case ast.Expr(ast.Call(ast.Attribute(attr="run_cell_magic"), [ast.Constant("autocode"), line, body])):
            return ast.literal_eval(line), ast.literal_eval(body)
    return None


def texts(value: object) -> list[str]:
    """The values of an option as they were written; none for a flag."""
    if value is True:
        return []
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


@each("case", CASES, ids=[case["case"] for case in CASES])
def test_the_kernel_reads_it_so(case: dict[str, Any]) -> None:
    expected = {key: value for key, value in case.items() if key not in ("case", "cell")}
    assert python_reading(case["cell"]) == expected


@each("case", CASES, ids=[case["case"] for case in CASES])
def test_an_editor_is_told_first_what_running_the_cell_would_say(case: dict[str, Any]) -> None:
    found = find_problems(case["cell"], {}) if case["ours"] else []
    said = [{"what": problem.what, "hint": problem.hint} for problem in found if problem.severity != "warning"]
    assert said[:1] == ([case["problem"]] if case.get("problem") else [])
