"""Finds the functions of the package that read text or bytes, by the names of the parsers that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import autocoder_jupyter

PARSERS = frozenset(
    (
        *("loads", "load", "raw_decode", "literal_eval", "parse", "parse_expression", "parse_module", "same_code"),
        *("require_expression", "symtable", "model_validate", "model_validate_json", "validate_python", "from_json"),
        *("read_text", "read_bytes", "readline", "recorded_lines", "entry_of", "lines_of", "read_string", "reader"),
        *("SequenceMatcher", "unified_diff", "get_tokens", "b64decode", "decompress", "decompressobj", "ParserCreate"),
        *("fromisoformat", "frombuffer", "open_stream", "open_file", "read_csv", "read_json", "read_suite", "decode"),
        *("read_excel", "read_parquet", "read_feather", "read_table", "entries", "ZipFile", "TextParser"),
    )
)
"""Names of parsers. A name is enough: a function that only happens to have it is listed with the reason."""

_DECODES = frozenset({"decode"})
"""Also a method of bytes, which takes linear time: it counts only as a function (`decode(…)`)."""

_INSIDE = (
    "sandbox/worker/",
    "sandbox/programs/",
    "engine/programs/",
    "tasks/script_parts",
)
"""Code that runs in a sandbox, or in a script without this package."""


def functions_that_read() -> frozenset[str]:
    """`module:function` of each, without the name of the package."""
    package = Path(autocoder_jupyter.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        place = path.relative_to(package).as_posix()
        if not place.startswith(_INSIDE):
            module = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found |= {f"{module}:{name}" for name in _reading(ast.parse(path.read_text("utf-8")), "")}
    return frozenset(found)


def _reading(node: ast.AST, name: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        if isinstance(child, ast.Call) and _is_parser(child.func):
            yield inner or "<module>"
        yield from _reading(child, inner)


def _is_parser(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in PARSERS
    if not isinstance(function, ast.Attribute) or function.attr not in PARSERS:
        return False
    return function.attr not in _DECODES or (isinstance(function.value, ast.Name) and function.value.id == "recording")
