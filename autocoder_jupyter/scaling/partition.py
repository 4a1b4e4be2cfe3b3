"""Divides rows by the values of their keys into files: all rows of a group are in one of them, in their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.errors import InvalidRequest, TooBig
from autocoder_jupyter.untrusted.visible import visible

MOST_BUCKETS = 1024
"""Files that are open at once."""

UNKNOWN = 64
"""Buckets of a source whose number of rows is not known."""

ROOM = 1.3
"""How much more room the buckets have than the rows are expected to need, because they are not equally full."""

LEVELS = 4
"""How often a bucket that is too large is divided again."""

_MISSING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Bucket:
    """The rows of some groups.

    Args:
        files: Arrow files.
        rows: how many they have.
        size: bytes in memory.
    """

    files: tuple[Path, ...]
    rows: int
    size: int

    def table(self) -> Any:
        """The rows."""
        return pyarrow.concat_tables([_opened(file).read_all() for file in self.files])


def partition(
    tables: Iterable[Any], keys: Sequence[str], folder: Path, *, expected: int | None, limit: int, workers: int
) -> list[Bucket]:
    """Divide rows into buckets of whole groups.

    Args:
        tables: the rows, as tables of PyArrow.
        keys: the columns of the keys.
        folder: for the files.
        expected: bytes of all rows in memory; None if that is not known.
        limit: bytes of a bucket.
        workers: so many buckets can be computed at once.

    Returns:
        Buckets with rows; none if there are no rows.

    Raises:
        TooBig: a group is larger than a bucket.
        InvalidRequest: a key has values that cannot be keys.
    """
    count = UNKNOWN
    if expected is not None:
        count = max(math.ceil(expected * ROOM / limit), min(4 * workers, expected // 2**22), 1)
    buckets, missing = _divided(tables, keys, folder, min(count, MOST_BUCKETS), limit, 0)
    small: list[Bucket] = []
    for number, bucket in enumerate(buckets):
        small += _small_enough(bucket, keys, folder / f"b{number}", limit, 1)
    if missing is None:
        return small
    if missing.size > limit:
        raise _too_big("rows without a key", keys, missing.size, limit)
    if not small:
        return [missing]
    # Rows without keys are never a piece alone: nothing was compared for such a piece.
    least = min(small, key=lambda bucket: bucket.size)
    both = Bucket((*least.files, *missing.files), least.rows + missing.rows, least.size + missing.size)
    return [both if bucket is least else bucket for bucket in small]


def _small_enough(bucket: Bucket, keys: Sequence[str], folder: Path, limit: int, level: int) -> Iterator[Bucket]:
    """The bucket, or smaller ones."""
    if bucket.size <= limit:
        yield bucket
        return
    groups = pyarrow.concat_tables(_opened(file).read_all().select(list(keys)) for file in bucket.files)
    words, rows = largest_group(groups, keys)
    size = bucket.size * rows // max(1, bucket.rows)
    if size > limit or level > LEVELS or rows == groups.num_rows:
        raise _too_big(words, keys, size, limit)
    del groups
    count = min(MOST_BUCKETS, math.ceil(bucket.size * ROOM / limit) + 1)
    inner, _ = _divided(_batches(bucket.files), keys, folder, count, limit, level)
    for file in bucket.files:
        file.unlink()
    for number, each in enumerate(inner):
        yield from _small_enough(each, keys, folder / f"b{number}", limit, level + 1)


def largest_group(rows: Any, keys: Sequence[str]) -> tuple[str, int]:
    """The key of the group with the most rows, such as `shop = 'north'`, and how many it has.

    Args:
        rows: a table of Arrow with at least one row.
        keys: its columns that make the groups.
    """
    counts = rows.group_by(list(keys)).aggregate([([], "count_all")])
    largest = counts.sort_by([("count_all", "descending")]).slice(0, 1).to_pylist()[0]
    return ", ".join(f"{key} = {largest[key]!r}" for key in keys), largest["count_all"]


def _too_big(group: str, keys: Sequence[str], size: int, limit: int) -> TooBig:
    return TooBig(
        f"A group of {visible(', '.join(keys))} is larger than a piece may be: {visible(group)[:200]}.",
        why=f"It has about {_mebibytes(size)}, and a piece at most {_mebibytes(limit)}: "
        "a quarter of the memory over the workers.",
        hint='Give more memory, or use fewer workers: over(source, memory="8GiB", workers=1).',
    )


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def _divided(
    tables: Iterable[Any], keys: Sequence[str], folder: Path, count: int, limit: int, seed: int
) -> tuple[list[Bucket], Bucket | None]:
    """The buckets that have rows, and the one of the rows without keys."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = _BucketWriter(folder, count)
    waiting: list[Any] = []
    size, at_once = 0, max(2**18, min(2**26, limit // 2))
    try:
        for table in tables:
            waiting.append(table)
            size += table.nbytes
            if size >= at_once:
                writer.write(pyarrow.concat_tables(waiting), keys, seed)
                waiting, size = [], 0
        if waiting:
            writer.write(pyarrow.concat_tables(waiting), keys, seed)
    finally:
        writer.close()
    return writer.buckets()


class _BucketWriter:
    """Writes rows to the files of their buckets. The last bucket has the rows without keys."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self._count = count
        self._files: dict[int, Any] = {}
        self._rows = np.zeros(count + 1, dtype="int64")
        self._bytes = np.zeros(count + 1, dtype="int64")

    def write(self, table: Any, keys: Sequence[str], seed: int) -> None:
        if not table.num_rows:
            return
        numbers = bucket_numbers(table, keys, self._count, seed)
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=self._count + 1)
        in_order = table.take(pyarrow.array(order)).combine_chunks()
        start = 0
        for number in np.flatnonzero(counts).tolist():
            part = in_order.slice(start, counts[number])
            start += counts[number]
            if number not in self._files:
                compressed = pyarrow.ipc.IpcWriteOptions(compression="lz4")
                path = self._path(number)
                self._files[number] = pyarrow.ipc.new_file(str(path), table.schema, options=compressed)
            self._files[number].write_table(part)
            self._rows[number] += part.num_rows
            self._bytes[number] += part.nbytes

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def buckets(self) -> tuple[list[Bucket], Bucket | None]:
        made = {
            number: Bucket((self._path(number),), int(self._rows[number]), int(self._bytes[number]))
            for number in sorted(self._files)
        }
        missing = made.pop(self._count, None)
        return list(made.values()), missing

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrow"


def bucket_numbers(table: Any, keys: Sequence[str], count: int, seed: int = 0) -> Any:
    """The bucket of each row; `count` for rows without a key. Equal keys have the same one, in each table."""
    combined, missing = row_hashes(table, keys, seed)
    numbers = (combined % np.uint64(count)).astype("uint16")
    numbers[missing] = count
    return numbers


def row_hashes(table: Any, keys: Sequence[str], seed: int = 0) -> tuple[Any, Any]:
    """A hash of the keys of each row, and which rows have no key."""
    combined = np.full(table.num_rows, np.uint64(seed))
    missing = np.zeros(table.num_rows, dtype=bool)
    for key in keys:
        hashes, absent = _hashes(table.column(key), key)
        combined = _mixed(combined ^ hashes)
        missing |= absent
    return combined, missing


def _hashes(column: Any, key: str) -> tuple[Any, Any]:
    """A hash of each value, and which values are missing. Each different value is computed once."""
    if pyarrow.types.is_floating(column.type):
        column = pc.add(column.cast("float64"), 0.0)  # -0.0 and 0.0 are one key
        column = pc.if_else(pc.is_nan(column), pyarrow.scalar(None, "float64"), column)
    encoded = column.combine_chunks()
    encoded = (
        (encoded if isinstance(encoded, pyarrow.Array) else pyarrow.concat_arrays(encoded.chunks))
        if len(column)
        else pyarrow.array([], column.type)
    )
    encoded = encoded.dictionary_encode()
    of_values = np.append(_of_values(encoded.dictionary, key), _MISSING)
    places = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return of_values[places], places == len(encoded.dictionary)


def _of_values(values: Any, key: str) -> Any:
    kind, types = values.type, pyarrow.types
    if types.is_boolean(kind):
        return _mixed(values.cast("uint8").to_numpy(zero_copy_only=False).astype("uint64"))
    if types.is_uint64(kind):
        return _mixed(values.to_numpy(zero_copy_only=False))
    if types.is_integer(kind) or types.is_temporal(kind):
        if types.is_date32(kind) or types.is_time32(kind):
            values = values.cast("int32")
        return _mixed(values.cast("int64").to_numpy(zero_copy_only=False).view("uint64"))
    if types.is_floating(kind):
        return _mixed(values.to_numpy(zero_copy_only=False).view("uint64"))
    if types.is_decimal(kind):
        values = values.cast("string")
    elif types.is_null(kind):
        return np.zeros(0, dtype="uint64")
    elif not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise InvalidRequest(
            f"The column {visible(key)!r} cannot be a key: it has values of the type {visible(str(kind))}."
        )
    return pd.util.hash_array(values.to_numpy(zero_copy_only=False), categorize=False)


def _mixed(numbers: Any) -> Any:
    """Each number mixed, so that near ones are in different buckets (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers + _MISSING
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def _opened(file: Path) -> Any:
    return pyarrow.ipc.open_file(pyarrow.OSFile(str(file)))


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    for path in files:
        file = _opened(path)
        for number in range(file.num_record_batches):
            yield pyarrow.Table.from_batches([file.get_batch(number)])
