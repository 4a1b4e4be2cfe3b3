"""Start a worker: take the streams, import libraries, lock down, report that it is ready, serve requests.

A loading process imports the libraries and forks workers (`forks`). A forked worker continues from there.

No numerical library is imported at the top of this module, because it reads its number of threads when it is imported.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import sys
import tempfile
import traceback
from dataclasses import asdict
from typing import Any

from . import forks, frames, heap, lockdown, semaphores

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)

_ARROW_ALLOCATOR = "JE_ARROW_MALLOC_CONF"


def main() -> None:
    """Serve until the host closes the connection. Never returns."""
    requests, data, control = _take_streams()
    start = frames.read_header(requests)
    if start is None:
        os._exit(0)
    setup = json.loads(start)
    if setup["kind"] == "load":
        _close(requests, data, control)
        _load(setup)
        forks.serve()
        requests, data, control = _take_streams()
        setup = _read_setup(requests)
    try:
        _load(setup)
        lock = lockdown.lock_worker(
            network=setup["network"],
            file_bytes=setup["file_bytes"],
            address_space=setup["address_space"],
            hide_memory=setup["hide_memory"],
        )
    except BaseException:
        failed = {"kind": "failed", "text": traceback.format_exc(limit=-3), "payload": 0}
        frames.write_all(control, [frames.pack(failed)])
        os._exit(1)
    from .workplace import Workplace
    from .zygote import Zygote

    workplace = Workplace(setup["scratch"])
    zygote = Zygote(requests, data, control, workplace, keep_text=setup["text_bytes"], linked=setup["linked"])
    zygote.report(
        "ready",
        python=list(sys.version_info[:3]),
        machine=platform.machine(),
        pid=os.getpid(),
        folder=str(workplace.root),
        lockdown=asdict(lock),
    )
    try:
        zygote.serve()
    finally:
        zygote.end()
        os._exit(0)


def _take_streams() -> tuple[int, int, int]:
    """Move the host's streams to other descriptors, so that no output gets into them. The standard streams are null."""
    streams = tuple(os.dup(fd) for fd in range(3))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    os.set_blocking(streams[1], False)
    return streams[0], streams[1], streams[2]


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _read_setup(requests: int) -> dict[str, Any]:
    """Read the setup of a forked worker, and change to its folder."""
    frames.read_header(requests)  # the sources, which are already loaded
    setup: dict[str, Any] = json.loads(frames.read_header(requests) or b"")
    folder = setup["scratch"][0]
    os.environ.update(HOME=folder, TMPDIR=folder)
    tempfile.tempdir = None
    os.chdir(folder)
    return setup


def _load(setup: dict[str, Any]) -> None:
    """Import and use the libraries that programs are likely to need. A second call imports nothing.

    Garbage is collected only afterwards: imports leave little garbage, and looking for it takes a tenth of the start.
    """
    gc.disable()
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(setup["threads"])), MPLBACKEND="Agg")
    if "autocoder_worker.warmup" not in sys.modules:
        os.environ[_ARROW_ALLOCATOR] = "background_thread:false"  # a process that forks must have one thread only
        importlib.import_module("autocoder_worker.warmup").warm_up()
        del os.environ[_ARROW_ALLOCATOR]
        semaphores.install_where_needed()
        heap.prepare()
    gc.freeze()
    gc.enable()
