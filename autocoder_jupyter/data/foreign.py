"""Convert tables of other libraries to pandas without loss, and back.

Polars and PyArrow are converted through Arrow; whole numbers and truth values with missing values keep their type.
Other libraries are converted by `to_pandas()` or by the dataframe interchange protocol.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.data.elsewhere import elsewhere
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

MOST_CELLS = 2**26
"""Cells of a table that is computed for a call: half a gigabyte of numbers."""

Table = TypeVar("Table", pd.DataFrame, "pd.Series[Any]", "pd.DataFrame | pd.Series[Any]")

_kinds: dict[int, str] = {}
"""The original kind of a converted table, by the identity of the pandas table, as long as that exists."""


def converted(value: Any) -> pd.DataFrame | pd.Series[Any] | None:
    """A table of another library as a pandas table; None if the value is not such a table.

    Raises:
        InvalidRequest: it is a table that its library cannot convert.
    """
    if isinstance(value, type | pd.DataFrame | pd.Series):
        return None
    try:
        table = _converted(value)
    except InvalidRequest:
        raise
    except (Exception, KeyboardInterrupt) as error:  # another library may raise any exception
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # only there it is the person's; polars raises it in any thread in which it computes
        raise InvalidRequest(
            f"A {kind_of(value)} cannot be made a pandas table.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Convert it yourself, then hand over the pandas DataFrame.",
        ) from error
    return None if table is None else with_original_kind(table, kind_of(value))


def is_table(value: object) -> bool:
    """Whether it is a table, of pandas or of a library that converts."""
    if isinstance(value, type):
        return False
    return (
        isinstance(value, pd.DataFrame | pd.Series)
        or is_lazy(value)
        or any(callable(getattr(type(value), name, None)) for name in ("to_pandas", "__dataframe__"))
    )


def is_lazy(value: object) -> bool:
    """Whether it is a table whose rows are not in memory, such as a lazy frame or a query."""
    return elsewhere(value) is not None


def computed(value: Any) -> Any:
    """A table whose rows are not in memory as a table of pandas, if its library can count them and they are few.

    Any other value is returned unchanged. The rows are counted first.

    Raises:
        InvalidRequest: there are too many, or they cannot be counted.
    """
    kind = elsewhere(value)
    if kind is None:
        return value
    reader = _COUNTED.get((kind.library, kind.type_name))
    if reader is None:
        raise InvalidRequest(
            f"A {kind_of(value)} is not computed for a call.",
            why="Its rows are not in memory, and it may be large.",
            hint=f"Compute what you need, and pass that: table{kind.few}",
        )
    count, read = reader
    rows, columns = count(value)
    most = MOST_CELLS // max(columns, 1)
    _require_few(value, rows, columns, most)
    table = read(value, most + 1)  # it may have more rows than were counted: a file has grown, a function drew others
    _require_few(value, len(table), columns, most)
    return table


def _require_few(value: Any, rows: int, columns: int, most: int) -> None:
    if rows > most:
        raise InvalidRequest(
            f"A {kind_of(value)} of {rows:,} rows × {columns:,} columns is not computed for a call.",
            why=f"That is more than {MOST_CELLS:,} cells.",
            hint="Filter or aggregate it first, or compute it yourself and pass the table.",
        )


def _count_polars(value: Any) -> tuple[int, int]:
    import polars

    return value.select(polars.len()).collect().item(), len(value.collect_schema())


def _read_duckdb(value: Any, rows: int) -> pd.DataFrame:
    first = value.limit(rows)
    return _of_arrow_table(first.to_arrow_table() if hasattr(first, "to_arrow_table") else first.arrow())


_COUNTED: dict[tuple[str, str], tuple[Callable[[Any], tuple[int, int]], Callable[[Any, int], Any]]] = {
    ("polars", "LazyFrame"): (_count_polars, lambda value, rows: _converted(value.head(rows).collect())),
    ("duckdb", "DuckDBPyRelation"): (lambda value: value.shape, _read_duckdb),
    ("ibis", "Table"): (
        lambda value: (int(value.count().execute()), len(value.columns)),
        lambda value, rows: value.limit(rows).to_pandas(),
    ),
    ("pyarrow", "Dataset"): (
        lambda value: (value.count_rows(), len(value.schema)),
        lambda value, rows: _of_arrow_table(value.head(rows)),
    ),
}
"""How the rows and columns of a table elsewhere are counted, and how its first rows are read. Others are not read."""


def kind_of(value: object) -> str:
    """`polars DataFrame`, `pyarrow Table`."""
    return f"{type(value).__module__.partition('.')[0].lstrip('_')} {type(value).__name__}"


def original_kind(table: object) -> str:
    """The kind of a table before `converted`, such as `polars DataFrame`; "" if it was always a pandas table."""
    return _kinds.get(id(table), "")


def with_original_kind(table: Table, kind: str) -> Table:
    """The same pandas table, with this original kind registered for `original_kind`."""
    if kind:
        _kinds[id(table)] = kind
        weakref.finalize(table, _kinds.pop, id(table), None)
    return table


def _converted(value: Any) -> pd.DataFrame | pd.Series[Any] | None:
    if is_lazy(value):
        read: pd.DataFrame = computed(value)
        return read
    library = type(value).__module__.partition(".")[0]
    if library == "polars" and callable(getattr(value, "to_arrow", None)):
        import polars

        arrow = value.to_arrow(compat_level=polars.CompatLevel.oldest())
        return _of_arrow_table(arrow) if hasattr(arrow, "schema") else _of_arrow_column(arrow).rename(value.name)
    if library == "pyarrow" and hasattr(value, "schema") and hasattr(value, "column_names"):
        return _of_arrow_table(value)
    if library == "pyarrow" and hasattr(value, "null_count"):
        return _of_arrow_column(value)
    if callable(
        getattr(type(value), "to_pandas", None)
    ):  # the type is inspected, because an attribute of a proxy object may start a computation
        table = value.to_pandas()
        return table if isinstance(table, pd.DataFrame | pd.Series) else None
    if callable(getattr(type(value), "__dataframe__", None)):
        from pyarrow.interchange import from_dataframe

        return _of_arrow_table(from_dataframe(value))
    return None


def _of_arrow_table(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    if table.schema.pandas_metadata is None:  # otherwise the metadata of pandas has the dtypes of the columns
        for place, column in enumerate(table.columns):
            if _has_gaps(column):
                frame.isetitem(place, _of_arrow_column(column).array)
    return frame


def _of_arrow_column(column: Any) -> pd.Series[Any]:
    if _has_gaps(column):
        nullable = pd.Series([], dtype=str(column.type).capitalize().replace("Uint", "UInt").replace("Bool", "boolean"))
        series: pd.Series[Any] = column.to_pandas(types_mapper={column.type: nullable.dtype}.get)
        return series
    plain: pd.Series[Any] = column.to_pandas(date_as_object=False)
    return plain


def _has_gaps(column: Any) -> bool:
    from pyarrow import types

    return bool(column.null_count) and (types.is_integer(column.type) or types.is_boolean(column.type))


def restored(value: Any, kind: str) -> Any:
    """A pandas table converted to another kind, such as `polars DataFrame`. Any other value is returned unchanged.

    An index that is not the default becomes columns, because these libraries have no index.

    Raises:
        InvalidRequest: it cannot be converted.
    """
    library = kind.partition(" ")[0]
    if not isinstance(value, pd.DataFrame | pd.Series) or library in ("", "pandas", "geopandas"):
        return value
    if library not in ("polars", "pyarrow"):
        raise InvalidRequest(
            f"Outputs cannot be given back as {kind}.",
            why="Only tables of polars and PyArrow are made of pandas tables here.",
            hint='Call it without tables="same", and convert what it gives.',
        )
    plain = value if isinstance(value.index, pd.RangeIndex) else value.reset_index()
    try:
        table = _of_pandas(plain, library)
        return table.lazy() if kind == "polars LazyFrame" else table
    except Exception as error:
        raise InvalidRequest(
            f"An output cannot be made a table of {library}.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint='Call it without tables="same".',
        ) from error


def _of_pandas(value: pd.DataFrame | pd.Series[Any], library: str) -> Any:
    if library == "polars":
        import polars

        return polars.from_pandas(value)
    import pyarrow

    if isinstance(value, pd.Series):
        return pyarrow.chunked_array([pyarrow.Array.from_pandas(value)])
    return pyarrow.Table.from_pandas(value, preserve_index=False)
