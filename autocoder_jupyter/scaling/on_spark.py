"""`growth.over` of a frame of Spark: a frame of the answers. Spark computes it when it is asked for them.

A partition is a piece, and comes as Arrow. For groups Spark brings the rows with the same keys into one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.scaling.engine_pieces import BUCKET, MERGED, PLACE, ArrowPieces, arrow_pieces
from autocoder_jupyter.scaling.piece_calls import CHECKED, PieceCalls

BUCKETS = 8
"""Buckets for each partition after a shuffle. Spark divides them by their hash."""

CHECK = "_autocode_check"
"""The column that says whether the piece of the row is also computed in parts."""

HOME = "_autocode_home"
LARGEST = "_autocode_largest"

SMALLER = "Make the partitions smaller: frame.repartition(…), for groups a larger spark.sql.shuffle.partitions"


def arrow_schema(frame: Any) -> Any:
    """The columns of a frame as Arrow. A moment is the local time of the session, as in `toPandas()`."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return _local(to_arrow_schema(frame.schema, timezone="UTC").empty_table()).schema


def chosen(frame: Any, columns: Sequence[str]) -> Any:
    """The frame with these columns only."""
    return frame.select(*map(_column, columns))


def on_spark(frame: Any, calls: PieceCalls, memory: int) -> Any:
    """A frame of Spark with the answers for the pieces of another one. Of that frame nothing is computed.

    Args:
        frame: the columns that the function needs.
        calls: calls the function for pieces.
        memory: bytes that a piece may have.

    Raises:
        SandboxError: the function failed for its sample.
        InvalidRequest: Spark has no type for a column of the answer.
    """
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    def own(schema: Any) -> Any:
        return to_arrow_schema(from_arrow_schema(schema), timezone="UTC")

    task = arrow_pieces(calls, memory, arrow_schema(frame), kind="Spark frame", smaller=SMALLER, own=own)
    answer = from_arrow_schema(task.schema)

    def mapped(rows: Any, pieces: Callable[[ArrowPieces, Iterator[Any]], Iterator[Any]]) -> Any:
        return rows.mapInArrow(partial(_batches, pieces, task), answer)

    kind = calls.contract.kind
    if kind == "groups":
        return mapped(_shuffled(_placed(frame, calls), calls.keys), _group)
    if kind == "whole":
        return mapped(_placed(frame, calls).repartition(1), _whole)
    answers = mapped(frame, _partition)
    if kind == "merge":
        # A shuffle does not keep the order of the answers. If it counts, all are merged in one call, by their places.
        level = answers if calls.contract.ordered else mapped(answers.repartition(MERGED), _merge)
        return mapped(_placed(level, calls).repartition(1), _last)
    return answers


def _column(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _placed(frame: Any, calls: PieceCalls) -> Any:
    """The frame with the places of its rows, if their order counts."""
    from pyspark.sql import functions

    return frame.withColumn(PLACE, functions.monotonically_increasing_id()) if calls.contract.ordered else frame


def _shuffled(frame: Any, keys: Sequence[str]) -> Any:
    """The frame with whole groups in each partition, and a column that says which are also computed in parts.

    Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    """
    from pyspark.sql import functions as f

    values = [_key(frame, name) for name in keys]
    missing = f.lit(False)
    for value in values:
        missing |= value.isNull()
    count = BUCKETS * int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    hashed = f.when(~missing, f.xxhash64(*values))
    bucket = f.pmod(hashed, f.lit(count))
    sizes = chosen(frame, keys).select(hashed.alias("hash"), bucket.alias("bucket")).where("hash IS NOT NULL")
    sizes = sizes.groupBy("bucket").agg(f.count("*").alias("rows"), (f.min("hash") != f.max("hash")).alias("several"))
    each = f.collect_list(f.struct("several", "rows", "bucket"))
    known = sizes.agg(
        f.min("bucket").alias(HOME), f.slice(f.sort_array(each, asc=False), 1, CHECKED)["bucket"].alias(LARGEST)
    )
    numbered = frame.withColumn(BUCKET, bucket).crossJoin(f.broadcast(known))
    numbered = numbered.withColumn(BUCKET, f.coalesce(BUCKET, HOME, f.lit(0)))
    numbered = numbered.withColumn(CHECK, f.array_contains(LARGEST, f.col(BUCKET))).drop(HOME, LARGEST)
    return numbered.repartition(BUCKET)


def _key(frame: Any, name: str) -> Any:
    """The values of a key as pandas groups them: 0.0 and -0.0 are one, and a moment is its local time."""
    from pyspark.sql import functions, types

    kind, value = frame.schema[name].dataType, _column(name)
    if isinstance(kind, types.DoubleType | types.FloatType):
        return functions.when(~functions.isnan(value), functions.when(value == 0, functions.lit(0.0)).otherwise(value))
    return value.cast("timestamp_ntz") if isinstance(kind, types.TimestampType) else value


# In the workers


def _batches(
    pieces: Callable[[ArrowPieces, Iterator[Any]], Iterator[Any]], task: ArrowPieces, batches: Iterable[Any]
) -> Iterator[Any]:
    """The answers for the rows of a partition, as batches; nothing if it has no rows."""
    tables = (_local(pyarrow.Table.from_batches([batch])) for batch in batches if batch.num_rows)
    for answer in pieces(task, tables):
        yield from answer.to_batches()


def _local(table: Any) -> Any:
    """The rows with moments as local times."""
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type) and field.type.tz:
            table = table.set_column(place, field.name, pc.local_timestamp(table.column(place)))
    return table


def _gathered(tables: Iterator[Any], require: Callable[[int, Sequence[Any]], None]) -> Iterator[Any]:
    """All rows of a partition as one table, if there are any and they have room."""
    found, size = [], 0
    for table in tables:
        size += table.nbytes
        found.append(table)
        require(size, found)
    if found:
        yield pyarrow.concat_tables(found)


def _partition(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext

    context = TaskContext.get()
    number = context.partitionId() if context else CHECKED
    name = f"partition {number:,}"
    for table in _gathered(tables, lambda size, _: task.pieces.require_room(size, name)):
        yield task.computed(table, name, check=number < CHECKED)


def _group(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    def require(size: int, found: Sequence[Any]) -> None:
        task.pieces.require_group_room(size, lambda: pyarrow.concat_tables(found))

    for table in _gathered(tables, require):
        yield task.of_groups(table.drop_columns([CHECK]), check=bool(pc.any(table.column(CHECK)).as_py()))


def _whole(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    for table in _gathered(tables, lambda size, _: task.pieces.require_whole(size)):
        yield task.whole(table)


def _merge(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    if answers := list(tables):
        yield task.merged(answers, is_last=False)


def _last(task: ArrowPieces, tables: Iterator[Any]) -> Iterator[Any]:
    yield task.merged(list(tables), is_last=True)
