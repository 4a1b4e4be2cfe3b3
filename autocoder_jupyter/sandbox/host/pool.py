"""A pool of workers. A call borrows a worker and gives it back, so the next call need not start one.

All calls with the same environment, limits and network share workers, because each program runs in a fresh child. Only
what may be told to a model as holding nothing of the data runs apart: in workers that were never given data, because a
program can leave a value where no promise about children reaches, such as the next process number of its worker. The
threads of the pool do not delay the end of the kernel, and workers end with the kernel.

If starting a worker is slow, the pool also starts one spare in advance: a worker in which no program has run. It is
started after a caller had to wait for a start, and after a worker has died. It is given to a caller that would
otherwise have to wait.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.errors import EngineGone
from autocoder_jupyter.sandbox.host.capacity import (
    busy_cores,
    free_cores,
    note_borrowed,
    note_returned,
    usable_cores,
)
from autocoder_jupyter.sandbox.protocol import Sandbox, Worker, WorkerSpec, origin_of

# Spares

Kind = TypeVar("Kind")

QUIET_SECONDS = 1.0
"""Seconds for which all workers must be idle before a spare is started, so that programs do not get less CPU time."""


@dataclass(frozen=True)
class _Wanted(Generic[Kind]):
    kind: Kind
    at_once: bool


class Spares(Generic[Kind]):
    """Starts a spare in the background when one is ordered. A new order replaces the one before.

    Args:
        start: starts a spare of a kind, unless there is one, and waits until it is ready. It never raises.
        quiet_seconds: how long all workers must be idle before a spare is started.
    """

    def __init__(self, start: Callable[[Kind], None], quiet_seconds: float = QUIET_SECONDS) -> None:
        self._start = start
        self._quiet_seconds = quiet_seconds
        self._changed = threading.Condition()
        self._working = 0
        self._quiet_since = -math.inf
        self._wanted: _Wanted[Kind] | None = None
        self._granting = False
        self._closed = False

    @contextmanager
    def work(self) -> Iterator[None]:
        """A context during which a worker is in use."""
        with self._changed:
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._quiet_since = time.monotonic()
                self._changed.notify_all()

    def want(self, kind: Kind, *, at_once: bool = False) -> None:
        """Order a spare. Returns at once and never raises."""
        with self._changed:
            if self._closed or (self._wanted == _Wanted(kind, True)):
                return
            self._wanted = _Wanted(kind, at_once)
            self._changed.notify_all()
            if not self._granting:
                with suppress(RuntimeError):  # no thread can be started when the process ends
                    start_thread(self._grant, "autocode-spare")
                    self._granting = True

    def close(self) -> None:
        """Start no more spares."""
        with self._changed:
            self._closed = True
            self._wanted = None
            self._changed.notify_all()

    def _grant(self) -> None:
        """Start the ordered spares one after the other, until there is no order."""
        while True:
            with self._changed:
                while self._wanted and not self._wanted.at_once and (left := self._until_quiet()) > 0:
                    self._changed.wait(None if math.isinf(left) else left)
                wanted, self._wanted = self._wanted, None
                if wanted is None:
                    self._granting = False
                    return
            self._start(wanted.kind)

    def _until_quiet(self) -> float:
        """Seconds until all workers were idle for `quiet_seconds`, if none is used meanwhile."""
        return math.inf if self._working else self._quiet_since + self._quiet_seconds - time.monotonic()


# The pool

IDLE_SECONDS = 600.0
MOST_IDLE = max(5, usable_cores())
"""As many as can be at work (a call in `calls/call` has its own core), and as many as a generation uses at once:
if one were ended, it could be the only one with another hash seed."""
ENOUGH_IDLE = 3
"""If as many are idle, no spare is started."""
SPARE_SECONDS = 120.0
KEPT_SECONDS = 10.0
"""Seconds after which an idle worker ends the process that it keeps for another call of the same program. The sandbox
watches that process, which takes a few percent of a core."""
CHECK_SECONDS = 5.0
"""Seconds between two checks whether there is still enough memory for the spare."""


_SHARED = object()
"""The `used` of a worker that may have been given data."""


@dataclass(frozen=True)
class _Idle:
    """An idle worker.

    Args:
        used: what it has run: None for nothing, the `apart` of its leases, or `_SHARED`.
        until: when it is ended, by the monotonic clock.
        rests: when it ends the process that it keeps; infinite if it has.
    """

    spec: WorkerSpec
    worker: Worker
    used: object | None
    until: float
    rests: float = math.inf
    spare: bool = False


class Pool:
    """Workers of one sandbox.

    Args:
        idle_seconds: how long an idle worker is kept.
        most_idle: how many idle workers are kept, without the spare. The one that is idle longest is ended first.
        quiet_seconds: how long all workers must be idle before a spare is started, unless a worker has died.
        kept_seconds: how long an idle worker keeps the process of its last call.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        idle_seconds: float = IDLE_SECONDS,
        most_idle: int = MOST_IDLE,
        spare_seconds: float = SPARE_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self.sandbox = sandbox
        self._idle_seconds = idle_seconds
        self._most_idle = most_idle
        self._spare_seconds = spare_seconds
        self._kept_seconds = kept_seconds
        self._changed = threading.Condition()
        self._idle: list[_Idle] = []
        self._starting: dict[WorkerSpec, deque[Future[Worker]]] = defaultdict(deque)
        self._spares = Spares(self._start_spare, quiet_seconds)
        self._sweeping = False
        self._closed = False

    def warm(self, spec: WorkerSpec, *, count: int = 1, apart: object | None = None) -> None:
        """Start workers until `count` are ready or starting. Returns at once. The next `lease` reports a failure.

        If those that are ready share an interpreter, one of the others has another, because two runs with different
        hash seeds are compared. With `apart`, at most one of those that are ready was given data.
        """
        with self._changed:
            idle = [idle for idle in self._idle if idle.spec == spec and idle.worker.alive]
            shared = [one for one in idle if apart is not None and one.used not in (None, apart)]
            ready = [one.worker.id for one in idle if one not in shared[1:]]
            missing = 0 if self._closed else count - len(ready) - len(self._starting[spec])
            started: list[Future[Worker]] = [Future() for _ in range(missing)]
            self._starting[spec].extend(started)
        unlike = ready if len({origin_of(worker) for worker in ready}) == 1 else []
        for number, future in enumerate(started):
            ahead = partial(self._start_ahead, spec, future, unlike=[] if number else unlike)
            start_thread(ahead, "autocode-warm")

    @contextmanager
    def lease(
        self,
        spec: WorkerSpec,
        *,
        other_than: Collection[str] = (),
        unlike: Collection[str] = (),
        asked: bool = True,
        apart: object | None = None,
    ) -> Iterator[Worker]:
        """Borrow a worker for the time of this context: an idle one, one that is starting, or a new one.

        A worker that does not answer any more is replaced. With `apart`, the worker has run nothing but what was leased
        with the same value, and the caller gives it nothing of the data.

        Raises:
            SandboxError: no worker can be started.
        """
        with self._spares.work():
            worker = self._worker(spec, other_than, unlike, asked, apart)
            try:
                yield worker
            except Exception:
                raise
            except BaseException:
                worker.kill()  # after an interrupt or a cancellation its state is unknown
                raise
            finally:
                self._give_back(spec, worker, _SHARED if apart is None else apart)

    def close(self) -> None:
        """End the idle workers now, and the borrowed ones when they are given back."""
        with self._changed:
            self._closed = True
            ended, self._idle = self._idle, []
            self._changed.notify_all()
        self._spares.close()
        for idle in ended:
            idle.worker.kill()

    def _worker(
        self,
        spec: WorkerSpec,
        other_than: Collection[str],
        unlike: Collection[str],
        asked: bool,
        apart: object | None,
    ) -> Worker:
        """An idle worker, else one that is starting, else a new one. If no used worker was idle, a spare is ordered."""
        take = self._take_responding if asked else self._take
        idle = take(spec, other_than, unlike, apart)
        if idle is not None and not idle.spare:
            return idle.worker
        if idle is not None:
            worker = idle.worker
        else:
            worker = self._take_started(spec, unlike) or self._start(spec, unlike)
            note_borrowed(worker)
        self._spares.want(spec)
        return worker

    def _take_responding(
        self, spec: WorkerSpec, other_than: Collection[str], unlike: Collection[str], apart: object | None
    ) -> _Idle | None:
        while idle := self._take(spec, other_than, unlike, apart):
            if idle.worker.responds():
                return idle
            note_returned(idle.worker)
            idle.worker.kill()
        return None

    def _take(
        self, spec: WorkerSpec, other_than: Collection[str], unlike: Collection[str], apart: object | None
    ) -> _Idle | None:
        """Take the idle worker that was used last, preferably one whose cores no other worker uses, then one that has
        run something for the same use.

        The spare is taken only if there is no other; none if a new worker would have cores that nobody uses.
        """
        with self._changed:
            dead = [idle for idle in self._idle if not idle.worker.alive]
            self._idle = [idle for idle in self._idle if idle not in dead]
            fitting = [
                idle
                for idle in self._idle
                if idle.spec == spec
                and idle.worker.id not in other_than
                and _differs(idle.worker, unlike)
                and (apart is None or idle.used in (None, apart))
            ]
            busy, kinds = busy_cores(), (_SHARED, None) if apart is None else (apart,)
            fitting.sort(
                key=lambda idle: (
                    not idle.spare,
                    busy.isdisjoint(idle.worker.cores),
                    -kinds.index(idle.used) if idle.used in kinds else -len(kinds),
                )
            )
            if fitting and not busy.isdisjoint(own := fitting[-1].worker.cores) and len(free_cores()) >= len(own):
                fitting = []
            if fitting:
                self._idle.remove(fitting[-1])
                note_borrowed(fitting[-1].worker)
        for idle in dead:
            idle.worker.kill()  # releases its resources in the sandbox
        return fitting[-1] if fitting else None

    def _take_started(self, spec: WorkerSpec, unlike: Collection[str]) -> Worker | None:
        with self._changed:
            starting = self._starting[spec]
            future = starting.popleft() if starting else None
        if future is None:
            return None
        try:
            worker = future.result()
        except Exception:
            return None  # the caller starts a worker itself, and gets the error
        if not worker.alive:
            worker.kill()  # releases its resources in the sandbox
            return None
        if not _differs(worker, unlike):
            self._give_back(spec, worker, None)
            return None
        return worker

    def _start(self, spec: WorkerSpec, unlike: Collection[str] = ()) -> Worker:
        try:
            return self.sandbox.start(spec, unlike=unlike)
        except EngineGone:  # perhaps something else killed it; no program has run, so nothing is repeated
            return self.sandbox.start(spec, unlike=unlike)

    def _start_ahead(
        self, spec: WorkerSpec, future: Future[Worker], *, unlike: Collection[str] = (), spare: bool = False
    ) -> None:
        try:
            worker = self._start(spec, unlike)
        except BaseException as error:
            self._forget(spec, future)
            future.set_exception(error)
            return
        unclaimed = self._forget(spec, future)
        future.set_result(worker)
        if unclaimed:
            self._keep(spec, worker, None, spare=spare)

    def _forget(self, spec: WorkerSpec, future: Future[Worker]) -> bool:
        """Remove a start from the list. False if a caller has already taken it and waits for it."""
        with self._changed:
            if future in self._starting[spec]:
                self._starting[spec].remove(future)
                return True
            return False

    def _give_back(self, spec: WorkerSpec, worker: Worker, used: object | None) -> None:
        """Take a borrowed worker back. If it has died, a spare is started at once."""
        note_returned(worker)
        if not worker.alive:
            self._spares.want(spec, at_once=True)
        self._keep(spec, worker, used)

    def _keep(self, spec: WorkerSpec, worker: Worker, used: object | None, *, spare: bool = False) -> None:
        surplus: list[Worker] = []
        with self._changed:
            if self._closed or not worker.alive:
                surplus.append(worker)
            else:
                kept_for = self._spare_seconds if spare else self._idle_seconds
                now = time.monotonic()
                self._idle.append(_Idle(spec, worker, used, now + kept_for, now + self._kept_seconds, spare))
                alike = [idle for idle in self._idle if idle.spare == spare]
                too_many = alike[: -1 if spare else -self._most_idle]
                surplus += [idle.worker for idle in too_many]
                self._idle = [idle for idle in self._idle if idle not in too_many]
                self._changed.notify_all()
                self._ensure_sweeper()
        for ended in surplus:
            ended.kill()

    def _start_spare(self, spec: WorkerSpec) -> None:
        """Start the spare, unless enough workers are idle or starting, or the sandbox does not want one."""
        if not self.sandbox.affords_spare():
            return
        future: Future[Worker] = Future()
        with self._changed:
            idle = [idle for idle in self._idle if idle.spec == spec and idle.worker.alive]
            enough = len(idle) >= min(ENOUGH_IDLE, self._most_idle) or any(each.spare for each in idle)
            if self._closed or enough or self._starting[spec]:
                return
            self._starting[spec].append(future)
        self._start_ahead(spec, future, spare=True)

    def _ensure_sweeper(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            start_thread(self._sweep, "autocode-pool")

    def _sweep(self) -> None:
        """End workers whose idle time is over, the spare when memory is short, and processes that idle workers keep.

        Returns when no worker is idle.
        """
        while True:
            affordable = not any(idle.spare for idle in list(self._idle)) or self.sandbox.affords_spare()
            with self._changed:
                if not self._idle:
                    self._sweeping = False
                    return
                now = time.monotonic()
                ended = [idle for idle in self._idle if now >= idle.until or (idle.spare and not affordable)]
                resting = [idle for idle in self._idle if now >= idle.rests and idle not in ended]
                self._idle = [idle for idle in self._idle if idle not in ended and idle not in resting]
                if not ended and not resting:
                    next_check = now + CHECK_SECONDS if any(idle.spare for idle in self._idle) else math.inf
                    due = (min(idle.until, idle.rests) for idle in self._idle)
                    self._changed.wait(min(next_check, *due) - now)
            for idle in ended:
                idle.worker.kill()
            for idle in resting:
                idle.worker.rest()
                self._take_back(replace(idle, rests=math.inf))

    def _take_back(self, idle: _Idle) -> None:
        """Make a worker idle again that has rested."""
        with self._changed:
            if not self._closed and idle.worker.alive:
                self._idle.insert(0, idle)
                return
        idle.worker.kill()


def _differs(worker: Worker, others: Collection[str]) -> bool:
    return origin_of(worker.id) not in map(origin_of, others)


_shared: dict[tuple[int, int], Pool] = {}
_shared_lock = threading.Lock()


def shared_pool(sandbox: Sandbox) -> Pool:
    """The pool of this process for a sandbox. The same sandbox object gets the same pool.

    A forked process gets its own pool, because parent and child would read each other's answers of a shared worker.
    """
    key = os.getpid(), id(sandbox)
    with _shared_lock:
        pool = _shared.get(key)
        if pool is None:
            pool = _shared[key] = Pool(sandbox)  # it refers to the sandbox, so the id is not reused
        return pool
