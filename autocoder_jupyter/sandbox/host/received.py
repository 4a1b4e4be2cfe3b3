"""Decode values on the notebook's side; files belong to their value and are removed with it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.types import Dir, Figure, File


def receive(header: Mapping[str, Any], payload: memoryview, *, trusted: bool) -> Any:
    """The value that was encoded as `header` and `payload`.

    A `File` or `Dir` lies in a temporary folder that belongs to the value, as with `tempfile.TemporaryDirectory`: it is
    removed when the value is dropped, at the latest when the interpreter ends. Move it, or copy it, to keep it.

    Args:
        header: of the encoded value.
        payload: its bytes.
        trusted: whether we encoded it ourselves.

    Raises:
        codec.Corrupt: it is not well-formed; nothing is left on disk.
    """
    if header.get("type") not in ("File", "Dir"):
        value = codec.decode(header, payload, folder=Path(), trusted=trusted)
        return Figure(**vars(value)) if header.get("type") == "Figure" else value
    folder = tempfile.mkdtemp(prefix="autocode-output-")
    try:
        path = codec.decode(header, payload, folder=Path(folder), wrap_path=_wrap, trusted=trusted)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(path, shutil.rmtree, folder, ignore_errors=True)
    return path


def _wrap(kind: str, path: Path) -> File | Dir:
    return File(path) if kind == "File" else Dir(path)
