"""The beginning of a worker: take the streams, import libraries, lock down, say ready, serve.

Nothing heavy is imported at the top, because numerical libraries read their number of threads when they are imported.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import sys
import traceback
from dataclasses import asdict
from typing import Any

from . import frames, heap, lockdown, semaphores

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)


def main() -> None:
    """Serve until the host hangs up. Never returns."""
    requests, data, control = _take_streams()
    start = frames.read_header(requests)
    if start is None:
        os._exit(0)
    setup = json.loads(start)
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
    semaphores.install_where_needed()
    from .workplace import Workplace
    from .zygote import Zygote

    workplace = Workplace(setup["scratch"])
    zygote = Zygote(requests, data, control, workplace, keep_text=setup["text_bytes"])
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
    """Move the host's streams out of the way of everything that prints, and put nothing in their place."""
    streams = tuple(os.dup(fd) for fd in range(3))
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.close(nothing)
    os.set_blocking(streams[1], False)
    return streams[0], streams[1], streams[2]


def _load(setup: dict[str, Any]) -> None:
    """Import what programs are likely to need, and use it once, so that no child has to."""
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(setup["threads"])), MPLBACKEND="Agg")
    importlib.import_module("autocoder_worker.warmup").warm_up()
    for name in setup["preload"]:
        with contextlib.suppress(ImportError):  # a program that needs it will say so itself
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    heap.prepare()
