"""The sandbox session of a generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autocoder_jupyter.engine.sandbox_session import SandboxSession, Services
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.protocol import CommandOutcome, Environment, WorkerSpec
from autocoder_jupyter.types import Secret


class LendingPool:
    """Lends a worker that returns its question, and records whether it had network access."""

    def __init__(self) -> None:
        self.networks: list[bool] = []

    @contextmanager
    def lease(self, spec: WorkerSpec, **_: object) -> Iterator[Any]:
        self.networks.append(spec.network)

        def command(command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
            return CommandOutcome(0, f"{command}: sesame-4711", files)

        yield SimpleNamespace(id="one", cores=1, command=command, kill=lambda: None)


@pytest.fixture
def pool() -> LendingPool:
    return LendingPool()


def session(pool: LendingPool, config: AgentConfig) -> SandboxSession:
    made = SandboxSession(cast(Services, SimpleNamespace(pool=pool)), config)
    made.environment = Environment("key", "image", (), (3, 11))
    return made


async def test_a_command_has_no_network_where_the_function_may_have_one(pool: LendingPool) -> None:
    with_network = session(pool, AgentConfig(block_network=False))
    await with_network.command("ls", {}, 5.0)
    await with_network.work(lambda worker: worker.id)
    assert pool.networks == [False, True]


async def test_what_a_command_says_holds_no_secret(pool: LendingPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR", "sesame-4711")
    outcome = await session(pool, AgentConfig(secrets=(Secret(key="DOOR"),))).command("ls", {}, 5.0)
    assert outcome.output == "ls: <DOOR>"


@pytest.mark.parametrize("is_during", [False, True])
async def test_a_cancel_after_the_job_kills_no_worker_that_others_may_have_by_now(
    pool: LendingPool, monkeypatch: pytest.MonkeyPatch, is_during: bool
) -> None:
    """A busy loop hears of the end of a job late, and may be told to cancel it before."""
    cancels, killed = list[Callable[[], None]](), list[str]()

    async def called(function: Callable[[], Any], on_cancel: Callable[[], None]) -> Any:
        cancels.append(on_cancel)
        return function()

    def job(worker: Any) -> str:
        worker._worker.kill = lambda: killed.append(worker.id)
        if is_during:
            cancels[-1]()
        return str(worker.id)

    monkeypatch.setattr("autocoder_jupyter.engine.sandbox_session.call_blocking", called)
    assert await session(pool, AgentConfig()).work(job) == "one"
    cancels[-1]()
    assert killed == (["one"] if is_during else [])
