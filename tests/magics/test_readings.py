"""`%autocode reply NAME use`: another interpretation of the request becomes a line of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autocoder_jupyter.display.actions import buttons, possible
from autocoder_jupyter.display.live import LiveCard, card_html, card_text
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Launch
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import OpinionGiven, SourceWritten
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import CodePlan, CodeSolution, Difference, Reading, SecondOpinion
from tests.lab.test_link import wait_until

YEARLY = "Growth compares a month with the same month of the year before."
OPINION = SecondOpinion(
    state="differ",
    differences=(Difference(where="best_month", first="2024-11", second="2024-03"),),
    readings=(Reading(words="year on year", line=YEARLY, assumption="Growth is month on month."),),
)
CODE = "def run():\n    return 'growth'\n"


@pytest.fixture
def ready(shell: Any, jobs: Any) -> Any:
    shell.run("%%autocode growth\nThe month that grew most.")
    for event in (SourceWritten("solution", 1, CODE), OpinionGiven(OPINION)):
        jobs.last.tell(event)
    solution = CodeSolution(code=CODE)
    jobs.last.end(second_opinion=OPINION, plan=CodePlan(description="", approach=""), solution=solution)
    return shell


def test_a_reading_becomes_a_wish_and_starts_from_the_function_that_is_there(ready: Any, jobs: Any) -> None:
    ready.run("%autocode reply growth use 1")
    assert jobs.last.request.wishes == (YEARLY,) and jobs.last.request.prompt == "The month that grew most."
    assert "'growth'" in jobs.last.request.earlier.code and ready.user_ns["growth"] is jobs.last.result


def test_without_a_number_the_readings_are_told(ready: Any, jobs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ready.run("%autocode reply growth")
    said = capsys.readouterr().out
    assert said.count("\n") == 4 and "\\n" not in said
    assert (
        "With the reading “year on year”, best_month would be 2024-03 instead of 2024-11." in said
        and len(jobs.submitted) == 1
    )


@pytest.mark.parametrize(
    "number", ["0", "2", "two", "-1", "9" * 5000], ids=["none", "too many", "a word", "negative", "long"]
)
def test_a_number_that_there_is_not_says_which_there_are(number: str, ready: Any) -> None:
    with pytest.raises(InvalidRequest, match="from 1 to 1"):
        ready.run(f"%autocode reply growth use {number}")


def test_before_it_is_done_and_without_other_readings_it_says_so(shell: Any, jobs: Any, capsys: Any) -> None:
    shell.run("%%autocode growth\nWords")
    with pytest.raises(InvalidRequest, match="not done yet"):
        shell.run("%autocode reply growth use 1")
    shell.run("%autocode reply growth")
    assert "growth is running and asks nothing." in capsys.readouterr().out
    jobs.last.end()
    with pytest.raises(InvalidRequest, match="no other reading of growth"):
        shell.run("%autocode reply growth use 1")
    shell.run("%autocode reply growth")
    assert "growth has no second opinion." in capsys.readouterr().out


def test_keeping_it_as_it_is_ends_the_question_on_the_card(
    ready: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / name)
    assert "with a question" in repr(ready.user_ns["growth"])
    ready.run("%autocode status")
    assert "growth  ready, with a question for you  " in ready.shown
    ready.run("%autocode reply growth")
    asked = capsys.readouterr().out
    assert "best_month would be 2024-03" in asked and "%autocode reply growth keep" in asked
    with pytest.raises(InvalidRequest, match="'perhaps' is no answer"):
        ready.run("%autocode reply growth perhaps")
    ready.run("%autocode reply growth keep")
    assert "growth stays as it is" in capsys.readouterr().out
    assert repr(ready.user_ns["growth"]) == "<autocode growth ready, not fully checked>"
    ready.run("%autocode status")
    assert "growth  ready, not fully checked  " in ready.shown
    with pytest.raises(InvalidRequest, match="Nothing is asked about growth"):
        ready.run("%autocode reply growth keep")


def test_the_former_spelling_refines_and_hints_once(ready: Any, jobs: Any, capsys: Any) -> None:
    ready.run("%autocode reading growth")
    ready.run("%autocode reading growth 1")
    printed = capsys.readouterr().out
    assert printed.count("%autocode reading is now %autocode reply NAME use …. The old spelling works") == 1
    assert jobs.last.request.wishes == (YEARLY,)


def test_the_card_of_an_earlier_cell_says_what_replaced_it(ready: Any, jobs: Any) -> None:
    notebook = ready.magics_manager.registry["AutocodeMagics"].notebook
    first = notebook.launched["growth"].card
    ready.run("%%autocode growth --refine\nBy region too.")
    assert first.wait(10) and not first.state.replaced, "the new one is not there yet"
    jobs.last.end(plan=CodePlan(description="", approach=""))
    wait_until(lambda: first.state.replaced == "A later cell has refined growth: By region too.")
    second = notebook.launched["growth"].card
    ready.run("%%autocode growth --refine\nBy month.")
    failed = notebook.launched["growth"].card
    jobs.last.end("failed", error="no")
    words = "A later cell has not refined growth (failed): By month."
    wait_until(lambda: second.state.later == words)
    assert not second.state.replaced, "a failed run replaces nothing"
    assert f"{words}\n  growth.run(…) still calls the function below." in card_text(second.state)
    assert 'class="autocode-call"' in card_html(second.state)
    wait_until(lambda: "growth.run(…) still calls the last good version" in card_text(failed.state))
    assert "call" in possible(failed.state) and "call" not in buttons(failed.state)
    ready.run("%%autocode growth\nSomething else.")
    jobs.last.end("cancelled")
    wait_until(lambda: second.state.later == "A later cell has not made growth anew (cancelled).")
    ready.run("%%autocode growth\nOnce more.")
    jobs.last.end()
    wait_until(lambda: second.state.replaced == "A later cell has made growth anew.")
    assert "still calls" not in card_text(second.state) and "next:" not in card_text(second.state)
    assert not notebook.launched["growth"].earlier, "what was replaced is released"


def test_a_function_with_the_name_of_an_earlier_answer_leaves_its_card_alone(shell: Any, jobs: Any) -> None:
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    answered = LiveCard(RunTracker(CodeRun("growth", phase="ready")))
    notebook.launched["growth"] = Launch(SimpleNamespace(name="growth", result=object()), answered)
    shell.run("%%autocode growth\nWords")
    jobs.last.end()
    second = notebook.launched["growth"].card
    assert second.wait(10) and answered.state.phase == "ready", "its record has no such field"
