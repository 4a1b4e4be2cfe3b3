"""The user's requirements: own tests, examples and checks. Only the user changes them."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine import attempt
from autocoder_jupyter.engine.acceptance import check_own_tests, own_module
from autocoder_jupyter.engine.generation import StageRunner
from autocoder_jupyter.engine.sample_run import run_checks
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Example
from autocoder_jupyter.types import CodePlan, OutputSpec, Secret
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales

WRONG = CODE.replace(".sum())", ".sum()) + 1.0")

OWN = '''\
def small():
    return pd.DataFrame({"price": [10.0], "quantity": [7]})


def test_one_sale():
    """Ann's one sale is all there is."""
    assert growth(small()) == 70.0


class TestEmpty:
    def test_nothing(self):
        assert growth.run(sales=small().head(0)) == run(small().head(0)) == 0.0
'''


def fix(*mends: str) -> str:
    return json.dumps({"edits": [{"find": ".sum()) + 1.0", "replace": ".sum())", "mends": mends}]})


FIX = fix("your test test_one_sale", "your test TestEmpty::test_nothing")


def accepted(produced: Generated) -> list[tuple[str, bool]]:
    return [(outcome.name, outcome.passed) for outcome in produced.report.evidence.acceptance]


async def test_own_tests_are_run_and_kept_apart_from_those_of_the_model(runner: Runner) -> None:
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]}
    produced = await runner.generate(script, own_tests=OWN, checks=("total >= 0",))
    report = produced.report
    assert report.success, report.error
    names = ["your test test_one_sale: Ann's one sale is all there is.", "your test TestEmpty::test_nothing"]
    assert accepted(produced) == [(name, True) for name in (*names, "total >= 0")]
    assert {test.id for test in report.evidence.tests} == {"test_sum", "test_empty"}
    assert not any(
        "one_sale" in json.dumps(request) for request in produced.model.requests
    )  # no model is asked for them
    folder = runner.root / "growth" / "versions" / report.run_id
    kept = (folder / "test_own.py").read_text()
    assert kept == report.own_tests and OWN in kept and "def growth(" in kept
    assert json.loads((folder / "request.json").read_text())["own_tests"] == OWN


@pytest.mark.real_sandbox
async def test_the_checks_of_the_user_run_beside_the_tests(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def began(stages: StageRunner, stage: Any, before: Any = StageRunner.started) -> Any:
        begun.append(stage)
        return before(stages, stage)

    async def checks(*given: Any, before: Any = run_checks, **more: Any) -> Any:
        begun.append("checks")
        return await before(*given, **more)

    monkeypatch.setattr(StageRunner, "started", began)
    monkeypatch.setattr(attempt, "run_checks", checks)
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]}
    produced = await runner.generate(script, checks=("total >= 0",))
    assert produced.report.success and accepted(produced) == [("total >= 0", True)]
    assert begun.index("checks") < begun.index("verify")


async def test_own_tests_make_a_request_of_their_own_that_asks_nothing_anew(runner: Runner) -> None:
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]}
    without = await runner.generate(script)
    with_tests = await runner.generate({}, own_tests=OWN)
    assert with_tests.report.success and with_tests.asked == []
    assert with_tests.report.run_id != without.report.run_id


@pytest.mark.parametrize(("share", "shown"), [("rows", True), ("stats", False), ("schema", False)])
async def test_a_failing_own_test_is_told_to_the_mender_as_far_as_the_data_may_be(
    runner: Runner, share: str, shown: bool
) -> None:
    script = {"plan": [PLAN], "code": [fenced(WRONG)], "fix_code": [FIX]}
    produced = await runner.generate(script, own_tests=OWN, settings={"share": share, "skip_tests": True})
    asked = {stage: json.dumps(r) for stage, r in zip(produced.asked, produced.model.requests, strict=True)}
    assert "your test test_one_sale" in asked["fix_code"]
    assert ("Ann" in asked["fix_code"], "71.0" in asked["fix_code"]) == (shown, shown)
    first = produced.report.history[0].evidence.acceptance
    assert [outcome.passed for outcome in first] == [False, False]
    assert ("71.0" in first[0].message, "AssertionError in line" in first[0].message) == (shown, not shown)
    assert all(outcome.passed for outcome in produced.report.history[1].evidence.acceptance)
    assert not any("Ann" in json.dumps(request) for request in produced.model.requests) or shown


async def test_who_judges_between_code_and_tests_knows_that_the_persons_tests_are_right(
    runner: Runner,
) -> None:
    wrong_test = TESTS.replace("== 8.0", "== 9.0")
    diagnosis = {"test_name": "test_sum", "error_message": "8 == 9", "error_type": "test_error"}
    right = TESTS[TESTS.index("def test_sum") : TESTS.index("def test_empty")]
    verdict = {"test_name": "test_sum", "derivation": "2*1+3*2", "verdict": "wrong", "replacement": right}
    script = {
        "plan": [PLAN],
        "tests": [fenced(wrong_test)],
        "code": [fenced(CODE)],
        "diagnose": [json.dumps({"failures": [diagnosis]})],
        "fix_tests": [json.dumps({"verdicts": [verdict]})],
    }
    produced = await runner.generate(script, own_tests=OWN)
    assert produced.report.success and produced.report.evidence.tests_changed == ("test_sum",)
    told = {
        stage: r["messages"][1]["content"] for stage, r in zip(produced.asked, produced.model.requests, strict=True)
    }
    for stage in ("diagnose", "fix_tests"):
        assert "They are right" in told[stage] and "def test_one_sale" in told[stage]


async def test_own_tests_that_never_hold_are_no_success_and_are_named_first(runner: Runner) -> None:
    never = "def test_never():\n    assert growth(pd.DataFrame({'price': [1.0], 'quantity': [1]})) == -1\n"
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]}
    produced = await runner.generate(script, own_tests=never, settings={"max_iterations": 1})
    assert not produced.report.success
    assert "This does not hold: your test test_never. AssertionError: assert 1.0 == -1" in produced.error


async def test_own_tests_that_cannot_be_loaded_are_the_persons_to_mend(runner: Runner) -> None:
    broken = "LIMIT = 1 / 0\n\n\ndef test_limit():\n    assert growth(pd.DataFrame()) < LIMIT\n"
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]}
    produced = await runner.generate(script, own_tests=broken)
    assert not produced.report.success and produced.report.attempts == 1 and sorted(produced.asked) == ["code", "tests"]
    assert "Your own tests cannot be loaded" in produced.error and "ZeroDivisionError" in produced.error


async def test_own_tests_run_where_no_others_are_written(runner: Runner) -> None:
    script = {"plan": [PLAN], "code": [fenced(WRONG)], "fix_code": [FIX]}
    produced = await runner.generate(script, own_tests=OWN, settings={"skip_tests": True})
    assert produced.report.success and produced.report.attempts == 2 and produced.report.evidence.tests == ()


async def test_several_outputs_come_to_own_tests_by_name(runner: Runner) -> None:
    plan = json.loads(PLAN)
    plan["outputs"].append({"name": "best.txt", "type": "int"})
    code = CODE.replace("-> float", "-> tuple[float, int]").replace(".sum())", ".sum()), 3")
    own = "def test_both():\n    sales = pd.DataFrame({'price': [1.0], 'quantity': [1]})\n"
    own += "    both = growth(sales)\n    assert both.total == 1.0 and both.best_txt == 3 and run(sales) == (1.0, 3)\n"
    outputs = (OutputSpec(name="total", type="float"), OutputSpec(name="best_txt", type="int"))
    script = {"plan": [json.dumps(plan)], "code": [fenced(code)]}
    produced = await runner.generate(script, own_tests=own, outputs=outputs, settings={"skip_tests": True})
    assert produced.report.success, produced.report.error


@each(
    ("source", "words"),
    [
        pytest.param("def test_x(:\n    pass", "are not valid Python", id="no Python"),
        pytest.param("x = 1\n", "The tests of growth contain no test function", id="no test"),
        pytest.param(
            "def test_x():\n    assert growth(sales) == limit", "use limit, sales, which they do not", id="variables"
        ),
        pytest.param("@mark\ndef test_x():\n    pass", "use mark,", id="a decorator that is not there"),
    ],
)
def test_what_cannot_be_own_tests_is_said_at_once(source: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        check_own_tests(source, "growth")


def test_a_function_with_the_name_run_does_not_call_itself_in_own_tests() -> None:
    plan = CodePlan(description="", approach="", outputs=(OutputSpec(name="a", type="int"),))
    module = own_module("def test_x():\n    assert run(n=1) == run.run(n=1) == 2\n", "run", plan).source
    assert "from solution import run as _run" in module and "return _run(*args, **kwargs)" in module


def test_what_own_tests_may_use_is_not_missed() -> None:
    check_own_tests(
        "from math import pi\nimport os as system\n\nLIMIT = 3\n\n\n"
        "@pytest.mark.parametrize('x', [1, 2])\ndef test_x(x, tmp_path):\n"
        "    with pytest.raises(ValueError) as caught:\n        growth(pd.DataFrame({'a': [np.nan]}), limit=LIMIT)\n"
        "    assert [y for y in (x, pi) if y] and run and system and helper(caught)\n\n\n"
        "def helper(z):\n    global counted\n    counted = z\n    return counted\n",
        "growth",
    )


# Examples

FEW = pd.DataFrame({"price": [10.0, 2.0], "quantity": [1, 2]})


async def test_an_example_is_told_and_must_come_out(runner: Runner) -> None:
    example = Example("@few -> 14", (("", FEW),), (("", 14),))
    script = {"plan": [PLAN], "code": [fenced(WRONG)], "fix_code": [fix("your example @few -> 14")]}
    produced = await runner.generate(script, examples=(example,), settings={"skip_tests": True})
    assert produced.report.success and produced.report.attempts == 2
    first = produced.report.history[0].evidence.acceptance
    assert [(one.name, one.message) for one in first] == [("your example @few -> 14", "total: it is 15.0, expected 14")]
    for request in produced.model.requests:
        assert "expected: 14" in request["messages"][1]["content"]
    assert (
        "expected: 14"
        in json.loads((runner.root / "growth" / "versions" / produced.report.run_id / "sent.json").read_text())["text"]
    )


@pytest.mark.parametrize("share", ["stats", "schema"])
async def test_no_value_of_an_example_leaves_where_rows_do_not(runner: Runner, share: str) -> None:
    few = pd.DataFrame({"price": [77777.5], "quantity": [1]})
    example = Example("orders=@few -> 77777.5", (("sales", few),), (("total", 77777.5),))
    script = {"plan": [PLAN], "code": [fenced(WRONG)], "fix_code": [fix("your example 1")]}
    produced = await runner.generate(script, examples=(example,), settings={"skip_tests": True, "share": share})
    assert produced.report.success and produced.report.attempts == 2
    assert "7777" not in json.dumps(produced.model.requests)
    failed = produced.report.history[0].evidence.acceptance[0]
    assert (failed.name, failed.message) == ("your example 1", "total: a value differs")


@pytest.mark.parametrize(
    ("example", "words"),
    [
        (Example("x", (("", 1), ("", 2)), (("", 1),)), "it has 2 values without a name, and the inputs are sales"),
        (Example("x", (("nope", 1),), (("", 1),)), "there is no input 'nope'; the inputs are sales"),
        (Example("x", (), (("nope", 1),)), "there is no output 'nope'; the outputs are total"),
        (Example("x", (("", FEW), ("sales", FEW)), (("", 1),)), "it has two values for sales"),
    ],
)
async def test_an_example_that_does_not_fit_is_said(runner: Runner, example: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        await runner.generate(
            {"plan": [PLAN], "code": [fenced(CODE)]}, examples=(example,), settings={"skip_tests": True}
        )


async def test_an_example_without_input_is_about_the_sample(runner: Runner) -> None:
    total = float((sales()["price"] * sales()["quantity"]).sum())
    script = {"plan": [PLAN], "code": [fenced(CODE)]}
    example = Example(f"-> {total}", (), (("", total),))
    produced = await runner.generate(script, examples=(example,), settings={"skip_tests": True})
    assert produced.report.success and accepted(produced) == [(f"your example -> {total}", True)]


@pytest.mark.parametrize("end", ["import os; os._exit(3)", "while True: pass"], ids=["ends its process", "never ends"])
@pytest.mark.real_sandbox
async def test_code_that_ends_its_worker_in_an_own_test_has_failed_it(runner: Runner, end: str) -> None:
    ending = CODE.replace("    return", f"    if len(sales) == 1:\n        {end}\n    return")
    script = {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(ending)]}
    produced = await runner.generate(script, own_tests=OWN, settings={"max_iterations": 1, "timeout": 4.0})
    assert not produced.report.success and "your test test_one_sale" in produced.error


CANARY = "correct-horse-7431"
WITH_A_SECRET = f'''\
def test_one_sale():
    """It prints and compares the token."""
    import os

    print(os.environ.get("WAREHOUSE_TOKEN"))
    sales = pd.DataFrame({{"price": [2.0], "quantity": [4], "buyer": ["{CANARY}"]}})
    assert (growth(sales), os.environ.get("WAREHOUSE_TOKEN")) == (8.0, "{CANARY}")
'''


@pytest.mark.parametrize("share", ["rows", "stats"])
async def test_the_value_of_a_secret_in_an_own_test_is_told_to_nobody(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, share: str
) -> None:
    """Not by the source of the test, not by what it prints, and not by its failure."""
    monkeypatch.setenv("WAREHOUSE_TOKEN", CANARY)
    telltale = CODE.replace("    return float(", "    import os\n    print(os.environ)\n    return 1.0 + float(")
    settings = {"secrets": (Secret(key="WAREHOUSE_TOKEN"),), "skip_tests": True, "share": share, "max_iterations": 2}
    edit = {"find": "1.0 + float(", "replace": "2.0 + float(", "mends": ["your test test_one_sale"]}
    script = {"plan": [PLAN], "code": [fenced(telltale)], "fix_code": [json.dumps({"edits": [edit]})]}
    produced = await runner.generate(script, own_tests=WITH_A_SECRET, settings=settings)
    assert produced.asked == ["code", "fix_code"]
    told = json.dumps(produced.model.requests)
    assert "your test test_one_sale" in told and ("def test_one_sale" in told) == (share == "rows")
    for text in (told, repr(produced.events), str(produced.report.evidence), str(produced.report.history)):
        assert CANARY not in text
    for path in runner.root.rglob("*"):
        if path.is_file() and path.name not in ("request.json", "report.json", "test_own.py"):  # as the user wrote it
            assert CANARY not in path.read_text("utf-8")
