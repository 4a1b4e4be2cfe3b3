"""Find the columns that a function reads, by static analysis of its source.

A column counts as read if its name is in the source: as a key, an attribute, a word of a longer text, or a text that
an f-string could produce. This is only valid if the code uses its tables by column names alone. Code that uses all
columns (`df.columns`, `df.dropna()`, `df.groupby("k").sum()`, a table passed to an unknown function) reads every
column; so does code that `table_flow` does not understand.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from autocoder_jupyter.data.table_flow import reads_by_name_only
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import InputSpec, TypeName
from autocoder_jupyter.untrusted.parsing import literal, parse

MASKED = re.compile(r"<[\w-]+>")
"""What a masked name contains instead of the private part."""

_LONGEST_NAME = 200

Spelling = tuple[str, ...]
"""The constant parts of a composed text. Any text may be between two of them."""


@dataclass(frozen=True)
class ColumnsRead:
    """The columns that a source reads.

    Args:
        all: whether it reads every column.
        names: texts in the source that may be column names.
        spellings: the parts of texts that it may compose.
    """

    all: bool
    names: frozenset[str] = frozenset()
    spellings: frozenset[Spelling] = frozenset()

    def covers(self, literal: str) -> bool:
        """Whether a column may be read.

        Args:
            literal: its label as Python source (`'revenue'`, `('a', 1)`), as in `drift.shape_of`.
        """
        if self.all:
            return True
        texts = _texts(literal)
        return not texts or any(text in self.names or any(_spells(s, text) for s in self.spellings) for text in texts)


EVERY_COLUMN = ColumnsRead(all=True)


def columns_read(code: str, inputs: Iterable[InputSpec]) -> ColumnsRead:
    """The columns that a generated module reads.

    Args:
        code: its source, with a function `run`.
        inputs: the parameters of `run`.
    """
    return _columns_read(code, tuple((spec.name, spec.type) for spec in inputs))


@functools.lru_cache(maxsize=64)
def _columns_read(code: str, inputs: tuple[tuple[str, TypeName], ...]) -> ColumnsRead:
    tables = [name for name, kind in inputs if kind == "DataFrame"]
    foreign = [name for name, kind in inputs if kind != "DataFrame" and KINDS[kind].names_columns]
    try:
        module = parse(code)
        if not reads_by_name_only(module, tables, foreign):
            return EVERY_COLUMN
    except (SyntaxError, RecursionError):
        return EVERY_COLUMN
    names = frozenset(_named(module))
    return ColumnsRead(False, names | frozenset(_before_suffixes(names)), frozenset(_put_together(module)))


@functools.lru_cache(maxsize=10_000)
def _texts(written: str) -> Collection[str]:
    """The texts by which a source can name a label; empty if it can be used without a text."""
    try:
        label = literal(written)
    except ValueError:
        return ()
    parts = label if isinstance(label, tuple) else (label,)
    return parts if all(isinstance(part, str) and not MASKED.search(part) for part in parts) else ()


def _named(module: ast.Module) -> Iterator[str]:
    """Texts, the words in them, and the names of attributes and keywords."""
    said = _docstrings(module)
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in said:
                yield text
                yield from re.findall(r"\w+", text)
                yield from re.findall(r"`([^`]+)`", text)  # `query` quotes names with spaces like this
            case ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
                yield name


def _before_suffixes(names: frozenset[str]) -> Iterator[str]:
    """Column names without the suffixes that a merge adds: `notes_x` was `notes`."""
    suffixes = {"_x", "_y", *(name for name in names if name.startswith("_"))}
    for name in names:
        places = [place for place, letter in enumerate(name[:_LONGEST_NAME]) if letter == "_"]
        yield from (name[:place] for place in places if name[place:] in suffixes)


def _put_together(module: ast.Module) -> Iterator[Spelling]:
    for node in ast.walk(module):
        match node:
            case ast.JoinedStr(values=parts):
                yield tuple(_literal(part) for part in parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if _literal(left) or _literal(right):
                yield (_literal(left), _literal(right))
            case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod()):
                yield tuple(re.split(r"%[^a-zA-Z%]*[a-zA-Z]", text))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")):
                yield tuple(re.split(r"\{[^{}]*\}", text))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="join")):
                yield ("", text, "")


def _docstrings(module: ast.Module) -> set[int]:
    owners = (node for node in ast.walk(module) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef))
    first = (owner.body[0] for owner in owners if owner.body)
    return {id(statement.value) for statement in first if isinstance(statement, ast.Expr)}


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _spells(parts: Spelling, text: str) -> bool:
    """Whether the text contains the parts in this order, the first at its start and the last at its end."""
    first, *between, last = parts if len(parts) > 1 else (*parts, "")
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in between:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True
