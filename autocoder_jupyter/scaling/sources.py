"""The sources of `growth.over`: datasets, readers and queries, each as batches of Arrow; and frames of engines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from autocoder_jupyter.data.capture import restored
from autocoder_jupyter.data.readers import Recorded
from autocoder_jupyter.data.sampling import MOST_COLUMNS
from autocoder_jupyter.data.sources import (
    duckdb_query,
    duckdb_reader,
    duckdb_schema,
    ibis_schema,
    ibis_tables,
    lazy_kind,
    native,
    polars_schema,
    require_folders_agree,
    require_readable,
)
from autocoder_jupyter.data.storage import changed, state_of
from autocoder_jupyter.data.struct_fields import require_all_fields
from autocoder_jupyter.data.table_formats import iceberg_schema, iceberg_tables
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.visible import visible

MOST_METADATA = 2**24
"""Bytes of what pandas wrote about a table into a file."""

BATCH_ROWS = 2**16
"""Rows of a batch of a file. With more, texts that are stored once and repeated could need any amount of memory."""

HERE = "pyarrow, here"
"""What reads files, datasets and readers."""

_TEXT_BYTES = 24
"""Bytes that a text, or another value of no fixed length, is expected to have."""


@dataclass(frozen=True)
class Batch:
    """Some rows.

    Args:
        table: the rows, a `pyarrow.Table`.
        place: where they are from, for messages; "" if it is not known.
        is_invented: whether only the types of its values are those of the source.
    """

    table: Any
    place: str = ""
    is_invented: bool = False


Reading = Generator[Batch, None, None]
"""Rows, one batch after the other. It can be closed before its end."""


@dataclass(frozen=True)
class TableSource:
    """A table that may be larger than memory.

    Args:
        schema: its columns, a `pyarrow.Schema`; categories count as their values.
        rows: how many it has; None if that is not known before it is read.
        examples: the first rows of each kind of file, of these columns only; nothing of a source that can be read once.
        carried_by: what reads its rows, or has them, in a few words.
    """

    schema: Any
    rows: int | None
    examples: Callable[[Sequence[str]], Iterable[Batch]] = field(repr=False, default=lambda _: ())
    carried_by: str = HERE

    @property
    def names(self) -> list[str]:
        """Its columns, in order."""
        return list(self.schema.names)

    @property
    def index(self) -> list[str]:
        """The columns that are the index of the table in pandas."""
        described = self.schema.pandas_metadata or {}
        levels = described.get("index_columns", []) if isinstance(described, dict) else []
        return [name for name in levels if isinstance(name, str) and name in self.schema.names]

    def expected_bytes(self, columns: Sequence[str]) -> int | None:
        """About how large these columns are in memory; None if the number of rows is not known."""
        if self.rows is None:
            return None
        return self.rows * max(1, sum(_width(self.schema.field(name).type) for name in columns))


@dataclass(frozen=True, kw_only=True)
class Batches(TableSource):
    """A table that is read here, in batches.

    Args:
        read: its rows in their order, of these columns only.
        like: an answer as the kind of table that the source is: a table of pandas, or a dataset of PyArrow.
        files: its files, if their columns may have other types each.
        converting: the same source with some of their columns converted, by the types that these get.
    """

    read: Callable[[Sequence[str]], Reading] = field(repr=False)
    like: Callable[[Any], Any] = field(repr=False, default=lambda answer: answer)
    files: Sequence[SourceFile] = field(repr=False, default=())
    converting: Callable[[Mapping[SourceFile, Mapping[str, Conversion]]], Batches] | None = field(
        repr=False, default=None
    )


Conversion = tuple[Any, Callable[[Any, int], Any]]
"""The type that a column gets, and what converts its values of a batch, whose first row has this place in its file."""


class SourceFile(Protocol):
    """A file of a source."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def schema(self) -> Any:
        """Its own columns and types."""

    @property
    def count(self) -> int:
        """How many rows it has."""

    def batches(self, columns: Sequence[str], schema: Any) -> Iterator[Any]:
        """Its rows with the types of the schema."""


@dataclass(frozen=True)
class Carrier:
    """What carries `over` for a frame whose rows its own workers have.

    Args:
        carry: makes the frame of the answers, from the columns that are read, the calls, and the bytes of a piece.
        chosen: the frame with these columns only.
        pieces: about how many pieces there are, unless all is one; None if that is not known before.
        at_once: how the user decides how many pieces are computed at once.
    """

    kind: str
    carry: Callable[[Any, Any, int], Any]
    chosen: Callable[[Any, Sequence[str]], Any]
    pieces: Callable[[Any], int | None]
    written: str
    at_once: str
    shown: str


@dataclass(frozen=True, kw_only=True)
class Partitions(TableSource):
    """A frame of an engine, whose workers have the rows."""

    frame: Any = field(repr=False)
    engine: Carrier = field(repr=False)


def source_of(value: Any, recorded: Callable[[], Recorded] = Recorded.nothing) -> TableSource:
    """A table that may be larger than memory. With what was recorded of it, files of text are read."""
    if isinstance(value, str | os.PathLike | File | Dir | list | tuple):
        from autocoder_jupyter.scaling.files import of_files

        return of_files(value, recorded)
    inner = native(value)
    if inner is not value:
        module = next(base.__module__ for base in type(value).__mro__ if base.__module__.startswith("narwhals"))
        return _wrapped(source_of(inner), sys.modules[module.removesuffix(".dataframe")].from_native)
    kind = lazy_kind(value)
    known = _KINDS.get((kind.library, kind.type_name)) if kind else None
    if known is None:
        raise InvalidRequest(
            f"over does not accept a {type(value).__module__.partition('.')[0]} {type(value).__name__}.",
            why="It accepts files of Parquet, Feather, delimited text or JSON lines, as a list, folder or glob too; "
            "a table of Delta or Iceberg; a dataset or a RecordBatchReader of PyArrow, a lazy frame of Polars or "
            "narwhals, a relation of DuckDB, a table of Ibis, a frame of Dask or Spark, and a dataset of Ray.",
            hint="For a table in memory call the function itself.",
        )
    try:
        return replace(known.opened(value), carried_by=known.engine)
    except (InvalidRequest, DataDrift, MemoryError):
        raise
    except Exception as error:  # another library may raise any exception
        raise unreadable(type(value).__name__, error) from error


def _wrapped(source: TableSource, wrap: Callable[[Any], Any]) -> TableSource:
    """The table of a lazy frame of narwhals, whose answer is one too."""
    if isinstance(source, Batches):
        like = source.like
        return replace(source, like=lambda answer: wrap(like(answer)))
    assert isinstance(source, Partitions)
    carry = source.engine.carry
    return replace(source, engine=replace(source.engine, carry=lambda *given: wrap(carry(*given))))


COMPUTED = "Compute a part of it yourself, with its own library: that fails in the same way."


def unreadable(what: str, error: Exception, hint: str = COMPUTED) -> InvalidRequest:
    return InvalidRequest(
        f"{visible(what)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}", hint=hint
    )


def plain_schema(schema: Any) -> Any:
    """A schema with the values of categories in their place, if it may be used."""
    import pyarrow

    if len(schema) > MOST_COLUMNS:
        raise InvalidRequest(f"It has {len(schema):,} columns; at most {MOST_COLUMNS:,} are read.")
    if len(set(schema.names)) < len(schema):
        doubled = next(name for name in schema.names if schema.names.count(name) > 1)
        raise InvalidRequest(f"It has more than one column {visible(doubled)!r}.", hint="Rename one of them.")
    require_readable(schema)
    types = [_of_values(each) for each in schema.types]
    of_pandas = {key: text for key, text in (schema.metadata or {}).items() if key == b"pandas"}
    kept = of_pandas if sum(map(len, of_pandas.values())) <= MOST_METADATA else {}
    return pyarrow.schema(list(zip(schema.names, types, strict=True)), metadata=kept)


def _of_values(kind: Any) -> Any:
    """The type of the values of a type: categories, and views of texts, are stored otherwise, also in lists."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        return _of_values(kind.value_type)
    if types.is_string_view(kind):
        return pyarrow.large_string()
    if types.is_binary_view(kind):
        return pyarrow.large_binary()
    inner = [kind.field(place).with_type(_of_values(kind.field(place).type)) for place in range(kind.num_fields)]
    if types.is_struct(kind):
        return pyarrow.struct(inner)
    if types.is_list(kind):
        return pyarrow.list_(inner[0])
    if types.is_large_list(kind):
        return pyarrow.large_list(inner[0])
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(inner[0], kind.list_size)
    if types.is_map(kind):
        return pyarrow.map_(kind.key_type, _of_values(kind.item_type))
    return kind


def _width(kind: Any) -> int:
    try:
        return int(kind.bit_width) // 8 + 1
    except ValueError:  # it has no fixed width
        return _TEXT_BYTES


def part_of(schema: Any, columns: Sequence[str]) -> Any:
    """The schema of these columns."""
    import pyarrow

    return pyarrow.schema([schema.field(name) for name in columns], metadata=schema.metadata)


# Datasets, readers and queries


def _rows_of(tables: Callable[[Sequence[str]], Iterator[Any]], schema: Any, columns: Sequence[str]) -> Reading:
    """Tables of another library with the types of the schema."""
    wanted = part_of(schema, columns)
    try:
        for table in tables(columns):
            yield Batch(table.select(list(columns)).cast(wanted))
    except (InvalidRequest, DataDrift, MemoryError):
        raise
    except Exception as error:  # another library may raise any exception
        raise unreadable("the table", error) from error


def _local_files(value: Any) -> list[Path]:
    """The files of a dataset of PyArrow that are on this machine."""
    from pyarrow import dataset, fs

    is_here = isinstance(value, dataset.FileSystemDataset) and isinstance(value.filesystem, fs.LocalFileSystem)
    return [Path(file) for file in value.files] if is_here else []


def _dataset(value: Any) -> TableSource:
    import pyarrow

    states = {path: state_of(path) for path in _local_files(value)}
    schema = plain_schema(value.schema)
    require_all_fields(value)
    require_folders_agree(value)

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        # Without limits it reads ahead, and needs eight times as much memory.
        batches = value.to_batches(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1
        )
        yield from (pyarrow.Table.from_batches([batch]) for batch in batches)
        if name := next((path.name for path in states if state_of(path) != states[path]), ""):
            raise changed(name)

    def first(columns: Sequence[str]) -> Iterator[Any]:
        yield value.head(1000, columns=list(columns))

    return Batches(
        schema,
        value.count_rows(),
        lambda columns: _rows_of(first, schema, columns),
        read=lambda columns: _rows_of(tables, schema, columns),
    )


def _iceberg(value: Any) -> TableSource:
    schema = plain_schema(iceberg_schema(value))

    def first(columns: Sequence[str]) -> Iterator[Any]:
        for table in iceberg_tables(value, columns):
            yield table.slice(0, 1000)
            return

    return Batches(
        schema,
        None,
        lambda columns: _rows_of(first, schema, columns),
        read=lambda columns: _rows_of(lambda chosen: iceberg_tables(value, chosen), schema, columns),
    )


def _reader(value: Any) -> TableSource:
    import pyarrow

    schema = plain_schema(value.schema)

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        rows = 0
        for batch in value:
            rows += batch.num_rows
            yield pyarrow.Table.from_batches([batch])
        if not rows:
            raise InvalidRequest(
                "The RecordBatchReader has no rows.",
                why="It can be read only once, and perhaps was before.",
                hint="Make a new one. If its table has no rows, pass pyarrow.dataset.dataset(table).",
            )

    return Batches(schema, None, read=lambda columns: _rows_of(tables, schema, columns))


def _polars(value: Any) -> TableSource:
    import polars

    if not callable(getattr(value, "collect_batches", None)):
        raise InvalidRequest(
            f"Polars {polars.__version__} cannot read a lazy frame in batches.",
            hint="Install a newer one; or write it with frame.sink_parquet(file), and call over(file).",
        )
    oldest = polars.CompatLevel.oldest()
    schema = plain_schema(polars_schema(value))

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        chosen = value.select(polars.selectors.by_name(*columns))  # `^x$` as a text would be an expression
        batches = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True)
        return (batch.to_arrow(compat_level=oldest) for batch in batches)

    def like(answer: Any) -> Any:
        if isinstance(answer, pd.DataFrame):
            return _held(answer, "Polars", "polars LazyFrame")
        return polars.scan_parquet(answer.files)

    return _of_engine(schema, tables, like)


def _duckdb(value: Any) -> TableSource:
    import duckdb
    import pyarrow

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        quoted = (name.replace('"', '""') for name in columns)
        chosen = value.project(", ".join(f'"{name}"' for name in quoted))
        return (pyarrow.Table.from_batches([batch]) for batch in duckdb_reader(chosen, BATCH_ROWS))

    def like(answer: Any) -> Any:
        held = _held(answer, "DuckDB")
        try:  # a relation of the same connection, so that both can be joined
            return duckdb_query(value, "SELECT * FROM {table}", held)
        except duckdb.Error:  # the connection may not read variables, or is closed
            return duckdb.from_arrow(held)

    return _of_engine(plain_schema(duckdb_schema(value)), tables, like)


def _ibis(value: Any) -> TableSource:
    def tables(columns: Sequence[str]) -> Iterator[Any]:
        return ibis_tables(value.select(*columns))

    def like(answer: Any) -> Any:
        import ibis

        held = _held(answer, "Ibis")
        if isinstance(answer, pd.DataFrame):
            return ibis.memtable(held)
        try:
            return value.get_backend().read_parquet(answer.files)
        except NotImplementedError:  # a database that reads no files, such as SQLite
            return ibis.read_parquet(answer.files)

    return _of_engine(plain_schema(ibis_schema(value)), tables, like)


def _held(answer: Any, library: str, kind: str = "pyarrow Table") -> Any:
    """An answer as a table of another kind; a dataset of PyArrow is only looked at."""
    import pyarrow

    held = answer
    if isinstance(answer, pd.DataFrame):
        try:
            held = restored(answer, kind)
        except InvalidRequest as error:
            raise _not_held(library, error.why) from error
    if kind == "pyarrow Table":
        names = [name.lower() for name in held.schema.names]
        if doubled := next((name for name in held.schema.names if names.count(name.lower()) > 1), None):
            raise _not_held(
                library, f"Another column has the same name as {visible(doubled)!r}, except for upper and lower case."
            )
        of_pandas = (each.name for each in held.schema if isinstance(each.type, pyarrow.BaseExtensionType))
        if column := next(of_pandas, None):
            raise _not_held(library, f"The column {visible(column)!r} has values that only pandas has.")
    return held


def _not_held(library: str, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"The answer cannot be converted to a table of {library}.",
        why=why,
        hint="Ask for a function with unique column names, and numbers, strings or times as values; "
        "or write the source to a Parquet file and call over(file): that answer is a table of pandas.",
    )


def _of_engine(
    schema: Any, tables: Callable[[Sequence[str]], Iterator[Any]], like: Callable[[Any], Any]
) -> TableSource:
    """A query, which its own engine computes once. To count its rows would be to compute it twice."""
    return Batches(
        schema,
        None,
        lambda columns: _invented(schema, columns),
        read=lambda columns: _rows_of(tables, schema, columns),
        like=like,
    )


# Frames of Dask, Ray and Spark


def _dask(value: Any) -> TableSource:
    import pyarrow

    from autocoder_jupyter.scaling.clusters import on_dask

    engine = Carrier(
        "Dask frame",
        on_dask,
        lambda frame, columns: frame[list(columns)],
        lambda frame: int(frame.npartitions),
        "answer.to_parquet(…)",
        "Client(n_workers=…, threads_per_worker=…)",
        "distributed.progress(answer.persist()) shows how far Dask is",
    )
    meta = value._meta
    if not all(isinstance(name, str) for name in meta.columns):
        raise InvalidRequest("The names of the columns of a Dask frame must be strings.")
    source = _of_workers(value, pyarrow.Schema.from_pandas(meta, preserve_index=False), engine)
    if meta.index.name is None or meta.index.name in meta.columns:
        return source
    whole = plain_schema(pyarrow.Schema.from_pandas(meta, preserve_index=True))  # a named index goes with the columns
    return replace(source, examples=lambda columns: _invented(whole, [*columns, str(meta.index.name)]))


def _spark(value: Any) -> TableSource:
    from autocoder_jupyter.scaling.clusters import on_spark, spark_columns, spark_schema

    engine = Carrier(
        "Spark frame",
        on_spark,
        spark_columns,
        lambda frame: None,
        "answer.write.parquet(…)",
        "its cores, such as spark.executor.cores",
        "its page shows how far Spark is",
    )
    return _of_workers(value, spark_schema(value), engine)


def _ray(value: Any) -> TableSource:
    from autocoder_jupyter.scaling.clusters import on_ray, ray_columns, ray_schema

    engine = Carrier(
        "Ray dataset",
        on_ray,
        ray_columns,
        lambda frame: None,
        "answer.write_parquet(…)",
        "ray.init(num_cpus=…)",
        "Ray shows how far it is",
    )
    return _of_workers(value, ray_schema(value), engine)


def _of_workers(value: Any, schema: Any, engine: Carrier) -> TableSource:
    """A frame whose rows are elsewhere."""
    plain = plain_schema(schema)
    return Partitions(plain, None, lambda columns: _invented(plain, columns), frame=value, engine=engine)


def _invented(schema: Any, columns: Sequence[str]) -> Iterator[Batch]:
    """A row of values that have the types: without rows, any column could have only missing values."""
    import pyarrow

    row = []
    for kind in part_of(schema, columns).types:
        text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        try:
            row.append(pyarrow.array(["a" if text else 0]).cast(kind))
        except pyarrow.ArrowException:  # no number is a value of this type
            row.append(pyarrow.nulls(1, kind))
    yield Batch(pyarrow.Table.from_arrays(row, schema=part_of(schema, columns)), is_invented=True)


# All kinds


@dataclass(frozen=True)
class _SourceKind:
    """A kind of source.

    Args:
        engine: what carries it, in a few words.
    """

    opened: Callable[[Any], TableSource]
    engine: str


_KINDS = {
    ("pyarrow", "Dataset"): _SourceKind(_dataset, HERE),
    ("pyarrow", "RecordBatchReader"): _SourceKind(_reader, HERE),
    ("deltalake", "DeltaTable"): _SourceKind(lambda value: _dataset(value.to_pyarrow_dataset()), HERE),
    ("pyiceberg", "Table"): _SourceKind(_iceberg, HERE),
    ("polars", "LazyFrame"): _SourceKind(_polars, "Polars"),
    ("duckdb", "DuckDBPyRelation"): _SourceKind(_duckdb, "DuckDB"),
    ("ibis", "Table"): _SourceKind(_ibis, "Ibis"),
    ("dask", "DataFrame"): _SourceKind(_dask, "Dask"),
    ("pyspark", "DataFrame"): _SourceKind(_spark, "Spark"),
    ("ray", "Dataset"): _SourceKind(_ray, "Ray"),
}
