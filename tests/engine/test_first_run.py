"""The first code runs on the sample while its tests are still written, and that run is the one of the first attempt."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from autocoder_jupyter.engine import attempt, first_run
from autocoder_jupyter.engine.sample_run import AGREES, run_again, run_on_sample
from autocoder_jupyter.errors import EngineGone
from autocoder_jupyter.run.events import EnvironmentReady, Event, SampleOutputs, StageFinished
from autocoder_jupyter.types import OutputSpec
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Answer, Script

pytestmark = pytest.mark.local_sandbox


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The module that began each run on the sample; the second run of an attempt is not among them."""
    seen: list[str] = []

    for module in (first_run, attempt):

        async def counted(*args: Any, name: str = module.__name__.rpartition(".")[2]) -> Any:
            seen.append(name)
            return await run_on_sample(*args)

        monkeypatch.setattr(module, "run_on_sample", counted)
    return seen


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The module that began each repetition."""
    seen: list[str] = []

    for module in (first_run, attempt):

        async def counted(*args: Any, name: str = module.__name__.rpartition(".")[2], **more: Any) -> Any:
            seen.append(name)
            return await run_again(*args, **more)

        monkeypatch.setattr(module, "run_again", counted)
    return seen


async def generated(runner: Runner, *codes: str, **more: Any) -> tuple[Generated, list[Event]]:
    """A generation whose tests are written only after the first rows were shown, with what came before these."""
    shown, before = threading.Event(), list[Event]()

    def hear(event: Event) -> None:
        if isinstance(event, SampleOutputs):
            shown.set()
        elif not shown.is_set():
            before.append(event)

    tests = Answer(fenced(TESTS), hold=shown)
    script = {"plan": [PLAN], "code": [fenced(codes[0])], "tests": [tests], **more}
    return await runner.generate(script, hear=hear), before


async def test_the_first_rows_are_shown_before_the_tests_are_written_by_the_run_that_counts(
    runner: Runner, runs: list[str]
) -> None:
    produced, before = await generated(runner, CODE)
    assert not any(isinstance(event, StageFinished) and event.stage == "tests" for event in before)
    assert [seen.is_verified for seen in produced.of(SampleOutputs)] == [False, True]
    assert {seen.glimpses[0].text for seen in produced.of(SampleOutputs)} == {"140"}
    assert runs == ["first_run"]
    (draft,) = runner.drafts
    assert draft is not None and draft.solution == produced.report.solution and not draft.tests and not draft.success
    assert draft.lock == produced.report.lock


async def test_a_fixed_function_is_run_again_and_the_rows_stay_until_it_has_new_ones(
    runner: Runner, runs: list[str]
) -> None:
    wrong = CODE.replace('sales["price"] * ', "")
    failure = {"test_name": "test_sum", "error_message": "?", "error_type": "logic", "suggested_fix": "Use the price."}
    mended = {"find": '(sales["quantity"])', "replace": '(sales["price"] * sales["quantity"])', "mends": ["test_sum"]}
    script = {
        "diagnose": [json.dumps({"failures": [failure]})],
        "fix_code": [json.dumps({"edits": [mended]})],
    }
    produced, _ = await generated(runner, wrong, **script)
    assert produced.report.success, produced.error
    shown = [(seen.glimpses[0].text, seen.is_verified) for seen in produced.of(SampleOutputs)]
    assert shown == [("6", False), ("140", False), ("140", True)]
    events = [event for event in produced.events if not isinstance(event, StageFinished) or event.attempt == 2]
    first, last = (events.index(one) for one in produced.of(SampleOutputs)[1:])
    assert any(isinstance(event, StageFinished) and event.stage == "verify" for event in events[first:last])
    assert runs == ["first_run", "attempt"]


async def test_the_repetition_is_made_while_the_tests_are_written_and_counts(
    runner: Runner, repeated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, again = threading.Event(), first_run.FirstRun._repeat

    async def told(self: first_run.FirstRun, *args: Any) -> Any:
        try:
            return await again(self, *args)
        finally:
            ended.set()

    monkeypatch.setattr(first_run.FirstRun, "_repeat", told)
    other = CODE.replace("import pandas as pd", "import pandas as pd\nimport random").replace(
        '(sales["price"]', 'random.random() + (sales["price"]'
    )
    script: dict[str, Script] = {"plan": [PLAN], "tests": [Answer(fenced(TESTS), hold=ended)]}
    produced = await runner.generate({**script, "code": [fenced(other)]}, settings={"max_iterations": 1})
    assert repeated == ["first_run"] and not produced.report.success
    assert [check.passed for check in produced.report.evidence.checks if check.name == AGREES] == [False]


async def test_a_changed_function_is_repeated_anew(runner: Runner, repeated: list[str]) -> None:
    failure = {"test_name": "test_sum", "error_message": "?", "error_type": "logic", "suggested_fix": "Use the price."}
    mended = {"find": '(sales["quantity"])', "replace": '(sales["price"] * sales["quantity"])', "mends": ["test_sum"]}
    produced, _ = await generated(
        runner,
        CODE.replace('sales["price"] * ', ""),
        diagnose=[json.dumps({"failures": [failure]})],
        fix_code=[json.dumps({"edits": [mended]})],
    )
    assert produced.report.success and repeated == ["first_run", "attempt"]
    assert [check.passed for check in produced.report.evidence.checks if check.name == AGREES] == [True]


async def test_a_repetition_that_the_sandbox_lost_is_made_again(
    runner: Runner, repeated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: Any, **__: Any) -> Any:
        repeated.append("lost")
        raise EngineGone("The worker was ended from outside.")

    monkeypatch.setattr(first_run, "run_again", lost)
    produced, _ = await generated(runner, CODE)
    assert produced.report.success and repeated == ["lost", "attempt"]


async def test_a_draft_is_always_the_code_whose_rows_are_shown(runner: Runner) -> None:
    wrong, doubled = CODE.replace('sales["price"] * ', ""), '(sales["quantity"] * 2)'
    failure = {"test_name": "test_sum", "error_message": "?", "error_type": "logic", "suggested_fix": "Use the price."}
    edits = [
        {"find": '(sales["quantity"])', "replace": doubled, "mends": ["test_sum"]},
        {"find": doubled, "replace": '(sales["price"] * sales["quantity"])', "mends": ["test_sum"]},
    ]
    seen: list[tuple[str, str]] = []

    def hear(event: Event) -> None:
        if isinstance(event, SampleOutputs) and not event.is_verified:
            draft = runner.drafts[-1]
            assert draft is not None and draft.solution is not None
            seen.append((event.glimpses[0].text, draft.solution.code.rpartition("return ")[2].strip()))

    script: dict[str, Script] = {
        "plan": [PLAN],
        "code": [fenced(wrong)],
        "tests": [Answer(fenced(TESTS), delay=0.5)],
        "diagnose": [json.dumps({"failures": [failure]})] * 2,
        "fix_code": [json.dumps({"edits": [edit]}) for edit in edits],
    }
    produced = await runner.generate(script, hear=hear)
    assert produced.report.success, produced.error
    codes = {"6": 'sales["quantity"]', "12": 'sales["quantity"] * 2', "140": 'sales["price"] * sales["quantity"]'}
    assert {"6", "12"} <= {value for value, _ in seen}
    assert all(code == f"float(({codes[value]}).sum())" for value, code in seen), seen


WITH_PACKAGE = CODE.replace("import pandas as pd", "import pandas as pd\nimport tabulate")


async def test_code_that_needs_another_package_runs_first_in_the_environment_of_the_attempt(
    runner: Runner, runs: list[str]
) -> None:
    produced, before = await generated(runner, WITH_PACKAGE)
    assert produced.report.success and runs == ["first_run"]
    assert [seen.is_verified for seen in produced.of(SampleOutputs)] == [False, True]
    assert not any(isinstance(event, StageFinished) and event.stage == "tests" for event in before)
    base, ahead, attempt = produced.of(EnvironmentReady)
    assert ahead.image == attempt.image != base.image and ahead.packages == attempt.packages
    (draft,) = runner.drafts
    assert draft is not None and draft.lock == produced.report.lock


async def test_a_chart_is_seen_before_its_tests_are_written(runner: Runner, runs: list[str]) -> None:
    plan = {"description": "d", "approach": "a", "outputs": [{"name": "chart", "type": "Figure"}]}
    code = """\
import pandas as pd
from matplotlib.figure import Figure


def run(sales: pd.DataFrame) -> Figure:
    figure = Figure()
    figure.subplots().bar(sales["quantity"], sales["price"])
    return figure"""
    tests = """\
import pandas as pd
from solution import run


def test_bars():
    sales = pd.DataFrame({"price": [1.0, 2.0], "quantity": [1, 2]})
    assert list(run(sales=sales).data[0]["y"]) == [1.0, 2.0]"""
    shown = threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, SampleOutputs):
            shown.set()

    produced = await runner.generate(
        {"plan": [json.dumps(plan)], "code": [fenced(code)], "tests": [Answer(fenced(tests), hold=shown)]},
        prompt="Bars of price by quantity of @sales.",
        outputs=(OutputSpec(name="chart", type="Figure"),),
        hear=hear,
    )
    assert produced.report.success, produced.error
    seen = [(bool(event.glimpses[0].picture), event.is_verified) for event in produced.of(SampleOutputs)]
    assert seen == [(True, False), (True, True)] and runs == ["first_run"]


async def test_code_whose_package_needs_consent_does_not_run_before_that_is_given(
    runner: Runner, runs: list[str]
) -> None:
    code = CODE.replace("import pandas as pd", "import pandas as pd\nimport turbo_frames_zz")
    script: dict[str, Script] = {
        "plan": [PLAN],
        "code": [fenced(code)],
        "tests": [Answer(fenced(TESTS), delay=0.5)],
    }
    runner.consent = False
    produced = await runner.generate(script, settings={"max_iterations": 1})
    assert not produced.report.success and runner.approvals == [("turbo-frames-zz",)]
    assert runs == [] and runner.drafts == []
    assert len(produced.of(EnvironmentReady)) == 1  # of the base


async def test_recorded_answers_wait_for_the_environment_of_all_of_them(runner: Runner) -> None:
    tests = TESTS.replace("import pandas as pd", "import more_itertools\nimport pandas as pd")
    first = await runner.generate({"plan": [PLAN], "code": [fenced(WITH_PACKAGE)], "tests": [fenced(tests)]})
    assert first.report.success, first.error
    (report,) = runner.root.rglob("report.json")
    report.unlink()  # the answers stay
    again = await runner.generate({})
    assert again.report.success and again.asked == []
    assert [event.requested for event in again.of(EnvironmentReady)] == [(), ("more-itertools", "tabulate")]


async def test_code_that_fails_on_the_sample_shows_no_rows_and_fails_once(runner: Runner, runs: list[str]) -> None:
    broken = CODE.replace("    return", '    if len(sales) == 3:\n        raise ValueError("no")\n    return')
    script = {"plan": [PLAN], "code": [fenced(broken)], "tests": [fenced(TESTS)]}
    produced = await runner.generate(script, settings={"max_iterations": 1})
    assert not produced.report.success and produced.of(SampleOutputs) == [] and runs == ["first_run"]
    assert "runs on the sample" in produced.error


async def test_without_a_sample_nothing_runs_before_the_tests(runner: Runner) -> None:
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "int"}]})
    produced = await runner.generate(
        {
            "plan": [plan],
            "code": [fenced("def run() -> int:\n    return 2")],
            "tests": [fenced("from solution import run\n\n\ndef test_two():\n    assert run() == 2")],
        },
        prompt="Two.",
        samples={},
        outputs=(OutputSpec(name="total", type="int"),),
    )
    assert produced.report.success and [seen.is_verified for seen in produced.of(SampleOutputs)] == [False, True]
