"""Whether the Jupyter server that started this kernel can serve our JupyterLab extension."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

NAME = "autocoder-jupyter"
_SHARED = ("/usr/local/share", "/usr/share", "~/.local/share")


def can_serve_extension() -> bool:
    """Whether a page of the server can have our extension. True if that cannot be found out.

    The server may belong to another environment than this kernel, which lacks the extension.
    """
    started_by = os.environ.get("JPY_PARENT_PID", "")
    try:
        command = Path(f"/proc/{int(started_by)}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (ValueError, OSError):  # no Linux, or a server on another machine
        return True
    return serves(command)


def serves(command: Sequence[str], shared: Sequence[str] = _SHARED) -> bool:
    """Whether the extension is installed where a server that was started with this command looks for it."""
    if not command or not Path(command[0]).is_absolute():
        return True
    own = Path(command[0]).parent.parent / "share"
    named = [os.environ.get("JUPYTER_DATA_DIR", ""), *os.environ.get("JUPYTER_PATH", "").split(os.pathsep)]
    listed = [Path(place) for place in named if place]
    places = [*listed, *(Path(place).expanduser() / "jupyter" for place in (str(own), *shared))]
    return any((place / "labextensions" / NAME / "package.json").exists() for place in places)
