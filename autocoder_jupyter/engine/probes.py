"""Probes: expressions with which the model looks at the data before it plans. What it may ask for, and how it is told.

`planning` evaluates them; a fix is told tables in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.data.text_formats import shorten
from autocoder_jupyter.models.answers import fenced_blocks
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.untrusted import plain_json
from autocoder_jupyter.untrusted.parsing import complaint, parse_expression

# What the model may ask for

MOST_PROBES, ROUNDS = 5, 2

SECONDS = 10.0
"""The most that one expression may take."""

REPLY = OutputSpec(name="reply", type="str")

_LONGEST_PROBE, _LONGEST_ANSWER = 1_000, 100_000
_TAGS = ("probe", "probes")

BUILTINS = (
    *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min"),
    *("range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip"),
)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_OF_LIBRARIES: Mapping[str, frozenset[str]] = {
    "pd": _set(
        "DataFrame DateOffset Grouper Index Interval NA NaT NamedAgg Series Timedelta Timestamp concat crosstab cut "
        "date_range factorize isna isnull merge merge_asof notna notnull pivot_table qcut to_datetime to_numeric "
        "to_timedelta unique"
    ),
    "np": _set(
        "abs arange array ceil corrcoef diff exp floor inf isclose isfinite isinf isnan log log10 log1p max mean "
        "median min nan nanmax nanmean nanmin number percentile quantile round sign sort sqrt std sum unique var where"
    ),
}
_REFUSED = _set("dump dumps eval format format_map pipe save savez style tofile")
_CONVERSIONS = _set(
    "to_datetime to_dict to_frame to_list to_numeric to_numpy to_period to_records to_series to_string to_timedelta "
    "to_timestamp"
)
"""The methods with `to_` that write no file."""


class NotAProbe(ValueError):
    """A line is not an expression that is evaluated; the message is text for the model."""


def probes_in(answer: str) -> tuple[str, ...]:
    """The lines of an answer that only asks for probes; () for any other answer."""
    answer = answer[:_LONGEST_ANSWER]
    blocks = fenced_blocks(answer)
    if not blocks or any(one.tag not in _TAGS for one in blocks):
        return ()
    inside = {line for one in blocks for line in one.body.splitlines()}
    rest = [line for line in answer.splitlines() if line not in inside]
    if any(line.startswith(("def ", '"""', "'''")) for line in rest):  # a module without a fence
        return ()
    lines = [line.strip() for one in blocks for line in one.body.splitlines()]
    lines = [line[6:-1] if line.startswith("print(") and line.endswith(")") else line for line in lines]
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def tables_used(expression: str, names: Iterable[str]) -> frozenset[str]:
    """The names of the tables in a probe.

    The sandbox is what confines it. This refuses early what no question about data needs.

    Raises:
        NotAProbe: it is not evaluated.
    """
    if len(expression) > _LONGEST_PROBE:
        raise NotAProbe(f"it has more than {_LONGEST_PROBE:,} characters")
    try:
        tree = parse_expression(expression)
    except SyntaxError as error:
        raise NotAProbe(f"it is not one expression of Python: {complaint(error)}") from None
    nodes, tables = list(ast.walk(tree)), frozenset(names)
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            _require_harmless(node)
        elif isinstance(node, ast.Name):
            is_library = node.id in _OF_LIBRARIES and id(node) in owners and node.id not in bound
            if not is_library and node.id not in tables | bound | {*BUILTINS}:
                raise NotAProbe(f"there is no {node.id}")
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "query":
            text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            if not isinstance(text, str) or "@" in text or "__" in text:
                raise NotAProbe("query() takes one text without @")
        elif isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            raise NotAProbe("it is not an expression over tables")
    used = tables.intersection(node.id for node in nodes if isinstance(node, ast.Name))
    if not used:
        raise NotAProbe(f"it uses none of {', '.join(sorted(tables))}")
    return used


def _require_harmless(node: ast.Attribute) -> None:
    name, owner = node.attr, node.value
    if isinstance(owner, ast.Name) and owner.id in _OF_LIBRARIES:
        is_refused = name not in _OF_LIBRARIES[owner.id]
    else:
        is_other_form = name.startswith(("to_", "read_")) and name not in _CONVERSIONS
        is_refused = name.startswith("_") or name in _REFUSED or is_other_form
    if is_refused:
        raise NotAProbe(f"{name[:_LONGEST_NAME]} is not available")


def probed_names(samples: Mapping[str, Any], config: AgentConfig) -> tuple[str, ...]:
    """The tables that the model may probe; none if that is not offered.

    It is offered only where rows are shared. A number or a truth value of an expression that the model chose can tell
    any value, letter by letter, so no answer is safe at the other levels. A smaller limit on rows could not be kept.
    """
    may_see = config.share == "rows" and config.max_sample_rows >= MOST_PROBES * ROUNDS * MOST_ROWS
    if not may_see or not EFFORTS[config.effort].is_examined:
        return ()
    return tuple(
        name
        for name, value in samples.items()
        if isinstance(value, pd.DataFrame | pd.Series)
        and name.isidentifier()
        and name not in (*_OF_LIBRARIES, *BUILTINS)
        and not (isinstance(value, pd.Series) and str(value.name) in config.mask)
    )


def offer_text(names: Sequence[str]) -> str:
    """The end of the first question; "" without names."""
    return prompt("first_answer.probes", names=", ".join(f"`{name}`" for name in names)) if names else ""


# What the sandbox tells of a value

MOST_ROWS = 10
LONGEST = 1_500
"""Characters of the text about one value."""

_MOST_COLUMNS = 20
_LONGEST_CELL, _LONGEST_NAME, _LONGEST_TEXT = 60, 60, 1_000
_LONGEST_REPLY = 400_000


@dataclass(frozen=True)
class DescribedValue:
    """A value as a program in the sandbox describes it. All texts are of the program, and not masked.

    Args:
        size: rows and columns of a table, the number of values of a Series; () for any other value.
        columns: name and dtype of the first columns.
        index: the names of the index; () if that only numbers the rows.
        rows: the cells of the first rows, those of the index first.
        text: the beginning of a value that is not a table.
    """

    kind: str
    size: tuple[int, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()
    index: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""

    @classmethod
    def read(cls, found: Any) -> DescribedValue:
        """What a program told.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(found, dict):
            raise ValueError("no description of a value")
        size = found.get("size", [])
        if not isinstance(size, list) or not all(type(count) is int and 0 <= count < 2**53 for count in size):
            raise ValueError("a size that is none")
        columns = tuple(texts_in(column, 2) for column in listed(found.get("columns", []), _MOST_COLUMNS))
        if any(len(column) != 2 for column in columns):
            raise ValueError("a column without a dtype")
        index = texts_in(found.get("index", []), _MOST_COLUMNS)
        rows = tuple(texts_in(row, 2 * _MOST_COLUMNS) for row in listed(found.get("rows", []), MOST_ROWS))
        if any(len(row) != len(index) + len(columns) for row in rows):
            raise ValueError("a row that does not fit its columns")
        kind, text = texts_in([found.get("kind"), found.get("text", "")], 2)
        return cls(kind[:_LONGEST_NAME], tuple(size[:2]), columns, index, rows, text)

    def written(self, masker: Masker, *, rows: int = MOST_ROWS) -> str:
        """The text for the model."""
        if not self.size:
            return cut(f"{shown(self.kind, masker)}: {shown(self.text, masker, LONGEST)}")
        names = [f"{shown(name, masker)} {shown(dtype, masker)}" for name, dtype in self.columns]
        if len(self.size) == 1:
            head = f"{shown(self.kind, masker)} of {self.size[0]} values, {names[0] if names else ''}"
        else:
            columns = ", ".join([*names, *(["…"] if self.size[1] > len(names) else [])])
            head = f"{shown(self.kind, masker)}, {self.size[0]} rows × {self.size[1]} columns: {columns}"
        first = self.rows[:rows]
        if not first:
            return cut(head)
        cells = [_column(texts, masker) for texts in zip(*first, strict=True)]
        titles = [shown(name or "index", masker) for name in (*self.index, *(name for name, _ in self.columns))]
        lines = [",".join(row) for row in (titles, *zip(*cells, strict=True))]
        rest = self.size[0] - len(first)
        return cut("\n".join([head, *lines, *([f"… and {rest} more"] if rest > 0 else [])]))


def short(text: str, longest: int) -> str:
    """A text of which something may be missing already, as its end says; that end is not believed."""
    return shorten(text, longest)[: longest + 20]


def listed(found: Any, most: int) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError("no list")
    return found[:most]


def texts_in(found: Any, most: int) -> tuple[str, ...]:
    texts = listed(found, most)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("no texts")
    return tuple(short(text, _LONGEST_TEXT) for text in texts)


def shown(text: str, masker: Masker, longest: int = _LONGEST_NAME) -> str:
    return neutral(short(masker.mask(text), longest))


def _column(texts: Sequence[str], masker: Masker) -> list[str]:
    mask = masker.for_column(texts)
    return [neutral(short(mask(text), _LONGEST_CELL)).replace(",", ";") for text in texts]


def cut(text: str) -> str:
    return short(text, LONGEST)


def reply_of(text: Any) -> dict[str, Any]:
    """The reply of `programs.look`, which is not trusted.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(text, str) or len(text) > _LONGEST_REPLY:
        raise ValueError("a reply that is too long")
    found = plain_json.parse(text, values=20_000)
    if not isinstance(found, dict):
        raise ValueError("no reply")
    return found
