"""The sources of `growth.over`: files, datasets, readers and queries, each as batches of Arrow; and frames of engines.

What a file says of itself is a claim: the numbers of its columns and rows are bounded here, and memory is planned by
what has been read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.capture import restored
from autocoder_jupyter.data.sampling import MOST_COLUMNS
from autocoder_jupyter.data.sources import (
    duckdb_query,
    duckdb_reader,
    duckdb_schema,
    ibis_schema,
    ibis_tables,
    lazy_kind,
    native,
    parquet_dataset,
    polars_schema,
    require_readable,
)
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.visible import visible

MOST_METADATA = 2**24
"""Bytes of what pandas wrote about a table into a file."""

BATCH_ROWS = 2**16
"""Rows of a batch of a file. With more, texts that are stored once and repeated could need any amount of memory."""

HERE = "pyarrow, here"
"""What reads files, datasets and readers."""

_MOST_NUMBER = 2**62
"""No number of an index that is a range is larger."""

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
    """

    read: Callable[[Sequence[str]], Reading] = field(repr=False)
    like: Callable[[Any], Any] = field(repr=False, default=lambda answer: answer)


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


def source_of(value: Any) -> TableSource:
    """A table that may be larger than memory."""
    if isinstance(value, str | os.PathLike | File | Dir):
        return _parquet(value.path if isinstance(value, File | Dir) else Path(value))
    inner = native(value)
    if inner is not value:
        module = next(base.__module__ for base in type(value).__mro__ if base.__module__.startswith("narwhals"))
        return _wrapped(source_of(inner), sys.modules[module.removesuffix(".dataframe")].from_native)
    kind = lazy_kind(value)
    known = _KINDS.get((kind.library, kind.type_name)) if kind else None
    if known is None:
        raise InvalidRequest(
            f"over does not accept a {type(value).__module__.partition('.')[0]} {type(value).__name__}.",
            why="It accepts a Parquet file or a folder of them, a dataset or a RecordBatchReader of PyArrow, a lazy "
            "frame of Polars or narwhals, a relation of DuckDB, a table of Ibis, a frame of Dask or Spark, and a "
            "dataset of Ray.",
            hint="For a table in memory call the function itself.",
        )
    try:
        return replace(known.opened(value), carried_by=known.engine)
    except (InvalidRequest, DataDrift, MemoryError):
        raise
    except Exception as error:  # another library may raise any exception
        raise _unreadable(type(value).__name__, error) from error


def _wrapped(source: TableSource, wrap: Callable[[Any], Any]) -> TableSource:
    """The table of a lazy frame of narwhals, whose answer is one too."""
    if isinstance(source, Batches):
        like = source.like
        return replace(source, like=lambda answer: wrap(like(answer)))
    assert isinstance(source, Partitions)
    carry = source.engine.carry
    return replace(source, engine=replace(source.engine, carry=lambda *given: wrap(carry(*given))))


_COMPUTED = "Compute a part of it yourself, with its own library: that fails in the same way."


def _unreadable(what: str, error: Exception, hint: str = _COMPUTED) -> InvalidRequest:
    return InvalidRequest(
        f"{visible(what)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}", hint=hint
    )


def _plain(schema: Any) -> Any:
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


# Parquet

_WHAT_IS_READ = (
    "Each file in the folder is read, unless its name begins with . or _. Move files that are not Parquet elsewhere, "
    "or make a dataset of PyArrow of the others."
)


@dataclass(frozen=True)
class _File:
    """A Parquet file of a source.

    Args:
        given: the values that the names of its folders give, by column.
        numbers: the name and the values of its index, if that is a range, of which a file has only a description.
    """

    path: Path
    given: dict[str, Any]
    numbers: tuple[str, range] | None = None

    def opened(self) -> Any:
        from pyarrow import parquet

        # With pre_buffer, what was read is kept until the file is closed: the whole file in the end.
        return parquet.ParquetFile(self.path, pre_buffer=False)

    def batches(self, columns: Sequence[str], schema: Any) -> Iterator[Any]:
        """Its rows with the types of the schema."""
        import pyarrow

        index, numbers = self.numbers or ("", range(0))
        stored = [name for name in columns if name not in self.given and not (self.numbers and name == index)]
        rows = 0
        with self.opened() as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=stored):
                table = pyarrow.Table.from_batches([batch])
                for name in columns:
                    if name in self.given:
                        value = pyarrow.repeat(pyarrow.scalar(self.given[name]), batch.num_rows)
                        table = table.append_column(name, value)
                    elif name not in stored:
                        own = numbers[rows : rows + batch.num_rows]
                        table = table.append_column(name, pyarrow.array(np.arange(own.start, own.stop, own.step)))
                rows += batch.num_rows
                yield table.select(list(columns)).cast(schema)


def _parquet(path: Path) -> TableSource:
    """A Parquet file, or a folder of them, whose folders may be named `year=2024`, as pandas reads it."""
    import pyarrow

    if not path.exists():
        raise InvalidRequest(f"There is no file or folder {visible(str(path))!r}.")
    name = path.name
    files: list[_File] = []
    schemas: dict[Path, Any] = {}
    counts: dict[Path, int] = {}
    try:
        listed = _files(path)
        folders = _types_of_folders(listed)
        for file in listed:
            name = file.path.name
            with file.opened() as opened:
                if opened.metadata.num_columns > MOST_COLUMNS:
                    raise InvalidRequest(f"{visible(file.path.name)} has more than {MOST_COLUMNS:,} columns.")
                rows = opened.metadata.num_rows
                schema = _plain(opened.schema_arrow)
            # A file outside the folders of a column has missing values in it, unless it stores the column.
            given = {each: file.given.get(each) for each in folders if each in file.given or each not in schema.names}
            for each in given:
                if each not in schema.names:
                    schema = schema.append(pyarrow.field(each, folders[each]))
            numbers = _unstored_index(schema, rows) if len(listed) == 1 else None  # pandas drops it in larger folders
            if numbers is not None:
                schema = _with_index(schema, numbers[0])
            files.append(replace(file, given=given, numbers=numbers))
            schemas[file.path], counts[file.path] = schema, rows
    except (InvalidRequest, MemoryError):
        raise
    except Exception as error:  # what is in the files may raise any exception
        raise _unreadable(name, error, _WHAT_IS_READ if path.is_dir() else _COMPUTED) from error
    first = schemas[files[0].path]

    def common(columns: Sequence[str]) -> Any:
        return _common(files, schemas, columns)

    def read(columns: Sequence[str]) -> Reading:
        schema = common(columns)
        for file in files:
            rows = 0
            try:
                for table in file.batches(columns, schema):
                    rows += table.num_rows
                    yield Batch(table, file.path.name)
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise _unreadable(file.path.name, error) from error
            if rows != counts[file.path]:
                raise InvalidRequest(
                    f"{visible(file.path.name)} has {rows:,} rows, and had {counts[file.path]:,} before.",
                    why="It was changed while it was read.",
                    hint="Call again when nothing writes to it.",
                )

    def examples(columns: Sequence[str]) -> Iterator[Batch]:
        schema, seen = common(columns), set()
        for file in files:
            own = tuple(str(schemas[file.path].field(name).type) for name in columns)
            if own in seen:
                continue
            try:
                table = next(file.batches(columns, schema), None)
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise _unreadable(file.path.name, error) from error
            if table is not None and table.num_rows:
                seen.add(own)
                yield Batch(table, file.path.name)

    return Batches(first, max(0, sum(counts.values())), examples, read=read)


def _files(path: Path) -> list[_File]:
    from pyarrow import dataset

    if path.is_file():
        return [_File(path, {})]
    return [
        _File(Path(fragment.path), dict(dataset.get_partition_keys(fragment.partition_expression)))
        for fragment in parquet_dataset(path).get_fragments()
    ]


def _types_of_folders(files: Iterable[_File]) -> dict[str, Any]:
    """The columns that the names of folders give, and their types."""
    import pyarrow

    types: dict[str, Any] = {}
    for name, value in (pair for file in files for pair in file.given.items()):
        if value is not None or name not in types:
            types[name] = pyarrow.scalar(value).type
    return types


def _unstored_index(schema: Any, rows: int) -> tuple[str, range] | None:
    """The name and the values of an index that pandas did not store, because it is a range; None if it has no name."""
    described = schema.pandas_metadata
    levels = described.get("index_columns") if isinstance(described, dict) else None
    match levels:
        case [{"kind": "range", "name": str(name), "start": int(start), "stop": int(stop), "step": int(step)}]:
            is_known = step != 0 and max(map(abs, (start, stop, step))) < _MOST_NUMBER
            numbers = range(start, stop, step) if is_known else range(0)
            return (name, numbers) if name not in schema.names and 0 < rows == len(numbers) else None
        case _:
            return None


def _with_index(schema: Any, name: str) -> Any:
    """The schema with one more column, which is the index in pandas."""
    import pyarrow

    described = schema.pandas_metadata
    column = {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    described = {**described, "index_columns": [name], "columns": [*described.get("columns", []), column]}
    metadata = {b"pandas": json.dumps(described).encode()}
    return schema.append(pyarrow.field(name, pyarrow.int64())).with_metadata(metadata)


def _common(files: Sequence[_File], schemas: dict[Path, Any], columns: Sequence[str]) -> Any:
    """The types that these columns have in all files."""
    import pyarrow

    common = part_of(schemas[files[0].path], columns)
    for file in files[1:]:
        own, name = schemas[file.path], visible(file.path.name)
        if lacking := [column for column in columns if column not in own.names]:
            raise DataDrift(f"{name} lacks {visible(lacking[0])!r}, which {visible(files[0].path.name)} has.")
        mine = part_of(own, columns)
        if mine.types == common.types:
            continue
        try:
            common = pyarrow.unify_schemas([common, mine], promote_options="permissive").with_metadata(common.metadata)
        except pyarrow.ArrowException as error:
            raise DataDrift(
                f"{name} has types that differ from those of the files before it.", why=visible(str(error)[:300])
            ) from error
    return common


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
        raise _unreadable("the table", error) from error


def _dataset(value: Any) -> TableSource:
    import pyarrow

    schema = _plain(value.schema)

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        # Without limits it reads ahead, and needs eight times as much memory.
        batches = value.to_batches(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1
        )
        return (pyarrow.Table.from_batches([batch]) for batch in batches)

    def first(columns: Sequence[str]) -> Iterator[Any]:
        yield value.head(1000, columns=list(columns))

    return Batches(
        schema,
        value.count_rows(),
        lambda columns: _rows_of(first, schema, columns),
        read=lambda columns: _rows_of(tables, schema, columns),
    )


def _reader(value: Any) -> TableSource:
    import pyarrow

    schema = _plain(value.schema)

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
    schema = _plain(polars_schema(value))

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

    return _of_engine(_plain(duckdb_schema(value)), tables, like)


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

    return _of_engine(_plain(ibis_schema(value)), tables, like)


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
    whole = _plain(pyarrow.Schema.from_pandas(meta, preserve_index=True))  # a named index goes with the columns
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
    plain = _plain(schema)
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
    ("polars", "LazyFrame"): _SourceKind(_polars, "Polars"),
    ("duckdb", "DuckDBPyRelation"): _SourceKind(_duckdb, "DuckDB"),
    ("ibis", "Table"): _SourceKind(_ibis, "Ibis"),
    ("dask", "DataFrame"): _SourceKind(_dask, "Dask"),
    ("pyspark", "DataFrame"): _SourceKind(_spark, "Spark"),
    ("ray", "Dataset"): _SourceKind(_ray, "Ray"),
}
