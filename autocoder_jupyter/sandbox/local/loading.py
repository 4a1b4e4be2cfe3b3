"""The loading processes of this notebook, and the choice of one for a worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from autocoder_jupyter.sandbox.local.forked_worker import Share
from autocoder_jupyter.sandbox.local.forks import ForkedProcess, Kind, LoadingProcess, NoRoom, NotForked
from autocoder_jupyter.sandbox.protocol import origin_of

_TURNS = 2
"""Loading processes of one kind; see `local_forks`."""


@dataclass
class _Place:
    """The place of a loading process, which may not be started yet; the thread that starts it holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    process: LoadingProcess | None = None
    unfit: bool = False


_lock = threading.Lock()
_places: dict[tuple[int, Kind], list[_Place]] = {}
_turn: dict[tuple[int, Kind], int] = {}


def forked(
    kind: Kind, share: Share, start: Callable[[], LoadingProcess], unlike: Collection[str]
) -> ForkedProcess | None:
    """A worker of this kind; None where it has to load for itself.

    A forked notebook process has loading processes of its own.

    Args:
        kind: of the worker.
        share: what it may use.
        start: starts a loading process of this kind.
        unlike: ids of workers whose interpreter it must not come from.
    """
    for place in _in_turn((os.getpid(), kind), {origin_of(worker) for worker in unlike}):
        if (process := _from(place, share, start)) is not None:
            return process
    return None


def _in_turn(key: tuple[int, Kind], taken: Collection[str]) -> list[_Place]:
    """The places that may serve, the one whose turn it is first."""
    with _lock:
        places = _places.setdefault(key, [_Place() for _ in range(_TURNS)])
        first = _turn[key] = (_turn.get(key, -1) + 1) % _TURNS
    in_turn = places[first:] + places[:first]
    return [place for place in in_turn if place.process is None or place.process.name not in taken]


def _from(place: _Place, share: Share, start: Callable[[], LoadingProcess]) -> ForkedProcess | None:
    """A worker from one place. A process that has ended meanwhile, as it does when idle, is started again, once."""
    for _ in range(2):
        with place.lock:
            if place.unfit:
                return None
            loading, is_new = place.process, place.process is None
            if loading is None:
                loading = place.process = start()
        try:
            return loading.fork(share)
        except NoRoom:
            return None
        except NotForked:
            loading.kill()
            with place.lock:
                if place.process is loading:
                    place.process, place.unfit = (
                        None,
                        is_new,
                    )  # one that cannot load what others load is not tried again
    return None
