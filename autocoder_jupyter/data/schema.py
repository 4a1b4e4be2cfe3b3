"""The schema of a sample as a record, with which new tables can be validated.

It contains each column's dtype, whether values are missing, and the constraints that the sample satisfies. Further
columns are allowed. It is plain data, so it can be read from a file that is not trusted. `schema_source` writes it as
pandera code, and `contracts.sample_schema` builds a schema object from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from autocoder_jupyter.data.checks import ColumnCheck, Scalar, Undecided, evaluate, find_column, match_by_re2
from autocoder_jupyter.data.column_profile import dtype_text
from autocoder_jupyter.data.sample import missing_in
from autocoder_jupyter.data.text_formats import is_literal, label_literal
from autocoder_jupyter.redaction.masking import Masker

SCHEMA_COLUMNS = 300
"""Maximum number of columns. Others are left out with a note, and are not validated."""

LONGEST_LABEL = 2_000
"""Maximum length of a column name. Columns with longer names are left out, too."""

_OF_ROWS = ("row_count", "min_rows", "max_rows")


class ColumnSchema(BaseModel):
    """The schema of one column.

    Args:
        label: its name as a Python literal, as `data.text_formats.label_literal` writes it.
        dtype: the pandas name of the dtype; None if pandera does not know it.
        times: the number of columns with this name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field(max_length=LONGEST_LABEL)
    dtype: str | None = Field(default=None, max_length=200)
    nullable: bool = True
    unique: bool = False
    checks: tuple[ColumnCheck, ...] = ()
    times: int = 1


class TableSchema(BaseModel):
    """The schema of one table.

    Args:
        columns: the first of its columns; the only one of a Series.
        left_out: constraints that pandera cannot express.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["DataFrame", "Series"]
    columns: tuple[ColumnSchema, ...] = Field(default=(), max_length=SCHEMA_COLUMNS)
    rows: tuple[ColumnCheck, ...] = ()
    broken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def table_schema(value: pd.DataFrame | pd.Series[Any], checks: Sequence[ColumnCheck] = ()) -> TableSchema:
    """The schema of a sample. The sample itself always satisfies it."""
    held, broken, left_out = _sorted_checks(value, checks)
    excluded = {"broken": tuple(map(_sentence, broken)), "left_out": tuple(map(_sentence, left_out))}
    if isinstance(value, pd.Series):
        column = _column("None", value, bool(missing_in(value).any()), [check for check in held if check.column])
        return TableSchema(kind="Series", columns=(column,), rows=_of_rows(held), **excluded)
    places: dict[str, list[int]] = {}
    notes = []
    for place, label in enumerate(value.columns[:SCHEMA_COLUMNS]):
        literal = label_literal(label)
        if not is_literal(label):
            notes.append(f"column {place + 1} is not named in source: {_line(literal)}")
        elif len(literal) > LONGEST_LABEL:
            notes.append(f"column {place + 1} has a name of {len(literal)} characters")
        elif _is_private(literal):
            notes.append(f"column {place + 1} has a name that may be private")
        else:
            places.setdefault(literal, []).append(place)
    if value.shape[1] > SCHEMA_COLUMNS:
        notes.append(f"{value.shape[1] - SCHEMA_COLUMNS} more columns are not listed")
    columns = tuple(_of_places(value, literal, same, held) for literal, same in places.items())
    return TableSchema(kind="DataFrame", columns=columns, rows=_of_rows(held), notes=tuple(notes), **excluded)


def _of_places(frame: pd.DataFrame, literal: str, places: list[int], held: Sequence[ColumnCheck]) -> ColumnSchema:
    """One column, or all columns of one name, to which pandera applies the same rules."""
    columns = [frame.iloc[:, place] for place in places]
    nullable = any(bool(missing_in(column).any()) for column in columns)
    if len(columns) > 1:
        same = all(column.dtype == columns[0].dtype for column in columns)
        dtype = _dtype(columns[0].dtype) if same else None
        return ColumnSchema(label=literal, dtype=dtype, nullable=nullable, times=len(columns))
    mine = [check for check in held if check.column is not None and _is_same(frame, check.column, columns[0])]
    return _column(literal, columns[0], nullable, mine)


def _column(literal: str, column: pd.Series[Any], nullable: bool, held: Sequence[ColumnCheck]) -> ColumnSchema:
    return ColumnSchema(
        label=literal,
        dtype=_dtype(column.dtype),
        nullable=nullable,
        unique=any(check.kind == "unique" for check in held),
        checks=tuple(check for check in held if check.kind not in ("not_null", "unique")),
    )


def _dtype(dtype: Any) -> str | None:
    """The name of a dtype, as pandera knows it."""
    if isinstance(dtype, pd.CategoricalDtype):
        # The categories may be many, or private; the name of the dtype is enough.
        return None if dtype.ordered else "category"
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcmM" and dtype.itemsize <= 16:
        return str(dtype)
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f"string[{dtype.storage}]"
    plain = pd.DatetimeTZDtype | pd.PeriodDtype | pd.StringDtype
    if isinstance(dtype, plain) or str(dtype) in _NULLABLE:
        return dtype_text(dtype)
    return "object" if isinstance(dtype, np.dtype) and dtype.kind == "O" else None


_NULLABLE = {f"{sign}Int{size}" for sign in ("", "U") for size in (8, 16, 32, 64)} | {"Float32", "Float64", "boolean"}


def _sorted_checks(
    value: pd.DataFrame | pd.Series[Any], checks: Sequence[ColumnCheck]
) -> tuple[list[ColumnCheck], list[ColumnCheck], list[ColumnCheck]]:
    """The checks in the schema, those that the sample violates, and those that pandera cannot express."""
    held: list[ColumnCheck] = []
    broken: list[ColumnCheck] = []
    left_out: list[ColumnCheck] = []
    for check in checks:
        try:
            holds = evaluate(check, value).passed if check.kind != "same_rows_as" else True
        except Undecided:
            left_out.append(check)
            continue
        if not holds:
            broken.append(check)
        elif _is_expressible(check, value):
            held.append(check)
        else:
            left_out.append(check)
    return held, broken, left_out


def _is_private(text: str) -> bool:
    """Whether a text would be masked in the file, so that it would differ when it is read back."""
    return Masker().mask(text) != text


def _is_expressible(check: ColumnCheck, value: pd.DataFrame | pd.Series[Any]) -> bool:
    """Whether pandera's check has the same result on this table as ours, which accepts more."""
    if any(_is_private(part) for part in (*check.values, check.pattern) if isinstance(part, str)):
        return False
    if check.column is None:
        return check.kind in _OF_ROWS
    column = find_column(value, check.column)
    is_level = isinstance(value, pd.DataFrame) and not any(
        label_literal(column.name) == label_literal(label) for label in value.columns if column is not None
    )
    if column is None or is_level:
        return False
    textual = column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
    if check.kind == "isin":
        return bool(column.dropna().isin(list(check.values)).all())
    if check.kind == "regex":
        return textual and not isinstance(column.dtype, pd.CategoricalDtype) and is_re2(check.pattern or "")
    if check.kind == "unique":
        return not missing_in(column).any()
    return check.kind == "not_null" or (not textual and not isinstance(column.dtype, pd.PeriodDtype))


def is_re2(pattern: str) -> bool:
    """Whether RE2 supports a pattern, so that it is applied in linear time."""
    try:
        match_by_re2(pattern, pd.Series(["a"], dtype=object))
    except Undecided:
        return False
    return True


def _is_same(frame: pd.DataFrame, name: str, column: pd.Series[Any]) -> bool:
    found = find_column(frame, name)
    return found is not None and label_literal(found.name) == label_literal(column.name)


def _of_rows(held: Sequence[ColumnCheck]) -> tuple[ColumnCheck, ...]:
    return tuple(check for check in held if check.kind in _OF_ROWS)


def _sentence(check: ColumnCheck) -> str:
    return _line(check.sentence or check.kind)


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


# Source code for pandera, for the user to read or to copy

_HEADER = "import pandas as pd\nimport pandera.pandas as pa\n\n"
_ROWS = {"row_count": "==", "min_rows": ">=", "max_rows": "<="}
_BOUNDS = {"greater_than": "gt", "at_least": "ge", "less_than": "lt", "at_most": "le"}
_ZONE = re.compile(r"datetime64\[\w+, (.+)\]")


def schema_source(schema: TableSchema) -> str:
    """Source code that defines `schema`. It is never executed here, because the record is not trusted."""
    rows = [f"pa.Check(lambda table: len(table) {_ROWS[check.kind]} {check.value!r})" for check in schema.rows]
    if schema.kind == "Series":
        column = schema.columns[0]
        arguments = _arguments(column, [*map(_check, column.checks, [column] * len(column.checks)), *rows])
        return f"{_HEADER}{_comments(schema, '')}schema = pa.SeriesSchema({arguments})\n"
    lines = [f"        {_column_line(column)}" for column in schema.columns]
    frame_checks = f"    checks=[{', '.join(rows)}],\n" if rows else ""
    columns = "".join(f"{line}\n" for line in lines)
    body = f"    {{\n{_comments(schema, ' ' * 8)}{columns}    }},\n{frame_checks}    strict=False,\n"
    return f"{_HEADER}schema = pa.DataFrameSchema(\n{body})\n"


def _column_line(column: ColumnSchema) -> str:
    arguments = _arguments(column, [_check(check, column) for check in column.checks])
    twins = f"  # {column.times} columns have this name" if column.times > 1 else ""
    return f"{column.label}: pa.Column({arguments}),{twins}"


def _arguments(column: ColumnSchema, checks: Iterable[str]) -> str:
    arguments = ["None" if column.dtype is None else f'"{column.dtype}"', f"nullable={column.nullable}"]
    if sources := ", ".join(checks):
        arguments.append(f"checks=[{sources}]")
    return ", ".join([*arguments, *(["unique=True"] if column.unique else [])])


def _check(check: ColumnCheck, column: ColumnSchema) -> str:
    if check.kind == "between":
        return f"pa.Check.in_range({_literal(check.low, column)}, {_literal(check.high, column)})"
    if check.kind == "regex":
        return f"pa.Check.str_matches({check.pattern!r})"
    if check.kind == "isin":
        return f"pa.Check.isin([{', '.join(map(repr, check.values))}])"
    return f"pa.Check.{_BOUNDS[check.kind]}({_literal(check.value, column)})"


def _literal(value: Scalar | None, column: ColumnSchema) -> str:
    if not isinstance(value, str):
        return repr(value)
    zone = zone_of(column)
    shown = f", tz={zone!r}" if zone and pd.Timestamp(value).tzinfo is None else ""
    return f"pd.Timestamp({value!r}{shown})"


def zone_of(column: ColumnSchema) -> str:
    """The time zone of a column, for bounds without a time zone; "" for none."""
    found = _ZONE.fullmatch(column.dtype or "")
    return found.group(1) if found else ""


def _comments(schema: TableSchema, indent: str) -> str:
    lines = [
        *(f"does not hold on the sample: {text}" for text in schema.broken),
        *(f"no check of pandera's says this: {text}" for text in schema.left_out),
        *schema.notes,
    ]
    return "".join(f"{indent}# {' '.join(line.split())}\n" for line in lines)
