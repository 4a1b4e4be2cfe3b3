"""Processes that are forked from one that has imported what they need (see `fork_server`); many tests start some."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fork_server.py")
ROOT = SERVER.parents[1]
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())


@dataclass(frozen=True)
class Imported:
    """What a fork server has imported. All processes of a run of tests share one server of a name.

    Args:
        name: the name of the server.
        modules: the modules.
        options: options of the interpreter.
        environment: further environment variables while the modules are imported.
    """

    name: str
    modules: tuple[str, ...]
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def address(self) -> str:
        """The address of the server's socket. It is no file."""
        return f"\0autocode-{self.name}-{RUN}"


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

WORKERS = Imported(
    "workers",
    ("numpy", "pandas", "pyarrow", "pyarrow.compute", "pytest", "_pytest.config", "_pytest.python"),
    options=("-I", "-B"),
    environment=(*((name, "1") for name in THREADS), ("JE_ARROW_MALLOC_CONF", "background_thread:false")),
)
"""The libraries of a worker, and nothing of this package. They are imported with one thread."""


class ForkServer:
    """A connection to a process that forks, which is started if there is none. It ends with its last connection."""

    def __init__(self, imported: Imported) -> None:
        self._one_question = threading.Lock()
        self._link = _connection(imported)

    def close(self) -> None:
        """End the processes of this connection, and the connection."""
        self._link.close()

    def fork(
        self,
        source: str,
        folder: Path | str,
        environment: Mapping[str, str],
        streams: Sequence[int],
        arguments: Sequence[str] = (),
    ) -> ForkedProcess:
        """Fork a process that runs a source. It ends with this process.

        Args:
            source: the source of its main module.
            folder: its working folder.
            environment: all its environment variables.
            streams: its standard input, output and errors.
            arguments: its arguments.
        """
        request = {"source": source, "folder": str(folder), "environment": dict(environment), "arguments": arguments}
        return ForkedProcess(self, self._ask(request, streams))

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a process that has ended. It can be asked for only once."""
        code: int | None = self._ask({"poll": pid})
        return code

    def _ask(self, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> Any:
        with self._one_question:
            socket.send_fds(self._link, [json.dumps(request).encode()], descriptors)
            answer = self._link.recv(1024)
        assert answer, "The process that forks has ended."
        return json.loads(answer)


class ForkedProcess:
    """The part of `subprocess.Popen` that the tests and Jupyter use. Of the pipes it has those that were set."""

    stdin: FileIO | None = None
    stdout: FileIO | None = None
    stderr: FileIO | None = None

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._exit_code: int | None = None
        self._one_question = threading.Lock()

    def poll(self) -> int | None:
        with self._one_question:
            if self._exit_code is None:
                self._exit_code = self._server.exit_code(self.pid)
            return self._exit_code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


@cache
def server(imported: Imported) -> ForkServer:
    """The connection of this process."""
    return ForkServer(imported)


def fork_piped(source: str, folder: Path, environment: Mapping[str, str]) -> ForkedProcess:
    """Fork an interpreter with three unbuffered pipes, which has imported the libraries of a worker."""
    pipes = [os.pipe() for _ in range(3)]
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    try:
        process = server(WORKERS).fork(source, folder, environment, theirs)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    process.stdin = FileIO(pipes[0][1], "wb")
    process.stdout, process.stderr = FileIO(pipes[1][0], "rb"), FileIO(pipes[2][0], "rb")
    return process


def _connection(imported: Imported) -> socket.socket:
    while True:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            link.connect(imported.address)
        except ConnectionRefusedError:
            link.close()
            _start(imported)
        else:
            return link


def _start(imported: Imported) -> None:
    """Start the process that forks, unless another process does it at this moment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(imported.address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            time.sleep(0.01)
            return
        listener.listen()
        # Each forked process has its own search path.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(
            [sys.executable, *imported.options, str(SERVER), str(ROOT), *imported.modules],
            cwd=ROOT,
            env={**environment, **dict(imported.environment)},
            stdin=listener.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
