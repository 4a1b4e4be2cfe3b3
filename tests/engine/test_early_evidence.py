"""What needs no tests is done while the model still writes them, and the tests do not wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.mutation import MutationRun
from autocoder_jupyter.engine.evidence.solution_worker import Answer as Outputs
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker, _key
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.first_run import EarlyEvidence
from tests.engine.test_scenarios import WRONG, diagnosis, fix
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Answer

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

SECOND = fenced('"""How it is read:\n\n- a missing price is zero\n"""\n\nOUTPUTS = {"total": "float"}\n\n' + CODE)

STUCK = CODE.replace("    ", "    while (sales['price'] == -12345).any():\n        pass\n    ", 1)
"""The function, with an endless loop for one price."""


def orders() -> pd.DataFrame:
    return pd.DataFrame({"price": [10.0, 20.0, 30.0] * 10, "quantity": range(1, 31)})


async def generated(runner: Runner, tests: Answer, *codes: str, **more: Any) -> Generated:
    script = {"plan": [PLAN], "code": [fenced(codes[0])], "tests": [tests], "second": [SECOND], **more}
    return await runner.generate(
        script, samples={"sales": orders()}, settings={"effort": "normal", "second_opinion": "on"}
    )


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when everything is done that can be done ahead."""
    ended, begin = threading.Event(), EarlyEvidence.begin

    def begin_and_tell(ahead: EarlyEvidence, *args: Any) -> None:
        begin(ahead, *args)
        asyncio.gather(*ahead._tasks).add_done_callback(lambda _: ended.set())

    monkeypatch.setattr(EarlyEvidence, "begin", begin_and_tell)
    return ended


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who had each program run."""
    labels, on, get_ready = list[str](), SolutionWorker.on, SolutionWorker.get_ready

    def counted(side: SolutionWorker, *args: Any, kept: bool = False, **more: Any) -> Outputs:
        if not kept:
            labels.append(side.label)
        return on(side, *args, kept=kept, **more)

    def counted_at_once(side: SolutionWorker, many: Iterable[Mapping[str, Any]], limit: TimeLimit) -> None:
        many, known = list(many), side.known._known
        labels.extend(side.label for inputs in many if _key(inputs, True) not in known)
        get_ready(side, many, limit)

    monkeypatch.setattr(SolutionWorker, "on", counted)
    monkeypatch.setattr(SolutionWorker, "get_ready", counted_at_once)
    return labels


async def test_nothing_that_was_done_ahead_is_done_again(
    runner: Runner, done: threading.Event, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched, run = list[int](), MutationRun.run

    def counted(trial: MutationRun, *workers: Any) -> None:
        searched.append(len(trial.differing) - len(trial.left))
        run(trial, *workers)

    monkeypatch.setattr(MutationRun, "run", counted)
    produced = await generated(runner, Answer(fenced(TESTS), hold=done), CODE)
    assert produced.report.success and produced.opinion.state == "agree" and produced.opinion.parts == 60
    assert ran.count("") > 130
    assert ran.count("the second solution") <= 2  # a larger sample, and one beyond its profile, are not made ahead
    assert searched[0] > 0
    strength = produced.report.evidence.strength
    assert strength is not None and strength.changes and not strength.ended


async def test_what_was_done_for_code_that_was_changed_is_not_used(runner: Runner, done: threading.Event) -> None:
    more = {"diagnose": [diagnosis()], "fix_code": [fix("test_sum")]}
    produced = await generated(runner, Answer(fenced(TESTS), hold=done), WRONG, **more)
    assert produced.report.success and produced.report.attempts == 2 and produced.opinion.state == "agree"


async def test_the_tests_do_not_wait_for_a_call_that_does_not_end(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, begun = EarlyEvidence._inputs, threading.Event()

    def with_an_endless_one(ahead: EarlyEvidence) -> Iterator[Mapping[str, Any]]:
        begun.set()
        yield {"sales": pd.DataFrame({"price": [-12345.0], "quantity": [1]})}
        yield from inputs(ahead)

    monkeypatch.setattr(EarlyEvidence, "_inputs", with_an_endless_one)
    monkeypatch.setattr("autocoder_jupyter.engine.first_run.SLOWEST", 3600.0)
    produced = await generated(runner, Answer(fenced(TESTS), hold=begun), STUCK)
    assert produced.report.success and produced.opinion.state == "agree"
