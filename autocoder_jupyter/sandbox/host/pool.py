"""Workers kept ready: a call borrows one, and the next call finds it warm.

Workers are shared by everything with the same environment and limits, because each program runs in a fresh child. No
thread of the pool is waited for when the kernel ends, and a worker ends with the kernel by itself.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from autocoder_jupyter.sandbox.protocol import Environment, Limits, Sandbox, Worker, origin_of

IDLE_SECONDS = 600.0
MOST_IDLE = 3


@dataclass(frozen=True)
class _Kind:
    """What makes two workers interchangeable."""

    environment: Environment
    limits: Limits
    network: bool


@dataclass(frozen=True)
class _Idle:
    kind: _Kind
    worker: Worker
    since: float


class Pool:
    """Workers of one sandbox.

    Args:
        sandbox: starts them.
        idle_seconds: how long an unused worker is kept.
        most_idle: how many unused workers are kept; the one idle longest goes first.
    """

    def __init__(self, sandbox: Sandbox, *, idle_seconds: float = IDLE_SECONDS, most_idle: int = MOST_IDLE) -> None:
        self.sandbox = sandbox
        self._idle_seconds = idle_seconds
        self._most_idle = most_idle
        self._changed = threading.Condition()
        self._idle: list[_Idle] = []
        self._starting: dict[_Kind, deque[Future[Worker]]] = defaultdict(deque)
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
        worker = self._take_in_order(kind, other_than, unlike) or self._take_started(kind, unlike)
        if worker is None:
            worker = self._start(kind, tuple(preload), unlike)
        try:
            yield worker
        except Exception:
            self._give_back(kind, worker)
            raise
        except BaseException:
            worker.kill()  # interrupted or cancelled in the middle: nobody knows what it is doing
            raise
        else:
            self._give_back(kind, worker)

    def close(self) -> None:
        """End the idle workers now and the borrowed ones when they come back."""
        with self._changed:
            self._closed = True
            ended, self._idle = self._idle, []
            self._changed.notify_all()
        for idle in ended:
            idle.worker.kill()

    def _take_in_order(self, kind: _Kind, other_than: Collection[str], unlike: Collection[str]) -> Worker | None:
        while worker := self._take(kind, other_than, unlike):
            if worker.in_order():
                return worker
            worker.kill()
        return None

    def _take(self, kind: _Kind, other_than: Collection[str], unlike: Collection[str]) -> Worker | None:
        with self._changed:
            dead = [idle for idle in self._idle if not idle.worker.alive]
            self._idle = [idle for idle in self._idle if idle not in dead]
            fitting = [
                idle
                for idle in self._idle
                if idle.kind == kind and idle.worker.id not in other_than and _differs(idle.worker, unlike)
            ]
            if fitting:
                self._idle.remove(fitting[-1])
        for idle in dead:
            idle.worker.kill()  # releases what the sandbox still holds for it
        return fitting[-1].worker if fitting else None

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

    def _start_ahead(self, kind: _Kind, preload: tuple[str, ...], future: Future[Worker]) -> None:
        try:
            worker = self._start(kind, preload)
        except BaseException as error:
            self._forget(kind, future)
            future.set_exception(error)
            return
        unclaimed = self._forget(kind, future)
        future.set_result(worker)
        if unclaimed:
            self._give_back(kind, worker)

    def _forget(self, kind: _Kind, future: Future[Worker]) -> bool:
        """Take a start off the list; False when a borrower did so already and waits for it."""
        with self._changed:
            if future in self._starting[kind]:
                self._starting[kind].remove(future)
                return True
            return False

    def _give_back(self, kind: _Kind, worker: Worker) -> None:
        surplus: list[Worker] = []
        with self._changed:
            if self._closed or not worker.alive:
                surplus.append(worker)
            else:
                self._idle.append(_Idle(kind, worker, time.monotonic()))
                surplus += [idle.worker for idle in self._idle[: -self._most_idle]]
                self._idle = self._idle[-self._most_idle :]
                self._ensure_sweeper()
        for ended in surplus:
            ended.kill()

    def _ensure_sweeper(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            threading.Thread(target=self._sweep, name="autocode-pool", daemon=True).start()

    def _sweep(self) -> None:
        """End workers that were idle long enough, until there are none."""
        while True:
            with self._changed:
                if not self._idle:
                    self._sweeping = False
                    return
                now = time.monotonic()
                expired = [idle for idle in self._idle if now - idle.since >= self._idle_seconds]
                self._idle = [idle for idle in self._idle if idle not in expired]
                if not expired:
                    self._changed.wait(self._idle[0].since + self._idle_seconds - now)
            for idle in expired:
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
