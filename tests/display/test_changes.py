"""The differences of a version, in a few lines for card, inspector and terminal."""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.display.parts import change_lines
from autocoder_jupyter.run.events import PlanReady, VersionsCompared
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import (
    Changes,
    CodePlan,
    ColumnSpec,
    InputSpec,
    OutputChange,
    OutputSpec,
    TestChoice,
    TestOutcome,
)

BEFORE = CodePlan(
    description="",
    approach="",
    inputs=(InputSpec(name="least", type="int", required=False, default=5),),
    outputs=(
        OutputSpec(name="monthly", type="DataFrame", columns=(ColumnSpec(name="month", dtype="str"),)),
        OutputSpec(name="best", type="str"),
    ),
    assumptions=("Ties count once.", "Gaps are zero."),
)
NOW = BEFORE.model_copy(
    update={
        "inputs": (InputSpec(name="least", type="int", required=False, default=3),),
        "outputs": (
            OutputSpec(
                name="monthly",
                type="DataFrame",
                columns=(ColumnSpec(name="month", dtype="str"), ColumnSpec(name="region", dtype="str")),
            ),
            BEFORE.outputs[1],
            OutputSpec(name="worst", type="str"),
        ),
        "assumptions": ("Gaps are zero.", "A <b>region</b> is never empty."),
    }
)
CHANGES = Changes(
    plan=BEFORE,
    code="def run():\n    return 1\n",
    tests=(TestChoice(id="test_a"), TestChoice(id="test_b", fate="dropped", reason="It expects one row a month.")),
    outputs=(OutputChange(name="monthly", lines=("12 → 36 rows",)),),
)
TESTS = [TestOutcome(id=name, outcome="passed") for name in ("test_a", "test_new[1]", "test_new[2]")]


def test_every_kind_of_change_is_told() -> None:
    assert change_lines(CHANGES, NOW, TESTS) == {
        "Interface": [
            ("→", "input least: int = 3, was least: int = 5"),
            ("+", "output worst: str"),
            ("+", "column monthly.region: str"),
        ],
        "Assumptions": [("−", "Ties count once."), ("+", "A <b>region</b> is never empty.")],
        "On the sample": [("→", "monthly: 12 → 36 rows"), ("=", "best: as before")],
        "Tests": [
            ("=", "1 earlier test kept"),
            ("−", "test_b: It expects one row a month."),
            ("+", "1 new test: test_new"),
        ],
    }


def test_the_card_shows_the_wish_the_changes_and_the_code_that_changed() -> None:
    state = FunctionRun(
        "growth", refinement="Also by region.", solution="def run():\n    return 2\n", outcomes=tuple(TESTS)
    )
    state = state.apply(PlanReady(NOW)).apply(VersionsCompared(CHANGES))
    html = card_html(state)
    assert "Also by region." in html and "12 → 36 rows" in html and "&lt;b&gt;region" in html
    assert "New in this version" in html and "-    return 1" in html and "+    return 2" in html
    text = card_text(replace(state, phase="ready"))
    assert "refine: Also by region." in text and "tests: − test_b: It expects one row a month." in text
