"""Capture values of the notebook, so that later changes of a variable have no effect.

Tables of other libraries are converted to pandas without loss, and back.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.codec import Unencodable, encode
from autocoder_jupyter.codec.geometry import is_geographic
from autocoder_jupyter.codec.plain import to_json
from autocoder_jupyter.data.sources import (
    engine_of,
    lazy_kind,
    native,
    refuse_lazy,
    require_no_objects,
    require_readable,
)
from autocoder_jupyter.equality.tables import flat
from autocoder_jupyter.errors import InvalidRequest, working_folder
from autocoder_jupyter.kinds.values import one_table
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.types.records import Drawn
from autocoder_jupyter.untrusted.visible import visible

# Tables of other libraries
#
# Polars and PyArrow are converted through Arrow; whole numbers and truth values with missing values keep their type.
# Other libraries are converted by `to_pandas()` or by the dataframe interchange protocol.

MOST_CELLS = 2**26
"""Cells of a table that is computed for a call: half a gigabyte of numbers."""

Table = TypeVar("Table", pd.DataFrame, "pd.Series[Any]", "pd.DataFrame | pd.Series[Any]")


@dataclass(frozen=True)
class Origin:
    """What a pandas table was converted from.

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
            raise  # only there it comes from the user; polars raises it in any thread in which it computes
        raise InvalidRequest(
            f"A {kind_of(value)} cannot be converted to a pandas table.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Convert it yourself, then pass the pandas DataFrame.",
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
    return lazy_kind(value) is not None


def computed(value: Any) -> Any:
    """A table whose rows are not in memory as a table of pandas, if its library can count them and they are few.

    Any other value is returned unchanged. The rows are counted first.

    Raises:
        InvalidRequest: there are too many, or they cannot be counted.
    """
    kind = lazy_kind(value)
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
    table = joined_rows(engine.first(inner, most + 1), schema)  # a file may have grown, a function drawn more
    _require_few(value, len(table), columns, most)
    return table


def _require_few(value: Any, rows: int, columns: int, most: int) -> None:
    if rows > most:
        raise InvalidRequest(
            f"A {kind_of(value)} of {rows:,} rows × {columns:,} columns is not computed for a call.",
            why=f"That is more than {MOST_CELLS:,} cells.",
            hint="Filter or aggregate it first, or compute it yourself and pass the table.",
        )


def joined_rows(rows: Iterable[Any], schema: Any) -> pd.DataFrame:
    """Tables of Arrow or of pandas, one below the other, as one of pandas."""
    import pyarrow

    tables = list(rows)
    if tables and isinstance(tables[0], pd.DataFrame):
        together: pd.DataFrame = pd.concat(tables)
        return together
    return _of_arrow_table(pyarrow.concat_tables(tables) if tables else schema.empty_table())


def kind_of(value: object) -> str:
    """The library and the class of a value, such as `polars DataFrame` or `pyarrow Table`."""
    return f"{type(value).__module__.partition('.')[0].lstrip('_')} {type(value).__name__}"


def original_kind(table: object) -> str:
    """The kind of a table before `converted`, such as `polars DataFrame`; "" if it was always a pandas table."""
    return origin_of(table).kind


def origin_of(table: object) -> Origin:
    """What a pandas table was converted from."""
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
            f"Outputs cannot be converted to {kind}.",
            why="Only conversion to tables of polars and PyArrow is supported.",
            hint='Call it without tables="same", and convert its outputs.',
        )
    try:
        table = _of_pandas(value if isinstance(value.index, pd.RangeIndex) else _with_index(value), library)
        return table.lazy() if kind == "polars LazyFrame" else table
    except Exception as error:
        raise InvalidRequest(
            f"An output cannot be converted to a table of {library}.",
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


# Copies of samples and examples


def capture(value: Any) -> Any:
    """A private copy of a sample. Call it on the thread that owns the value.

    With copy-on-write (always on in pandas 3, an option in pandas 2) a shallow copy is enough: it takes no time at
    any size, and a later write to the frame goes to a new block. Without copy-on-write the data are copied (40 ms
    for 1 million rows by 20 columns).

    Two kinds of change still reach a captured frame: changing a list or dict *inside* a cell in place (which would
    also reach a deep copy of pandas), and writing into a numpy array from which the frame was made with
    `copy=False`.

    Raises:
        InvalidRequest: the value has another type, its rows are not in memory, or the file or folder does not exist.
    """
    refuse_lazy(value)
    if isinstance(value, pd.DataFrame | pd.Series):
        return with_origin(value.copy(deep=not _copy_on_write()), origin_of(value))
    if isinstance(value, File | Dir):
        return with_absolute_path(value)
    if (table := converted(value)) is not None:
        return table
    raise InvalidRequest(
        f"A sample cannot be a {type(value).__name__}.",
        why="Samples are DataFrame, Series, File or Dir, or a table with to_pandas().",
        hint=_hint(value),
    )


def require_plain(name: str, value: Any) -> None:
    """Refuse a subclass of DataFrame or Series, because its additional data would be lost silently.

    Those of GeoPandas are kept as they are.

    Raises:
        InvalidRequest: it is another subclass; the message names the variable.
    """
    plain: Any = next((kind for kind in (pd.DataFrame, pd.Series) if isinstance(value, kind)), None)
    if plain is None or type(value) is plain or is_geographic(value):
        return
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}".removeprefix("__main__.")
    conversion = f"{name} = pd.{plain.__name__}({name})"
    if plain is pd.DataFrame and callable(getattr(value, "to_wkt", None)):
        conversion = f"{name} = {name}.to_wkt()"  # of a library beside GeoPandas
    raise InvalidRequest(
        f"{name} is a {kind}, but only a plain {plain.__name__} can be sent to the sandbox.",
        hint=f"Write for instance {conversion}, then run the cell again.",
    )


def captured_value(value: Any) -> Any:
    """A private copy of a value of an example: data are captured like samples, other values are copied.

    Raises:
        InvalidRequest: a file or folder does not exist, or the value cannot cross into a sandbox.
    """
    is_data = isinstance(value, pd.DataFrame | pd.Series | File | Dir)
    converts = callable(getattr(value, "to_pandas", None)) and not isinstance(value, type)
    held = capture(value) if is_data or converts else value
    try:  # before it is copied or shown, because that calls methods of its class
        if isinstance(held, pd.DataFrame | pd.Series):
            encode(held, "DataFrame" if isinstance(held, pd.DataFrame) else "Series")
        elif not isinstance(held, File | Dir):
            to_json(held, "it", simplify=True)
    except Unencodable as error:
        raise InvalidRequest("A value of an example cannot be sent to the sandbox.", why=f"{error}.") from None
    return copy.deepcopy(held) if held is value else held


def with_absolute_path(value: File | Dir) -> File | Dir:
    """The same file or folder with its absolute path, so that it does not depend on the working folder.

    A link that the user names is followed. Links inside a `Dir` are refused later, because the user did not name
    them.

    Raises:
        InvalidRequest: it does not exist, or is not a file or a folder as declared.
    """
    path = value.path
    if path.is_file() if isinstance(value, File) else path.is_dir():
        return type(value)(path.resolve())
    if path.is_file() or path.is_dir():
        other = "Dir" if isinstance(value, File) else "File"
        raise InvalidRequest(f"{path} is not a {type(value).__name__}.", hint=f"Write {other}({str(path)!r}).")
    if path.exists():
        raise InvalidRequest(f"{path} is neither a plain file nor a folder.")
    hint = "" if path.is_absolute() else f"It is looked for in {working_folder()}."
    raise InvalidRequest(f"{path} does not exist.", hint=hint)


def _copy_on_write() -> bool:
    return int(pd.__version__.partition(".")[0]) >= 3 or pd.options.mode.copy_on_write is True


def _hint(value: object) -> str:
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return f"For a file write File({str(value)[:80]!r})."
    if isinstance(value, list | dict):
        return f"Make a table of it: {one_table('value', value)}."
    return "Convert it to a DataFrame first."
