"""Convert tables of other libraries to pandas without loss, and back.

Polars and PyArrow are converted through Arrow; whole numbers and truth values with missing values keep their type.
Other libraries are converted by `to_pandas()` or by the dataframe interchange protocol.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.data.elsewhere import elsewhere
from autocoder_jupyter.data.table_engines import engine_of, native, require_no_objects, require_readable
from autocoder_jupyter.equality.tables import flat
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types.records import Drawn
from autocoder_jupyter.untrusted.parsing import visible

MOST_CELLS = 2**26
"""Cells of a table that is computed for a call: half a gigabyte of numbers."""

Table = TypeVar("Table", pd.DataFrame, "pd.Series[Any]", "pd.DataFrame | pd.Series[Any]")


@dataclass(frozen=True)
class Origin:
    """What a pandas table was made of.

    Args:
        kind: the kind of the other table, such as `polars DataFrame`; "" if it was always a pandas table.
        drawn: says of which rows it is a sample; None if it has all.
    """

    kind: str = ""
    drawn: Drawn | None = None


_origins: dict[int, Origin] = {}
"""The origin of a converted table, by the identity of the pandas table, as long as that exists."""


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
    return None if table is None else with_origin(table, Origin(kind_of(value)))


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
    inner = native(value)
    engine = engine_of(inner)
    if engine is None or not engine.in_calls:
        raise InvalidRequest(
            f"A {kind_of(value)} is not computed for a call.",
            why="Its rows are not in memory, and it may be large.",
            hint=f"Compute what you need, and pass that: table{kind.few}",
        )
    schema = engine.schema(inner)
    require_readable(schema)
    columns = len(schema)
    most = MOST_CELLS // max(columns, 1)
    _require_few(value, engine.count(inner), columns, most)
    table = of_rows(engine.first(inner, most + 1), schema)  # a file may have grown, a function drawn more
    _require_few(value, len(table), columns, most)
    return table


def _require_few(value: Any, rows: int, columns: int, most: int) -> None:
    if rows > most:
        raise InvalidRequest(
            f"A {kind_of(value)} of {rows:,} rows × {columns:,} columns is not computed for a call.",
            why=f"That is more than {MOST_CELLS:,} cells.",
            hint="Filter or aggregate it first, or compute it yourself and pass the table.",
        )


def of_rows(rows: Iterable[Any], schema: Any) -> pd.DataFrame:
    """Tables of Arrow or of pandas, one below the other, as one of pandas.

    Args:
        rows: the tables.
        schema: the columns, if there is none.
    """
    import pyarrow

    tables = list(rows)
    if tables and isinstance(tables[0], pd.DataFrame):
        together: pd.DataFrame = pd.concat(tables)
        return together
    return _of_arrow_table(pyarrow.concat_tables(tables) if tables else schema.empty_table())


def kind_of(value: object) -> str:
    """`polars DataFrame`, `pyarrow Table`."""
    return f"{type(value).__module__.partition('.')[0].lstrip('_')} {type(value).__name__}"


def original_kind(table: object) -> str:
    """The kind of a table before `converted`, such as `polars DataFrame`; "" if it was always a pandas table."""
    return origin_of(table).kind


def origin_of(table: object) -> Origin:
    """What a pandas table was made of."""
    return _origins.get(id(table), Origin())


def drawn_samples(samples: Mapping[str, Any]) -> dict[str, Drawn]:
    """The samples that have only some of the rows of their tables, by name."""
    found = {name: origin_of(value).drawn for name, value in samples.items()}
    return {name: drawn for name, drawn in found.items() if drawn is not None}


def with_origin(table: Table, origin: Origin) -> Table:
    """The same pandas table, with this origin registered for `origin_of`."""
    if origin != Origin():
        _origins[id(table)] = origin
        weakref.finalize(table, _origins.pop, id(table), None)
    return table


def _converted(value: Any) -> pd.DataFrame | pd.Series[Any] | None:
    if is_lazy(value):
        read: pd.DataFrame = computed(value)
        return read
    library = type(value).__module__.partition(".")[0]
    if library == "polars" and callable(getattr(value, "to_arrow", None)):
        import polars

        require_no_objects(value.schema if hasattr(value, "schema") else {value.name: value.dtype})
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
    try:
        table = _of_pandas(value if isinstance(value.index, pd.RangeIndex) else _with_index(value), library)
        return table.lazy() if kind == "polars LazyFrame" else table
    except Exception as error:
        raise InvalidRequest(
            f"An output cannot be made a table of {library}.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint='Call it without tables="same".',
        ) from error


def _with_index(value: pd.DataFrame | pd.Series[Any]) -> pd.DataFrame:
    """A table with its index as columns, also if one of these has a name that is taken: `units (2)`."""
    taken = [value.name] if isinstance(value, pd.Series) else list(value.columns)
    table: pd.DataFrame = flat(value, "values") if {*value.index.names} & {*taken} - {None} else value.reset_index()
    return table


def _of_pandas(value: pd.DataFrame | pd.Series[Any], library: str) -> Any:
    if library == "polars":
        import polars

        return polars.from_pandas(value)
    import pyarrow

    if isinstance(value, pd.Series):
        return pyarrow.chunked_array([pyarrow.Array.from_pandas(value)])
    return pyarrow.Table.from_pandas(value, preserve_index=False)
