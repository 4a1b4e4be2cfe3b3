"""Interpreters that are forked by `fork_server`, for tests that start many."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """The process that forks. It ends with this process, which has the other end of its socket."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-I", "-B", str(SERVER)], stdin=theirs.fileno())
        self._one_question = threading.Lock()

    def fork(self, source: str, folder: Path, environment: Mapping[str, str]) -> ForkedInterpreter:
        """Fork an interpreter that runs a source."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        request = {"source": source, "folder": str(folder), "environment": dict(environment)}
        try:
            pid = self._ask(request, theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return ForkedInterpreter(self, pid, pipes[0][1], pipes[1][0], pipes[2][0])

    def exit_code(self, pid: int) -> int | None:
        """The exit code of an interpreter that has ended. It can be asked for only once."""
        code: int | None = self._ask({"poll": pid})
        return code

    def _ask(self, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> Any:
        with self._one_question:
            socket.send_fds(self._link, [json.dumps(request).encode()], descriptors)
            return json.loads(self._link.recv(1024))


class ForkedInterpreter:
    """The part of `subprocess.Popen` with three unbuffered pipes that the tests use."""

    def __init__(self, server: ForkServer, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = FileIO(stdin, "wb"), FileIO(stdout, "rb"), FileIO(stderr, "rb")
        self._server = server
        self._code: int | None = None
        self._one_question = threading.Lock()

    def poll(self) -> int | None:
        with self._one_question:
            if self._code is None:
                self._code = self._server.exit_code(self.pid)
            return self._code

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked interpreter", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


@cache
def fork_server() -> ForkServer:
    """The fork server of this process."""
    return ForkServer()
