"""What is seen first of a ready function: at most 120 words on 20 lines, without tables, buttons and folds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.types import (
    CodePlan,
    CodeSolution,
    Difference,
    Evidence,
    HiddenInput,
    OutputSpec,
    Reading,
    Report,
    RowStep,
    RowsUsed,
    SecondOpinion,
    Strength,
    TestOutcome,
)
from autocoder_jupyter.types.records import Excerpt, Glimpse
from autocoder_jupyter.versions import Versions

RECORDED = Path(__file__).parents[2] / "notebooks" / ".autocode"
TABLE = Excerpt(("month", "revenue"), (("2024-01", "1.5"), ("2024-02", "2.5")), "406 rows × 7 columns", (False, True))


ROW_OF_A_TABLE = re.compile(r" {4}\S")
"""In a terminal. What is left of a long line is further to the right, and counts."""


class Seen(HTMLParser):
    """The text that is seen at first on a page with our extension, which hides the commands to type."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert tag not in ("br", "hr", "img", "input"), "it has no end, and would hide all that follows"
        hides = tag in ("table", "details", "button") or "autocode-words" in given.get("class", "")
        hides = hides or "display:none" in given.get("style", "")
        self._hidden += bool(self._hidden or hides)
        self.text += " "

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= bool(self._hidden)
        self.text += " "

    def handle_data(self, data: str) -> None:
        self.text += "" if self._hidden else data


def words_and_lines(state: FunctionRun) -> tuple[int, int]:
    text = card_text(state, 120).partition("\n  next: ")[0]
    seen = [line for line in text.splitlines() if line.strip() and not ROW_OF_A_TABLE.match(line)]
    return len(Seen(card_html(state)).text.split()), len(seen)


@pytest.mark.parametrize("name", ["clean_cars", "growth", "climate"])
def test_a_card_of_the_quickstart(name: str) -> None:
    version = Versions(RECORDED, name).all()[-1]
    shown = SampleOutputs((Glimpse("output", table=TABLE),))
    words, lines = words_and_lines(run_of(version.report, "ready").apply(shown))
    assert 30 < words <= 120 and lines <= 20


EMPTY = "monthly is empty on 6 rows of data"
USED = RowsUsed(
    before=4200,
    used=3961,
    steps=(
        RowStep(line=2, before=4200, after=4082, reason="with status cancelled"),
        RowStep(line=3, before=4082, after=4018, reason="where country is missing"),
        RowStep(line=4, before=4018, after=3961, reason="with an unreadable date"),
    ),
)


def test_a_card_with_everything_that_a_person_must_know() -> None:
    plan = CodePlan(
        description="Revenue by month and shop.",
        approach="Group by month.",
        outputs=(OutputSpec(name="monthly", type="DataFrame"),),
        assumptions=tuple(
            f"Orders of kind {number} count for the month in which they were paid, not sent." for number in range(5)
        ),
    )
    differs = SecondOpinion(
        state="differ",
        compared=("monthly",),
        differences=(
            Difference(where="monthly.revenue", first="5863.3", second="5805.1", at="2024-03", count=71, of=71),
        ),
        readings=(Reading(words="discount subtracted", line="Subtract the discount.", assumption=plan.assumptions[0]),),
        confirms="first",
    )
    tests = tuple(TestOutcome(id=f"test_{number}", outcome="passed") for number in range(9))
    strength = Strength(dependences=(HiddenInput(on="the date", reads=("today()",), lines=(3,), differs=True),))
    report = Report(name="monthly", run_id="1", prompt="p", success=True, plan=plan, seconds=18.0, attempts=2)
    report = report.model_copy(
        update={
            "evidence": Evidence(
                tests=tests, strength=strength, remarks=("monthly is empty on 6 rows of data",), rows_used=USED
            ),
            "second_opinion": differs,
            "solution": CodeSolution(code="def run(orders):\n    return orders"),
            "written_by": "openai/gpt-4.1",
        }
    )
    shown = SampleOutputs((Glimpse("monthly", table=TABLE),))
    state = run_of(report, "ready").apply(shown)
    words, lines = words_and_lines(state)
    assert 60 < words <= 120 and lines <= 20
    first = Seen(card_html(state)).text
    for must in ("With the reading", "71 of 71 rows", "is empty on 6 rows", "depends on it", "→ 3,961 used", "9 tests"):
        assert must in first
