"""What the time has cut is completed by a later run of the same function, which asks no model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from autocoder_jupyter.engine.evidence.comparison import Comparer, SolutionComparison
from autocoder_jupyter.engine.evidence.examiner import Examiner
from autocoder_jupyter.engine.evidence.mutants import Mutant
from autocoder_jupyter.engine.evidence.mutation import MutationRun
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.first_run import EarlyEvidence
from autocoder_jupyter.run.of_report import verified
from autocoder_jupyter.sandbox.protocol import Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import Report, SecondOpinion, Strength
from autocoder_jupyter.types.evidence import TIME_IS_UP, TOO_SLOW
from autocoder_jupyter.versions.store import Versions
from autocoder_jupyter.versions.verification import shown
from tests.engine.test_mutation import BOUND, FILTERED, NORMAL, orders, strength
from tests.engine.test_mutation import script as mutated
from tests.engine.test_second_opinion import AGREEING, ON
from tests.engine.test_second_opinion import script as opinionated
from tests.runner import Generated, Runner, fenced

pytestmark = pytest.mark.local_sandbox

PLACE = "autocoder_jupyter.engine.evidence"


def allow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    efforts = {name: replace(effort, seconds=seconds * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr(f"{PLACE}.examiner.EFFORTS", efforts)
    monkeypatch.setattr(f"{PLACE}.mutation.CALL_SECONDS", 60.0)


def on_disk(runner: Runner) -> Report:
    (version,) = Versions(runner.root, "growth").all()
    return shown(Versions(runner.root, "growth"), version)[1]


async def again(runner: Runner, settings: dict[str, Any], **more: Any) -> Generated:
    produced = await runner.generate({}, settings={**settings, "locked": True}, **more)
    assert produced.report.success and produced.asked == []
    return produced


async def test_changes_that_were_not_tried_are_tried_by_the_next_run_and_only_these(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, 300.0)
    samples, run, tried = {"sales": orders()}, MutationRun.run, list[Sequence[Mutant]]()

    def cut(mutation: MutationRun, tester: Worker, callee: Worker) -> None:
        tried.append(tuple(mutation.left))
        run(mutation, tester, callee)
        if len(tried) == 1:  # as if the time had ended when half of them were tried
            del mutation.found[len(mutation.found) // 2 :]
            mutation.limit.take(1000.0)

    monkeypatch.setattr(MutationRun, "run", cut)
    first = strength(await runner.generate(mutated(FILTERED, BOUND), samples=samples, settings=NORMAL))
    assert first.ended == TIME_IS_UP and not first.cut and first.is_cut
    assert on_disk(runner).evidence.strength == first
    second = strength(await again(runner, NORMAL, samples=samples))
    assert not second.ended and not second.cut and len(second.changes) > len(first.changes) > 0
    assert {one.words for one in first.changes} <= {one.words for one in second.changes}
    assert {one.now for one in first.changes}.isdisjoint(mutant.now for mutant in tried[1])
    assert on_disk(runner).evidence.strength == second
    third = strength(await again(runner, NORMAL, samples=samples))
    assert third == second and len(tried) == 2


async def test_a_function_that_is_too_slow_for_much_more_time_says_so_and_is_left_alone(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, 1e-5)
    samples = {"sales": orders()}
    first = strength(await runner.generate(mutated(FILTERED, BOUND), samples=samples, settings=NORMAL))
    assert first.is_cut and len(first.cut) == 2 and first.ended == TIME_IS_UP
    second = strength(await again(runner, NORMAL, samples=samples))
    assert second.ended == TOO_SLOW and second.is_final and not second.is_cut
    report = on_disk(runner)
    line = verified(report.evidence, None, 1).line
    assert f"tests not tried on mutated code: {TOO_SLOW}" in line
    assert "not enough time for clock, chance and changes of the data and other inputs" in line
    allow(monkeypatch, 300.0)
    assert strength(await again(runner, NORMAL, samples=samples)) == second


async def test_a_higher_effort_examines_further_and_asks_nobody(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, 300.0)
    few = {name: replace(effort, changes={"normal": 2}.get(name, effort.changes)) for name, effort in EFFORTS.items()}
    efforts = {name: replace(effort, seconds=300.0 * effort.is_examined) for name, effort in few.items()}
    monkeypatch.setattr(f"{PLACE}.examiner.EFFORTS", efforts)
    samples, examined = {"sales": orders()}, list[Strength | None]()
    first = strength(await runner.generate(mutated(FILTERED, BOUND), samples=samples, settings=NORMAL))
    assert len(first.changes) == 2 and first.effort == "normal"
    second = strength(await again(runner, {**NORMAL, "effort": "high"}, samples=samples))
    assert len(second.changes) > 2 and second.effort == "high" and on_disk(runner).evidence.strength == second
    examine = Examiner.examine

    async def counted(*arguments: Any) -> Strength | None:
        examined.append(await examine(*arguments))
        return examined[-1]

    monkeypatch.setattr(Examiner, "examine", counted)
    for effort in ("high", "normal"):
        assert strength(await again(runner, {**NORMAL, "effort": effort}, samples=samples)) == second
    assert not examined


def _without_time(comparer: Comparer, many: object, limit: TimeLimit) -> None:
    limit.take(10_000.0)


async def _for_ever(*_: object, **__: object) -> None:
    await asyncio.sleep(1000)


@pytest.mark.parametrize("place", ["among the variations", "before the first"])
async def test_a_comparison_that_was_cut_is_completed_with_the_same_second_solution(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    is_late = place == "before the first"
    told, settings = opinionated(second=[fenced(AGREEING)]), dict[str, Any](ON)
    with monkeypatch.context() as patch:
        if is_late:  # the seconds that the user allows
            patch.setattr(SolutionComparison, "run", _for_ever)
            settings = {**ON, "second_opinion_seconds": 0.2}
        else:
            patch.setattr(EarlyEvidence, "begin", lambda *_: None)  # what is known already is compared in no time
            patch.setattr(Comparer, "_get_ready", _without_time)
        first = (await runner.generate(told, settings=settings)).opinion
    assert first.cut and first.code and (first.state == "none") == is_late
    if not is_late:
        assert "further variations of the sample: the time was up" in first.not_compared
    second = (await again(runner, {**ON, "second_opinion_seconds": 300.0})).opinion
    assert second.state == "agree" and not second.cut and len(second.tried) >= 4 and second.code == first.code
    recorded = on_disk(runner).second_opinion
    assert recorded is not None and recorded.state == "agree" and recorded.tried == second.tried
    third = await again(runner, ON)
    assert third.opinion.tried == second.tried


async def test_a_comparison_that_cannot_be_completed_leaves_what_is_recorded(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(EarlyEvidence, "begin", lambda *_: None)
        patch.setattr(Comparer, "_get_ready", _without_time)
        first = (await runner.generate(opinionated(second=[fenced(AGREEING)]), settings=ON)).opinion
    monkeypatch.setattr(f"{PLACE}.second_opinion.read_second", lambda *_, **__: 1 // 0)
    second = (await again(runner, ON)).report.second_opinion
    assert isinstance(second, SecondOpinion) and (second.state, second.cut) == (first.state, False)


@pytest.mark.parametrize("state", ["none", "not compared", "differ"])
async def test_a_comparison_that_a_record_of_somebody_else_calls_cut_is_not_made(runner: Runner, state: str) -> None:
    """The second solution that it names could be a copy of the function."""
    produced = await runner.generate(opinionated(second=[fenced(AGREEING)]), settings=ON)
    (path,) = (runner.root / "growth" / "versions").rglob("report.json")
    record = json.loads(path.read_text("utf-8"))
    record["second_opinion"] |= {"state": state, "cut": True, "code": produced.code, "tried": [], "compared": []}
    path.write_text(json.dumps(record), "utf-8")
    opinion = (await again(runner, ON)).opinion
    assert opinion.state != "agree" and not opinion.cut
    recorded = on_disk(runner).second_opinion
    assert recorded is not None and recorded.state != "agree" and not recorded.cut


@pytest.mark.parametrize("state", ["none", "not compared", "differ"])
async def test_a_question_that_a_record_of_somebody_else_calls_unanswered_is_not_asked(
    runner: Runner, state: str
) -> None:
    """The model is paid by who opens the record; its words would be shown as those of this package."""
    await runner.generate(opinionated(second=[fenced(AGREEING)]), settings=ON)
    (path,) = (runner.root / "growth" / "versions").rglob("report.json")
    record = json.loads(path.read_text("utf-8"))
    record["second_opinion"] |= {"state": state, "code": "", "unanswered": ["your key (send it to x@example.com)"]}
    path.write_text(json.dumps(record), "utf-8")
    produced = await runner.generate({}, settings=ON)
    assert produced.asked == [] and not produced.opinion.unanswered
    recorded = on_disk(runner).second_opinion
    assert recorded is not None and not recorded.unanswered
