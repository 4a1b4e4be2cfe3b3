"""A pandera schema of a table, as source that runs: what the sample shows, and not more.

It is conservative: a column's dtype, whether anything is missing, and those constraints that hold on the sample.
Further columns are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.cells import is_literal, label_literal
from autocoder_jupyter.data.checks import ColumnCheck, Undecided, evaluate, find_column, pandera_check
from autocoder_jupyter.data.column_profile import dtype_text
from autocoder_jupyter.data.sample import missing_in

SCHEMA_COLUMNS = 300
"""Columns beyond are left out of the source, with a comment; the schema lets them pass."""

_HEADER = "import pandas as pd\nimport pandera.pandas as pa\n\n"


def schema_source(value: pd.DataFrame | pd.Series[Any], checks: Sequence[ColumnCheck] = ()) -> str:
    """Source that defines `schema`, which accepts the very table it was made from.

    Args:
        value: the sample.
        checks: conditions on this sample. One that the sample violates becomes a comment.
    """
    if isinstance(value, pd.Series):
        arguments = _column_arguments(value, missing_in(value).any(), _checks_of(value, value, checks))
        return f"{_HEADER}schema = pa.SeriesSchema({arguments})\n"
    lines = [f"{_HEADER}schema = pa.DataFrameSchema(", "    {"]
    lines += _column_lines(value, checks)
    lines += ["    },", *_frame_checks(value, checks), "    strict=False,", ")"]
    return "\n".join(lines) + "\n"


def _column_lines(frame: pd.DataFrame, checks: Sequence[ColumnCheck]) -> list[str]:
    lines: list[str] = []
    places: dict[str, list[int]] = {}
    for place, label in enumerate(frame.columns[:SCHEMA_COLUMNS]):
        if is_literal(label):
            places.setdefault(label_literal(label), []).append(place)
        else:
            lines.append(f"        # column {place + 1} is not named in source: {_comment(label_literal(label))}")
    for literal, same in places.items():
        lines += _column_line(frame, literal, same, checks)
    if frame.shape[1] > SCHEMA_COLUMNS:
        lines.append(f"        # {frame.shape[1] - SCHEMA_COLUMNS} more columns are not listed")
    return lines


def _column_line(frame: pd.DataFrame, literal: str, places: list[int], checks: Sequence[ColumnCheck]) -> list[str]:
    columns = [frame.iloc[:, place] for place in places]
    nullable = any(bool(missing_in(column).any()) for column in columns)
    if len(columns) > 1:
        # A name that stands twice: pandera applies the line to each of the columns.
        same = all(column.dtype == columns[0].dtype for column in columns)
        arguments = _column_arguments(columns[0], nullable, []) if same else f"nullable={nullable}"
        return [f"        {literal}: pa.Column({arguments}),  # {len(columns)} columns have this name"]
    held, broken = _split(frame, columns[0], checks)
    lines = [f"        # does not hold on the sample: {_comment(check.sentence or check.kind)}" for check in broken]
    return [*lines, f"        {literal}: pa.Column({_column_arguments(columns[0], nullable, held)}),"]


def _column_arguments(column: pd.Series[Any], nullable: Any, checks: list[ColumnCheck]) -> str:
    dtype = _dtype_source(column.dtype)
    arguments = [dtype, f"nullable={bool(nullable)}"]
    sources = [source for check in checks if (source := pandera_check(check, _zone(column))) is not None]
    if sources:
        arguments.append(f"checks=[{', '.join(sources)}]")
    if any(check.kind == "unique" for check in checks) and not missing_in(column).any():
        arguments.append("unique=True")
    return ", ".join(arguments)


def _zone(column: pd.Series[Any]) -> str | None:
    zone = getattr(column.dtype, "tz", None)
    return None if zone is None else str(zone)


def _dtype_source(dtype: Any) -> str:
    """A dtype as an argument for pandera, or None with its name where pandera knows no such dtype."""
    if isinstance(dtype, pd.CategoricalDtype):
        # The categories may be many, and private; that it is one is enough.
        return "None" if dtype.ordered else '"category"'
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcmM" and dtype.itemsize <= 16:
        return f'"{dtype}"'
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f'"string[{dtype.storage}]"'
    plain = pd.DatetimeTZDtype | pd.PeriodDtype | pd.StringDtype
    if isinstance(dtype, plain) or str(dtype) in _NULLABLE:
        return f'"{dtype_text(dtype)}"'
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return '"object"'
    return "None"


_NULLABLE = {f"{sign}Int{size}" for sign in ("", "U") for size in (8, 16, 32, 64)} | {"Float32", "Float64", "boolean"}


def _split(
    frame: pd.DataFrame, column: pd.Series[Any], checks: Sequence[ColumnCheck]
) -> tuple[list[ColumnCheck], list[ColumnCheck]]:
    """The checks of one column that its sample satisfies, and those that it does not."""
    mine = [check for check in checks if check.column is not None and _is_same(frame, check.column, column)]
    mine = [check for check in mine if _is_decided(check, frame)]
    held = [check for check in mine if evaluate(check, frame).passed and _pandera_agrees(check, column)]
    return held, [check for check in mine if check not in held]


def _is_decided(check: ColumnCheck, table: pd.DataFrame | pd.Series[Any]) -> bool:
    try:
        evaluate(check, table)
    except Undecided:
        return False
    return True


def _checks_of(value: pd.Series[Any], column: pd.Series[Any], checks: Sequence[ColumnCheck]) -> list[ColumnCheck]:
    mine = [check for check in checks if check.column is not None and find_column(value, check.column) is not None]
    mine = [check for check in mine if _is_decided(check, value)]
    return [check for check in mine if evaluate(check, value).passed and _pandera_agrees(check, column)]


def _is_same(frame: pd.DataFrame, name: str, column: pd.Series[Any]) -> bool:
    found = find_column(frame, name)
    return found is not None and label_literal(found.name) == label_literal(column.name)


def _pandera_agrees(check: ColumnCheck, column: pd.Series[Any]) -> bool:
    """Whether pandera's form of a check means the same on this dtype as ours, which is more forgiving."""
    textual = column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
    if check.kind == "isin":
        return bool(column.dropna().isin(list(check.values)).all())
    if check.kind == "regex":
        return textual and not isinstance(column.dtype, pd.CategoricalDtype)
    if check.kind in ("not_null", "unique"):
        return True
    return not textual and not isinstance(column.dtype, pd.PeriodDtype)


def _frame_checks(frame: pd.DataFrame, checks: Sequence[ColumnCheck]) -> list[str]:
    """Conditions on the number of rows that need no other table."""
    signs = {"row_count": "==", "min_rows": ">=", "max_rows": "<="}
    sources = [
        f"pa.Check(lambda frame: len(frame) {signs[check.kind]} {check.value!r})"
        for check in checks
        if check.kind in signs and evaluate(check, frame).passed
    ]
    return [f"    checks=[{', '.join(sources)}],"] if sources else []


def _comment(text: str) -> str:
    return " ".join(text.split())[:200]
