"""Write the schema of a sample as pandera source code, for the user to read or to copy."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from autocoder_jupyter.data.checks import ColumnCheck, Scalar
from autocoder_jupyter.data.schema import ColumnSchema, TableSchema

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
    lines = [f"        {_line(column)}" for column in schema.columns]
    frame_checks = f"    checks=[{', '.join(rows)}],\n" if rows else ""
    columns = "".join(f"{line}\n" for line in lines)
    body = f"    {{\n{_comments(schema, ' ' * 8)}{columns}    }},\n{frame_checks}    strict=False,\n"
    return f"{_HEADER}schema = pa.DataFrameSchema(\n{body})\n"


def _line(column: ColumnSchema) -> str:
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
