"""Forks interpreters from a process that has imported the libraries of a worker, which takes half a second.

Runs as `python -I -B fork_server.py`, with a socket as its standard input: each message is a request, and gets an
answer. A forked interpreter runs the source of the request, like `python -I -B -c SOURCE`; nothing of this package is
imported in it before.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MODULES = ("numpy", "pandas", "pyarrow", "pyarrow.compute", "pytest", "_pytest.config", "_pytest.python")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
MOST = 2**16
"""Maximum bytes of a request."""


def load() -> None:
    """Import everything with one thread, because other threads do not exist in a forked process."""
    os.environ |= dict.fromkeys(THREADS, "1") | {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
    gc.disable()
    for module in MODULES:
        importlib.import_module(module)
    gc.enable()
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def serve(link: socket.socket) -> str | None:
    """Answer requests until there are no more. In a forked process it returns the source to run."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(link, MOST, 3)
        if not message:
            return None
        request = json.loads(message)
        if "poll" in request:
            answer = exit_code(request["poll"])
        elif (answer := os.fork()) == 0:
            link.close()
            return entered(descriptors, **request)
        for descriptor in descriptors:
            os.close(descriptor)
        link.send(json.dumps(answer).encode())


def exit_code(pid: int) -> int | None:
    """The exit code of a process that has ended, as `subprocess` reports it."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def entered(streams: list[int], source: str, folder: str, environment: Mapping[str, str]) -> str:
    """Set up the forked process: folder, environment variables and three streams. Returns the source."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv[:] = ["-c"]
    return source


def go_on(source: str) -> None:
    """Run the source as the main module."""
    main: dict[str, Any] = sys.modules["__main__"].__dict__
    for name in [name for name in main if name not in ("__name__", "__builtins__")]:
        del main[name]
    exec(compile(source, "<string>", "exec"), main)


if __name__ == "__main__":
    load()
    if (text := serve(socket.socket(fileno=os.dup(0)))) is not None:
        go_on(text)
