"""The headline of a run answers what became of it, and is the same wherever the run is shown."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.codemode.agent import AgentResult
from autocoder_jupyter.display.inspector import document
from autocoder_jupyter.display.live import card_html, card_text, document_of, status_line
from autocoder_jupyter.jobs.code_job import Answered, CodeModeResult
from autocoder_jupyter.lab.messages import _of_result
from autocoder_jupyter.magics.codemode.cell import state_of
from autocoder_jupyter.magics.result_display import subject_of
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.types import (
    CodeChange,
    CodePlan,
    CodeSolution,
    Difference,
    Evidence,
    OutputSpec,
    Report,
    SecondOpinion,
    Strength,
    TestOutcome,
)
from tests.cases import each

PASSED = TestOutcome(id="test_rows", outcome="passed")
STRONG = Strength(changes=(CodeChange(line=1, was="+", now="-", noticed_by="test_rows"),))
CHECKED = Evidence(tests=(PASSED,), strength=STRONG)
AGREES = SecondOpinion(state="agree", compared=("monthly",))
DIFFERS = SecondOpinion(
    state="differ", compared=("monthly",), differences=(Difference(where="monthly.revenue", first="2", second="1"),)
)
EMPTY = CHECKED.model_copy(update={"remarks": ("monthly is empty on 6 rows of data",)})


def report(evidence: Evidence, opinion: SecondOpinion | None, error: str | None) -> Report:
    return Report(
        name="monthly",
        run_id="1",
        prompt="Revenue.",
        success=error is None,
        error=error,
        evidence=evidence,
        second_opinion=opinion,
        solution=CodeSolution(code="def run(): ..."),
        plan=CodePlan(description="", approach="", outputs=(OutputSpec(name="monthly", type="DataFrame"),)),
    )


@each(
    "state, asks_for, evidence, opinion, headline",
    [
        ("ready", "", CHECKED, AGREES, "Ready"),
        ("ready", "", CHECKED, DIFFERS, "Ready, with a question for you"),
        ("ready", "", EMPTY, AGREES, "Ready, with a question for you"),
        ("ready", "", CHECKED, None, "Ready, not fully checked"),
        ("failed", "", Evidence(), None, "Failed"),
        ("cancelled", "", Evidence(), None, "Cancelled"),
        ("failed", "name", Evidence(), None, "Renamed?"),
        ("over_budget", "", Evidence(), None, "Out of budget"),
        ("failed", "price", Evidence(), None, "What does it cost?"),
        ("cancelled", "model", Evidence(), None, "Which model?"),
        ("not_verified", "", Evidence(), None, "Not verified here"),
    ],
    ids=[
        "agreed",
        "other reading",
        "empty output",
        "layer missing",
        "failed",
        "cancelled",
        "renamed column",
        "over budget",
        "no price",
        "no model",
        "recorded",
    ],
)
def test_a_headline_is_the_same_everywhere(
    state: Any, asks_for: Any, evidence: Evidence, opinion: SecondOpinion | None, headline: str
) -> None:
    made = report(evidence, opinion, None if state in ("ready", "not_verified") else "It ended.")
    result = CodeGenEvalResult("monthly", Pending.resolved(Resolution(state, made, asks_for=asks_for)))
    shown = run_of(made, state, asks_for)
    assert document_of(shown).title == headline
    assert f"● {headline}<" in card_html(shown)
    assert card_text(shown).splitlines()[0].split(" · ")[0] == f"● monthly  {headline}"
    assert status_line(shown).startswith(f"monthly  {headline}")
    assert f"● {headline}<" in document.render_html(subject_of(result))
    assert document.render_text(subject_of(result)).startswith(f"● monthly  {headline}")
    assert repr(result).removesuffix(">").split(" · ")[0] == f"<autocode monthly {headline.lower()}"
    assert _of_result("monthly", result)["title"] == headline


@each("state, asks_for, headline", [("failed", "price", "What does it cost?"), ("ready", "", "Ready")])
def test_an_answer_has_the_headlines_of_a_function(state: Any, asks_for: Any, headline: str) -> None:
    ended = Answered(state, AgentResult(state=state, error="It ended."), asks_for=asks_for)
    result = CodeModeResult("monthly", Pending.resolved(ended))
    assert document_of(state_of(result)).title == _of_result("monthly", result)["title"] == headline
    assert repr(result).startswith(f"<autocode monthly {headline.lower()} · ")
