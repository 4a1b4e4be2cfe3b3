"""Borrowing workers: warm ones first, dead ones never, idle ones not for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.host.pool import Pool, shared_pool
from autocoder_jupyter.sandbox.protocol import (
    Environment,
    EnvironmentSpec,
    Limits,
    Probe,
    Worker,
)

ENVIRONMENT = Environment("key", "/somewhere", ("pandas==3.0",), (3, 11))
LIMITS = Limits()


class IdleWorker(Worker):
    """A worker that does nothing but live and die; what the pool needs to know of one."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.damaged = False
        self.dead = threading.Event()

    @property
    def alive(self) -> bool:
        return not self.dead.is_set()

    def in_order(self) -> bool:
        return self.alive and not self.damaged

    def kill(self) -> None:
        self.dead.set()

    def unasked(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    call = answer = test = command = unasked


@dataclass(eq=False)
class CountingSandbox:
    """Starts idle workers, when it is let."""

    name: Literal["docker", "local"] = "local"
    started: list[IdleWorker] = field(default_factory=list)
    preloaded: list[tuple[str, ...]] = field(default_factory=list)
    unlike: list[tuple[str, ...]] = field(default_factory=list)
    may_start: threading.Event = field(default_factory=threading.Event)
    starting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    fails: bool = False

    def __post_init__(self) -> None:
        self.may_start.set()

    def probe(self) -> Probe:
        return Probe(self.name, True)

    def examine(self, environment: Environment) -> str:
        return ""

    def build(self, spec: EnvironmentSpec, **_: object) -> Environment:
        return ENVIRONMENT

    def start(
        self,
        environment: Environment,
        limits: Limits,
        *,
        network: bool = False,
        preload: Sequence[str] = (),
        unlike: Collection[str] = (),
    ) -> Worker:
        self.starting.release()
        self.may_start.wait(10)
        if self.fails:
            raise SandboxUnavailable("no")
        self.started.append(IdleWorker(f"w{len(self.started)}"))
        self.preloaded.append(tuple(preload))
        self.unlike.append(tuple(unlike))
        return self.started[-1]


@pytest.fixture
def sandbox() -> CountingSandbox:
    return CountingSandbox()


@pytest.fixture
def pool(sandbox: CountingSandbox) -> Pool:
    return Pool(sandbox)


def test_a_worker_is_borrowed_again(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as first:
        pass
    with pool.lease(ENVIRONMENT, LIMITS) as second:
        assert second is first
    assert len(sandbox.started) == 1


def test_two_borrowers_at_a_time_get_two_workers(pool: Pool) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as one, pool.lease(ENVIRONMENT, LIMITS) as other:
        assert one is not other


def test_a_worker_is_not_shared_over_environments_limits_or_network(pool: Pool, sandbox: CountingSandbox) -> None:
    for environment, limits, network in (
        (ENVIRONMENT, LIMITS, False),
        (Environment("other", "/other", (), (3, 11)), LIMITS, False),
        (ENVIRONMENT, Limits(memory=2**30), False),
        (ENVIRONMENT, LIMITS, True),
    ):
        with pool.lease(environment, limits, network):
            pass
    assert len(sandbox.started) == 4


def test_a_dead_worker_is_never_lent(pool: Pool) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as first:
        pass
    first.kill()
    with pool.lease(ENVIRONMENT, LIMITS) as second:
        assert second.alive
        second.kill()
    with pool.lease(ENVIRONMENT, LIMITS) as third:
        assert third.alive


def test_a_worker_that_does_not_answer_is_replaced_before_anybody_gets_it(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as first:
        pass
    sandbox.started[0].damaged = True
    with pool.lease(ENVIRONMENT, LIMITS) as second:
        assert second is not first
    assert not first.alive


def test_another_worker_than_a_given_one_can_be_asked_for(pool: Pool) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as first:
        pass
    with pool.lease(ENVIRONMENT, LIMITS, other_than=[first.id]) as second:
        assert second.id != first.id


def test_a_worker_of_another_interpreter_can_be_asked_for(pool: Pool, sandbox: CountingSandbox) -> None:
    with pool.lease(ENVIRONMENT, LIMITS) as first:
        first.id = "a.1"
    with pool.lease(ENVIRONMENT, LIMITS, other_than=["a.1"]) as sibling:
        sibling.id = "a.2"
    with pool.lease(ENVIRONMENT, LIMITS, unlike=["a.3"]) as third:
        assert third not in (first, sibling)
        assert sandbox.unlike[-1] == ("a.3",)
    assert all(worker.alive for worker in (first, sibling))


def test_a_failing_program_does_not_cost_the_worker(pool: Pool) -> None:
    with pytest.raises(ValueError, match="program"), pool.lease(ENVIRONMENT, LIMITS) as first:
        raise ValueError("the program's")
    with pool.lease(ENVIRONMENT, LIMITS) as second:
        assert second is first


def test_an_interrupt_in_the_middle_ends_the_worker(pool: Pool) -> None:
    with pytest.raises(KeyboardInterrupt), pool.lease(ENVIRONMENT, LIMITS) as first:
        raise KeyboardInterrupt
    assert not first.alive


def test_warming_returns_at_once_and_the_borrower_gets_that_worker(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.may_start.clear()
    pool.warm(ENVIRONMENT, LIMITS, preload=("sklearn",))
    assert sandbox.starting.acquire(timeout=5)
    threading.Timer(0.05, sandbox.may_start.set).start()
    with pool.lease(ENVIRONMENT, LIMITS) as worker:
        assert worker.alive
    assert sandbox.preloaded == [("sklearn",)]


def test_warming_twice_starts_no_more_than_asked(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.may_start.clear()
    pool.warm(ENVIRONMENT, LIMITS, count=2)
    pool.warm(ENVIRONMENT, LIMITS, count=2)
    sandbox.may_start.set()
    with pool.lease(ENVIRONMENT, LIMITS), pool.lease(ENVIRONMENT, LIMITS):
        assert len(sandbox.started) == 2


def test_a_failure_while_warming_shows_when_a_worker_is_wanted(pool: Pool, sandbox: CountingSandbox) -> None:
    sandbox.fails = True
    pool.warm(ENVIRONMENT, LIMITS)
    with pytest.raises(SandboxUnavailable), pool.lease(ENVIRONMENT, LIMITS):
        pass


def test_only_so_many_wait_and_the_oldest_goes(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, most_idle=2)
    with pool.lease(ENVIRONMENT, LIMITS), pool.lease(ENVIRONMENT, LIMITS), pool.lease(ENVIRONMENT, LIMITS):
        pass
    assert sum(worker.alive for worker in sandbox.started) == 2


def test_an_idle_worker_is_ended_after_a_while(sandbox: CountingSandbox) -> None:
    pool = Pool(sandbox, idle_seconds=0.05)
    with pool.lease(ENVIRONMENT, LIMITS):
        pass
    assert sandbox.started[0].dead.wait(5)
    with pool.lease(ENVIRONMENT, LIMITS) as again:
        assert again.alive
    assert sandbox.started[1].dead.wait(5)


def test_closing_ends_idle_workers_now_and_borrowed_ones_when_they_come_back(
    pool: Pool, sandbox: CountingSandbox
) -> None:
    with pool.lease(ENVIRONMENT, LIMITS), pool.lease(ENVIRONMENT, LIMITS) as borrowed:
        pool.warm(ENVIRONMENT, LIMITS)
        pool.close()
        assert borrowed.alive
    assert not borrowed.alive
    pool.warm(ENVIRONMENT, LIMITS)


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
        "with pool.lease(ENVIRONMENT, LIMITS): pass\n"
        "blocked = CountingSandbox(); blocked.may_start.clear(); Pool(blocked).warm(ENVIRONMENT, LIMITS)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=9, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
