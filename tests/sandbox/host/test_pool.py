"""Borrowing workers: warm ones first, dead ones never, idle ones for a limited time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from autocoder_jupyter.errors import EngineGone, SandboxUnavailable
from autocoder_jupyter.sandbox.host import pool as pool_module
from autocoder_jupyter.sandbox.host.pool import Pool, shared_pool
from autocoder_jupyter.sandbox.protocol import Environment, EnvironmentSpec, Probe, Worker, WorkerLimits, WorkerSpec

ENVIRONMENT = Environment("key", "/somewhere", ("pandas==3.0",), (3, 11))
LIMITS = WorkerLimits()
SPEC = WorkerSpec(ENVIRONMENT, LIMITS)


class IdleWorker(Worker):
    """A worker that only lives and dies, with the attributes that the pool needs."""

    processor_seconds = 0.0

    def __init__(self, name: str) -> None:
        self.id = name
        self.cores: tuple[int, ...] = ()
        self.damaged = False
        self.dead, self.rested = threading.Event(), threading.Event()

    @property
    def alive(self) -> bool:
        return not self.dead.is_set()

    def responds(self) -> bool:
        return self.alive and not self.damaged

    def kill(self) -> None:
        self.dead.set()

    def rest(self) -> None:
        self.rested.set()

    def unasked(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    call = batch = answer = test = command = unasked


@dataclass(eq=False)
class CountingSandbox:
    """Starts idle workers when the test allows it, and counts them."""

    name: Literal["docker", "local"] = "local"
    started: list[IdleWorker] = field(default_factory=list)
    unlike: list[tuple[str, ...]] = field(default_factory=list)
    may_start: threading.Event = field(default_factory=threading.Event)
    starting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    fails: bool = False
    gone: int = 0
    affords: bool = False

    def __post_init__(self) -> None:
        self.may_start.set()

    def probe(self) -> Probe:
        return Probe(self.name, True)

    def examine(self, environment: Environment) -> str:
        return ""

    def build(self, spec: EnvironmentSpec, **_: object) -> Environment:
        return ENVIRONMENT

    def affords_spare(self) -> bool:
        return self.affords

    def start(self, spec: WorkerSpec, *, unlike: Collection[str] = ()) -> Worker:
        self.starting.release()
        self.may_start.wait(600)
        if self.fails:
            raise SandboxUnavailable("no")
        if self.gone:
            self.gone -= 1
            raise EngineGone("The worker did not start.")
        self.started.append(IdleWorker(f"w{len(self.started)}"))
        self.unlike.append(tuple(unlike))
        return self.started[-1]


@pytest.fixture
def sandbox() -> CountingSandbox:
    return CountingSandbox()


@pytest.fixture
def pool(sandbox: CountingSandbox) -> Pool:
    return Pool(sandbox)


def test_a_worker_is_borrowed_again(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(SPEC) as first:
        pass
    with pool.lease(SPEC) as second:
        assert second is first
    assert len(sandbox.started) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_worker_that_is_killed_at_its_start_is_started_once_more(
    pool: Pool, sandbox: CountingSandbox, times: int
) -> None:
    sandbox.gone = times
    with pytest.raises(EngineGone) if times == 2 else contextlib.nullcontext(), pool.lease(SPEC) as worker:
        assert worker.alive
    assert len(sandbox.started) == 2 - times


def test_two_borrowers_at_a_time_get_two_workers(pool: Pool) -> None:
    with pool.lease(SPEC) as one, pool.lease(SPEC) as other:
        assert one is not other


def test_what_runs_apart_gets_no_worker_that_may_have_been_given_data(pool: Pool, sandbox: CountingSandbox) -> None:
    one, other = object(), object()
    with pool.lease(SPEC) as shared:
        pass
    with pool.lease(SPEC, apart=one) as clean:
        assert clean is not shared
    with pool.lease(SPEC, apart=other) as third:
        assert third not in (shared, clean)
    for _ in range(2):
        with pool.lease(SPEC, apart=one) as again:
            assert again is clean
        with pool.lease(SPEC) as again:
            assert again is shared
    with pool.lease(SPEC), pool.lease(SPEC), pool.lease(SPEC):  # starts none, and gives data to all
        assert len(sandbox.started) == 3
    with pool.lease(SPEC, apart=one) as fresh:
        assert fresh is sandbox.started[3]


def test_a_worker_that_was_ended_or_cancelled_with_data_stays_with_data(pool: Pool) -> None:
    with pytest.raises(ValueError), pool.lease(SPEC) as shared:
        raise ValueError
    with pool.lease(SPEC, apart=1) as clean:
        assert clean is not shared


def test_workers_that_run_apart_are_started_ahead_beside_those_that_were_given_data(
    pool: Pool, sandbox: CountingSandbox
) -> None:
    with pool.lease(SPEC), pool.lease(SPEC), pool.lease(SPEC):
        pass
    pool.warm(SPEC, count=3, apart=1)
    for _ in range(5):
        sandbox.starting.acquire()
    with pool.lease(SPEC, apart=1), pool.lease(SPEC, apart=1):
        assert len(sandbox.started) == 5


def test_a_worker_is_not_shared_over_environments_limits_or_network(pool: Pool, sandbox: CountingSandbox) -> None:
    for environment, limits, network in (
        (ENVIRONMENT, LIMITS, False),
        (Environment("other", "/other", (), (3, 11)), LIMITS, False),
        (ENVIRONMENT, WorkerLimits(memory=2**30), False),
        (ENVIRONMENT, LIMITS, True),
    ):
        with pool.lease(WorkerSpec(environment, limits, network)):
            pass
    assert len(sandbox.started) == 4


def test_a_dead_worker_is_never_lent(pool: Pool) -> None:
    with pool.lease(SPEC) as first:
        pass
    first.kill()
    with pool.lease(SPEC) as second:
        assert second.alive
        second.kill()
    with pool.lease(SPEC) as third:
        assert third.alive


def test_a_worker_that_does_not_answer_is_replaced_before_anybody_gets_it(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(SPEC) as first:
        pass
    sandbox.started[0].damaged = True
    with pool.lease(SPEC) as second:
        assert second is not first
    assert not first.alive


def test_another_worker_than_a_given_one_can_be_asked_for(pool: Pool) -> None:
    with pool.lease(SPEC) as first:
        pass
    with pool.lease(SPEC, other_than=[first.id]) as second:
        assert second.id != first.id


def test_a_worker_of_another_interpreter_can_be_asked_for(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(SPEC) as first:
        first.id = "a.1"
    with pool.lease(SPEC, other_than=["a.1"]) as sibling:
        sibling.id = "a.2"
    with pool.lease(SPEC, unlike=["a.3"]) as third:
        assert third not in (first, sibling)
        assert sandbox.unlike[-1] == ("a.3",)
    assert all(worker.alive for worker in (first, sibling))


def test_of_idle_workers_the_one_on_cores_that_nobody_uses_is_borrowed(pool: Pool) -> None:
    with pool.lease(SPEC) as first, pool.lease(SPEC) as second, pool.lease(SPEC) as third:
        first.cores, second.cores, third.cores = (0,), (1,), (0,)
    for _ in range(3):
        with pool.lease(SPEC) as one, pool.lease(SPEC) as other:
            assert one.cores != other.cores


def test_a_worker_is_started_if_the_idle_ones_have_busy_cores_and_others_are_free(
    pool: Pool, sandbox: CountingSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pool.lease(SPEC) as first, pool.lease(SPEC) as second:
        first.cores = second.cores = (0,)
    with pool.lease(SPEC), pool.lease(SPEC) as other:
        assert other not in (first, second)
        other.cores = (1,)
        with pool.lease(SPEC) as third:
            assert third in (first, second)  # no core is free
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    first.cores = second.cores = other.cores = (0, 1)
    with pool.lease(SPEC), pool.lease(SPEC):
        assert len(sandbox.started) == 3  # a new one would share a core too


def test_as_many_workers_are_kept_as_this_machine_has_cores(sandbox: CountingSandbox) -> None:
    cores = max(len(os.sched_getaffinity(0)), 3)
    pool = Pool(sandbox)
    for _ in range(2):
        with contextlib.ExitStack() as leases:
            for _ in range(cores):
                leases.enter_context(pool.lease(SPEC))
    assert len(sandbox.started) == cores


def test_a_failing_program_does_not_cost_the_worker(pool: Pool) -> None:
    with pytest.raises(ValueError, match="program"), pool.lease(SPEC) as first:
        raise ValueError("the program's")
    with pool.lease(SPEC) as second:
        assert second is first


def test_an_interrupt_in_the_middle_ends_the_worker(pool: Pool) -> None:
    with pytest.raises(KeyboardInterrupt), pool.lease(SPEC) as first:
        raise KeyboardInterrupt
    assert not first.alive


def test_warming_returns_at_once_and_the_borrower_gets_that_worker(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.may_start.clear()
    pool.warm(SPEC)
    assert sandbox.starting.acquire(timeout=60)
    threading.Timer(0.05, sandbox.may_start.set).start()
    with pool.lease(SPEC) as worker:
        assert worker.alive
    assert len(sandbox.started) == 1


def test_warming_twice_starts_no_more_than_asked(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.may_start.clear()
    pool.warm(SPEC, count=2)
    pool.warm(SPEC, count=2)
    sandbox.may_start.set()
    with pool.lease(SPEC), pool.lease(SPEC):
        assert len(sandbox.started) == 2


def test_a_failure_while_warming_shows_when_a_worker_is_wanted(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.fails = True
    pool.warm(SPEC)
    with pytest.raises(SandboxUnavailable), pool.lease(SPEC):
        pass


def test_only_so_many_wait_and_the_oldest_goes(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, most_idle=2)
    with (
        pool.lease(SPEC),
        pool.lease(SPEC),
        pool.lease(SPEC),
    ):
        pass
    assert sum(worker.alive for worker in sandbox.started) == 2


def test_an_idle_worker_is_ended_after_a_while(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, idle_seconds=0.05)
    with pool.lease(SPEC):
        pass
    assert sandbox.started[0].dead.wait(60)
    with pool.lease(SPEC) as again:
        assert again.alive
    assert sandbox.started[1].dead.wait(60)


def test_an_idle_worker_rests_after_a_while_and_can_be_used_again(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, kept_seconds=0.05)
    for _ in range(2):
        with pool.lease(SPEC) as worker:
            assert worker is sandbox.started[0] and not sandbox.started[0].rested.is_set()
        assert sandbox.started[0].rested.wait(60)
        with pool._changed:
            pool._changed.wait_for(lambda: [idle.worker for idle in pool._idle] == sandbox.started, 60)
        sandbox.started[0].rested.clear()
    assert len(sandbox.started) == 1
    pool.close()
    assert sandbox.started[0].dead.is_set()


def test_a_pool_that_is_closed_while_a_worker_rests_ends_it(
    sandbox: CountingSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(sandbox, kept_seconds=0.05)
    monkeypatch.setattr(IdleWorker, "rest", lambda self: pool.close())
    with pool.lease(SPEC):
        pass
    assert sandbox.started[0].dead.wait(60)


@pytest.fixture
def with_spare(sandbox: CountingSandbox) -> Pool:
    """A pool whose first worker was lent and given back, and whose spare was started."""
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(SPEC):
        pass
    assert spares_of(pool) == ["w1"]
    return pool


def spares_of(pool: Pool, patience: float = 60.0) -> list[str]:
    """The idle spares, after all wanted ones have been started."""
    deadline = time.monotonic() + patience
    while any(thread.name == "autocode-spare" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return [idle.worker.id for idle in pool._idle if idle.spare]


def test_who_waited_for_a_start_leaves_a_spare_and_who_takes_it_another(with_spare: Pool) -> None:
    with (
        with_spare.lease(SPEC) as used,
        with_spare.lease(SPEC) as spare,
    ):
        assert (used.id, spare.id) == ("w0", "w1")
    assert spares_of(with_spare) == ["w2"]


def test_what_ran_something_is_never_a_spare_again(with_spare: Pool, sandbox: CountingSandbox) -> None:
    for _ in range(3):
        with with_spare.lease(SPEC), with_spare.lease(SPEC):
            pass
    assert spares_of(with_spare) == ["w2"]
    assert len(sandbox.started) == 3


def test_a_worker_that_has_died_is_replaced_while_others_are_at_work(sandbox: CountingSandbox) -> None:
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=60)
    with pool.lease(SPEC):
        with pool.lease(SPEC) as dying:
            dying.kill()
        assert spares_of(pool) == ["w2"]
        with pytest.raises(KeyboardInterrupt), pool.lease(SPEC) as spare:
            assert spare.id == "w2"
            raise KeyboardInterrupt
        assert spares_of(pool) == ["w3"]


def test_there_is_no_spare_beside_as_many_idle_workers_as_are_kept(sandbox: CountingSandbox) -> None:
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0, most_idle=2)
    with pool.lease(SPEC), pool.lease(SPEC):
        pass
    assert spares_of(pool) == []
    with pool.lease(SPEC) as dying:
        dying.kill()
    assert spares_of(pool) == ["w2"]


def test_a_spare_is_not_started_while_somebody_is_at_work(sandbox: CountingSandbox) -> None:
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(SPEC):
        assert sandbox.starting.acquire(timeout=60)
        assert not sandbox.starting.acquire(timeout=0.2)
    assert sandbox.starting.acquire(timeout=60)


@pytest.mark.parametrize(
    "other",
    [
        WorkerSpec(Environment("other", "/other", (), (3, 11)), LIMITS),
        WorkerSpec(ENVIRONMENT, WorkerLimits(memory=2**30)),
        WorkerSpec(ENVIRONMENT, WorkerLimits(cpu=2)),
        WorkerSpec(ENVIRONMENT, LIMITS, network=True),
    ],
    ids=["environment", "memory", "threads", "network"],
)
def test_a_spare_serves_nobody_who_wants_something_else(with_spare: Pool, other: WorkerSpec) -> None:
    with with_spare.lease(other) as worker:
        assert worker.id == "w2"


def test_there_is_one_spare_of_the_kind_that_was_wanted_last(with_spare: Pool, sandbox: CountingSandbox) -> None:
    with with_spare.lease(WorkerSpec(ENVIRONMENT, LIMITS, True)):
        pass
    assert spares_of(with_spare) == ["w3"]
    assert not sandbox.started[1].alive
    with (
        with_spare.lease(WorkerSpec(ENVIRONMENT, LIMITS, True)),
        with_spare.lease(WorkerSpec(ENVIRONMENT, LIMITS, True)) as spare,
    ):
        assert spare.id == "w3"


@pytest.mark.parametrize("how", ["dead", "damaged"])
def test_a_spare_that_cannot_be_used_is_replaced_by_a_start(
    with_spare: Pool, sandbox: CountingSandbox, how: str
) -> None:
    if how == "dead":
        sandbox.started[1].kill()
    else:
        sandbox.started[1].damaged = True
    with with_spare.lease(SPEC), with_spare.lease(SPEC) as worker:
        assert worker.id == "w2"
    assert not sandbox.started[1].alive


def test_a_spare_that_does_not_start_harms_nobody(with_spare: Pool, sandbox: CountingSandbox) -> None:
    sandbox.fails = True
    with with_spare.lease(SPEC), with_spare.lease(SPEC) as spare:
        assert spare.id == "w1"
    assert spares_of(with_spare) == []
    sandbox.fails = False
    with with_spare.lease(SPEC) as worker:
        assert worker.alive


def test_who_comes_while_the_spare_is_started_gets_it(sandbox: CountingSandbox) -> None:
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(SPEC) as first:
        assert sandbox.starting.acquire(timeout=60)
        sandbox.may_start.clear()
        first.kill()
    assert sandbox.starting.acquire(timeout=60)
    threading.Timer(0.05, sandbox.may_start.set).start()
    with pool.lease(SPEC) as second:
        assert second.id == "w1"
    assert spares_of(pool) == ["w2"]


def test_where_it_cannot_be_afforded_there_is_no_spare(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(SPEC) as dying:
        dying.kill()
    assert spares_of(pool) == []
    assert len(sandbox.started) == 1


def test_a_spare_ends_after_a_while_and_a_worker_that_was_used_stays(sandbox: CountingSandbox) -> None:
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0, spare_seconds=0.05)
    with pool.lease(SPEC):
        pass
    assert spares_of(pool) in ([], ["w1"])
    assert sandbox.started[1].dead.wait(60)
    assert sandbox.started[0].alive


def test_a_spare_ends_when_memory_gets_short(sandbox: CountingSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "CHECK_SECONDS", 0.01)
    sandbox.affords = True
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(SPEC):
        pass
    assert spares_of(pool) == ["w1"]
    sandbox.affords = False
    assert sandbox.started[1].dead.wait(60)
    assert sandbox.started[0].alive


def test_closing_ends_the_spare_and_one_that_is_being_started(with_spare: Pool, sandbox: CountingSandbox) -> None:
    with with_spare.lease(SPEC), with_spare.lease(SPEC):
        while sandbox.starting.acquire(blocking=False):
            pass
        sandbox.may_start.clear()
    assert sandbox.starting.acquire(timeout=60)
    with_spare.close()
    sandbox.may_start.set()
    assert spares_of(with_spare) == []
    assert not any(worker.alive for worker in sandbox.started)


def test_closing_ends_idle_workers_now_and_borrowed_ones_when_they_come_back(
    pool: Pool, sandbox: CountingSandbox
) -> None:
    with pool.lease(SPEC), pool.lease(SPEC) as borrowed:
        pool.warm(SPEC)
        pool.close()
        assert borrowed.alive
    assert not borrowed.alive
    pool.warm(SPEC)


def test_the_shared_pool_is_one_for_each_sandbox(sandbox: CountingSandbox) -> None:
    assert shared_pool(sandbox) is shared_pool(sandbox)
    assert shared_pool(sandbox) is not shared_pool(CountingSandbox())


def test_a_forked_process_leaves_the_workers_of_its_parent_alone(
    sandbox: CountingSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = shared_pool(sandbox)
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert shared_pool(sandbox) is not parents


def test_idle_workers_do_not_keep_a_kernel_from_ending() -> None:
    script = (
        "import sys; sys.path.insert(0, '.')\n"
        "from tests.sandbox.host.test_pool import *\n"
        "pool = Pool(CountingSandbox())\n"
        "with pool.lease(SPEC): pass\n"
        "blocked = CountingSandbox(); blocked.may_start.clear(); Pool(blocked).warm(SPEC)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
