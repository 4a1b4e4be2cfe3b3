"""The notebook's side of a local worker: its supervisor, its streams, the reason of its end, and its policy."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import math
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import FileIO
from pathlib import Path

from autocoder_jupyter import errors
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.sandbox.host.capacity import free_cores
from autocoder_jupyter.sandbox.host.exchange import ExitReason
from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.process import TierName
from autocoder_jupyter.sandbox.local.messages import ALONE, AT_REST, AT_WORK, Policy, StartOrder, TreeEnding
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import WorkerLimits

END_SECONDS = 3 * process_tree.SECONDS_TO_DIE
"""Seconds in which the supervisor must kill its tree. After that the notebook kills it.

The supervisor first completes a check of the tree, then waits for the worker's descendants, then for the worker.
"""

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


class Supervisor:
    """A supervisor, as the notebook sees it."""

    def __init__(self, kind: str, order: StartOrder, lock: int, descriptors: Sequence[int]) -> None:
        """Start it in an isolated interpreter and its own session."""
        self._group = order.policy.control_group()
        self._sending = threading.Lock()
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            theirs.callback(close_all, descriptors)
            self._link, link = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(link)
            ours.enter_context(self._link)
            self._process = _start_interpreter(kind, [link.fileno(), lock])
            ours.pop_all()  # it has started; this end stays open until it is killed
            with contextlib.suppress(OSError):  # a supervisor that has ended is noticed by what it does not report
                self.send(asdict(order), descriptors)
            if kind == ALONE:
                self._link.close()  # nothing else is sent
        start_thread(self._await_end, "autocode-supervisor")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Send it a message."""
        with self._sending:
            socket.send_fds(self._link, [json.dumps(message).encode()], descriptors)

    def _await_end(self) -> None:
        """Reap it, and close the link, which would otherwise stay open until nobody refers to it."""
        self._process.wait()
        with self._sending:
            self._link.close()

    def kill(self) -> None:
        """Kill it with all that it serves, because it does not answer. May be called repeatedly."""
        process_tree.kill_descendants(self.pid)
        self._process.kill()
        if self._group is not None:
            self._group.end()


def _start_interpreter(kind: str, descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    import_path = str(Path(errors.__file__).parent.parent)
    program = [program_text("start_supervisor"), import_path, kind, *map(str, descriptors)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", *program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        env={"LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,  # a Ctrl-C for the kernel must not reach the worker
    )


class LocalProcess:
    """A worker with a supervisor; satisfies `sandbox.host.exchange.Process`."""

    def __init__(self, supervisor: Supervisor, ends: Sequence[int], *, folder: str, name: str = "") -> None:
        """Take over a worker that was started."""
        requests, data, control, self._lifeline, self._report = ends
        self.requests, self.data, self.control = FileIO(requests, "wb"), FileIO(data, "rb"), FileIO(control, "rb")
        widen(self.data)
        self.supervisor, self.folder, self.name = supervisor, folder, name
        self._lock = threading.Lock()
        self._reason: ExitReason | None = None
        self._killed = False

    @classmethod
    def alone(cls, policy: Policy, lock: int) -> LocalProcess:
        """Start a worker that is not forked."""
        ours, theirs = ends()
        try:
            supervisor = Supervisor(ALONE, StartOrder(policy, policy.folder, []), lock, theirs)
        except OSError:
            close_all(ours)
            raise
        return cls(supervisor, ours, folder=policy.folder)

    def watch(self, at_work: bool) -> None:
        """Tell the supervisor whether a program may run, so that it checks limits more often."""
        with self._lock, contextlib.suppress(BrokenPipeError):  # if the supervisor has ended, the streams show it
            if not self._killed:
                os.write(self._lifeline, AT_WORK if at_work else AT_REST)

    def kill(self) -> None:
        """Kill the whole tree, and wait for its end. May be called repeatedly and from any thread."""
        with self._lock:
            if not self._killed:
                self._killed = True
                os.close(self._lifeline)
                self._reason = self._reason or self._read_reason()

    def exit_reason(self) -> ExitReason:
        """Why the tree ended."""
        with self._lock:
            self._reason = self._reason or self._read_reason()
            return self._reason

    def _read_reason(self) -> ExitReason:
        line = read_line(self._report, END_SECONDS)
        os.close(self._report)
        if line:
            return reason_of(TreeEnding(**json.loads(line)))
        self.supervisor.kill()
        return ExitReason(engine_gone=True, text="The supervisor of the worker ended or does not answer.")


def reason_of(ending: TreeEnding) -> ExitReason:
    """The reason for the channel, from the last report of a supervisor."""
    return ExitReason(
        out_of_memory=ending.limit == "memory",
        signal=ending.signal,
        exit_code=ending.exit_code,
        text=ending.text,
        engine_gone=ending.failed,
        limit="" if ending.limit == "memory" else ending.limit,
    )


def read_line(descriptor: int, seconds: float) -> bytes:
    """Read a line; b"" at the end of the stream or of the time limit."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        readable = poll.poll(max(deadline - time.monotonic(), 0.0) * 1000)
        piece = os.read(descriptor, 1) if readable else b""  # the next line may have been written, too
        if not piece:
            return b""
        line += piece
    return line


def ends() -> tuple[list[int], list[int]]:
    """The streams of a new worker: a socket for requests, which can also carry descriptors, and four pipes."""
    with contextlib.ExitStack() as opened:
        theirs_of_requests, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.enter_context(theirs_of_requests)
        opened.enter_context(requests)
        pipes = []
        for _ in range(4):
            pipes.append(os.pipe())
            opened.callback(close_all, pipes[-1])
        opened.pop_all()
    (data, their_data), (control, their_control), (their_lifeline, lifeline), (report, their_report) = pipes
    ours = [requests.detach(), data, control, lifeline, report]
    return ours, [theirs_of_requests.detach(), their_data, their_control, their_lifeline, their_report]


def close_all(descriptors: Iterable[int]) -> None:
    """Close these descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)


def widen(stream: FileIO) -> None:
    """Request a larger buffer for a pipe, so that large frames need fewer context switches. The system may refuse."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(stream.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)


# The policy of a worker

_SYSTEM = (
    *("/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/dev/urandom", "/dev/random"),  # not /dev/zero: a mapping of it is shared memory that is not counted
)
_NETWORK = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates"),
)
_INTERPRETER_PARTS = ("bin", "lib", "lib64", "share")
"""The readable folders in the prefix of an interpreter. The prefix itself may be a home folder."""

_turn = itertools.count(os.getpid())


def worker_policy(
    command: Sequence[str],
    folder: Path,
    *,
    prefixes: Iterable[str],
    packages: Iterable[str],
    limits: WorkerLimits,
    cores: Sequence[int],
    network: bool,
    tier: TierName,
    group: str = "",
) -> Policy:
    """The policy of one worker."""
    interpreter = [str(Path(prefix, part)) for prefix in prefixes for part in _INTERPRETER_PARTS]
    wanted = [*_SYSTEM, *(_NETWORK if network else ()), *interpreter, *packages]
    return Policy(
        command=list(command),
        environment=_variables(folder),
        folder=str(folder),
        readable=[path for path in dict.fromkeys(wanted) if Path(path).exists()],
        writable=["/dev/null"],
        network=network,
        processes=limits.processes,
        memory=limits.memory,
        disk=limits.disk,
        cores=list(cores),
        share_of_core=share_of_core(limits.cpu),
        tier=tier,
        group=group,
    )


def _variables(folder: Path) -> dict[str, str]:
    """All environment variables of the worker. The time zone is UTC, as in a container."""
    home = str(folder)
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def cores_of(cpu: float) -> list[int]:
    """The numbers of as many cores as `cpu` rounded up, if possible those on which no worker runs something.

    Each worker gets the next ones, so that the load is spread.
    """
    usable, free = sorted(os.sched_getaffinity(0)), free_cores()
    count = min(math.ceil(cpu), len(usable))
    among = free if len(free) >= count else usable
    first = next(_turn) * count
    return sorted(among[(first + offset) % len(among)] for offset in range(count))


def share_of_core(cpu: float) -> int | None:
    """Percent of one core if `cpu` is less than one, else None."""
    return max(int(cpu * 100), 1) if cpu < 1 else None
