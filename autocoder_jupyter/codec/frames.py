"""Encode a DataFrame or a Series as a JSON header and Arrow bytes, and decode it."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .columns import Note, count_of, is_number, note_of_each, number_type, read_numbers, wrapped_times, write_numbers
from .geometry import is_geographic, note_of, with_class
from .ipc import ArrowReader, ArrowWriter
from .labels import read_array, read_index, require_unique, write_array, write_index
from .plain import Corrupt, TypeMismatch, Unencodable, canonical_nan, from_json, to_json

# Encoded values and their digest

_LAYOUT_KEYS = ("size", "numbers", "texts", "streams")


@dataclass(frozen=True)
class Encoded:
    """An encoded value.

    Args:
        header: describes the bytes; made of JSON values. `header["size"]` is the number of bytes.
        buffers: the bytes in pieces, to be written one after the other. They may be views of the value. Do not
            change the value before they are written and before the digest is computed.
        arrays: the arrays of Arrow or numpy that the bytes hold, if any. The digest is computed from them.
        by_cell: encodes the value again with each cell of lists and dicts by itself, if it has such cells. The digest
            is that of this, as in earlier versions.
    """

    header: dict[str, Any]
    buffers: tuple[memoryview, ...]
    arrays: tuple[Any, ...] = field(default=(), repr=False)
    by_cell: Callable[[], Encoded] | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of bytes in all buffers."""
        return int(self.header["size"])

    def digest(self) -> str:
        """A hash of the content, as 64 hexadecimal digits. Equal values have equal hashes.

        Values are equal if all of this is equal: dtypes, labels, order, levels, attrs, cells. 0.0 and -0.0 differ; all
        NaNs are equal. The undefined bytes of nulls and of memory between slices do not count.
        """
        if self.by_cell is not None:
            return self.by_cell().digest()
        digest = hashlib.blake2b(digest_size=32)
        described = {key: value for key, value in self.header.items() if key not in _LAYOUT_KEYS}
        if self.header["type"] == "DataFrame":  # the digest of earlier versions, which had a note for each column
            described["values"] = [each for note in described["values"] for each in note_of_each(note)]
        digest.update(json.dumps(described, sort_keys=True).encode())
        if self.arrays:
            for array in self.arrays:
                _hash_array(digest, array)
        else:
            for buffer in self.buffers:
                digest.update(buffer)
        return digest.hexdigest()


def _hash_array(digest: Any, array: Any) -> None:
    """Hash the values of `array`. Nulls are dropped first, because the bytes of their slots are undefined."""
    if isinstance(array, np.ndarray):
        array = pa.array(array)
    kind = array.type
    digest.update(f"|{kind}:{len(array)}:{array.null_count}|".encode())
    if array.null_count:
        digest.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)))
        array = array.drop_null()
    types = pa.types
    if types.is_struct(kind):
        for part in array.flatten():
            _hash_array(digest, part)
    elif types.is_map(kind):
        _hash_lengths(digest, array)
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        _hash_array(digest, array.keys.slice(start, end - start))
        _hash_array(digest, array.items.slice(start, end - start))
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if not types.is_fixed_size_list(kind):
            _hash_lengths(digest, array)
        _hash_array(digest, array.flatten())
    elif types.is_boolean(kind):
        digest.update(np.packbits(array.to_numpy(zero_copy_only=False)))
    elif types.is_floating(kind):
        digest.update(canonical_nan(array.to_numpy()))
    else:
        _hash_bytes(digest, array)


def _hash_lengths(digest: Any, array: Any) -> None:
    digest.update(np.diff(array.offsets.to_numpy()))


def _hash_bytes(digest: Any, array: Any) -> None:
    """Hash the bytes of an array of numbers, times, text or bytes. It must have no nulls."""
    kind = array.type
    *_, values = array.buffers()
    if values is None or not len(array):
        return
    view = memoryview(values)
    types = pa.types
    if types.is_large_string(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_binary(kind):
        width = "i8" if types.is_large_string(kind) or types.is_large_binary(kind) else "i4"
        offsets = np.frombuffer(array.buffers()[1], dtype=width)[array.offset : array.offset + len(array) + 1]
        digest.update(np.diff(offsets))
        digest.update(view[int(offsets[0]) : int(offsets[-1])])
        return
    width_in_bytes = kind.bit_width // 8
    digest.update(view[array.offset * width_in_bytes : (array.offset + len(array)) * width_in_bytes])


# Tables

MAX_COLUMNS = 100_000
_MANY_BLOCKS = 100  # with more blocks pandas warns of fragmentation


def write_frame(frame: Any, *, may_nest: bool = True) -> Encoded:
    """Encode a DataFrame. `may_nest` is as for `ArrowWriter`."""
    _require(frame, pd.DataFrame)
    if frame.shape[1] > MAX_COLUMNS:
        raise Unencodable("the DataFrame", f"has {frame.shape[1]} columns", f"{MAX_COLUMNS} can cross; reshape it")
    out = ArrowWriter(may_nest=may_nest)
    header = {
        "type": "DataFrame",
        "rows": len(frame),
        "index": write_index(frame.index, out, "the index"),
        "columns": write_index(frame.columns, out, "the column labels"),
        "values": _write_columns(frame, out),
        **_extras(frame),
    }
    return _finish(header, out, partial(write_frame, frame, may_nest=False))


def write_series(series: Any, *, may_nest: bool = True) -> Encoded:
    """Encode a Series. It raises the same errors as `write_frame`."""
    _require(series, pd.Series)
    out = ArrowWriter(may_nest=may_nest)
    header = {
        "type": "Series",
        "rows": len(series),
        "index": write_index(series.index, out, "the index"),
        "name": to_json(series.name, "the name of the Series"),
        "values": [write_array(series.array, out, f"Series {series.name!r}" if series.name else "the Series")],
        **_extras(series),
    }
    return _finish(header, out, partial(write_series, series, may_nest=False))


def read_frame(header: Mapping[str, Any], payload: memoryview, *, trusted: bool, share: int = 1) -> Any:
    """The DataFrame that was written. Its numeric columns are writable views of `payload`: do not use it afterwards."""
    columns = sum(map(count_of, header["values"]))
    if columns > MAX_COLUMNS:
        raise Corrupt(f"{columns} columns")
    index, source = _open(header, payload, trusted, share)
    labels = read_index(header["columns"], source)
    blocks = list(_blocks(header["values"], source, len(index)))
    if len(labels) != columns:
        raise Corrupt(f"{len(labels)} labels for {columns} columns")
    frame = _of_blocks(blocks, index, labels)
    return _with_extras(frame, header)


def read_series(header: Mapping[str, Any], payload: memoryview, *, trusted: bool, share: int = 1) -> Any:
    """The Series that was written. Numeric values are a writable view of `payload`: do not use it afterwards."""
    index, source = _open(header, payload, trusted, share)
    (note,) = header["values"]
    values = _of_length(len(index), read_array(note, source))
    series = pd.Series(values, index=index, dtype=values.dtype, copy=False)  # else texts in `object` become `str`
    series.name = from_json(header["name"])
    return _with_extras(series, header)


def arrays_of(frame: Any) -> Iterable[Any]:
    """The arrays of the columns. pandas' own iterator makes no Series of each, which takes as long as all the rest."""
    arrays = getattr(frame, "_iter_column_arrays", None)
    return arrays() if arrays is not None else (column.array for _, column in frame.items())


def _write_columns(frame: Any, out: ArrowWriter) -> list[Note]:
    """Write the columns. Those of numbers of one dtype that follow each other have one note, however pandas holds them,
    and those that also follow each other in memory are written in one piece.
    """
    notes: list[Note] = []
    labels = None
    for place, values in _columns_of(frame):
        if isinstance(values, np.ndarray) and is_number(values.dtype):
            note = write_numbers(values if values.ndim == 2 else values.reshape(1, -1), out)
            if notes and number_type(notes[-1]) == note["dtype"]:
                notes[-1]["count"] = count_of(notes[-1]) + count_of(note)
                continue
        else:
            labels = labels or frame.columns.tolist()
            note = write_array(values, out, f"column {labels[place]!r}")
        notes.append(note)
    return notes


def _columns_of(frame: Any) -> Iterator[tuple[int, Any]]:
    """The arrays of the columns, each with its place. Columns that follow each other in one array are one of two
    dimensions, if pandas says how it holds them.
    """
    manager: Any = getattr(frame, "_mgr", None)
    if not all(hasattr(manager, name) for name in ("blocks", "blknos", "blklocs")):
        yield from enumerate(arrays_of(frame))
        return
    arrays = [block.values for block in manager.blocks]
    numbers, rows = manager.blknos.tolist(), manager.blklocs.tolist()
    place = 0
    while place < len(numbers):
        values, row, after = arrays[numbers[place]], rows[place], place + 1
        if isinstance(values, np.ndarray) and is_number(values.dtype):
            while after < len(rows) and numbers[after] == numbers[place] and rows[after] == row + after - place:
                after += 1
            yield place, values[row : row + after - place]
        else:
            yield place, manager.iget_values(place)
        place = after


def _require(value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeMismatch(wanted.__name__, type(value).__name__)
    if type(value) is not wanted and not is_geographic(value):
        name = f"{type(value).__module__}.{type(value).__name__}"
        raise Unencodable(f"the {wanted.__name__}", f"is a {name}", f"convert it with pd.{wanted.__name__}(...)")


def _extras(value: Any) -> dict[str, Any]:
    extras = note_of(value)
    if value.attrs:
        extras["attrs"] = to_json(dict(value.attrs), "attrs")
    if not value.flags.allows_duplicate_labels:
        extras["unique_labels"] = True
    return extras


def _with_extras(value: Any, header: Mapping[str, Any]) -> Any:
    value = with_class(value, header)
    if "attrs" in header:
        value.attrs = from_json(header["attrs"])
    if header.get("unique_labels"):
        for labels in value.axes:
            require_unique(labels)
        value.flags._allows_duplicate_labels = False  # the public setter uses a hash table; see `require_unique`
    return value


def _finish(header: dict[str, Any], out: ArrowWriter, by_cell: Callable[[], Encoded]) -> Encoded:
    layout, pieces = out.finish()
    return Encoded(header | layout, pieces, tuple(out.arrays), by_cell if out.has_nested else None)


def _open(header: Mapping[str, Any], payload: memoryview, trusted: bool, share: int) -> tuple[Any, ArrowReader]:
    source = ArrowReader(header, payload, trusted=trusted, share=share)
    # The narrowest column, of type bool, takes one bit of the payload per row.
    index = read_index(header["index"], source, backed=8 * payload.nbytes)
    if len(index) != header["rows"]:
        raise Corrupt(f"an index of {len(index)} labels for {header['rows']} rows")
    return index, source


def _blocks(notes: Sequence[Mapping[str, Any]], source: ArrowReader, rows: int) -> Iterator[Any]:
    """The columns: those of numbers as rows of arrays, so that pandas handles neighbors of one dtype in one step."""
    for dtype, group in itertools.groupby(notes, number_type):
        if dtype:
            yield _of_length(rows, read_numbers(list(group), source))
        else:
            for note in group:
                values = _of_length(rows, read_array(note, source))
                yield wrapped_times(values.reshape(1, -1)) if isinstance(values, np.ndarray) else values


def _of_blocks(blocks: Sequence[Any], index: Any, labels: Any) -> Any:
    """The DataFrame of arrays that have been checked."""
    internals = getattr(pd.api, "internals", None)
    if internals is None or len(blocks) > _MANY_BLOCKS:
        columns = [each for block in blocks for each in (block if block.ndim == 2 else [block])]
        kept = [pd.Series(each, index, object, copy=False) if each.dtype == object else each for each in columns]
        frame = pd.DataFrame(dict(enumerate(kept)), index=index, copy=len(blocks) > _MANY_BLOCKS)
        frame.columns = labels
        return frame
    placed, place = [], 0
    for block in blocks:
        count = len(block) if block.ndim == 2 else 1
        placed.append((block, np.arange(place, place + count)))
        place += count
    return internals.create_dataframe_from_blocks(placed, index, labels)


def _of_length(rows: int, values: Any) -> Any:
    if values.shape[-1] != rows:
        raise Corrupt(f"{values.shape[-1]} values for {rows} rows")
    return values
