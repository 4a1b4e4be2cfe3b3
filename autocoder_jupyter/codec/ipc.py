"""Write arrays as bytes and read them: numbers as they are in memory, others in Arrow's stream format.

Arrow's format takes most of the time of a small table. So numbers, one array after the other, come first, and few short
texts, such as labels, are in the header. Arrow arrays of equal length go into one stream. Writing copies no large
buffer. What version 0.1.0 saved has numbers and all texts in streams, and can still be read.

After reading, numpy views point into the received bytes, so no other code may use these bytes. Numbers cannot share
bytes, because their places follow from their sizes. In an untrusted stream no two arrays may share bytes: writing to
one would change the other. If the other held the offsets of a text column, pandas would read outside of the column.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .bounded_json import Allowance
from .plain import Corrupt, Unencodable

Reference = list[int]
"""The position of an array: [its length, its index among the arrays of that length]."""

MAX_ARRAYS = 200_000
MAX_STREAMS = 50_000
MAX_TYPE_DEPTH = 16
MAX_HEADER_TEXT = 4096
"""Most bytes of text of one value that go into its header, where one JSON text has room for all values of an answer."""

UNBACKED_BYTES = 64 * 2**20
"""Most memory of columns and labels that came without bytes, such as a range. The size of the payload is added."""

_SMALL = 1 << 12
_ALIGNMENT = 8
_TEXT = pa.large_string()


class _Pieces:
    """A file object that collects what Arrow writes. Small pieces are joined; large ones are kept without a copy."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[memoryview] = []
        self.size = 0
        self._small = bytearray()

    def write(self, data: Any) -> int:
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        self.size += view.nbytes
        if view.nbytes <= _SMALL:
            self._small += view
        else:
            self.flush()
            self.pieces.append(view)
        return view.nbytes

    def flush(self) -> None:
        if self._small:
            self.pieces.append(memoryview(bytes(self._small)))
            self._small.clear()

    def tell(self) -> int:
        return self.size

    def close(self) -> None:
        pass


class ArrowWriter:
    """Collects arrays, then returns all of them as bytes.

    Args:
        may_nest: whether cells of lists and dicts may be written as arrays.

    Attributes:
        has_nested: whether some are.
    """

    def __init__(self, *, may_nest: bool = True) -> None:
        self.may_nest = may_nest
        self.has_nested = False
        self.arrays: list[Any] = []
        self._count: dict[int, int] = {}
        self._numbers: list[list[int]] = []
        self._texts: list[list[Any]] = []
        self._text_left = MAX_HEADER_TEXT
        self._streams: dict[int, dict[str, Any]] = {}
        self._sink = _Pieces()

    def add(self, array: Any, path: str) -> Reference:
        """Add an array and return its position."""
        if isinstance(array, np.ndarray):
            return self.add_rows(array.reshape(1, -1))
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
            if isinstance(array, pa.ChunkedArray):
                raise Unencodable(
                    path, "holds more than 2 GiB of text in Arrow's small string type", "use large_string"
                )
        rows, place = reference = self._place_of(array)
        if array.type == _TEXT and not array.null_count and array.nbytes <= self._text_left:
            self._text_left -= array.nbytes
            self._texts.append([rows, place, array.to_pylist()])
        else:
            check_type(array.type, path)
            self._streams.setdefault(rows, {})[str(place)] = array
        return reference

    def add_rows(self, arrays: Any) -> Reference:
        """Add arrays of one length and numeric dtype, which `ArrowReader.matrix` reads. Returns the first position."""
        rows, count, width = len(arrays[0]), len(arrays), arrays[0].itemsize
        place = self._count.get(rows, -1) + 1
        self._count[rows] = place + count - 1
        self.arrays.extend(arrays)
        last = self._numbers[-1] if self._numbers else [0, 0, 0, 0]
        if last[0] == rows and last[1] == width and last[2] + last[3] == place:
            last[3] += count
        else:
            self._sink.write(bytes(-self._sink.size % _ALIGNMENT))
            self._numbers.append([rows, width, place, count])
        for piece in (arrays,) if isinstance(arrays, np.ndarray) else arrays:
            self._sink.write(piece)
        return [rows, place]

    def finish(self) -> tuple[dict[str, Any], tuple[memoryview, ...]]:
        """The part of the header that says where the arrays are, and the bytes of all in pieces.

        `size` is the number of all bytes. `numbers` has runs of arrays that follow each other: [length, bytes of a
        value, place of the first array, number of arrays]. `texts` has [length, place, texts], and `streams` has
        [length of its arrays, bytes].
        """
        sink = self._sink
        sink.write(bytes(-sink.size % _ALIGNMENT))
        sizes = []
        for rows, arrays in self._streams.items():
            before = sink.size
            batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
            with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), batch.schema) as stream:
                stream.write_batch(batch)
            sizes.append([rows, sink.size - before])
        sink.flush()
        layout = {"size": sink.size, "numbers": self._numbers, "texts": self._texts, "streams": sizes}
        return layout, tuple(sink.pieces)

    def _place_of(self, array: Any) -> Reference:
        rows = len(array)
        place = self._count[rows] = self._count.get(rows, -1) + 1
        self.arrays.append(array)
        return [rows, place]


class ArrowReader:
    """Reads the arrays of a payload. Each can be taken once.

    Args:
        layout: the first result of `ArrowWriter.finish`, perhaps among other entries of a header.
        payload: the bytes. The caller must not use them afterwards.
        trusted: False if the writer may be hostile. Then types, structure and memory are checked completely.
        share: the number of payloads that share the memory of one.
    """

    def __init__(self, layout: Mapping[str, Any], payload: memoryview, *, trusted: bool, share: int = 1) -> None:
        streams = layout["streams"]
        if len(streams) > MAX_STREAMS:
            raise Corrupt(f"{len(streams)} streams")
        self._payload, self._base = _writable(payload)
        self._arrays: dict[tuple[int, int], Any] = {}
        self._texts: dict[tuple[int, int], list[Any]] = {}
        self._numbers: dict[tuple[int, int], tuple[int, int]] = {}
        self._unbacked_left = payload.nbytes + UNBACKED_BYTES // share
        self.allowance = Allowance.part(share)
        self.trusted = trusted
        self._is_old = "numbers" not in layout
        start = first_stream = self._find_numbers(layout.get("numbers", ()))
        for rows, size in streams:
            if size < 0 or start + size > payload.nbytes:
                raise Corrupt("a stream that reaches beyond the payload")
            self._read(rows, self._payload[start : start + size])
            start += size
        if start != payload.nbytes:
            raise Corrupt("bytes after the last stream")
        if len(self._arrays) > MAX_ARRAYS:
            raise Corrupt(f"{len(self._arrays)} arrays")
        if streams and not trusted:
            self._refuse_shared_bytes(first_stream)
        for rows, place, texts in layout.get("texts", ()):
            if type(texts) is not list or len(texts) != rows:
                raise Corrupt(f"no list of {rows} texts where one was announced")
            self._texts[rows, place] = texts

    def take(self, reference: Sequence[int]) -> Any:
        """Take the Arrow array at `reference`. It cannot be taken twice, because two views would share its bytes."""
        rows, place = reference
        if (texts := self.take_texts(reference)) is not None:
            return pa.array(texts, _TEXT)
        try:
            return self._arrays.pop((rows, place))
        except KeyError:
            raise Corrupt(f"no array at {rows, place}, or used twice") from None

    def take_texts(self, reference: Sequence[int]) -> list[Any] | None:
        """Take the texts at `reference`, if they are in the header; they are not checked. None if they are not."""
        rows, place = reference
        return self._texts.pop((rows, place), None)

    def numpy(self, reference: Sequence[int], dtype: str) -> Any:
        """Take the numbers at `reference` as a writable numpy view."""
        return self.matrix([reference], dtype)[0]

    def matrix(self, references: Sequence[Sequence[int]], dtype: str) -> Any:
        """Take arrays of numbers that follow each other as the rows of one writable numpy view."""
        wanted = np.dtype(dtype)
        if self._is_old:
            return np.stack([self._of_stream(reference, wanted) for reference in references])
        found = []
        for rows, place in references:
            try:
                found.append((*self._numbers.pop((rows, place)), rows))
            except KeyError:
                raise Corrupt(f"no numbers at {rows, place}, or used twice") from None
        start, width, rows = found[0]
        if width != wanted.itemsize or found != [(start + n * rows * width, width, rows) for n in range(len(found))]:
            raise Corrupt(f"numbers of {width} bytes, or of other places, where {dtype} belongs")
        shape = len(found), rows
        return np.ndarray(shape, wanted, self._payload, start) if rows else np.empty(shape, wanted)

    def view(self, array: Any, dtype: str) -> Any:
        """A writable numpy view of the values of a fixed-width Arrow array of this payload."""
        width = np.dtype(dtype).itemsize
        if not len(array):
            return np.empty(0, dtype=dtype)
        start = array.buffers()[-1].address - self._base + array.offset * width
        if start < 0 or start + len(array) * width > self._payload.nbytes:
            raise Corrupt("an array outside of the payload")
        return np.frombuffer(self._payload, dtype=dtype, count=len(array), offset=start)

    def count_unbacked(self, size: int) -> None:
        """Count memory that will be allocated for values that came without bytes."""
        self._unbacked_left -= size
        if self._unbacked_left < 0 and not self.trusted:
            raise Corrupt(f"rows or labels that came without bytes and would take {size:,} here")

    def _of_stream(self, reference: Sequence[int], wanted: Any) -> Any:
        """The numbers of an array in a stream; bools as bytes, as they are in memory."""
        array = self.take(reference)
        is_bool = wanted == np.uint8 and array.type == pa.bool_()
        if array.null_count or not (is_bool or array.type == pa.from_numpy_dtype(wanted)):
            raise Corrupt(f"{array.type} where {wanted} without nulls belongs")
        if is_bool:  # eight of them come in one byte
            self.count_unbacked(len(array))
            return array.to_numpy(zero_copy_only=False).view("u1")
        return self.view(array, wanted.str)

    def _find_numbers(self, runs: Sequence[Sequence[int]]) -> int:
        """Find the places of the numbers, which follow from their sizes. Returns the number of all their bytes."""
        start = found = 0
        for rows, width, first, count in runs:
            start += -start % _ALIGNMENT
            found += count
            if found > MAX_ARRAYS:
                raise Corrupt("too many arrays of numbers")
            if min(rows, count) < 0 or width <= 0 or start + rows * width * count > self._payload.nbytes:
                raise Corrupt("numbers that reach beyond the payload")
            for place in range(first, first + count):
                self._numbers[rows, place] = start, width
                start += rows * width
        return start + -start % _ALIGNMENT

    def _read(self, rows: int, part: memoryview) -> None:
        buffer = pa.py_buffer(part)
        if not self.trusted:
            _inspect_messages(buffer)
        with pa.ipc.open_stream(buffer) as stream:
            batch = stream.read_next_batch()
            if batch.num_rows != rows:
                raise Corrupt(f"{batch.num_rows} rows where {rows} were announced")
            for name, array in zip(batch.schema.names, batch.columns, strict=True):
                place = int(name)
                if not self.trusted:
                    check_type(array.type, "a received array", fault=Corrupt)
                    array.validate(full=True)
                if (rows, place) in self._arrays:
                    raise Corrupt("two streams of one length")
                self._arrays[rows, place] = array
            for _ in stream:
                raise Corrupt("more than one batch in a stream")

    def _refuse_shared_bytes(self, first_stream: int) -> None:
        spans = sorted(
            (buffer.address, buffer.address + buffer.size)
            for array in self._arrays.values()
            for buffer in array.buffers()
            if buffer is not None and buffer.size
        )
        end = self._base + first_stream
        for first, last in spans:
            if first < end or last > self._base + self._payload.nbytes:
                raise Corrupt("arrays that share bytes, or lie outside of the payload")
            end = last


def check_type(kind: Any, path: str, fault: Any = Unencodable, depth: int = 0) -> None:
    """Refuse all Arrow types that are not plain.

    Refused are extension types (reading one may run its code), dictionaries, run-end encodings, views, unions, and
    types without bytes, whose arrays could have any length.
    """
    if kind.id in _LEAF_IDS:
        return
    types = pa.types
    children: list[Any] = []
    if types.is_struct(kind):
        children = [kind.field(place).type for place in range(kind.num_fields)]
    elif types.is_map(kind):
        children = [kind.key_type, kind.item_type]
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        children = [kind.value_type]
    elif not types.is_fixed_size_binary(kind):
        _refuse_type(kind, path, fault)
    zero_width = (
        (types.is_struct(kind) and not children)
        or (types.is_fixed_size_list(kind) and kind.list_size == 0)
        or (types.is_fixed_size_binary(kind) and kind.byte_width == 0)
    )
    if zero_width or depth > MAX_TYPE_DEPTH:
        _refuse_type(kind, path, fault)
    for child in children:
        check_type(child, path, fault, depth + 1)


_LEAF_IDS = {
    kind.id
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(1), pa.decimal256(1)),
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("s"), pa.duration("s")),
    )
}
"""The kinds of types that are plain, whatever their parameters. An extension type has another id."""


def _refuse_type(kind: Any, path: str, fault: Any) -> None:
    reason = f"has the Arrow type {str(kind)[:200]}, which cannot cross"
    if fault is Unencodable:
        raise Unencodable(path, reason, "cast it to a plain type")
    raise Corrupt(f"{path} {reason}")


def _writable(payload: memoryview) -> tuple[memoryview, int]:
    """The payload as writable bytes that start at a multiple of 8, and their address. Copied only if necessary."""
    payload = payload.cast("B") if payload.nbytes else memoryview(bytearray())
    address = pa.py_buffer(payload).address if payload.nbytes else 0
    if payload.readonly or address % _ALIGNMENT:
        copy = np.empty(payload.nbytes + _ALIGNMENT, dtype=np.uint8)
        shift = -copy.ctypes.data % _ALIGNMENT
        copy[shift : shift + payload.nbytes] = payload
        payload = copy.data[shift : shift + payload.nbytes]
        address = copy.ctypes.data + shift
    return payload, address


def _inspect_messages(buffer: Any) -> None:
    """Check the messages of a stream before Arrow interprets them.

    Refused are extension types, because their class would run code; compressed batches, because they could become
    very large; and any other sequence of messages than one schema and one batch.
    """
    kinds = []
    for message in pa.ipc.MessageReader.open_stream(buffer):
        kinds.append(message.type)
        metadata = message.metadata.to_pybytes()
        if message.type == "schema" and b"ARROW:extension" in metadata:
            raise Corrupt("an Arrow extension type")
        if message.type == "record batch" and _is_compressed(metadata):
            raise Corrupt("a compressed batch")
        if len(kinds) > 2:
            break
    if kinds != ["schema", "record batch"]:
        raise Corrupt(f"Arrow messages {kinds}")


def _is_compressed(metadata: bytes) -> bool:
    """Whether a RecordBatch message names a compression. The layout is flatbuffers, as in Arrow's Message.fbs.

    The fields of Message are version, header_type, header (2); those of RecordBatch are length, nodes, buffers,
    compression (3).
    """
    message = struct.unpack_from("<I", metadata, 0)[0]
    header_at = _field(metadata, message, 2)
    if header_at == 0:
        return False
    batch = header_at + struct.unpack_from("<I", metadata, header_at)[0]
    return _field(metadata, batch, 3) != 0


def _field(metadata: bytes, table: int, number: int) -> int:
    """The position of field `number` of the flatbuffers table at `table`; 0 if the field is absent."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, vtable)[0]
    slot = 4 + 2 * number
    offset = struct.unpack_from("<H", metadata, vtable + slot)[0] if slot + 2 <= size else 0
    return table + offset if offset else 0
