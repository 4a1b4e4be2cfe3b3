"""The notebook's side of local workers that are forked from a loading process, which has the libraries loaded.

For each kind of worker there are at most two loading processes, which are started on demand. Workers of one process
have the same hash seed, and a caller may need a worker with another seed. Only then, or if two workers are needed
before the first process is ready, the second one is started. Only the first worker of each must wait for the libraries.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path

from autocoder_jupyter.concurrency.threads import start_thread
from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.forked_worker import Share
from autocoder_jupyter.sandbox.local.process import (
    SupervisedProcess,
    read_line,
    request_sockets,
    start_supervisor,
    widen,
)
from autocoder_jupyter.sandbox.local.shared_supervisor import Loading
from autocoder_jupyter.sandbox.local.supervisor import Policy
from autocoder_jupyter.sandbox.protocol import Environment
from autocoder_jupyter.sandbox.temporary_folder import TemporaryFolder
from autocoder_jupyter.sandbox.worker.frames import pack

WORKERS = 24
"""Most workers of one loading process at a time. Further workers load the libraries themselves."""

IDLE_SECONDS = 3.0
"""How long a loading process stays after its last worker has ended. The pool keeps idle workers much longer."""

_ARRIVAL_SECONDS = 120.0


class NotForked(Exception):
    """No worker was forked, because the loading process has ended."""


class NoRoom(Exception):
    """The loading process cannot fork another worker now."""


@dataclass(frozen=True)
class WorkerKind:
    """Workers of the same kind can be forked from the same process. `python` is a command line."""

    environment: Environment
    python: tuple[str, ...]
    tier: str
    network: bool
    threads: int


class LoadingProcess:
    """A supervisor and its loading process.

    Args:
        policy: the policy of a worker of this kind. Its folder, cores and share of a core are replaced.
        folder: a locked folder. The supervisor keeps the lock.
        threads: number of threads of the numerical libraries.

    Raises:
        OSError: the supervisor cannot be started, for instance because too many files are open.
    """

    def __init__(self, policy: Policy, folder: TemporaryFolder, threads: int) -> None:
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
        start_thread(self._supervisor.wait, "autocode-loading")
        with contextlib.suppress(OSError):  # an ended supervisor is noticed by the next request for a worker
            self._send(asdict(Loading(policy, str(folder.path), folders, IDLE_SECONDS)))
            self._feed([bundle(), pack({"kind": "load", "threads": threads, "payload": 0})])

    def _feed(self, pieces: Sequence[bytes]) -> None:
        """Write to the standard input of the loading process, and close it."""
        with self._supervisor.stdin as stdin:  # type: ignore[union-attr]
            assert isinstance(stdin, FileIO)
            widen(stdin)
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[stdin.write(view) :]

    def fork(self, share: Share) -> ForkedProcess:
        """Fork a worker.

        Args:
            share: its limits.

        Raises:
            NotForked: the loading process has ended.
            NoRoom: it cannot fork another worker now.
        """
        ours, theirs = _pipes()
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
        """Kill it with all its workers and its supervisor, which does not answer. May be called repeatedly."""
        self._link.close()
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        process_tree.kill_descendants(self._supervisor.pid)
        self._supervisor.kill()

    def _send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        socket.send_fds(self._link, [json.dumps(message).encode()], descriptors)


class ForkedProcess(SupervisedProcess):
    """A forked worker; satisfies `sandbox.host.process.Process`."""

    def __init__(self, loading: LoadingProcess, name: str, ends: Sequence[int]) -> None:
        """Wait until the worker was forked.

        Args:
            loading: forks it.
            name: id of the worker.
            ends: descriptors: requests, data, control, lifeline, report.

        Raises:
            NotForked: it was not forked in time.
            NoRoom: the supervisor refused it.
        """
        requests, data, control, lifeline, report = ends
        super().__init__(lifeline, report)
        self.name = name
        self._loading = loading
        self.requests, self.data, self.control = FileIO(requests, "wb"), FileIO(data, "rb"), FileIO(control, "rb")
        widen(self.data)
        line = read_line(self._report, _ARRIVAL_SECONDS)
        self.folder = str(json.loads(line).get("folder", "")) if line else ""
        if not self.folder:
            self._close()
            raise NoRoom if line else NotForked

    def _end_without_report(self) -> None:
        self._loading.kill()

    def _reap(self) -> None:
        """Do nothing, because its parent is the loading process."""

    def _close(self) -> None:
        for stream in (self.requests, self.data, self.control):
            stream.close()
        os.close(self._lifeline)
        os.close(self._report)


def _made(folder: Path) -> str:
    folder.mkdir(mode=0o700)
    return str(folder)


def _pipes() -> tuple[list[int], list[int]]:
    """A socket for requests and four pipes: the notebook's ends, and the ends of the worker (three streams) and the
    supervisor (lifeline, report).
    """
    with contextlib.ExitStack() as opened:
        pipes: list[tuple[int, int]] = []
        for number in range(5):
            pipes.append(os.pipe() if number else request_sockets())
            for end in pipes[-1]:
                opened.callback(os.close, end)
        opened.pop_all()
    written_here = (True, False, False, True, False)
    ours = [pipe[written] for pipe, written in zip(pipes, written_here, strict=True)]
    theirs = [pipe[not written] for pipe, written in zip(pipes, written_here, strict=True)]
    return ours, theirs
