"""The cores of the workers that run something now, so that another one gets others."""

from __future__ import annotations

import os
from weakref import WeakValueDictionary

from autocoder_jupyter.sandbox.protocol import Worker

_at_work: WeakValueDictionary[tuple[int, int], Worker] = WeakValueDictionary()
"""By process id: the workers of a parent do not run in a forked process. No worker stays alive because it is here."""


def begin(worker: Worker) -> None:
    """Note that a worker is borrowed."""
    _at_work[os.getpid(), id(worker)] = worker


def end(worker: Worker) -> None:
    """Note that it was given back."""
    _at_work.pop((os.getpid(), id(worker)), None)


def busy_cores() -> set[int]:
    """The cores of the workers of all pools that are borrowed."""
    own = os.getpid()
    return {core for (owner, _), worker in list(_at_work.items()) if owner == own for core in worker.cores}


def free_cores() -> list[int]:
    """The other cores that this process may use."""
    return sorted(os.sched_getaffinity(0) - busy_cores())
