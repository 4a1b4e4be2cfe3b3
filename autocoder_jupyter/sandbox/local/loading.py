"""The loading processes of this notebook, and the choice of one of them for a new worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from autocoder_jupyter.sandbox.local.forks import LoadingProcess, NoRoom, NotForked, WorkerKind
from autocoder_jupyter.sandbox.local.messages import Share
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.protocol import origin_of

_TURNS = 2
"""Number of loading processes of one kind; see `forks`."""


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

    Args:
        kind: of the worker.
        share: its limits.
        start: starts a loading process of this kind.
        unlike: ids of workers. The new worker must come from another interpreter.
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
            worker = loading.fork(share)
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
