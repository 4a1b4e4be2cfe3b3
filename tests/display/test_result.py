from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.display.parts import signature
from autocoder_jupyter.display.result import render_html, render_text
from autocoder_jupyter.types import (
    CheckOutcome,
    CodePlan,
    CodeSolution,
    Evidence,
    InputSpec,
    OutputSpec,
    Report,
    TestOutcome,
    Usage,
)

HOSTILE = "<script>alert(1)</script>\x1b[31m"

REPORT = Report(
    name="growth",
    run_id="r1",
    prompt="p",
    success=True,
    solution=CodeSolution(code="def run(sales): ...\n"),
    tests="def test_sum(): ...\n",
    plan=CodePlan(description="d", approach="a", assumptions=("ties keep their order",)),
    attempts=2,
    evidence=Evidence(
        tests=(TestOutcome(id="test_sum", outcome="passed", seconds=0.01, sentence="adds up"),),
        checks=(CheckOutcome(name="two runs agree", passed=True),),
        tests_changed=("test_sum",),
        vacuous_tests=("test_nothing",),
    ),
    detected_packages=("scikit-learn",),
    lock=("scikit-learn==1.7",),
    python_version=(3, 11),
    image="autocode:abc",
    sandbox="docker",
    declared_inputs=(
        InputSpec(name="sales", type="DataFrame"),
        InputSpec(name="min_orders", type="int", required=False, default=5),
    ),
    declared_outputs=(OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best", type="str")),
    usage=Usage(input_tokens=1200, output_tokens=300, cost=None),
    seconds=12,
)


class Pending:
    """A result that must not be waited for."""

    done = False

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"reading {name} would wait")

    def __repr__(self) -> str:
        return "<autocode <growth> running>"


def test_the_signature_reads_like_a_call() -> None:
    call = "growth.run(sales: DataFrame, min_orders: int = 5) -> (monthly: DataFrame, best: str)"
    assert signature(REPORT.name, REPORT.declared_inputs, REPORT.declared_outputs) == call


@pytest.mark.parametrize("part", ["all", "report"])
def test_the_page_shows_what_success_rests_on(part: Any, read: Any) -> None:
    html, text = read(render_html(REPORT, part)).text, render_text(REPORT, part)
    for words in (
        "growth.run(sales: DataFrame",
        "Ready, with changed tests",
        "adds up",
        "two runs agree",
        "ties keep their order",
        "Tests changed on the way: test_sum",
        "Tests that also pass on a function that does nothing: test_nothing",
        "cost unknown",
        "2 attempts",
        "sandbox: docker",
    ):
        assert words in html
        assert words in text
    assert "scikit-learn==1.7" in html and "Python 3.11" in html


def test_a_pending_result_is_one_line_and_nobody_waits(read: Any) -> None:
    assert "<autocode <growth> running>" in read(render_html(Pending())).text
    assert render_text(Pending()) == "<autocode <growth> running>"


def test_a_failed_result_says_why(read: Any) -> None:
    report = REPORT.model_copy(update={"success": False, "error": "no progress", "solution": None, "plan": None})
    page = read(render_html(report)).text
    assert "Failed" in page and "no progress" in page


def test_nothing_from_outside_becomes_markup(read: Any) -> None:
    report = Report(
        name=HOSTILE,
        run_id="r",
        prompt=HOSTILE,
        success=False,
        error=HOSTILE,
        solution=CodeSolution(code=HOSTILE),
        tests=HOSTILE,
        plan=CodePlan(description=HOSTILE, approach=HOSTILE, assumptions=(HOSTILE,), packages=(HOSTILE,)),
        evidence=Evidence(
            tests=(TestOutcome(id=HOSTILE, outcome="error", sentence=HOSTILE, message=HOSTILE),),
            checks=(CheckOutcome(name=HOSTILE, passed=False, message=HOSTILE),),
            vacuous_tests=(HOSTILE,),
        ),
        declared_inputs=(InputSpec(name=HOSTILE, type="str", required=False, default=HOSTILE),),
        detected_packages=(HOSTILE,),
        detected_system_packages=(HOSTILE,),
        lock=(HOSTILE,),
        image=HOSTILE,
        sandbox=HOSTILE,
    )
    for part in ("all", "code", "tests", "report"):
        page = read(render_html(report, part))  # type: ignore[arg-type]
        assert "script" not in page.tags
        assert "\x1b" not in page.text and "\x1b" not in render_text(report, part)  # type: ignore[arg-type]
