"""`query`, which a function of a database's tables imports: one SELECT over them, computed by DuckDB in the sandbox.

In a call on a database, its `DatabaseAnswers` replace the tables; `query` returns the one to exactly this SELECT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

TYPES: dict[str, dict[str, str]] = {}
"""The types of columns by table. `engine.queries` sets them, so that a SELECT means the same as in the database."""


class DatabaseAnswers:
    """What a database answered, by the SELECT."""

    def __init__(self, by_select: Mapping[str, pd.DataFrame]) -> None:
        self.by_select = by_select


def run(select: str, /, **tables: Any) -> pd.DataFrame:
    """The rows of one SELECT, in the SQL of DuckDB, over the tables that are passed by their names in it."""
    given = next(iter(tables.values()), None)
    if isinstance(given, DatabaseAnswers):
        return given.by_select[select].copy()
    import duckdb

    with duckdb.connect(":memory:", config={"enable_external_access": "false", "threads": "1"}) as connection:
        for number, (name, table) in enumerate(tables.items()):
            connection.register(f"_given_{number}", table)
            connection.execute(f"CREATE VIEW {_quoted(name)} AS SELECT {_typed(name, table)} FROM _given_{number}")
        connection.execute("SET lock_configuration = true")
        return frame_of(connection.sql(select).to_arrow_table())


def _typed(name: str, table: pd.DataFrame) -> str:
    """The columns of a table with their types in the database."""
    types = TYPES.get(name, {})
    columns = [(_quoted(column), types.get(column)) for column in map(str, table.columns)]
    return ", ".join(f"CAST({column} AS {kind}) AS {column}" if kind else column for column, kind in columns) or "NULL"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def frame_of(table: Any) -> pd.DataFrame:
    """A table of Arrow with the dtypes that it has from any engine: whole numbers are int64, other numbers float64."""
    columns = {place: _plain(column) for place, column in enumerate(table.columns)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))
    frame.columns = pd.Index(table.column_names)
    return frame


def _plain(column: Any) -> Any:
    kind, has_gaps = column.type, column.null_count > 0
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        try:
            return column.cast("float64" if has_gaps else "int64").to_pandas()
        except pa.ArrowInvalid:  # too large for int64
            return column.cast("float64", safe=False).to_pandas()
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return column.cast("float64").to_pandas()
    if pa.types.is_boolean(kind):
        return pd.array(column.to_pylist(), dtype="boolean" if has_gaps else "bool")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = "UTC" if pa.types.is_timestamp(kind) and kind.tz else None
        if pa.types.is_date(kind):  # infinity would wrap around
            return column.cast(pa.timestamp("us")).to_pandas()
        return column.cast(pa.timestamp("us", zone), safe=False).to_pandas()
    return column.to_pandas()
