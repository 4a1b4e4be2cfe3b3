"""`%autocode reading`: another interpretation of the request becomes a line of it."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import CodePlan, Difference, Reading, SecondOpinion

YEARLY = "Growth compares a month with the same month of the year before."
OPINION = SecondOpinion(
    state="differ",
    differences=(Difference(where="best_month", first="2024-11", second="2024-03"),),
    readings=(Reading(words="year on year", line=YEARLY, assumption="Growth is month on month."),),
)


@pytest.fixture
def ready(shell: Any, jobs: Any) -> Any:
    shell.run("%%autocode growth\nThe month that grew most.")
    jobs.last.end(second_opinion=OPINION, plan=CodePlan(description="", approach=""))
    return shell


def test_a_reading_becomes_a_wish_and_starts_from_the_function_that_is_there(ready: Any, jobs: Any) -> None:
    ready.run("%autocode reading growth 1")
    assert jobs.last.request.wishes == (YEARLY,) and jobs.last.request.prompt == "The month that grew most."
    assert "'growth'" in jobs.last.request.earlier.code and ready.user_ns["growth"] is jobs.last.result


def test_without_a_number_the_readings_are_told(ready: Any, jobs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ready.run("%autocode reading growth")
    said = capsys.readouterr().out
    assert said.count("\n") == 3 and "\\n" not in said
    assert (
        "With the reading “year on year”, best_month would be 2024-03 instead of 2024-11." in said
        and len(jobs.submitted) == 1
    )


@pytest.mark.parametrize(
    "number", ["0", "2", "two", "-1", "9" * 5000], ids=["none", "too many", "a word", "negative", "long"]
)
def test_a_number_that_there_is_not_says_which_there_are(number: str, ready: Any) -> None:
    with pytest.raises(InvalidRequest, match="from 1 to 1"):
        ready.run(f"%autocode reading growth {number}")


def test_before_it_is_done_and_without_other_readings_it_says_so(shell: Any, jobs: Any, capsys: Any) -> None:
    shell.run("%%autocode growth\nWords")
    with pytest.raises(InvalidRequest, match="not done yet"):
        shell.run("%autocode reading growth")
    jobs.last.end()
    with pytest.raises(InvalidRequest, match="no other reading of growth"):
        shell.run("%autocode reading growth 1")
    shell.run("%autocode reading growth")
    assert "growth has no second opinion." in capsys.readouterr().out
