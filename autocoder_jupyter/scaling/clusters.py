"""`growth.over` of frames of Dask, datasets of Ray and frames of Spark: a frame of the answers.

The engine computes it when it is asked for it. Nothing is computed here, except for groups of Ray: their keys are read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.data.struct_fields import OF_FILES, require_same_fields
from autocoder_jupyter.errors import DataDrift, InvalidRequest, NotSplittable, PieceFailed
from autocoder_jupyter.scaling.engine_pieces import (
    BUCKET,
    MERGED,
    NO_SIZES,
    PLACE,
    ArrowPieces,
    EnginePieces,
    arrow_pieces,
    bytes_of,
    for_workers,
    hashes_of,
    largest,
    sample_answer,
    sizes_of,
)
from autocoder_jupyter.scaling.partition import ROOM
from autocoder_jupyter.scaling.pieces import CHECKED, PieceCalls
from autocoder_jupyter.scaling.prepare import require_workers
from autocoder_jupyter.untrusted.visible import visible

BUCKETS_PER_PARTITION = 8
"""Dask and Spark divide buckets by their hash, so with one for each partition many partitions would be empty."""


# Dask
#
# A partition is a piece. For groups Dask brings the rows with the same keys into one partition.

DASK_HINT = 'Make the partitions smaller: frame.repartition(partition_size="100MB")'


def on_dask(frame: Any, calls: PieceCalls, memory: int) -> Any:
    """A frame of Dask with the answers for the pieces of another one. Of that frame nothing is computed."""
    from dask.delayed import delayed

    _require_dask_workers()
    answer = _dask_meta(calls)
    empty = calls.dtypes.fitted(frame._meta)
    task = delayed(EnginePieces(for_workers(calls, memory), memory, DASK_HINT, empty, answer), traverse=False)
    by_kind = {"rows": _dask_rows, "groups": _dask_groups, "merge": _dask_merged, "whole": _dask_whole}
    return by_kind[calls.contract.kind](frame, task, answer)


def _require_dask_workers() -> None:
    """Ask the workers of the current client, if there is one; another one may compute the frame."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with suppress(ValueError):  # there is none
            require_workers(distributed.default_client())


def _dask_meta(calls: PieceCalls) -> pd.DataFrame:
    """The answer for the sample, without rows: what Dask knows of a frame before it is computed."""
    empty: pd.DataFrame = sample_answer(calls, "Dask frame").iloc[:0]
    for place, dtype in enumerate(empty.dtypes):
        if dtype.name == "category":  # which categories there are depends on the data
            empty.isetitem(place, pd.Categorical([], ["__UNKNOWN_CATEGORIES__"], ordered=dtype.ordered))
    return empty


def _dask_rows(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    return frame.map_partitions(
        _dask_partition, task, meta=answer, enforce_metadata=False, transform_divisions=False
    ).clear_divisions()


def _dask_partition(
    table: pd.DataFrame, task: EnginePieces, partition_info: dict[str, Any] | None = None
) -> pd.DataFrame:
    if not len(table):
        return task.answer
    number = (partition_info or {}).get("number", CHECKED)
    return task.computed(task.calls.dtypes.fitted(table), f"partition {number:,}", check=number < CHECKED)


def _dask_groups(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    count = BUCKETS_PER_PARTITION * frame.npartitions
    numbered = frame._meta.assign(**{BUCKET: np.zeros(0, "int64"), PLACE: np.zeros(0, "int64")})
    plain = {"enforce_metadata": False, "transform_divisions": False}
    divided = frame.map_partitions(_dask_with_buckets, task, count, meta=numbered, **plain)
    # Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    home = divided.partitions[0].map_partitions(_dask_any_bucket, meta=numbered[[BUCKET]], **plain)
    divided = divided.map_partitions(_dask_with_home, home, meta=numbered, **plain)
    sizes = divided.map_partitions(_dask_sizes, task, meta=NO_SIZES, **plain).repartition(npartitions=1)
    checked = sizes.map_partitions(_dask_largest, meta=NO_SIZES[["bucket"]], **plain)
    shuffled = divided.shuffle(BUCKET, npartitions=frame.npartitions)
    return shuffled.map_partitions(_dask_bucket, checked, task, meta=answer, **plain).clear_divisions()


def _dask_hashes(table: pd.DataFrame, task: EnginePieces, count: int) -> tuple[Any, Any, Any]:
    """The hashes of the keys. Equal keys have the same, whatever dtypes a partition has."""
    keys = list(task.calls.keys)
    try:
        keyed = pyarrow.Table.from_pandas(table[keys], preserve_index=False)
        columns = [_comparable(column) for column in keyed.columns]
    except pyarrow.ArrowException as error:
        raise InvalidRequest(
            f"The columns {visible(', '.join(keys))} cannot be keys: one has values of several kinds.",
            why=visible(str(error)[:300]),
        ) from error
    return hashes_of(pyarrow.table(columns, names=keys), keys, count)


def _comparable(column: Any) -> Any:
    """The values of a key as a type that is the same in all partitions: 1, 1.0, True and Decimal("1.00") are a key, and
    so is a moment in any unit. It does not matter that some different keys become equal.
    """
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_boolean(column.type):
        column = column.cast("uint8")
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        return column.cast("float64", safe=False)
    if types.is_timestamp(column.type):
        return column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return column.cast(pyarrow.duration("us"), safe=False) if types.is_duration(column.type) else column


def _dask_with_buckets(
    table: pd.DataFrame, task: EnginePieces, count: int, partition_info: dict[str, Any] | None = None
) -> pd.DataFrame:
    """The rows with their buckets and places; the bucket of those without a key is -1."""
    buckets = _dask_hashes(table, task, count)[2]
    first = (partition_info or {}).get("number", 0) << 40  # more rows than a partition has
    return table.assign(**{BUCKET: buckets, PLACE: first + np.arange(len(table))})


def _dask_any_bucket(table: pd.DataFrame) -> pd.DataFrame:
    """One bucket that has rows with a key; nothing if none has."""
    return table.loc[table[BUCKET] >= 0, [BUCKET]].head(1)


def _dask_with_home(table: pd.DataFrame, home: pd.DataFrame) -> pd.DataFrame:
    """The rows with those without a key in a bucket with others."""
    number = int(home[BUCKET].iloc[0]) if len(home) else 0
    return table.assign(**{BUCKET: np.where(table[BUCKET] >= 0, table[BUCKET], number)})


def _dask_sizes(table: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    hashes, missing, _ = _dask_hashes(table, task, 1)
    return sizes_of(table[BUCKET].to_numpy()[~missing], hashes[~missing])


def _dask_largest(sizes: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"bucket": pd.Series(list(largest(sizes)), dtype="int64")})


def _dask_bucket(table: pd.DataFrame, checked: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    if not len(table):
        return task.answer
    return task.of_groups(task.calls.dtypes.fitted(table), check=bool(table[BUCKET].isin(checked["bucket"]).any()))


def _dask_merged(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    merge = delayed(_dask_merge)
    level = _dask_rows(frame, task, answer).to_delayed()
    while len(level) > 1:
        level = [merge(level[start : start + MERGED], task) for start in range(0, len(level), MERGED)]
    last = delayed(_dask_last)(level[0], task)
    return from_delayed([last], meta=answer, verify_meta=False)


def _dask_merge(answers: Sequence[pd.DataFrame], task: EnginePieces) -> pd.DataFrame:
    return task.merged(answers)


def _dask_last(answer: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    return task.last(answer)


def _dask_whole(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    parts = frame.to_delayed()
    total = delayed(_dask_fits)([delayed(bytes_of)(part) for part in parts], task)
    together = delayed(_dask_together)([delayed(_dask_after)(part, total) for part in parts], task)
    return from_delayed([together], meta=answer, verify_meta=False)


def _dask_fits(sizes: Sequence[int], task: EnginePieces) -> int:
    """The bytes of all partitions. No worker gets all of them before this is known."""
    task.require_whole(sum(sizes))
    return sum(sizes)


def _dask_after(part: pd.DataFrame, _: int) -> pd.DataFrame:
    return part


def _dask_together(parts: Sequence[pd.DataFrame], task: EnginePieces) -> pd.DataFrame:
    return task.computed(task.calls.dtypes.fitted(pd.concat(list(parts))), "the table")


# Ray
#
# A block is a piece, and comes as Arrow. For groups Ray brings the rows with the same keys into one block; the keys are
# read once before, so that it is known which blocks are large, and whether each block has all rows of its groups.

RAY_BUCKETS = 1024
"""Buckets of a dataset. Ray divides them by their hash."""

SEED = "_autocode_seed"
"""A column with which a row is none of the data."""

TASK_BITS = 33
"""The bits of a row's place that count the rows of a task; those above count the tasks."""

RAY_HINT = "Make the blocks smaller: dataset.repartition(target_num_rows_per_block=…)"


def ray_schema(dataset: Any) -> Any:
    """The columns of a dataset as Arrow. Ray may have to read its first block."""
    found = dataset.schema()
    if found is None:
        raise InvalidRequest("The Ray dataset has no rows, so its columns are not known.")
    types = [kind if isinstance(kind, pyarrow.DataType) else pyarrow.null() for kind in found.types]
    return pyarrow.schema(list(zip(found.names, types, strict=True)))


def ray_columns(dataset: Any, columns: Sequence[str]) -> Any:
    """The dataset with these columns only."""
    return dataset.select_columns(list(columns))


def on_ray(dataset: Any, calls: PieceCalls, memory: int) -> Any:
    """A dataset of Ray with the answers for the pieces of another one. For groups their keys are read."""
    import ray

    kind = calls.contract.kind
    if kind != "rows" and calls.contract.ordered and not _ray_keeps_order(dataset):
        raise NotSplittable(
            f"The order of the rows counts for {visible(calls.function.name)}, and Ray does not keep it.",
            hint="Set ray.data.DataContext.get_current().execution_options.preserve_order = True before the dataset is "
            "made; or ask for a function that sorts the rows itself.",
        )
    schema = ray_schema(dataset)
    task = arrow_pieces(calls, memory, schema, kind="Ray dataset", smaller=RAY_HINT)

    def mapped(rows: Any, piece: Callable[..., Any], **given: Any) -> Any:
        return rows.map_batches(
            piece, batch_size=None, batch_format="pyarrow", fn_kwargs={"task": task, "schema": schema, **given}
        )

    if kind == "groups":
        return _ray_groups(dataset, schema, task, mapped)
    # Ray calls nothing for blocks without rows; one answer is also needed if there are no rows at all.
    seed = ray.data.from_arrow(pyarrow.table({SEED: [True]}))
    if kind == "whole":
        return mapped(_ray_placed(dataset, schema).union(seed).repartition(1), _ray_whole)
    answers = mapped(_ray_placed(dataset, schema), _ray_block)
    if kind == "merge":
        return mapped(mapped(answers.repartition(MERGED), _ray_merge).union(seed).repartition(1), _ray_last)
    return answers


def _ray_keeps_order(dataset: Any) -> bool:
    return bool(dataset.context.execution_options.preserve_order)


def _ray_placed(dataset: Any, schema: Any) -> Any:
    """The dataset as blocks of Arrow, with the places of its rows. In blocks of pandas Ray gives wrong places."""
    import ray

    try:
        from ray.data.expressions import monotonically_increasing_id
    except ImportError:
        raise InvalidRequest(f"Ray {ray.__version__} cannot number rows.", hint="Install a newer one.") from None
    blocks = dataset.map_batches(_ray_rows, batch_size=None, batch_format="pyarrow", fn_kwargs={"schema": schema})
    return blocks.with_column(PLACE, monotonically_increasing_id())


def _ray_groups(dataset: Any, schema: Any, task: ArrowPieces, mapped: Callable[..., Any]) -> Any:
    import ray

    from autocoder_jupyter.scaling.sources import TableSource

    calls = task.pieces.calls
    keys = list(calls.keys)
    sizes: Any = mapped(dataset.select_columns(keys), _ray_sizes).to_pandas()
    sizes = sizes if len(sizes) else NO_SIZES  # without blocks there are no columns
    rows = {int(bucket): int(count) for bucket, count in sizes.groupby("bucket")["rows"].sum().items()}
    # Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    home = next((bucket for bucket in rows if bucket >= 0), 0)
    if missing := rows.pop(-1, 0):
        rows[home] = rows.get(home, 0) + missing
    expected = TableSource(schema, sum(rows.values())).expected_bytes(schema.names) or 0
    fitting = math.ceil(expected * ROOM / task.pieces.memory)
    count = max(1, min(RAY_BUCKETS, max(int(ray.cluster_resources().get("CPU", 1)), fitting)))
    placed = _ray_placed(dataset, schema) if calls.contract.ordered else dataset
    divided = mapped(placed, _ray_with_buckets, home=home).repartition(count, keys=[BUCKET])
    return mapped(divided, _ray_group, expected=rows, checked=largest(sizes))


# Ray, in its workers


def _ray_rows(table: Any, schema: Any) -> Any:
    """Rows with the types that the dataset has; blocks without values may have others."""
    fields = [
        schema.field(field.name)
        if field.name in schema.names and not pyarrow.types.is_null(schema.field(field.name).type)
        else field
        for field in table.schema
    ]
    require_same_fields(table.schema, schema, "a block", "the dataset", OF_FILES)
    try:
        return table.cast(pyarrow.schema(fields))
    except pyarrow.ArrowException as error:
        raise DataDrift("A block does not have the types of the dataset.", why=visible(str(error)[:300])) from error


def _ray_block(table: Any, task: ArrowPieces, schema: Any) -> Any:
    if not table.num_rows:
        return task.schema.empty_table()
    number = table.column(PLACE)[0].as_py() >> TASK_BITS
    return task.computed(_ray_rows(table, schema), f"block {number:,}", check=number < CHECKED)


def _ray_sizes(table: Any, task: ArrowPieces, schema: Any) -> Any:
    hashes, _, buckets = hashes_of(_ray_rows(table, schema), task.pieces.calls.keys, RAY_BUCKETS)
    return pyarrow.Table.from_pandas(sizes_of(buckets, hashes), preserve_index=False)


def _ray_with_buckets(table: Any, task: ArrowPieces, schema: Any, home: int) -> Any:
    rows = _ray_rows(table, schema)
    buckets = hashes_of(rows, task.pieces.calls.keys, RAY_BUCKETS)[2]
    return rows.append_column(BUCKET, pyarrow.array(np.where(buckets < 0, home, buckets)))


def _ray_group(table: Any, task: ArrowPieces, schema: Any, expected: Mapping[int, int], checked: set[int]) -> Any:
    if not table.num_rows:
        return task.schema.empty_table()
    counted = {each["values"]: each["counts"] for each in table.column(BUCKET).value_counts().to_pylist()}
    if (
        other := next((bucket for bucket, count in counted.items() if count != expected.get(bucket)), None)
    ) is not None:
        raise PieceFailed(
            f"A piece has {counted[other]:,} rows of some groups, and {expected.get(other, 0):,} were counted before.",
            why="The dataset gave other rows than before, so an answer could be wrong.",
            hint="Compute its rows once: dataset.materialize().",
        )
    return task.of_groups(_ray_rows(table, schema), check=not checked.isdisjoint(counted))


def _ray_whole(table: Any, task: ArrowPieces, schema: Any) -> Any:
    rows = _without_seed(table)
    return task.whole(_ray_rows(rows, schema) if rows.num_rows else schema.empty_table())


def _without_seed(table: Any) -> Any:
    return table.filter(pc.is_null(table.column(SEED))).drop_columns([SEED])


def _ray_merge(table: Any, task: ArrowPieces, schema: Any) -> Any:
    return task.merged([table], is_last=False)


def _ray_last(table: Any, task: ArrowPieces, schema: Any) -> Any:
    answers = _without_seed(table)
    return task.merged([answers.select(task.schema.names).cast(task.schema)] if answers.num_rows else [], is_last=True)


# Spark
#
# A partition is a piece, and comes as Arrow. For groups Spark brings the rows with the same keys into one partition.

CHECK = "_autocode_check"
"""The column that says whether the piece of the row is also computed in parts."""

HOME = "_autocode_home"
LARGEST = "_autocode_largest"

SPARK_HINT = "Make the partitions smaller: frame.repartition(…), for groups a larger spark.sql.shuffle.partitions"


def spark_schema(frame: Any) -> Any:
    """The columns of a frame as Arrow. A moment is the local time of the session, as in `toPandas()`."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return _spark_local(to_arrow_schema(frame.schema, timezone="UTC").empty_table()).schema


def spark_columns(frame: Any, columns: Sequence[str]) -> Any:
    """The frame with these columns only."""
    return frame.select(*map(_spark_column, columns))


def on_spark(frame: Any, calls: PieceCalls, memory: int) -> Any:
    """A frame of Spark with the answers for the pieces of another one. Of that frame nothing is computed."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    def own(schema: Any) -> Any:
        return to_arrow_schema(from_arrow_schema(schema), timezone="UTC")

    task = arrow_pieces(calls, memory, spark_schema(frame), kind="Spark frame", smaller=SPARK_HINT, own=own)
    answer = from_arrow_schema(task.schema)

    def mapped(rows: Any, pieces: Callable[[ArrowPieces, Iterator[Any]], Iterator[Any]]) -> Any:
        return rows.mapInArrow(partial(_spark_batches, pieces, task), answer)

    kind = calls.contract.kind
    if kind == "groups":
        return mapped(_spark_shuffled(_spark_placed(frame, calls), calls.keys), _spark_group)
    if kind == "whole":
        return mapped(_spark_placed(frame, calls).repartition(1), _spark_whole)
    answers = mapped(frame, _spark_partition)
    if kind == "merge":
        # A shuffle does not keep the order of the answers. If it counts, all are merged in one call, by their places.
        level = answers if calls.contract.ordered else mapped(answers.repartition(MERGED), _spark_merge)
        return mapped(_spark_placed(level, calls).repartition(1), _spark_last)
    return answers


def _spark_column(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _spark_placed(frame: Any, calls: PieceCalls) -> Any:
    """The frame with the places of its rows, if their order counts."""
    from pyspark.sql import functions

    return frame.withColumn(PLACE, functions.monotonically_increasing_id()) if calls.contract.ordered else frame


def _spark_shuffled(frame: Any, keys: Sequence[str]) -> Any:
    """The frame with whole groups in each partition, and a column that says which are also computed in parts.

    Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    """
    from pyspark.sql import functions as f

    values = [_spark_key(frame, name) for name in keys]
    missing = f.lit(False)
    for value in values:
        missing |= value.isNull()
    count = BUCKETS_PER_PARTITION * int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    hashed = f.when(~missing, f.xxhash64(*values))
    bucket = f.pmod(hashed, f.lit(count))
    sizes = spark_columns(frame, keys).select(hashed.alias("hash"), bucket.alias("bucket")).where("hash IS NOT NULL")
    sizes = sizes.groupBy("bucket").agg(f.count("*").alias("rows"), (f.min("hash") != f.max("hash")).alias("several"))
    each = f.collect_list(f.struct("several", "rows", "bucket"))
    known = sizes.agg(
        f.min("bucket").alias(HOME), f.slice(f.sort_array(each, asc=False), 1, CHECKED)["bucket"].alias(LARGEST)
    )
    numbered = frame.withColumn(BUCKET, bucket).crossJoin(f.broadcast(known))
    numbered = numbered.withColumn(BUCKET, f.coalesce(BUCKET, HOME, f.lit(0)))
    numbered = numbered.withColumn(CHECK, f.array_contains(LARGEST, f.col(BUCKET))).drop(HOME, LARGEST)
    return numbered.repartition(BUCKET)


def _spark_key(frame: Any, name: str) -> Any:
    """The values of a key as pandas groups them: 0.0 and -0.0 are one, and a moment is its local time."""
    from pyspark.sql import functions, types

    kind, value = frame.schema[name].dataType, _spark_column(name)
    if isinstance(kind, types.DoubleType | types.FloatType):
        return functions.when(~functions.isnan(value), functions.when(value == 0, functions.lit(0.0)).otherwise(value))
    return value.cast("timestamp_ntz") if isinstance(kind, types.TimestampType) else value


# Spark, in its workers


def _spark_batches(
    pieces: Callable[[ArrowPieces, Iterator[Any]], Iterator[Any]], task: ArrowPieces, batches: Iterable[Any]
) -> Iterator[Any]:
    """The answers for the rows of a partition, as batches; nothing if it has no rows."""
    tables = (_spark_local(pyarrow.Table.from_batches([batch])) for batch in batches if batch.num_rows)
    for answer in pieces(task, tables):
        yield from answer.to_batches()


def _spark_local(table: Any) -> Any:
    """The rows with moments as local times."""
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type) and field.type.tz:
            table = table.set_column(place, field.name, pc.local_timestamp(table.column(place)))
    return table


def _spark_gathered(tables: Iterator[Any], require: Callable[[int, Sequence[Any]], None]) -> Iterator[Any]:
    """All rows of a partition as one table, if there are any and they have room."""
    found, size = [], 0
    for table in tables:
        size += table.nbytes
        found.append(table)
        require(size, found)
    if found:
        yield pyarrow.concat_tables(found)


def _spark_partition(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext

    context = TaskContext.get()
    number = context.partitionId() if context else CHECKED
    name = f"partition {number:,}"
    for table in _spark_gathered(tables, lambda size, _: task.pieces.require_room(size, name)):
        yield task.computed(table, name, check=number < CHECKED)


def _spark_group(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    def require(size: int, found: Sequence[Any]) -> None:
        task.pieces.require_group_room(size, lambda: pyarrow.concat_tables(found))

    for table in _spark_gathered(tables, require):
        yield task.of_groups(table.drop_columns([CHECK]), check=bool(pc.any(table.column(CHECK)).as_py()))


def _spark_whole(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    for table in _spark_gathered(tables, lambda size, _: task.pieces.require_whole(size)):
        yield task.whole(table)


def _spark_merge(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    if answers := list(tables):
        yield task.merged(answers, is_last=False)


def _spark_last(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    yield task.merged(list(tables), is_last=True)
