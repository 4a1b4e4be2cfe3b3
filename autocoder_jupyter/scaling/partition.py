"""Divides rows by the values of their keys into files: all rows of a group are in one of them, in their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.errors import InvalidRequest, TooBig, writing
from autocoder_jupyter.untrusted.visible import visible

MOST_BUCKETS = 1024
"""Files that are open at once."""

UNKNOWN = 64
"""Buckets of a source whose number of rows is not known."""

ROOM = 1.3
"""How much more room the buckets have than the rows are expected to need, because they are not equally full."""

LEVELS = 4
"""How often a bucket that is too large is divided again."""

DIVIDED = 8
"""Buckets into which one is divided whose room is too small for the rows without keys."""

COUNTED = 2**16
"""Groups that are counted before equal ones are put together."""

_MISSING = np.uint64(0x9E3779B97F4A7C15)
_HASHED_BYTES = 1024
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype="uint64")


@dataclass(frozen=True)
class Bucket:
    """The rows of some groups.

    Args:
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
    """Divide rows into buckets of whole groups."""
    count = UNKNOWN
    if expected is not None:
        count = max(math.ceil(expected * ROOM / limit), min(4 * workers, expected // 2**22), 1)
    buckets, missing = _divided(tables, keys, folder, min(count, MOST_BUCKETS), limit, 0)
    small: list[Bucket] = []
    for number, bucket in enumerate(buckets):
        small += _small_enough(bucket, keys, folder / f"b{number}", limit, 1)
    if missing is None:
        return small
    if not small and missing.size <= limit:
        return [missing]
    return _with_missing(small, missing, keys, folder / "home", limit)


def _with_missing(
    buckets: list[Bucket], missing: Bucket, keys: Sequence[str], folder: Path, limit: int
) -> list[Bucket]:
    """The buckets, with the rows without keys in the smallest: no piece with only such rows was compared."""
    if not buckets or missing.size > limit:
        raise _too_big("rows without a key", keys, missing.size, limit)
    least = _smallest(buckets)
    if least.size + missing.size > limit:
        buckets = [bucket for bucket in buckets if bucket is not least]
        buckets += _divided(_batches(least.files), keys, folder, DIVIDED, limit, LEVELS + 2)[0]
        for file in least.files:
            file.unlink()
        least = _smallest(buckets)
    both = Bucket((*least.files, *missing.files), least.rows + missing.rows, least.size + missing.size)
    if both.size > limit:
        raise _too_big("rows without a key, with one other group at least", keys, both.size, limit)
    return [both if bucket is least else bucket for bucket in buckets]


def _smallest(buckets: Sequence[Bucket]) -> Bucket:
    return min(buckets, key=lambda bucket: bucket.size)


def _small_enough(bucket: Bucket, keys: Sequence[str], folder: Path, limit: int, level: int) -> Iterator[Bucket]:
    """The bucket, or smaller ones."""
    if bucket.size <= limit:
        yield bucket
        return
    words, rows = largest_group(_batches(bucket.files, keys), keys)
    size = bucket.size * rows // max(1, bucket.rows)
    if size > limit or level > LEVELS or rows == bucket.rows:
        raise _too_big(words, keys, size, limit)
    count = min(MOST_BUCKETS, math.ceil(bucket.size * ROOM / limit) + 1)
    inner, _ = _divided(_batches(bucket.files), keys, folder, count, limit, level)
    for file in bucket.files:
        file.unlink()
    for number, each in enumerate(inner):
        yield from _small_enough(each, keys, folder / f"b{number}", limit, level + 1)


def largest_group(tables: Iterable[Any], keys: Sequence[str]) -> tuple[str, int]:
    """The key of the group with the most rows, such as `shop = 'north'`, and how many it has."""
    counted: list[Any] = []
    waiting, known = 0, 0
    for table in tables:
        counted.append(table.group_by(list(keys)).aggregate([([], "count_all")]))
        waiting += counted[-1].num_rows
        if waiting > 2 * known + COUNTED:
            counted = [_together(counted, keys)]
            waiting = known = counted[0].num_rows
    counts = _together(counted, keys)
    largest = counts.sort_by([("count_all", "descending")]).slice(0, 1).to_pylist()[0]
    return ", ".join(f"{key} = {largest[key]!r}" for key in keys), largest["count_all"]


def _together(counted: Sequence[Any], keys: Sequence[str]) -> Any:
    """The counts of several tables as those of all."""
    summed = pyarrow.concat_tables(counted).group_by(list(keys)).aggregate([("count_all", "sum")])
    return summed.select([*keys, "count_all_sum"]).rename_columns([*keys, "count_all"])


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
    with writing_pieces(folder):
        folder.mkdir(parents=True, exist_ok=True)
    writer = _BucketWriter(folder, count)
    waiting: list[tuple[Any, Any]] = []
    size, at_once = 0, max(2**18, min(2**26, limit // 2))
    try:
        for table in tables:
            waiting.append((table, bucket_numbers(table, keys, writer.count, seed)))  # while it is in the cache
            size += table.nbytes
            if size >= at_once:
                with writing_pieces(folder):
                    writer.write(waiting)
                waiting, size = [], 0
        with writing_pieces(folder):
            writer.write(waiting)
    finally:
        with writing_pieces(folder):
            writer.close()
    return writer.buckets()


def writing_pieces(folder: Path) -> AbstractContextManager[None]:
    """Say what to do if the pieces cannot be written."""
    room = "Make room there, or set TMPDIR to a folder that has room before Python starts."
    return writing("The pieces", folder, room)


class _BucketWriter:
    """Writes rows to the files of their buckets. The last bucket has the rows without keys."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self.count = count
        self._files: dict[int, Any] = {}
        self._rows = np.zeros(count + 1, dtype="int64")
        self._bytes = np.zeros(count + 1, dtype="int64")

    def write(self, tables: Sequence[tuple[Any, Any]]) -> None:
        """Write tables, each with the buckets of its rows."""
        if not tables:
            return
        numbers = np.concatenate([each for _, each in tables])
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=self.count + 1)
        in_order = pyarrow.concat_tables([table for table, _ in tables]).take(pyarrow.array(order)).combine_chunks()
        start = 0
        for number in np.flatnonzero(counts).tolist():
            part = in_order.slice(start, counts[number])
            start += counts[number]
            if number not in self._files:
                compressed = pyarrow.ipc.IpcWriteOptions(compression="lz4")
                path = self._path(number)
                self._files[number] = pyarrow.ipc.new_file(str(path), in_order.schema, options=compressed)
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
        missing = made.pop(self.count, None)
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
    """A hash of each value, and which values are missing."""
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # so that texts and their categories have the same hashes
    if types.is_floating(column.type):
        column = pc.add(column.cast("float64"), 0.0)  # -0.0 and 0.0 are one key
        column = pc.if_else(pc.is_nan(column), pyarrow.scalar(None, "float64"), column)
    elif types.is_decimal(column.type):
        column = column.cast("string")
    elif types.is_string_view(column.type) or types.is_binary_view(column.type):
        column = column.cast("large_binary")
    array = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    if types.is_null(array.type):
        return np.full(len(array), _MISSING), np.ones(len(array), dtype=bool)
    if types.is_nested(array.type):
        raise _no_key(key, array.type)
    bare = pyarrow.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)
    hashes = _of_values(bare, key)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    hashes[missing] = _MISSING
    return hashes, missing


def _of_values(values: Any, key: str) -> Any:
    kind, types = values.type, pyarrow.types
    if any(
        is_such(kind) for is_such in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    ):
        return _of_bytes(values.cast("large_binary"))
    if types.is_fixed_size_binary(kind):
        return _of_bytes(values.cast("binary").cast("large_binary"))
    if types.is_boolean(kind):
        values = values.cast("uint8")
    elif types.is_date32(kind) or types.is_time32(kind):
        values = values.cast("int32")
    elif not (types.is_integer(kind) or types.is_temporal(kind) or types.is_floating(kind)):
        raise _no_key(key, kind)
    if not (types.is_floating(kind) or types.is_uint64(kind)):
        values = values.cast("int64")
    return _mixed(values.to_numpy(zero_copy_only=False).view("uint64"))


def _no_key(key: str, kind: Any) -> InvalidRequest:
    return InvalidRequest(
        f"The column {visible(key)!r} cannot be a key: it has values of the type {visible(str(kind))}."
    )


def _of_bytes(texts: Any) -> Any:
    """A hash of each text, or other bytes: of its length, and of its first bytes, eight at a time.

    This takes a third of the time in which the different texts of a table are found. Each step is one of numpy, so very
    long texts are not hashed to their end: those with the same hash are only in one bucket.
    """
    ends = np.frombuffer(texts.buffers()[1], "int64", len(texts) + 1, texts.offset * 8)
    first, size = int(ends[0]), int(ends[-1] - ends[0])
    content = np.zeros(size + 8, dtype="uint8")
    if size:
        content[:size] = np.frombuffer(texts.buffers()[2], "uint8", size, first)
    words = np.ndarray((size + 1,), "<u8", content, 0, (1,))  # the eight bytes from each place on
    place, left = ends[:-1] - first, np.diff(ends)
    hashes, rows = left.astype("uint64"), np.arange(len(texts))
    for _ in range(_HASHED_BYTES // 8):
        hashes[rows] = _mixed(hashes[rows] ^ (words[place] & _FIRST_BYTES[np.minimum(left, 8)]))
        if not len(more := np.flatnonzero(left > 8)):
            break
        rows, place, left = rows[more], place[more] + 8, left[more] - 8
    return hashes


def _mixed(numbers: Any) -> Any:
    """Each number mixed, so that near ones are in different buckets (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers + _MISSING
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def _opened(file: Path, columns: Sequence[str] | None = None) -> Any:
    """A file with these columns, by default with all. The bytes of others are not read."""
    opened = pyarrow.ipc.open_file(pyarrow.OSFile(str(file)))
    if columns is None:
        return opened
    places = [opened.schema.get_field_index(name) for name in columns]
    options = pyarrow.ipc.IpcReadOptions(included_fields=places)
    return pyarrow.ipc.open_file(pyarrow.OSFile(str(file)), options=options)


def _batches(files: Sequence[Path], columns: Sequence[str] | None = None) -> Iterator[Any]:
    for path in files:
        file = _opened(path, columns)
        for number in range(file.num_record_batches):
            yield pyarrow.Table.from_batches([file.get_batch(number)])
