"""The notebook's side of local workers that are forked from a loading process, which has imported the libraries."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import threading
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from io import FileIO
from pathlib import Path

from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.local.confinement.process import tier_named
from autocoder_jupyter.sandbox.local.messages import FORKS, Policy, Share, StartOrder
from autocoder_jupyter.sandbox.local.process import LocalProcess, Supervisor, close_all, ends, read_line, widen
from autocoder_jupyter.sandbox.protocol import Environment, origin_of
from autocoder_jupyter.sandbox.temporary_folder import TemporaryFolder
from autocoder_jupyter.sandbox.worker.frames import pack

WORKERS = 24
"""Most workers of one loading process at a time. Further workers load the libraries themselves."""

IDLE_SECONDS = 3.0
"""How long a loading process stays after its last worker has ended. The pool keeps idle workers much longer."""

_LOADING_SECONDS = 120.0
_FORK_SECONDS = 20.0
"""How long a worker may take to arrive: from a process that still loads the libraries, and from one that has them."""


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
    """

    def __init__(self, policy: Policy, folder: TemporaryFolder, threads: int) -> None:
        self.name = secrets.token_hex(6)
        self._numbers = itertools.count(1)
        own, *folders = (_private_folder(folder.path / secrets.token_hex(16)) for _ in range(WORKERS + 1))
        home = {"HOME": own, "TMPDIR": own}
        policy = replace(
            policy,
            folder=own,
            environment=policy.environment | home,
            writable=[*policy.writable, *folders],
            cores=[],
            share_of_core=None,
        )
        their_input, own_input = os.pipe()
        with FileIO(own_input, "wb") as stdin:
            order = StartOrder(policy, str(folder.path), folders, IDLE_SECONDS)
            self.supervisor = Supervisor(FORKS, order, folder.lock, [their_input])
            widen(stdin)
            with contextlib.suppress(OSError):  # an ended process is noticed by the next request for a worker
                load = {"kind": "load", "threads": threads, "payload": 0}
                for piece in (bundle(), pack({**load, "own_numbers": tier_named(policy.tier).namespaces})):
                    _write(stdin, piece)

    def fork(self, share: Share, *, is_ready: bool = False) -> LocalProcess:
        """Fork a worker, and wait until it was forked. A process that does not answer, as a stopped one, has ended."""
        ours, theirs = ends()
        try:
            self.supervisor.send(asdict(share), theirs)
        except OSError:
            close_all(ours)
            raise NotForked from None
        finally:
            close_all(theirs)
        line = read_line(ours[-1], _FORK_SECONDS if is_ready else _LOADING_SECONDS)
        folder = str(json.loads(line).get("folder", "")) if line else ""
        if not folder:
            close_all(ours)
            raise NoRoom if line else NotForked
        return LocalProcess(self.supervisor, ours, folder=folder, name=f"{self.name}.{next(self._numbers)}")

    def kill(self) -> None:
        """Kill it with all its workers and its supervisor, which does not answer. May be called repeatedly."""
        self.supervisor.kill()


def _private_folder(folder: Path) -> str:
    folder.mkdir(mode=0o700)
    return str(folder)


def _write(stream: FileIO, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[stream.write(view) :]


# The choice of a loading process
#
# For each kind of worker there are at most two, which are started on demand. Workers of one process have the same hash
# seed, and a caller may need a worker with another seed. Only then, or if two workers are needed before the first
# process is ready, the second one is started. Only the first worker of each must wait for the libraries.

_TURNS = 2
"""Number of loading processes of one kind."""


@dataclass
class _Slot:
    """A loading process that may not be started yet. The thread that starts it holds the lock.

    It is ready when it has forked a worker, so the next one need not wait for the libraries.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    process: LoadingProcess | None = None
    is_ready: bool = False
    unfit: bool = False


_lock = threading.Lock()
_slots: dict[tuple[int, WorkerKind], list[_Slot]] = {}
_turn: dict[tuple[int, WorkerKind], int] = {}


def forked(
    kind: WorkerKind, share: Share, start: Callable[[], LoadingProcess], unlike: Collection[str]
) -> LocalProcess | None:
    """Fork a worker of this kind; None if no loading process can fork one.

    A forked notebook process has its own loading processes.
    """
    for slot in _in_turn((os.getpid(), kind), {origin_of(worker) for worker in unlike}):
        if (process := _from(slot, share, start)) is not None:
            return process
    return None


def _in_turn(key: tuple[int, WorkerKind], taken: Collection[str]) -> list[_Slot]:
    """The slots that may be used: those that are ready, then the others, each in turn.

    So a second worker does not load the libraries a second time, unless it must have another interpreter.
    """
    with _lock:
        slots = _slots.setdefault(key, [_Slot() for _ in range(_TURNS)])
        first = _turn[key] = (_turn.get(key, -1) + 1) % _TURNS
    in_turn = slots[first:] + slots[:first]
    fitting = [slot for slot in in_turn if slot.process is None or slot.process.name not in taken]
    return sorted(fitting, key=lambda slot: not slot.is_ready)


def _from(slot: _Slot, share: Share, start: Callable[[], LoadingProcess]) -> LocalProcess | None:
    """Fork a worker from one slot. A process that has ended, for example because it was idle, is started again once."""
    for _ in range(2):
        with slot.lock:
            if slot.unfit:
                return None
            loading, is_new = slot.process, slot.process is None
            if loading is None:
                loading = slot.process = start()
        try:
            worker = loading.fork(share, is_ready=slot.is_ready)
            slot.is_ready = True
            return worker
        except NoRoom:
            return None
        except NotForked:
            loading.kill()
            with slot.lock:
                if slot.process is loading:
                    # If a new process fails at once, it is not tried again.
                    slot.process, slot.is_ready, slot.unfit = None, False, is_new
    return None
