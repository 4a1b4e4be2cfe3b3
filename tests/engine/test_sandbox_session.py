"""The sandbox session of a generation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from autocoder_jupyter.engine.sandbox_session import SandboxSession, Services
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.protocol import CommandOutcome, Environment, WorkerSpec
from autocoder_jupyter.types import Secret
from tests.runner import Runner, fenced


class LendingPool:
    """Lends a worker that returns its question, and records whether it had network access."""

    def __init__(self) -> None:
        self.networks: list[bool] = []

    @contextmanager
    def lease(self, spec: WorkerSpec, **_: object) -> Iterator[Any]:
        self.networks.append(spec.network)

        def command(command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
            return CommandOutcome(0, f"{command}: sesame-1511", files)

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
    monkeypatch.setenv("DOOR", "sesame-1511")
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


PLAN = {"description": "The total.", "approach": "Sum.", "outputs": [{"name": "total", "type": "float"}]}

COUNTS = """\
import os
import threading


def run(sales):
    \"\"\"Number NUMBER.\"\"\"
    for _ in range(int(sales["quantity"].max())):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    return float(os.getpid()) + 0.5
"""
"""Starts as many threads as a value of the data says, and returns a number that tells how many there were so far."""

TESTS = """\
import pandas as pd
from solution import run


def test_none():
    assert run(sales=pd.DataFrame({"quantity": [0]})) == 0.25
"""


@pytest.mark.local_sandbox
@pytest.mark.real_sandbox
async def test_what_a_test_says_tells_nothing_of_the_runs_on_the_data(runner: Runner) -> None:
    failure = {"test_name": "test_none", "error_message": "is not 0.25", "error_type": "logic"}
    verdict = {"test_name": "test_none", "derivation": "It is 0.25.", "verdict": "right"}
    edit = {"find": "os.getpid()", "replace": "(os.getpid())", "mends": ["test_none"]}
    produced = await runner.generate(
        {
            "plan": [json.dumps(PLAN)],
            "code": lambda _: fenced(COUNTS),
            "tests": lambda _: fenced(TESTS),
            "diagnose": lambda _: json.dumps({"failures": [failure]}),
            "fix_tests": lambda _: json.dumps({"verdicts": [verdict]}),
            "fix_code": lambda _: json.dumps({"edits": [edit]}),
        },
        samples={"sales": pd.DataFrame({"quantity": [1511]})},
        settings={"share": "schema", "max_iterations": 4},
    )
    asked = json.dumps([request["messages"] for request in produced.model.requests])
    told = [int(number) for number in re.findall(r"assert (\d+)\.5 == 0\.25", asked)]
    assert len(told) > 2, produced.asked
    if runner.sandbox.probe().tier != "landlock":  # which has no process numbers of its own
        assert max(told) - min(told) < 1000
    assert "1511" not in asked
