"""Starts the process of models. It imports nothing that takes time, because `%load_ext` uses it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from autocoder_jupyter.models.serving import serve
serve()
"""

_lock = threading.Lock()
_early: tuple[int, subprocess.Popen[bytes]] | None = None
"""A process that is not used yet, and the one that started it."""


def spawn() -> subprocess.Popen[bytes]:
    """A process of models, with pipes: the one that was started early, or a new one."""
    global _early
    with _lock:
        early, _early = _early, None
    if early is not None and early[0] == os.getpid() and early[1].poll() is None:
        return early[1]
    return _spawned()


def _spawned() -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parents[2])
    paths = [folder for folder in sys.path if Path(folder).is_absolute()]  # the working folder is not looked at
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, json.dumps(paths if root in paths else [*paths, root])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=True,  # an interrupt of the notebook is not for it
    )


def spawn_early() -> None:
    """Start the process before anybody needs it, if a model is likely to be asked. Returns at once."""
    global _early
    if "litellm" not in sys.modules and sys.executable and _has_model():
        with contextlib.suppress(OSError), _lock:
            if _early is None:
                _early = os.getpid(), _spawned()


def _has_model() -> bool:
    """Whether the environment has a key or an address of a model."""
    return any(
        value and (name.endswith("_API_KEY") or name in ("AUTOCODE_API_BASE", "AUTOCODE_MODEL"))
        for name, value in os.environ.items()
    )
