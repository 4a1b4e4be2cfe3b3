"""`encode` and `decode`: values to headers and bytes, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .encoded import Encoded
from .errors import Corrupt, Unencodable
from .files import HostFault, read_path, write_dir, write_file
from .frames import read_frame, read_series, write_frame, write_series
from .pictures import read_picture, write_picture
from .scalars import SCALARS, read_scalar, write_scalar

_WRITERS: Mapping[str, Callable[[Any], Encoded]] = {
    "DataFrame": write_frame,
    "Series": write_series,
    "File": write_file,
    "Dir": write_dir,
    "Figure": write_picture,
}


KINDS = (*SCALARS, *_WRITERS)
"""The names of all types of values that can cross."""


def encode(value: Any, type_name: str) -> Encoded:
    """Encode `value`, which is declared as `type_name` (one of `types.TYPE_NAMES`).

    Raises:
        TypeMismatch: it is not of that type.
        Unencodable: it is, but cannot cross unchanged; `path` names the part at fault.
    """
    if type_name in SCALARS:
        return write_scalar(value, type_name)
    try:
        return _WRITERS[type_name](value)
    except RecursionError:
        raise Unencodable(f"the {type_name}", "is nested too deeply", "flatten it") from None


def decode(
    header: Mapping[str, Any],
    payload: memoryview,
    *,
    folder: Path,
    wrap_path: Callable[[str, Path], Any] | None = None,
    trusted: bool,
) -> Any:
    """Decode what `encode` wrote.

    Args:
        header: `Encoded.header`, perhaps after a trip through JSON.
        payload: the bytes of all buffers, joined. It belongs to the value from now on: numeric columns are writable
            views of it, without a copy if it is writable and starts at a multiple of 8.
        folder: where `File` and `Dir` are written; nothing of the names in it needs to be free.
        wrap_path: makes what stands for a written `File` or `Dir` from its type name and path; by default the path.
        trusted: False if the writer may be hostile: full validation, caps, no extension types, no shared bytes.

    Raises:
        Corrupt: anything about header or payload is wrong. No other exception, but OSError when this machine cannot
            write to `folder`.
    """
    try:
        type_name = header["type"]
        if payload.nbytes != header["size"]:
            raise Corrupt(f"{payload.nbytes} bytes where {header['size']} were announced")
        if type_name in SCALARS:
            return read_scalar(header, payload)
        if type_name == "DataFrame":
            return read_frame(header, payload, trusted=trusted)
        if type_name == "Series":
            return read_series(header, payload, trusted=trusted)
        if type_name == "Figure":
            return read_picture(header, payload)
        if type_name in ("File", "Dir"):
            path = read_path(header, payload, folder)
            return path if wrap_path is None else wrap_path(type_name, path)
    except Corrupt:
        raise
    except HostFault as fault:
        raise fault.error from None
    except Exception as error:  # hostile bytes can make the libraries below raise anything
        raise Corrupt(f"{type(error).__name__}: {str(error)[:200]}") from error
    raise Corrupt(f"unknown type {str(type_name)[:50]!r}")
