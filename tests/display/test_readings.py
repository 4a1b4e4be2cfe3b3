"""The second opinion on the card: first the numbers, then the interpretation, then how to select it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from autocoder_jupyter.display.inspector import document
from autocoder_jupyter.display.inspector.conversation import CONVERSATION_SAVED, conversation_section
from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.display.verified import opinion_blocks
from autocoder_jupyter.run.events import Finished, OpinionGiven, SampleOutputs, StageFinished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import Difference, Exchange, Reading, Report, SecondOpinion, Usage
from autocoder_jupyter.types.records import Excerpt, Glimpse
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.document import Block, Row

BEST = Difference(where="best_month", first="2024-11", second="2024-03")
GROWTH = Difference(where="monthly.growth", first="0.1", second="0.42", at="2024-03-01", count=10, of=12)
YEARLY = Reading(
    words="year on year", line="Growth is year on year.", assumption="Growth compares with the month before."
)
DIFFERS = SecondOpinion(
    state="differ",
    differences=(BEST, GROWTH),
    readings=(YEARLY,),
    confirms="first",
    usage=Usage(input_tokens=2000, output_tokens=300, cost=0.01),
)


def words(shown: str | Iterable[Block]) -> str:
    html = shown if isinstance(shown, str) else blocks_html(shown)
    return re.sub(r"<[^>]*>|\N{NO-BREAK SPACE}", " ", html)


def lines_of(name: str, opinion: SecondOpinion | None) -> list[str]:
    return blocks_text([Row("Second opinion", opinion_blocks(name, opinion))])


def test_a_reading_is_told_in_numbers_with_what_it_hangs_on_and_how_to_have_it() -> None:
    html = blocks_html(opinion_blocks("growth", DIFFERS))
    told = words(html)
    assert "With the reading “year on year”, best_month would be 2024-03 instead of 2024-11." in told
    assert "It depends on: Growth compares with the month before." in told
    assert "monthly.growth would differ in 10 of 12 rows: 0.42 instead of 0.10 at 2024-03-01." in told
    assert 'aria-label="Use this reading"' in html and "%%autocode growth --refine\nGrowth is year on year." in html
    assert (
        "%autocode reply growth use 1" in told
        and "2.0K tokens in, 300 out · $0.010, included in the total above" in told
    )


@pytest.mark.parametrize("state", ["differ", "agree"])
def test_what_is_easy_to_misunderstand_is_told_also_where_both_agree(state: str) -> None:
    points = ("net: with or without \x1b[2Jtax.", "month: of the order or of the payment", "a " * 300, "a fourth")
    opinion = SecondOpinion.model_validate({"state": state, "compared": ("total",), "misunderstandings": points})
    told = words(opinion_blocks("growth", opinion))
    assert "Easy to misunderstand: net: with or without \\x1b[2Jtax; month: of the order or of the payment; a a" in told
    assert "a fourth" not in told


def test_a_terminal_is_told_the_same_with_the_command() -> None:
    lines = lines_of("growth", DIFFERS)
    assert (
        lines[0] == "second opinion: ≠ With the reading “year on year”, best_month would be 2024-03 instead of 2024-11."
    )
    assert "second opinion: %autocode reply growth use 1 adds to the request: Growth is year on year." in lines


def test_a_function_that_is_not_ready_offers_no_reading() -> None:
    assert "--refine" not in blocks_html(opinion_blocks("", DIFFERS)) and not any(
        "%autocode" in line for line in lines_of("", DIFFERS)
    )


def test_rows_variations_and_errors_are_told_in_words() -> None:
    differences = (
        Difference(
            where="top", first="2 rows", second="3 rows", at="c only in the second solution", on="with shuffled rows"
        ),
        Difference(where="total", first="an error (ValueError: x)", second="3"),
    )
    told = words(opinion_blocks("", SecondOpinion(state="differ", differences=differences)))
    assert "With shuffled rows, top would have 3 rows instead of 2 rows (c only in the second solution)." in told
    assert "total would be 3 instead of an error (ValueError: x)." in told


def test_a_difference_outside_of_the_data_is_told_beside_an_agreement() -> None:
    twice = Difference(where="total", first="4", second="5", on="if a key came twice")
    opinion = SecondOpinion(state="agree", compared=("total",), tried=("with two rows",), differences=(twice,))
    told = words(opinion_blocks("growth", opinion))
    assert "✓  A second solution gives the same result on the sample and 1 variation of it." in told
    assert "If a key came twice, total would be 5 instead of 4." in told and "≠" not in told


def test_a_doubt_that_changed_nothing_says_why_and_a_derivation_what_it_was_given() -> None:
    stays = DIFFERS.model_copy(update={"confirms": "second", "stays": "The test test_a contradicts it."})
    told = words(opinion_blocks("growth", stays))
    assert "⚠  A third derivation on a small input confirms the second solution, so the function may be wrong." in told
    assert "The function stays as it is. The test test_a contradicts it." in told
    assert "an input on which the code was wrong" not in told
    first = words(opinion_blocks("growth", DIFFERS))
    assert "confirms that the function follows the plan. It does not confirm the assumptions." in first


def test_a_question_without_an_answer_is_on_the_card() -> None:
    asked = ("the correct output of a small input", "what is read otherwise")
    said = f"A question for {asked[0]} and {asked[1]} had no answer. The next run asks it again."
    assert said in words(opinion_blocks("growth", DIFFERS.model_copy(update={"unanswered": asked})))
    none = SecondOpinion(note="It did not come.", unanswered=("a second solution",))
    assert any("A question for a second solution had no answer." in line for line in lines_of("growth", none))


def test_where_values_are_withheld_only_the_place_is_told() -> None:
    column = Difference(where="monthly.growth", first="", second="", count=10, of=12)
    told = words(opinion_blocks("", SecondOpinion(state="differ", differences=(column,), readings=(YEARLY,))))
    assert "With the reading “year on year”, monthly.growth would differ in 10 of 12 rows." in told


def test_agreement_absence_and_what_it_found_wrong_are_each_one_sentence() -> None:
    agreed = SecondOpinion(state="agree", tried=("a", "b"), tests=("test_second_opinion_1",))
    told = words(opinion_blocks("", agreed))
    assert "✓  A second solution gives the same result on the sample and 2 variations of it." in told
    assert "an input on which the code was wrong. It is a test now: test_second_opinion_1." in told
    assert "It did not come." in words(opinion_blocks("", SecondOpinion(note="It did not come.")))
    assert opinion_blocks("growth", None) == () and lines_of("growth", None) == []


PARTLY = SecondOpinion(state="agree", compared=("total",), tried=("a", "b"), not_compared=("total.x: only here",))
SOME = PARTLY.model_copy(update={"state": "not compared", "not_compared": ("plot: a picture",)})
NOTHING = SecondOpinion(state="not compared", not_compared=("total: dict here, DataFrame there",))


@pytest.mark.parametrize(
    ("opinion", "sign", "said", "log"),
    [
        (
            PARTLY,
            "✓",
            "In what was compared, a second solution gives the same result on the sample and 2 variations of it.",
            "second opinion: agrees in what was compared",
        ),
        (
            SOME,
            "–",
            "Not all outputs were compared. A second solution gives the same total on the sample and 2 variations "
            "of it.",
            "second opinion: not all outputs were compared",
        ),
        (
            NOTHING,
            "–",
            "There is a second solution, but none of its outputs could be compared.",
            "second opinion: not all outputs were compared",
        ),
    ],
    ids=["a part", "an output", "nothing"],
)
def test_what_was_not_compared_is_said_in_every_form(opinion: SecondOpinion, sign: str, said: str, log: str) -> None:
    report = Report(name="growth", run_id="r", prompt="", success=True, second_opinion=opinion)
    card = FunctionRun("growth").apply(StageFinished("second", 1, True)).apply(OpinionGiven(opinion))
    card = card.apply(Finished("ready"))
    note = f"Not compared: {opinion.not_compared[0]}."
    for html in (card_html(card), evidence_section(Subject(report, "ready"))):
        assert f"{sign}  {said}" in words(html) and note in words(html)
        assert sign == "✓" or "✓  A second" not in words(html)
    for text in (
        document.render_text(Subject(report, "ready")),
        "\n".join(lines_of("", opinion)),
    ):
        assert f"second opinion: {sign} {said}" in text and f"second opinion: {note}" in text
    assert log in [line.text for line in card.log]
    assert "second opinion" in card_text(card), "what it rests on"


def test_numbers_are_written_as_in_the_table_of_the_card() -> None:
    entry = Difference(where="monthly.revenue", first="5863.3", second="5805.0", at="2024-01", count=71, of=71)
    opinion = SecondOpinion(state="differ", differences=(entry,))
    table = Excerpt(("month", "revenue"), (("2024-01", "5863.30"), ("2024-02", "22118.38")), "2 rows", (False, True))
    card = FunctionRun("growth", outputs=SampleOutputs((Glimpse("monthly", table=table),)))
    card = card.apply(OpinionGiven(opinion)).apply(Finished("ready"))
    assert "5805.00 instead of 5863.30" in words(card_html(card)) and "5863.3 " not in words(card_html(card))
    same = entry.model_copy(update={"first": "1.0", "second": "1.00"})  # texts, and not numbers
    card = FunctionRun("growth").apply(OpinionGiven(opinion.model_copy(update={"differences": (same,)})))
    assert "1.00 instead of 1.0" in words(card_html(card.apply(Finished("ready"))))


def test_the_card_shows_it_when_it_is_there_and_only_a_ready_one_offers_it() -> None:
    running = FunctionRun("growth").apply(OpinionGiven(DIFFERS))
    assert "Use this reading" not in card_html(running) and "year on year" in words(card_html(running))
    ready = running.apply(Finished("ready"))
    assert "Use this reading" in card_html(ready) and "%autocode reply growth use 1" in card_text(ready)


def test_the_inspector_shows_each_difference_the_smallest_input_the_sum_and_the_other_code() -> None:
    report = Report(name="growth", run_id="r", prompt="", success=True, second_opinion=DIFFERS.model_copy(update={
        "smallest": "sales = pd.DataFrame({})", "derivation": "150 / 100 - 1 = 0.5", "code": "def run(): pass",
        "tried": ("with shuffled rows",), "model": "openai/second",
    }))  # fmt: skip
    told = words(evidence_section(Subject(report, "ready")))
    for said in ("monthly.growth", "10 of 12", "with shuffled rows", "150 / 100 - 1 = 0.5", "by openai/second"):
        assert said in told
    without = words(evidence_section(Subject(report.model_copy(update={"second_opinion": None}), "ready")))
    assert "pd.DataFrame" in told.replace(" ", "") and "10 of 12" not in without


def test_the_conversation_has_a_line_of_its_own_for_what_it_took() -> None:
    said = Exchange(stage="second", key="k", model="m", messages=(), answer="", usage=DIFFERS.usage)
    report = Report(name="growth", run_id="r", prompt="", success=True, second_opinion=DIFFERS, usage=DIFFERS.usage)
    told = words(conversation_section(report.model_copy(update={"conversation_history": (said,)}), CONVERSATION_SAVED))
    assert re.search(r"second opinion only\s+2\.0K\s+0\s+300", told)
