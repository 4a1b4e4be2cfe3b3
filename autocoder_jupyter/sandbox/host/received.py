"""Decode values on the host's side. Files are removed together with their value."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autocoder_jupyter import codec
from autocoder_jupyter.sandbox.host import turns
from autocoder_jupyter.sandbox.temporary_folder import TemporaryFolder, make_folder
from autocoder_jupyter.types import Dir, Figure, File


def receive(header: Mapping[str, Any], payload: memoryview, *, trusted: bool) -> Any:
    """Decode the value that was encoded as `header` and `payload`.

    A `File` or `Dir` is in a temporary folder that belongs to the value, as with `tempfile.TemporaryDirectory`. The
    folder is removed with the value, at the latest when the interpreter ends. Move or copy the file to keep it.

    Args:
        header: of the encoded value.
        payload: its bytes.
        trusted: whether the host encoded it.

    Raises:
        codec.Corrupt: the value is invalid. No file is left on disk.
    """
    if header.get("type") not in ("File", "Dir"):
        with turns.to_decode(payload):
            value = codec.decode(header, payload, folder=Path(), trusted=trusted)
        return _with_figures(value) if header.get("type") == "Figure" or "of" in header else value
    folder = tempfile.mkdtemp(dir=_outputs())
    try:
        path = codec.decode(header, payload, folder=Path(folder), wrap_path=_wrap, trusted=trusted)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(path, shutil.rmtree, folder, ignore_errors=True)
    return path


def _with_figures(value: Any) -> Any:
    """The pictures as figures, also in a list or dict."""
    if isinstance(value, list):
        return list(map(_with_figures, value))
    if isinstance(value, dict):
        return {key: _with_figures(item) for key, item in value.items()}
    return Figure(**vars(value)) if isinstance(value, codec.Picture) else value


def _outputs() -> Path:
    """The folder of all files that functions returned to this process. A later process removes it after a crash."""
    folder = _made_once(tempfile.gettempdir()).path
    folder.mkdir(mode=0o700, exist_ok=True)  # a system may clean up its temporary files meanwhile
    return folder


@functools.cache
def _made_once(place: str) -> TemporaryFolder:
    """The folder in this place, which is the system's temporary folder."""
    folder = make_folder("output")
    atexit.register(folder.remove)
    return folder


def _wrap(kind: str, path: Path) -> File | Dir:
    return File(path) if kind == "File" else Dir(path)
