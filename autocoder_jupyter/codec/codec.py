"""`encode` turns a value into a header and bytes; `decode` turns them back into the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .containers import read_parts, write_parts
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


def encode(value: Any, type_name: str, *, is_output: bool = False) -> Encoded:
    """Encode `value`, which is declared as `type_name` (one of `KINDS`).

    Args:
        value: what to encode.
        type_name: its declared type.
        is_output: whether it is an output: only then may a list or dict hold tables and figures.

    Raises:
        TypeMismatch: the value does not have that type.
        Unencodable: the type is right, but the value cannot cross unchanged; `path` names the refused part.
        KeyError: `type_name` is not one of `KINDS`.
    """
    if is_output and type(value).__name__ == type_name in ("list", "dict"):
        parts = write_parts(value, encode)
        if parts is not None:
            return parts
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
    share: int = 1,
) -> Any:
    """Decode what `encode` wrote.

    Args:
        header: `Encoded.header`; it may have been written as JSON and read again.
        payload: the bytes of all buffers, joined. The caller must not use it afterwards: numeric columns are writable
            views of it. It is copied only if it is read-only or does not start at a multiple of 8.
        folder: `File` and `Dir` are written into new subfolders of it. It may already hold files.
        wrap_path: called with the type name and the path of a written `File` or `Dir`; its result is returned. By
            default the path itself is returned.
        trusted: False if the writer may be hostile. Then everything is validated, and extension types and arrays
            that share bytes are refused.
        share: the number of values that share the memory of one.

    Raises:
        Corrupt: header or payload is invalid.
        OSError: this machine cannot write to `folder`.
    """
    try:
        type_name = header["type"]
        if payload.nbytes != header["size"]:
            raise Corrupt(f"{payload.nbytes} bytes where {header['size']} were announced")
        if type_name in ("list", "dict") and "of" in header:
            return read_parts(
                header,
                payload,
                lambda part, own, count: decode(part, own, folder=folder, trusted=trusted, share=count),
            )
        if type_name in SCALARS:
            return read_scalar(header, payload)
        if type_name == "DataFrame":
            return read_frame(header, payload, trusted=trusted, share=share)
        if type_name == "Series":
            return read_series(header, payload, trusted=trusted, share=share)
        if type_name == "Figure":
            return read_picture(header, payload, share=share)
        if type_name in ("File", "Dir"):
            path = read_path(header, payload, folder)
            return path if wrap_path is None else wrap_path(type_name, path)
    except Corrupt:
        raise
    except HostFault as fault:
        raise fault.error from None
    except Exception as error:  # hostile bytes can make the libraries raise any exception
        raise Corrupt(f"{type(error).__name__}: {str(error)[:200]}") from error
    raise Corrupt(f"unknown type {str(type_name)[:50]!r}")
