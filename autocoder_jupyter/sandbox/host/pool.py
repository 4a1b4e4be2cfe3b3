"""A pool of workers: a call borrows one, and the next call finds it warm.

Workers are shared by everything with the same environment and limits, because each program runs in a fresh child. No
thread of the pool is waited for when the kernel ends, and a worker ends with the kernel by itself.

Where a start takes long, the pool also starts one spare in advance: a worker in which no program has run. It does so
after a borrower had to wait for a start, and when a worker has died. The next borrower that finds no other gets it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from autocoder_jupyter.sandbox.host.spares import QUIET_SECONDS, Spares
from autocoder_jupyter.sandbox.protocol import Environment, Limits, Sandbox, Worker, origin_of

IDLE_SECONDS = 600.0
MOST_IDLE = 3
SPARE_SECONDS = 120.0
LOOK_SECONDS = 5.0
"""How often it is looked whether there is still memory for the spare."""


@dataclass(frozen=True)
class _Kind:
    """What makes two workers interchangeable."""

    environment: Environment
    limits: Limits
    network: bool


@dataclass(frozen=True)
class _Idle:
    """A worker that waits, until when at most, and whether it is the spare, in which nothing has run."""

    kind: _Kind
    worker: Worker
    until: float
    spare: bool = False


class Pool:
    """Workers of one sandbox.

    Args:
        sandbox: starts them.
        idle_seconds: how long an idle worker is kept.
        most_idle: how many idle workers are kept, besides the spare; the one idle longest goes first.
        spare_seconds: how long the spare is kept.
        quiet_seconds: how long all workers must be idle before one is started, unless a worker has died.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        idle_seconds: float = IDLE_SECONDS,
        most_idle: int = MOST_IDLE,
        spare_seconds: float = SPARE_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self.sandbox = sandbox
        self._idle_seconds = idle_seconds
        self._most_idle = most_idle
        self._spare_seconds = spare_seconds
        self._changed = threading.Condition()
        self._idle: list[_Idle] = []
        self._starting: dict[_Kind, deque[Future[Worker]]] = defaultdict(deque)
        self._spares = Spares(self._start_spare, quiet_seconds)
        self._sweeping = False
        self._closed = False

    def warm(
        self,
        environment: Environment,
        limits: Limits,
        network: bool = False,
        *,
        preload: Sequence[str] = (),
        count: int = 1,
    ) -> None:
        """Have `count` workers ready, or on their way. Returns at once; a failure shows in the next `lease`."""
        kind = _Kind(environment, limits, network)
        with self._changed:
            ready = sum(idle.kind == kind and idle.worker.alive for idle in self._idle)
            missing = 0 if self._closed else count - ready - len(self._starting[kind])
            started: list[Future[Worker]] = [Future() for _ in range(missing)]
            self._starting[kind].extend(started)
        for future in started:
            threading.Thread(
                target=self._start_ahead, args=(kind, tuple(preload), future), name="autocode-warm", daemon=True
            ).start()

    @contextmanager
    def lease(
        self,
        environment: Environment,
        limits: Limits,
        network: bool = False,
        *,
        preload: Sequence[str] = (),
        other_than: Collection[str] = (),
        unlike: Collection[str] = (),
    ) -> Iterator[Worker]:
        """Borrow a worker: one that waits, one that is being started, or a new one.

        One that a program has damaged, so that it does not answer any more, is replaced.

        Args:
            environment: that it lives in.
            limits: that it has.
            network: whether it may connect to the internet.
            preload: modules to load if it must be started; a waiting worker may lack them and is only slower.
            other_than: ids of workers that will not do, for instance because two runs shall have nothing in common.
            unlike: ids of workers whose interpreter, and with it the hash seed, it must not share.

        Raises:
            SandboxError: it cannot be started.
        """
        kind = _Kind(environment, limits, network)
        with self._spares.work():
            worker = self._worker(kind, tuple(preload), other_than, unlike)
            try:
                yield worker
            except Exception:
                self._give_back(kind, worker)
                raise
            except BaseException:
                worker.kill()  # interrupted or cancelled in the middle: its state is unknown
                self._give_back(kind, worker)
                raise
            else:
                self._give_back(kind, worker)

    def close(self) -> None:
        """End the idle workers now and the borrowed ones when they come back."""
        with self._changed:
            self._closed = True
            ended, self._idle = self._idle, []
            self._changed.notify_all()
        self._spares.close()
        for idle in ended:
            idle.worker.kill()

    def _worker(
        self, kind: _Kind, preload: tuple[str, ...], other_than: Collection[str], unlike: Collection[str]
    ) -> Worker:
        """One that waits, else one that is coming, else a new one. Whoever takes the spare or waits wants another."""
        idle = self._take_in_order(kind, other_than, unlike)
        if idle is not None and not idle.spare:
            return idle.worker
        worker = idle.worker if idle else self._take_started(kind, unlike) or self._start(kind, preload, unlike)
        self._spares.want(kind)
        return worker

    def _take_in_order(self, kind: _Kind, other_than: Collection[str], unlike: Collection[str]) -> _Idle | None:
        while idle := self._take(kind, other_than, unlike):
            if idle.worker.in_order():
                return idle
            idle.worker.kill()
        return None

    def _take(self, kind: _Kind, other_than: Collection[str], unlike: Collection[str]) -> _Idle | None:
        """The worker that was used last, the spare only where there is no other."""
        with self._changed:
            dead = [idle for idle in self._idle if not idle.worker.alive]
            self._idle = [idle for idle in self._idle if idle not in dead]
            fitting = [
                idle
                for idle in self._idle
                if idle.kind == kind and idle.worker.id not in other_than and _differs(idle.worker, unlike)
            ]
            fitting.sort(key=lambda idle: not idle.spare)
            if fitting:
                self._idle.remove(fitting[-1])
        for idle in dead:
            idle.worker.kill()  # releases what the sandbox still holds for it
        return fitting[-1] if fitting else None

    def _take_started(self, kind: _Kind, unlike: Collection[str]) -> Worker | None:
        with self._changed:
            coming = self._starting[kind]
            future = coming.popleft() if coming else None
        if future is None:
            return None
        try:
            worker = future.result()
        except Exception:
            return None  # the borrower tries itself, and gets the error where it can be seen
        if not worker.alive:
            worker.kill()  # releases what the sandbox still holds for it
            return None
        if not _differs(worker, unlike):
            self._give_back(kind, worker)
            return None
        return worker

    def _start(self, kind: _Kind, preload: tuple[str, ...], unlike: Collection[str] = ()) -> Worker:
        return self.sandbox.start(kind.environment, kind.limits, network=kind.network, preload=preload, unlike=unlike)

    def _start_ahead(
        self, kind: _Kind, preload: tuple[str, ...], future: Future[Worker], *, spare: bool = False
    ) -> None:
        try:
            worker = self._start(kind, preload)
        except BaseException as error:
            self._forget(kind, future)
            future.set_exception(error)
            return
        unclaimed = self._forget(kind, future)
        future.set_result(worker)
        if unclaimed:
            self._keep(kind, worker, spare=spare)

    def _forget(self, kind: _Kind, future: Future[Worker]) -> bool:
        """Take a start off the list; False when a borrower did so already and waits for it."""
        with self._changed:
            if future in self._starting[kind]:
                self._starting[kind].remove(future)
                return True
            return False

    def _give_back(self, kind: _Kind, worker: Worker) -> None:
        """Take a borrowed worker back; who asks next shall not wait for one that has died."""
        if not worker.alive:
            self._spares.want(kind, at_once=True)
        self._keep(kind, worker)

    def _keep(self, kind: _Kind, worker: Worker, *, spare: bool = False) -> None:
        surplus: list[Worker] = []
        with self._changed:
            if self._closed or not worker.alive:
                surplus.append(worker)
            else:
                kept_for = self._spare_seconds if spare else self._idle_seconds
                self._idle.append(_Idle(kind, worker, time.monotonic() + kept_for, spare))
                alike = [idle for idle in self._idle if idle.spare == spare]
                too_many = alike[: -1 if spare else -self._most_idle]
                surplus += [idle.worker for idle in too_many]
                self._idle = [idle for idle in self._idle if idle not in too_many]
                self._changed.notify_all()
                self._ensure_sweeper()
        for ended in surplus:
            ended.kill()

    def _start_spare(self, kind: _Kind) -> None:
        """Start the spare, unless there is one of this kind, one is coming, or it cannot be afforded."""
        if not self.sandbox.affords_spare():
            return
        future: Future[Worker] = Future()
        with self._changed:
            there = any(idle.spare and idle.kind == kind and idle.worker.alive for idle in self._idle)
            if self._closed or there or self._starting[kind]:
                return
            self._starting[kind].append(future)
        self._start_ahead(kind, (), future, spare=True)

    def _ensure_sweeper(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            threading.Thread(target=self._sweep, name="autocode-pool", daemon=True).start()

    def _sweep(self) -> None:
        """End workers that were idle long enough, and the spare when memory gets short, until there are none."""
        while True:
            affordable = not any(idle.spare for idle in list(self._idle)) or self.sandbox.affords_spare()
            with self._changed:
                if not self._idle:
                    self._sweeping = False
                    return
                now = time.monotonic()
                ended = [idle for idle in self._idle if now >= idle.until or (idle.spare and not affordable)]
                self._idle = [idle for idle in self._idle if idle not in ended]
                if not ended:
                    looked_at = now + LOOK_SECONDS if any(idle.spare for idle in self._idle) else math.inf
                    self._changed.wait(min(looked_at, *(idle.until for idle in self._idle)) - now)
            for idle in ended:
                idle.worker.kill()


def _differs(worker: Worker, others: Collection[str]) -> bool:
    return origin_of(worker.id) not in map(origin_of, others)


_shared: dict[tuple[int, int], Pool] = {}
_shared_lock = threading.Lock()


def shared_pool(sandbox: Sandbox) -> Pool:
    """The pool of this process for a sandbox, the same for the same object.

    A forked process gets another: the workers of its parent's would answer whichever of the two reads first.
    """
    key = os.getpid(), id(sandbox)
    with _shared_lock:
        pool = _shared.get(key)
        if pool is None:
            pool = _shared[key] = Pool(sandbox)  # it holds the sandbox, so that the id stays taken
        return pool
