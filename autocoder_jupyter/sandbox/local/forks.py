"""Local workers that are forked from a process which has loaded the libraries, seen from the notebook.

There are two such processes for each kind of worker, started when they are wanted: workers of one have the same hash
seed, and who asks for one that has another must find it warm too. The first worker of each costs what loading costs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import socket
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path

from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.forked_worker import Share
from autocoder_jupyter.sandbox.local.process import SupervisedProcess, read_line, start_supervisor, widen
from autocoder_jupyter.sandbox.local.shared_supervisor import Loading
from autocoder_jupyter.sandbox.local.supervisor import Policy
from autocoder_jupyter.sandbox.local.worker_folder import WorkerFolder
from autocoder_jupyter.sandbox.protocol import Environment
from autocoder_jupyter.sandbox.worker.frames import pack

WORKERS = 24
"""At most at a time, of one loading process; further ones load for themselves."""

IDLE_SECONDS = 3.0
"""How long a loading process outlives its last worker. The pool keeps workers for as long as they are likely wanted."""

_ARRIVAL_SECONDS = 120.0


class NotForked(Exception):
    """There is no worker, and the loading process has ended."""


class NoRoom(Exception):
    """The loading process cannot have another worker now."""


@dataclass(frozen=True)
class Kind:
    """What workers must have in common to come from one process. `python` is a command line."""

    environment: Environment
    python: tuple[str, ...]
    tier: str
    network: bool
    threads: int


class LoadingProcess:
    """A supervisor, and the loading process below it.

    Args:
        policy: of a worker that would load for itself; `folder` is replaced.
        folder: a locked folder; the lock goes over to the supervisor.
        threads: of the numerical libraries.

    Raises:
        OSError: the supervisor cannot be started, for instance because too many files are open.
    """

    def __init__(self, policy: Policy, folder: WorkerFolder, threads: int) -> None:
        self.name = secrets.token_hex(6)
        self._numbers = itertools.count(1)
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            theirs.callback(os.close, folder.lock)
            own, *folders = (_made(folder.path / secrets.token_hex(16)) for _ in range(WORKERS + 1))
            self._link, their_link = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(their_link)
            ours.enter_context(self._link)
            given = [their_link.fileno(), folder.lock]
            self._supervisor = start_supervisor("shared_supervisor", given, subprocess.DEVNULL)
            ours.pop_all()  # it has started; this end stays open until the loading process is killed
        home = {"HOME": own, "TMPDIR": own}
        policy = replace(
            policy,
            folder=own,
            environment=policy.environment | home,
            writable=[*policy.writable, *folders],
            cores=[],
            share_of_core=None,
        )
        threading.Thread(target=self._supervisor.wait, name="autocode-loading", daemon=True).start()
        with contextlib.suppress(OSError):  # an ended supervisor is noticed by the next request for a worker
            self._send(asdict(Loading(policy, str(folder.path), folders, IDLE_SECONDS)))
            self._feed([bundle(), pack({"kind": "load", "threads": threads, "preload": [], "payload": 0})])

    def _feed(self, pieces: Sequence[bytes]) -> None:
        """Write to the loading process's standard input, and close it."""
        with self._supervisor.stdin as stdin:  # type: ignore[union-attr]
            assert isinstance(stdin, FileIO)
            widen(stdin)
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[stdin.write(view) :]

    def fork(self, share: Share) -> ForkedProcess:
        """A worker of this kind.

        Raises:
            NotForked: there can be none any more.
            NoRoom: there can be none now.
        """
        ours, theirs = _ends()
        try:
            self._send(asdict(share), theirs)
        except OSError:
            for descriptor in ours:
                os.close(descriptor)
            raise NotForked from None
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return ForkedProcess(self, f"{self.name}.{next(self._numbers)}", ours)

    def kill(self) -> None:
        """End it with all its workers, over the supervisor's head: it has ended, or does not answer. Idempotent."""
        self._link.close()
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        process_tree.kill_descendants(self._supervisor.pid)
        self._supervisor.kill()

    def _send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        socket.send_fds(self._link, [json.dumps(message).encode()], descriptors)


class ForkedProcess(SupervisedProcess):
    """A worker that is forked; satisfies `sandbox.host.process.Process`."""

    def __init__(self, loading: LoadingProcess, name: str, ends: Sequence[int]) -> None:
        """Wait until it is there.

        Raises:
            NotForked: it did not come.
            NoRoom: it was refused.
        """
        requests, data, control, lifeline, report = ends
        super().__init__(lifeline, report)
        self.name = name
        self._loading = loading
        self.requests, self.data, self.control = FileIO(requests, "wb"), FileIO(data, "rb"), FileIO(control, "rb")
        for stream in (self.requests, self.data):
            widen(stream)
        line = read_line(self._report, _ARRIVAL_SECONDS)
        self.folder = str(json.loads(line).get("folder", "")) if line else ""
        if not self.folder:
            self._let_go()
            raise NoRoom if line else NotForked

    def _end_without_report(self) -> None:
        self._loading.kill()

    def _reap(self) -> None:
        """Nothing: its parent is the loading process."""

    def _let_go(self) -> None:
        for stream in (self.requests, self.data, self.control):
            stream.close()
        os.close(self._lifeline)
        os.close(self._report)


def _made(folder: Path) -> str:
    folder.mkdir(mode=0o700)
    return str(folder)


def _ends() -> tuple[list[int], list[int]]:
    """Five pipes: what we keep, and what the worker (three streams) and its supervisor (lifeline, report) get."""
    with contextlib.ExitStack() as opened:
        pipes: list[tuple[int, int]] = []
        for _ in range(5):
            pipes.append(os.pipe())
            for end in pipes[-1]:
                opened.callback(os.close, end)
        opened.pop_all()
    written_here = (True, False, False, True, False)
    ours = [pipe[written] for pipe, written in zip(pipes, written_here, strict=True)]
    theirs = [pipe[not written] for pipe, written in zip(pipes, written_here, strict=True)]
    return ours, theirs
