"""Tables whose rows are not in memory: how they are recognised, and read by their own engines.

Rows come through Arrow. Nothing is imported for a table of a library that the user has not imported.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.data.sample import sample_positions
from autocoder_jupyter.data.struct_fields import require_all_fields
from autocoder_jupyter.data.table_formats import (
    LOGS,
    format_of,
    iceberg_count,
    iceberg_schema,
    iceberg_tables,
    opened_table,
    require_no_log,
)
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

# Kinds of such tables: lazy frames, queries, datasets, tables of a cluster
#
# They are recognised by the names of their classes, so no library is imported. To read such a table can take hours, and
# all memory, so a cell that names one gets a sample (`sampling`), or an error if its engine cannot draw one.

FEW = "10_000"
"""The rows of a sample, as they are written in a hint."""


@dataclass(frozen=True)
class LazyKind:
    """A kind of table whose rows are not in memory.

    Args:
        library: the first part of the module of its class.
        type_name: the name of its class, or of a base of it.
        few: the code after the name of a variable that gives its first rows as a table in memory.
    """

    library: str
    type_name: str
    few: str


_KINDS = (
    LazyKind("polars", "LazyFrame", f".head({FEW}).collect()"),
    LazyKind("narwhals", "LazyFrame", f".head({FEW}).collect()"),
    LazyKind("duckdb", "DuckDBPyRelation", f".limit({FEW}).df()"),
    LazyKind("ibis", "Table", f".limit({FEW}).to_pandas()"),
    LazyKind("ibis", "Column", f".as_table().limit({FEW}).to_pandas()"),
    LazyKind("ibis", "Scalar", ".as_table().to_pandas()"),
    LazyKind("pyarrow", "Dataset", f".head({FEW}).to_pandas()"),
    LazyKind("pyarrow", "RecordBatchReader", ".read_next_batch().to_pandas()"),
    LazyKind("deltalake", "DeltaTable", f".to_pyarrow_dataset().head({FEW}).to_pandas()"),
    LazyKind("pyiceberg", "Table", f".scan(limit={FEW}).to_pandas()"),
    LazyKind("dask", "DataFrame", f".head({FEW}, npartitions=-1)"),
    LazyKind("dask", "Series", f".head({FEW}, npartitions=-1)"),
    LazyKind("dask_expr", "DataFrame", f".head({FEW}, npartitions=-1)"),
    LazyKind("pyspark", "Frame", f".head({FEW}).to_pandas()"),  # its pandas API
    LazyKind("pyspark", "DataFrame", f".limit({FEW}).toPandas()"),
    LazyKind("ray", "Dataset", f".limit({FEW}).to_pandas()"),
    LazyKind("daft", "DataFrame", f".limit({FEW}).to_pandas()"),
    LazyKind("datafusion", "DataFrame", f".limit({FEW}).to_pandas()"),
    LazyKind("bigframes", "DataFrame", f".head({FEW}).to_pandas()"),
    LazyKind("snowflake", "DataFrame", f".limit({FEW}).to_pandas()"),
)


def lazy_kind(value: object) -> LazyKind | None:
    """The kind of a table whose rows are not in memory; None for any other value. Only its class is looked at."""
    if isinstance(value, type):
        return None
    classes = {(str(base.__module__).partition(".")[0].lstrip("_"), base.__name__) for base in type(value).__mro__}
    return next((kind for kind in _KINDS if (kind.library, kind.type_name) in classes), None)


def refuse_lazy(value: Any, name: str = "table") -> None:
    """Refuse a table whose rows are not in memory as a sample. Nothing of it is read.

    Raises:
        InvalidRequest: it is one.
    """
    kind = lazy_kind(value)
    if kind is None:
        return
    raise InvalidRequest(
        f"A sample cannot be of type {kind.library} {type(value).__name__}: its rows are not in memory.",
        why="Nothing was read, because it may be large.",
        hint=few_of(value, name),
    )


def few_of(value: Any, name: str) -> str:
    """The line that takes a part of a table as a sample; "" for other values."""
    kind = lazy_kind(value)
    return "" if kind is None else f"Take a part of it as the sample: few = {name}{kind.few}"


# Parquet files at a path that the user names

MOST_ENTRIES = 100_000
"""Files and folders that are looked at."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?[0-9]{1,10}")

_HIDDEN = (".", "_")
"""First characters of names that are not data, as for PyArrow and Spark: `_SUCCESS`, `_delta_log`."""


def parquet_dataset(path: Path) -> Any:
    """A Parquet file, or a folder of them, whose folders may be named `year=2024`, as a dataset of PyArrow.

    A link that the user names is followed. Links inside a folder are refused: somebody else may have made them, to
    files that the user did not mean, or to the folder itself. PyArrow would follow these: two of them in one folder
    have 2**40 paths, so the files are looked for here.

    A folder with a table of Delta is a dataset of the files that count; one of Iceberg is a table of pyiceberg.

    Raises:
        InvalidRequest: there are none, too many, or a link; or a table with a log is not read.
    """
    from pyarrow import fs

    shown = visible(path.name or str(path))
    if not (path.is_file() or path.is_dir()):
        raise InvalidRequest(f"There is no file or folder {visible(str(path))!r}.")
    if path.is_dir():
        if (table := opened_table(path)) is not None:
            return table
        require_no_log(path)
    path = path.resolve()
    files = files_in(path, shown) if path.is_dir() else [str(path)]
    if not files:
        raise InvalidRequest(f"There are no Parquet files in {shown}.")
    table = hive_dataset(fs.LocalFileSystem(), files, str(path) if path.is_dir() else "")
    require_all_fields(table)
    require_folders_agree(table)
    return table


def hive_dataset(filesystem: Any, files: list[str], base: str) -> Any:
    """Parquet files as a dataset. Their folders below `base` may be named `year=2024`; "" for a single file.

    A column that the first file stores too has the type that it has there.
    """
    import pyarrow
    from pyarrow.dataset import (
        FileSystemDatasetFactory,
        FileSystemFactoryOptions,
        HivePartitioning,
        ParquetFileFormat,
    )

    options, read = FileSystemFactoryOptions(), ParquetFileFormat()
    if base:
        found = HivePartitioning.discover()
        folders = _values_of_folders(files, base)
        stored = read.inspect(files[0], filesystem) if folders else pyarrow.schema([])
        if folders.keys() & {*stored.names}:
            types = {name: _type_of_folders(values) for name, values in folders.items()}
            known = {name: _of_values(stored.field(name).type) for name in folders if name in stored.names}
            types |= {name: kind for name, kind in known.items() if not pyarrow.types.is_null(kind)}
            found = HivePartitioning(pyarrow.schema(list(types.items())))
        options = FileSystemFactoryOptions(partition_base_dir=base, partitioning=found)
    return FileSystemDatasetFactory(filesystem, files, read, options).finish()


def _values_of_folders(files: Iterable[str], base: str) -> dict[str, set[str]]:
    """The values that folders such as `year=2024` give, by their columns."""
    values: dict[str, set[str]] = {}
    for folder in {file.rpartition("/")[0] for file in files}:
        for part in folder.removeprefix(base).split("/"):
            name, sign, value = part.partition("=")
            if sign:
                values.setdefault(name, set()).add(value)
    return values


def _type_of_folders(values: Iterable[str]) -> Any:
    """The type that PyArrow finds for these values."""
    import pyarrow

    numbers = [value for value in values if value != _NO_VALUE]
    fits = all(_WHOLE.fullmatch(value) and -(2**31) <= int(value) < 2**31 for value in numbers)
    return pyarrow.int32() if numbers and fits else pyarrow.string()


def _of_values(kind: Any) -> Any:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def require_folders_agree(dataset: Any) -> None:
    """Check that the files of a dataset that store the column of a folder have its value; see `require_folder_agrees`.

    If the first file does not store one, the others are expected not to either.
    """
    from pyarrow.dataset import FileSystemDataset, get_partition_keys

    if not isinstance(dataset, FileSystemDataset):
        return
    for number, fragment in enumerate(dataset.get_fragments()):
        given = get_partition_keys(fragment.partition_expression)
        if not number and not given.keys() & {*fragment.physical_schema.names}:
            return
        require_folder_agrees(fragment.path, fragment.filesystem, given)


def require_folder_agrees(path: str, filesystem: Any, given: Mapping[str, Any]) -> None:
    """Check that a Parquet file that stores the columns which its folders give has their values.

    Raises:
        InvalidRequest: it has another one.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(path, filesystem=filesystem) as file:
        for name in given.keys() & {*file.schema_arrow.names}:
            if not all(_has_only(file, group, name, given[name]) for group in range(file.num_row_groups)):
                shown = visible("/".join(path.split("/")[-2:]))
                raise InvalidRequest(
                    f"{shown} stores other values of {visible(name)!r} than its folder gives: "
                    f"{visible(str(given[name]))[:60]!r}.",
                    why="Nothing says which of them are right.",
                    hint="Correct the folder or the file; or name the files by a glob, such as 'sales/*/*.parquet': "
                    "then folders give no column.",
                )


def _has_only(file: Any, group: int, name: str, value: Any) -> bool:
    """Whether a column has this value in each row of a row group. Its statistics mostly say so."""
    import pyarrow
    import pyarrow.compute as pc

    described = file.metadata.row_group(group)
    for place in range(described.num_columns):
        column = described.column(place)
        known = column.statistics if column.path_in_schema == name else None
        if known is not None and known.has_min_max and known.min == known.max == value and not known.null_count:
            return True
    values = file.read_row_group(group, columns=[name]).column(name)
    if value is None or values.null_count:
        return bool(values.null_count == len(values) and value is None)
    try:
        plain = values.cast(_of_values(values.type))
        return bool(pc.all(pc.equal(plain, pyarrow.scalar(value).cast(plain.type))).as_py() in (True, None))
    except pyarrow.ArrowException:  # the value of the folder is none of this type
        return False


def files_in(folder: Path, shown: str) -> list[str]:
    """The files in a folder and its folders, sorted; what is neither file, folder nor link is left out."""
    found, folders, seen = [], [str(folder)], 0
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_ENTRIES:
                    raise InvalidRequest(
                        f"{shown} has more than {MOST_ENTRIES:,} files and folders.",
                        hint="Name a part of it, or a dataset of PyArrow that you made.",
                    )
                if entry.name in LOGS and format_of(Path(entry.path).parent):
                    require_no_log(Path(entry.path).parent)
                if entry.name.startswith(_HIDDEN):
                    continue
                if entry.is_symlink():
                    raise InvalidRequest(
                        f"{shown} has a link: {visible(str(Path(entry.path).relative_to(folder)))}.",
                        why="Whoever made the folder decides where a link leads.",
                        hint="Put the files themselves into the folder, or name a list of them with pyarrow.dataset.",
                    )
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.is_file():
                    found.append(entry.path)
    return sorted(found)


# Engines: columns, number of rows, first rows, a sample of rows

SEED = 0
BATCH_ROWS = 2**12
"""Rows of a batch of a sample. With more, texts that are stored once and repeated could need any amount of memory."""

MOST_GROUPS = 32
"""Row groups of Parquet files that a sample is drawn from, with at most `MOST_READ` cells."""

MOST_READ = 2**27

IN_PROCESS = frozenset({"duckdb", "polars", "datafusion", "sqlite"})
"""The backends of Ibis that compute in this process. Others may be a warehouse that takes money for a query."""

Rows = Iterable[Any]
"""Tables of Arrow, one after the other; or of pandas."""


@dataclass(frozen=True)
class TableEngine:
    """How the tables of one kind are read.

    Args:
        schema: the columns, a `pyarrow.Schema`. Nothing is computed.
        first: the first rows, so many at most.
        sample: so many rows of so many, or a few more or less, and whether they were drawn with a seed.
        in_calls: whether a call computes such a table, if it is small.
    """

    schema: Callable[[Any], Any]
    count: Callable[[Any], int]
    first: Callable[[Any, int], Rows]
    sample: Callable[[Any, int, int], tuple[Rows, bool]]
    in_calls: bool = True


def native(value: Any) -> Any:
    """The table that a lazy frame of narwhals wraps; any other value unchanged."""
    kind = lazy_kind(value)
    return native(value.to_native()) if kind is not None and kind.library == "narwhals" else value


def engine_of(value: Any) -> TableEngine | None:
    """How a table is read; None for other values, and for tables that are not read here. It is not looked into."""
    kind = lazy_kind(value)
    return _ENGINES.get((kind.library, kind.type_name)) if kind is not None else None


def require_readable(schema: Any) -> None:
    """Refuse columns that pandas has no values for: calendar intervals, such as one month and two days, and unions.

    Raises:
        InvalidRequest: there is one.
    """
    from pyarrow import types

    for field in schema:
        if _has(field.type, types.is_interval):
            raise InvalidRequest(
                f"The column {visible(field.name)!r} has intervals of months and days.",
                why="They have no fixed length, and pandas has no dtype for them.",
                hint="Convert it first, to a duration, a number or a text; or leave it out.",
            )
        if _has(field.type, types.is_union):
            raise InvalidRequest(
                f"The column {visible(field.name)!r} has a union of types.",
                why="pandas has no dtype for them.",
                hint="Convert it first, to one of its types or to a text; or leave it out.",
            )


def _has(kind: Any, is_such: Callable[[Any], bool]) -> bool:
    return is_such(kind) or any(_has(kind.field(place).type, is_such) for place in range(kind.num_fields))


def fraction(wanted: int, of: int) -> float:
    """The part of the rows to draw, each by chance, so that hardly ever more than `wanted` come."""
    return min(1.0, (wanted - 3 * math.sqrt(wanted)) / of) if wanted > 9 else min(1.0, wanted / of)


# Polars


def polars_schema(value: Any) -> Any:
    """The schema of a lazy frame, as PyArrow has it.

    Raises:
        InvalidRequest: it has Python objects.
    """
    import polars

    require_no_objects(value.collect_schema())
    return value.collect_schema().to_frame().to_arrow(compat_level=polars.CompatLevel.oldest()).schema


def require_no_objects(dtypes: Mapping[str, Any]) -> None:
    """Refuse columns of Python objects of Polars: it gives Arrow their addresses in memory in place of them."""
    import polars

    if column := next((name for name, dtype in dtypes.items() if dtype == polars.Object), None):
        raise InvalidRequest(
            f"The column {visible(column)!r} has Python objects.",
            why="Polars does not export Python objects.",
            hint="Convert it first, to a text, a number or a struct; or leave it out.",
        )


def _count_polars(value: Any) -> int:
    import polars

    return int(value.select(polars.len()).collect().item())


def _first_polars(value: Any, rows: int) -> Rows:
    return [_of_polars(value.head(rows).collect())]


def _sample_polars(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    import polars

    row = "_autocode_row"
    while row in value.collect_schema():
        row += "_"
    positions = polars.Series(sample_positions(of, wanted), dtype=polars.get_index_type())
    chosen = value.with_row_index(row).filter(polars.col(row).is_in(positions.implode())).drop(row)
    return [_of_polars(chosen.collect(engine="streaming"))], True


def _of_polars(frame: Any) -> Any:
    import polars

    return frame.to_arrow(compat_level=polars.CompatLevel.oldest())


# DuckDB

_CHANGED_TYPES = frozenset({"uhugeint", "time with time zone", "bit", "bignum", "varint"})
"""Types whose values become others in Arrow: negative numbers, times without a zone, the bytes of a format."""


def duckdb_schema(relation: Any) -> Any:
    """The schema of a relation, as PyArrow has it. Nothing is computed.

    Raises:
        InvalidRequest: a column has values that Arrow does not get as DuckDB has them.
    """
    for name, kind in zip(relation.columns, relation.types, strict=True):
        if lost := next((each for each in _types_in(kind) if each.id in _CHANGED_TYPES), None):
            raise InvalidRequest(
                f"The column {visible(name)!r} has the type {visible(str(lost))} of DuckDB.",
                why="DuckDB changes these values when it exports them.",
                hint="Cast it in the query, for example to VARCHAR; or leave it out.",
            )
    return duckdb_reader(relation.limit(0), 1).schema


def _types_in(kind: Any) -> Iterator[Any]:
    """A type of DuckDB, and those in it."""
    yield kind
    if kind.id in ("list", "array", "struct", "map", "union"):
        for _, inner in kind.children:
            if hasattr(inner, "id"):
                yield from _types_in(inner)


def duckdb_reader(relation: Any, rows: int) -> Any:
    """A reader of the batches of a relation."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(rows)
    return relation.fetch_record_batch(rows)


def duckdb_query(relation: Any, query: str, table: Any = None) -> Any:
    """The relation of a query, in the connection of a relation.

    Both have names that nobody else has: a view of the connection is found before a variable. A variable is looked up
    in the calling frame, so that is one with nothing else in it. `{relation}` and `{table}` stand for them in the
    query; a table is one of PyArrow, or a dataset.
    """
    names = {"relation": f"_{secrets.token_hex(16)}", "table": f"_{secrets.token_hex(16)}"}
    variables = {"query": relation.query, "name": names["relation"], "text": query.format(**names)}
    return eval("query(name, text)", {**variables, names["table"]: table})


def _sample_duckdb(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    percent = 100 * fraction(wanted, of)
    query = f"SELECT * FROM {{relation}} USING SAMPLE {percent:.12f} PERCENT (bernoulli, {SEED})"
    return _tables(duckdb_reader(duckdb_query(value, query), BATCH_ROWS)), True


def _tables(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow

    return (pyarrow.Table.from_batches([batch]) for batch in batches)


# Ibis


def ibis_tables(value: Any) -> Iterator[Any]:
    """The rows of an Ibis table. Its own `to_pyarrow_batches` fails with some versions of DuckDB."""
    import pyarrow

    return _tables(pyarrow.RecordBatchReader.from_stream(value))


def ibis_schema(value: Any) -> Any:
    """The schema of an Ibis table, as PyArrow has it. Nothing is computed.

    Raises:
        InvalidRequest: Ibis does not know the type of a column, so its values would come as some text.
    """
    schema = value.schema()
    if column := next((name for name, kind in schema.items() if kind.is_unknown()), None):
        raise InvalidRequest(
            f"The column {visible(column)!r} has a type that Ibis does not know.",
            why="Ibis would export other values than the database has.",
            hint="Cast it in the query, for example to a string; or leave it out.",
        )
    return schema.to_pyarrow()


def _count_ibis(value: Any) -> int:
    return int(value.count().execute())


def _sample_ibis(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    from ibis.common.exceptions import UnsupportedOperationError

    part = fraction(wanted, of)
    try:
        return ibis_tables(value.sample(part, method="row", seed=SEED)), True
    except UnsupportedOperationError:
        return ibis_tables(value.sample(part, method="row")), False


# PyArrow


def _first_dataset(value: Any, rows: int) -> Rows:
    return [value.head(rows)]


def _sample_dataset(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    """Rows of a few row groups, which are spread over the files; of other datasets, rows of all."""
    groups = _row_groups(value)
    if groups:
        chosen = [groups[place] for place in sample_positions(len(groups), MOST_GROUPS, first=1)]
        most, total = MOST_READ // max(1, len(value.schema)), 0
        kept: list[Any] = []
        for fragment, rows in chosen:
            if kept and total + rows > most:
                break
            kept.append(fragment)
            total += rows
        batches = (
            batch
            for fragment in kept
            for batch in fragment.to_batches(schema=value.schema, batch_size=BATCH_ROWS, batch_readahead=1)
        )
        return _taken(batches, sample_positions(total, wanted)), True
    batches = value.to_batches(batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1)
    return _taken(batches, sample_positions(of, wanted)), True


def _row_groups(value: Any) -> list[tuple[Any, int]]:
    """The row groups of Parquet files with their numbers of rows; nothing if the dataset is not one of such files."""
    groups: list[tuple[Any, int]] = []
    try:
        for fragment in value.get_fragments():
            for group in fragment.split_by_row_group():
                groups.append((group, group.row_groups[0].num_rows))
    except (ValueError, AttributeError):  # it is filtered, or has no row groups
        return []
    return [(group, rows) for group, rows in groups if rows > 0]


def _taken(batches: Iterable[Any], positions: Any) -> Iterator[Any]:
    """The rows of these positions, which are ascending."""
    import numpy as np
    import pyarrow

    start = 0
    for batch in batches:
        end = start + batch.num_rows
        low, high = np.searchsorted(positions, (start, end))
        yield pyarrow.Table.from_batches([batch]).take(pyarrow.array(positions[low:high] - start))
        start = end
        if high == len(positions):
            return


# Delta and Iceberg


def _delta(value: Any) -> Any:
    return value.to_pyarrow_dataset()


def _first_iceberg(value: Any, rows: int) -> Rows:
    for table in iceberg_tables(value):
        yield table.slice(0, rows)
        rows -= min(rows, table.num_rows)
        if not rows:
            return


def _sample_iceberg(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    batches = (batch for table in iceberg_tables(value) for batch in table.to_batches(BATCH_ROWS))
    return _taken(batches, sample_positions(of, wanted)), True


# Dask


def _schema_dask(value: Any) -> Any:
    import pyarrow

    return pyarrow.Schema.from_pandas(value._meta, preserve_index=False)


def _first_dask(value: Any, rows: int) -> Rows:
    return [_without_row_numbers(value.head(rows, npartitions=-1))]


def _sample_dask(value: Any, wanted: int, of: int) -> tuple[Rows, bool]:
    return [_without_row_numbers(value.sample(frac=fraction(wanted, of), random_state=SEED).compute())], True


def _without_row_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """The table without numbers of rows, which begin again with each partition."""
    is_numbered = table.index.name is None and table.index.dtype.kind in "iu"
    return table.reset_index(drop=True) if is_numbered else table


_ENGINES: dict[tuple[str, str], TableEngine] = {
    ("polars", "LazyFrame"): TableEngine(polars_schema, _count_polars, _first_polars, _sample_polars),
    ("duckdb", "DuckDBPyRelation"): TableEngine(
        duckdb_schema,
        lambda value: int(value.shape[0]),
        lambda value, rows: _tables(duckdb_reader(value.limit(rows), BATCH_ROWS)),
        _sample_duckdb,
    ),
    ("ibis", "Table"): TableEngine(
        ibis_schema,
        _count_ibis,
        lambda value, rows: ibis_tables(value.limit(rows)),
        _sample_ibis,
    ),
    ("pyarrow", "Dataset"): TableEngine(
        lambda value: value.schema, lambda value: int(value.count_rows()), _first_dataset, _sample_dataset
    ),
    ("deltalake", "DeltaTable"): TableEngine(
        lambda value: _delta(value).schema,
        lambda value: int(_delta(value).count_rows()),
        lambda value, rows: _first_dataset(_delta(value), rows),
        lambda value, wanted, of: _sample_dataset(_delta(value), wanted, of),
    ),
    ("pyiceberg", "Table"): TableEngine(iceberg_schema, iceberg_count, _first_iceberg, _sample_iceberg),
    ("dask", "DataFrame"): TableEngine(_schema_dask, len, _first_dask, _sample_dask, in_calls=False),
}
