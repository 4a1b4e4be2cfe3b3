"""`Encoded`, the result of `encode`, and its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from .columns import note_of_each
from .plain import canonical_nan

_LAYOUT_KEYS = ("size", "numbers", "texts", "streams")


@dataclass(frozen=True)
class Encoded:
    """An encoded value.

    Args:
        header: describes the bytes; made of JSON values. `header["size"]` is the number of bytes.
        buffers: the bytes in pieces, to be written one after the other. They may be views of the value. Do not
            change the value before they are written and before the digest is computed.
        arrays: the arrays of Arrow or numpy that the bytes hold, if any. The digest is computed from them.
    """

    header: dict[str, Any]
    buffers: tuple[memoryview, ...]
    arrays: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def size(self) -> int:
        """Number of bytes in all buffers."""
        return int(self.header["size"])

    def digest(self) -> str:
        """A hash of the content, as 64 hexadecimal digits. Equal values have equal hashes.

        Values are equal if all of this is equal: dtypes, labels, order, levels, attrs, cells. 0.0 and -0.0 differ; all
        NaNs are equal. The undefined bytes of nulls and of memory between slices do not count.
        """
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
