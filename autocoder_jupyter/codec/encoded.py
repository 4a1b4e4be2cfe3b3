"""`Encoded`, which `encode` returns, and its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from .plain import canonical_nan

_ABOUT_BYTES = ("size", "streams")


@dataclass(frozen=True)
class Encoded:
    """A value, ready to be written.

    Args:
        header: JSON-able; says what the bytes are. `header["size"]` is their number.
        buffers: the bytes in pieces, to be written one after the other. They may be views of the value itself, so
            the value must not change before they are written, nor before the digest is taken.
        arrays: the Arrow arrays behind the bytes, if there are any; the digest is taken from them.
    """

    header: dict[str, Any]
    buffers: tuple[memoryview, ...]
    arrays: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def size(self) -> int:
        """Bytes of all buffers."""
        return int(self.header["size"])

    def digest(self) -> str:
        """A hash of the content: equal for equal values, whatever lies under nulls or between slices in memory.

        Equal means equal in all that crosses: dtypes, labels, order, levels, attrs; 0.0 and -0.0 differ, NaNs do not.
        """
        content = hashlib.blake2b(digest_size=32)
        about = {key: value for key, value in self.header.items() if key not in _ABOUT_BYTES}
        content.update(json.dumps(about, sort_keys=True).encode())
        if self.arrays:
            for array in self.arrays:
                _hash_array(content, array)
        else:
            for buffer in self.buffers:
                content.update(buffer)
        return content.hexdigest()


def _hash_array(content: Any, array: Any) -> None:
    """Hash what `array` means. Dropping nulls first leaves no slot whose bytes are undefined."""
    kind = array.type
    content.update(f"|{kind}:{len(array)}:{array.null_count}|".encode())
    if array.null_count:
        content.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)))
        array = array.drop_null()
    types = pa.types
    if types.is_struct(kind):
        for part in array.flatten():
            _hash_array(content, part)
    elif types.is_map(kind):
        _hash_lengths(content, array)
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        _hash_array(content, array.keys.slice(start, end - start))
        _hash_array(content, array.items.slice(start, end - start))
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if not types.is_fixed_size_list(kind):
            _hash_lengths(content, array)
        _hash_array(content, array.flatten())
    elif types.is_boolean(kind):
        content.update(np.packbits(array.to_numpy(zero_copy_only=False)))
    elif types.is_floating(kind):
        content.update(canonical_nan(array.to_numpy()))
    else:
        _hash_bytes(content, array)


def _hash_lengths(content: Any, array: Any) -> None:
    content.update(np.diff(array.offsets.to_numpy()))


def _hash_bytes(content: Any, array: Any) -> None:
    """Hash the bytes of an array without nulls whose values are bytes and nothing else."""
    kind = array.type
    *_, values = array.buffers()
    if values is None or not len(array):
        return
    view = memoryview(values)
    types = pa.types
    if types.is_large_string(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_binary(kind):
        width = "i8" if types.is_large_string(kind) or types.is_large_binary(kind) else "i4"
        offsets = np.frombuffer(array.buffers()[1], dtype=width)[array.offset : array.offset + len(array) + 1]
        content.update(np.diff(offsets))
        content.update(view[int(offsets[0]) : int(offsets[-1])])
        return
    width_in_bytes = kind.bit_width // 8
    content.update(view[array.offset * width_in_bytes : (array.offset + len(array)) * width_in_bytes])
