"""Forks kernels from a process that has imported what they need.

Run it as `python -m tests.magics.fork_server`, with a listening socket as its standard input. Several processes can
connect to it. Each message is a request, and gets an answer.

A kernel imports ipykernel, pandas, litellm and this package, which takes over three seconds of processor time. A forked
kernel is a separate process with its own session, threads and memory. Nothing of this package has run in it before:
modules that start something, or count from their process id, are not in this list.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MODULES = (
    "tests.light_jsonschema",
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets"),
    *("pandas", "pyarrow", "docker", "psutil"),
    *("litellm", "litellm.litellm_core_utils.default_encoding", "openai.resources"),
    *("autocoder_jupyter.lab", "autocoder_jupyter.magics", "autocoder_jupyter.display.card"),
    *("autocoder_jupyter.agent.agent", "autocoder_jupyter.agent.generation", "autocoder_jupyter.jobs.registry"),
    *("autocoder_jupyter.engine.loop", "autocoder_jupyter.engines.staged.writer", "autocoder_jupyter.models.client"),
    "autocoder_jupyter.codemode.agent",
)
MOST = 2**17
"""Maximum bytes of a request."""


def load() -> None:
    """Import everything; litellm without its price list from the network and without a `.env` file."""
    os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    gc.disable()
    for module in MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # otherwise a collection in a child copies the memory that it shares with this process
    gc.enable()


def serve(listener: socket.socket) -> Mapping[str, Any] | None:
    """Answer requests until the last client has gone. In a forked child it returns the request.

    The kernels of a client end with it.
    """
    kernels: dict[socket.socket, set[int]] = {listener.accept()[0]: set()}
    listening = [listener]
    while kernels:
        for link in select.select([*listening, *kernels], (), ())[0]:
            if link is listener:
                kernels[listener.accept()[0]] = set()
            elif (received := receive(link)) is None:
                end(kernels.pop(link))
                link.close()
                if not kernels and listening:
                    kernels = {late: set() for late in last_ones(listening.pop())}
            else:
                request, streams = received
                if "poll" in request:
                    answer = exit_code(request["poll"])
                    if answer is not None:
                        kernels[link].discard(request["poll"])
                elif (answer := os.fork()) == 0:
                    os.dup2(streams[0], 2)
                    for inherited in (listener, *kernels):
                        inherited.close()
                    return request
                else:
                    kernels[link].add(answer)
                for stream in streams:
                    os.close(stream)
                with contextlib.suppress(ConnectionError):  # the client has gone meanwhile
                    link.send(json.dumps(answer).encode())
    return None


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """A request and the file descriptors that came with it; None if the client has gone."""
    try:
        message, streams, _, _ = socket.recv_fds(link, MOST, 1)
    except ConnectionError:
        return None
    return (json.loads(message), streams) if message else None


def end(kernels: Iterable[int]) -> None:
    """End kernels at once."""
    for pid in kernels:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def last_ones(listener: socket.socket) -> Iterator[socket.socket]:
    """Refuse further clients, and accept those that have connected before."""
    listener.shutdown(socket.SHUT_RD)
    with contextlib.suppress(OSError):
        while True:
            yield listener.accept()[0]


def exit_code(pid: int) -> int | None:
    """The exit code of a child that has ended, as `subprocess` reports it."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def become_kernel(arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
    """Do the same as `python -m ipykernel_launcher`, until the kernel ends."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.argv[:] = [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    if os.fork():  # so that kernels of other processes are no descendants of the one that started this program
        os._exit(0)
    load()
    assert threading.active_count() == 1 and "autocoder_jupyter.sandbox.local.policy" not in sys.modules
    del sys.path[0]  # the folder that it was started in
    if (kernel := serve(socket.socket(fileno=os.dup(0)))) is not None:
        become_kernel(**kernel)
