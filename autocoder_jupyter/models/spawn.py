"""Starts the process of models. It imports nothing that takes time, because `%load_ext` uses it."""

from __future__ import annotations

import contextlib
import json
import os
import site
import subprocess
import sys
import threading
from pathlib import Path

_START = """
import json, site, sys
own, more = json.loads(sys.argv[1])
for folder in own:
    site.addsitedir(folder)
sys.path += [folder for folder in more if folder not in sys.path]
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
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _START, json.dumps(_folders())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=True,  # an interrupt of the notebook is not for it
    )


def _folders() -> tuple[list[str], list[str]]:
    """The folders of packages that the process needs beside those of its interpreter: of the person, and others.

    A file in the working folder, in that of a script or on PYTHONPATH must not be imported there instead of a module of
    a package. So others than `site`'s are looked at last, and only if packages were installed into them.
    """
    personal = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    others = [str(Path(__file__).parents[2])]
    if not any(_has(folder, "litellm-*.dist-info") for folder in [*site.getsitepackages(), *personal]):
        others = [folder for folder in sys.path if Path(folder).is_absolute() and _has(folder, "*.dist-info")] + others
    return personal, others


def _has(folder: str, pattern: str) -> bool:
    return next(Path(folder).glob(pattern), None) is not None


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
