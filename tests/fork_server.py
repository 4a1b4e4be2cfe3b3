"""Forks interpreters from a process that has imported what they need (see `tests.forked`).

Run it as `python tests/fork_server.py FOLDER MODULE...`, with a listening socket as its standard input. Several
processes can connect to it. Each message is a request, and gets an answer. The folder is in the search path while the
modules are imported.

A forked interpreter is a separate process with its own session, threads and memory. It runs the source of the request,
like `python -c SOURCE`.
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

MOST = 2**17
"""Maximum bytes of a request."""


def load(folder: str, modules: Iterable[str]) -> None:
    """Import everything. No thread may run afterwards, because other threads do not exist in a forked process."""
    gc.disable()
    sys.path.insert(0, folder)
    for module in modules:
        importlib.import_module(module)
    sys.path.remove(folder)
    gc.collect()
    gc.freeze()  # otherwise a collection in a child copies the memory that it shares with this process
    gc.enable()
    assert threading.active_count() == 1


def serve(listener: socket.socket) -> Mapping[str, Any] | None:
    """Answer requests until the last client has gone. In a forked child it returns the request.

    The children of a client end with it.
    """
    children: dict[socket.socket, set[int]] = {listener.accept()[0]: set()}
    listening = [listener]
    while children:
        for link in select.select([*listening, *children], (), ())[0]:
            if link is listener:
                children[listener.accept()[0]] = set()
            elif (received := receive(link)) is None:
                end(children.pop(link))
                link.close()
                if not children and listening:
                    children = {late: set() for late in last_ones(listening.pop())}
            else:
                request, streams = received
                if "poll" in request:
                    answer = exit_code(request["poll"])
                    if answer is not None:
                        children[link].discard(request["poll"])
                elif (answer := os.fork()) == 0:
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    for inherited in (*streams, listener.fileno(), *(client.fileno() for client in children)):
                        os.close(inherited)
                    return request
                else:
                    children[link].add(answer)
                for stream in streams:
                    os.close(stream)
                with contextlib.suppress(ConnectionError):  # the client has gone meanwhile
                    link.send(json.dumps(answer).encode())
    return None


def receive(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """A request and the file descriptors that came with it; None if the client has gone."""
    try:
        message, streams, _, _ = socket.recv_fds(link, MOST, 3)
    except ConnectionError:
        return None
    return (json.loads(message), streams) if message else None


def end(children: Iterable[int]) -> None:
    """End processes at once."""
    for pid in children:
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


def go_on(source: str, arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
    """Run the source as the main module, in a folder and with environment variables."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["-c", *arguments]
    main: dict[str, Any] = sys.modules["__main__"].__dict__
    for name in [name for name in main if name not in ("__name__", "__builtins__")]:
        del main[name]
    exec(compile(source, "<string>", "exec"), main)


if __name__ == "__main__":
    if os.fork():  # so that the children are no descendants of the process that started this program
        os._exit(0)
    if not sys.flags.isolated:
        del sys.path[0]  # the folder of this file
    load(sys.argv[1], sys.argv[2:])
    if (forked := serve(socket.socket(fileno=os.dup(0)))) is not None:
        go_on(**forked)
