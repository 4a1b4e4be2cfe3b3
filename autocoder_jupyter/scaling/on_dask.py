"""`growth.over` of a frame of Dask: a frame of the answers. Dask computes it when it is asked for them.

A partition is a piece. For groups Dask brings the rows with the same keys into one partition.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.engine_pieces import (
    BUCKET,
    MERGED,
    NO_SIZES,
    PLACE,
    EnginePieces,
    bytes_of,
    for_workers,
    hashes_of,
    largest,
    sample_answer,
    sizes_of,
)
from autocoder_jupyter.scaling.piece_calls import CHECKED, PieceCalls
from autocoder_jupyter.scaling.versions_sent import require_workers
from autocoder_jupyter.untrusted.parsing import visible

BUCKETS = 8
"""Buckets for each partition. Dask divides them by their hash, so with one for each many partitions would be empty."""

SMALLER = 'Make the partitions smaller: frame.repartition(partition_size="100MB")'


def on_dask(frame: Any, calls: PieceCalls, memory: int) -> Any:
    """A frame of Dask with the answers for the pieces of another one. Of that frame nothing is computed.

    Args:
        frame: the columns that the function needs.
        calls: calls the function for pieces.
        memory: bytes that a piece may have.

    Raises:
        VersionsDiffer: a worker of the client does not have this package.
        SandboxError: the function failed for its sample.
    """
    from dask.delayed import delayed

    _require_workers()
    answer = _meta(calls)
    empty = calls.dtypes.fitted(frame._meta)
    task = delayed(EnginePieces(for_workers(calls, memory), memory, SMALLER, empty, answer), traverse=False)
    parts = {"rows": _rows, "groups": _groups, "merge": _merged, "whole": _whole}[calls.contract.kind]
    return parts(frame, task, answer)


def _require_workers() -> None:
    """Ask the workers of the current client, if there is one; another one may compute the frame."""
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        with suppress(ValueError):  # there is none
            require_workers(distributed.default_client())


def _meta(calls: PieceCalls) -> pd.DataFrame:
    """The answer for the sample, without rows: what Dask knows of a frame before it is computed."""
    empty: pd.DataFrame = sample_answer(calls, "Dask frame").iloc[:0]
    for place, dtype in enumerate(empty.dtypes):
        if dtype.name == "category":  # which categories there are depends on the data
            empty.isetitem(place, pd.Categorical([], ["__UNKNOWN_CATEGORIES__"], ordered=dtype.ordered))
    return empty


def _rows(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    return frame.map_partitions(
        _partition, task, meta=answer, enforce_metadata=False, transform_divisions=False
    ).clear_divisions()


def _partition(table: pd.DataFrame, task: EnginePieces, partition_info: dict[str, Any] | None = None) -> pd.DataFrame:
    if not len(table):
        return task.answer
    number = (partition_info or {}).get("number", CHECKED)
    return task.computed(task.calls.dtypes.fitted(table), f"partition {number:,}", check=number < CHECKED)


def _groups(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    count = BUCKETS * frame.npartitions
    numbered = frame._meta.assign(**{BUCKET: np.zeros(0, "int64"), PLACE: np.zeros(0, "int64")})
    plain = {"enforce_metadata": False, "transform_divisions": False}
    divided = frame.map_partitions(_with_buckets, task, count, meta=numbered, **plain)
    # Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    home = divided.partitions[0].map_partitions(_a_bucket, meta=numbered[[BUCKET]], **plain)
    divided = divided.map_partitions(_at_home, home, meta=numbered, **plain)
    sizes = divided.map_partitions(_sizes, task, meta=NO_SIZES, **plain).repartition(npartitions=1)
    checked = sizes.map_partitions(_largest, meta=NO_SIZES[["bucket"]], **plain)
    shuffled = divided.shuffle(BUCKET, npartitions=frame.npartitions)
    return shuffled.map_partitions(_bucket, checked, task, meta=answer, **plain).clear_divisions()


def _hashes(table: pd.DataFrame, task: EnginePieces, count: int) -> tuple[Any, Any, Any]:
    """The hashes of the keys. Equal keys have the same, whatever dtypes a partition has.

    Raises:
        InvalidRequest: a key has values of several kinds.
    """
    keys = list(task.calls.keys)
    try:
        keyed = pyarrow.Table.from_pandas(table[keys], preserve_index=False)
        alike = [_alike(column) for column in keyed.columns]
    except pyarrow.ArrowException as error:
        raise InvalidRequest(
            f"The columns {visible(', '.join(keys))} cannot be keys: one has values of several kinds.",
            why=visible(str(error)[:300]),
        ) from error
    return hashes_of(pyarrow.table(alike, names=keys), keys, count)


def _alike(column: Any) -> Any:
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


def _with_buckets(
    table: pd.DataFrame, task: EnginePieces, count: int, partition_info: dict[str, Any] | None = None
) -> pd.DataFrame:
    """The rows with their buckets and places; the bucket of those without a key is -1."""
    buckets = _hashes(table, task, count)[2]
    first = (partition_info or {}).get("number", 0) << 40  # more rows than a partition has
    return table.assign(**{BUCKET: buckets, PLACE: first + np.arange(len(table))})


def _a_bucket(table: pd.DataFrame) -> pd.DataFrame:
    """One bucket that has rows with a key; nothing if none has."""
    return table.loc[table[BUCKET] >= 0, [BUCKET]].head(1)


def _at_home(table: pd.DataFrame, home: pd.DataFrame) -> pd.DataFrame:
    """The rows with those without a key in a bucket with others."""
    number = int(home[BUCKET].iloc[0]) if len(home) else 0
    return table.assign(**{BUCKET: np.where(table[BUCKET] >= 0, table[BUCKET], number)})


def _sizes(table: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    hashes, missing, _ = _hashes(table, task, 1)
    return sizes_of(table[BUCKET].to_numpy()[~missing], hashes[~missing])


def _largest(sizes: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"bucket": pd.Series(list(largest(sizes)), dtype="int64")})


def _bucket(table: pd.DataFrame, checked: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    if not len(table):
        return task.answer
    return task.of_groups(task.calls.dtypes.fitted(table), check=bool(table[BUCKET].isin(checked["bucket"]).any()))


def _merged(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    merge = delayed(_merge)
    level = _rows(frame, task, answer).to_delayed()
    while len(level) > 1:
        level = [merge(level[start : start + MERGED], task) for start in range(0, len(level), MERGED)]
    last = delayed(_last)(level[0], task)
    return from_delayed([last], meta=answer, verify_meta=False)


def _merge(answers: Sequence[pd.DataFrame], task: EnginePieces) -> pd.DataFrame:
    return task.merged(answers)


def _last(answer: pd.DataFrame, task: EnginePieces) -> pd.DataFrame:
    return task.last(answer)


def _whole(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    parts = frame.to_delayed()
    total = delayed(_fits)([delayed(bytes_of)(part) for part in parts], task)
    together = delayed(_together)([delayed(_after)(part, total) for part in parts], task)
    return from_delayed([together], meta=answer, verify_meta=False)


def _fits(sizes: Sequence[int], task: EnginePieces) -> int:
    """The bytes of all partitions. No worker gets all of them before this is known."""
    task.require_whole(sum(sizes))
    return sum(sizes)


def _after(part: pd.DataFrame, _: int) -> pd.DataFrame:
    return part


def _together(parts: Sequence[pd.DataFrame], task: EnginePieces) -> pd.DataFrame:
    return task.computed(task.calls.dtypes.fitted(pd.concat(list(parts))), "the table")
