from __future__ import annotations

import re
from typing import Any

import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.display.inspector.document import pending_html, render_html, render_text
from autocoder_jupyter.types import Report
from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview
from tests.cases import each
from tests.display.inspector.large import large
from tests.display.inspector.results import HOSTILE, MENDED, NASTY, SENT, TRACED, subject


def test_every_section_is_there_in_order(read: Any) -> None:
    page = read(render_html(subject(options=CallOptions())))
    places = [
        page.text.index(words)
        for words in (
            "growth.run(sales: DataFrame",
            "def run",
            "def test_sum",
            "Exactly what was sent",
            "autocode:abc",
            "Attempt 1",
            "You plan.",
        )
    ]
    assert places == sorted(places)
    assert "details" in page.tags and "script" not in page.tags


@pytest.mark.parametrize("part", ["all", "report"])
def test_the_page_shows_what_success_rests_on(part: Any, read: Any) -> None:
    html, text = read(render_html(subject(), part)).text, render_text(subject(), part)
    for words in (
        "growth.run(sales: DataFrame",
        "Ready, not fully checked",
        "adds up",
        "two runs agree",
        "ties keep their order",
        "test_nothing",
        "cost unknown",
        "2 attempts",
        "docker (a container",
    ):
        assert words in html
        assert words in text
    assert "scikit-learn==1.7" in html and "3.11" in html


@pytest.mark.parametrize(
    ("state", "words"), [("failed", "Failed"), ("cancelled", "Cancelled"), ("over_budget", "Out of budget")]
)
def test_how_it_ended_is_said_as_on_the_card(state: Any, words: str, read: Any) -> None:
    report = Report(name="growth", run_id="r", prompt="p", success=False, error="growth was cancelled.")
    for said in (read(render_html(subject(report, state))).text, render_text(subject(report, state))):
        assert words in said and "growth was cancelled." in said and "not tested" not in said


def test_the_calls_of_an_agent_are_there_only_where_one_wrote(read: Any) -> None:
    html, text = read(render_html(subject(TRACED))).text, render_text(subject(TRACED))
    for words in (html, text):
        assert "backend: claude · 3 of 50 turns" in words
        assert "4 calls: Bash 3, Write 1; 3 safe, 1 denied; 1 failed; 1 replayed" in words
        assert "Tests changed by the agent since it first wrote them: test_sum" in words
    folded = re.findall(r"<summary[^>]*>([^<]*)</summary>", render_html(subject()))
    assert "Trace" in html and not {"Trace", "Second opinion"} & set(folded)  # no empty part can be folded


def test_the_trace_alone_has_the_calls_in_order(read: Any) -> None:
    html = read(render_html(subject(TRACED), "trace")).text
    assert "def run" not in html and "Denied: no network." in html
    lines = render_text(subject(TRACED), "trace").splitlines()
    assert lines[3] == "  2  turn 1  ✓ ok  Write solution.py  safe · ↺ replayed"
    assert lines[4] == "  3  turn 2  ⊘ denied  Bash curl x.example  no network"


def test_what_failed_says_why_and_keeps_the_best_attempt(read: Any) -> None:
    failed = subject(MENDED.model_copy(update={"success": False, "error": "no progress"}))
    page = read(render_html(failed)).text
    assert "● Failed" in page and "no progress" in page and "def run" in page


def test_one_side_of_it_is_that_side_only(read: Any) -> None:
    code, tests = (read(render_html(subject(), part)).text for part in ("code", "tests"))
    assert "def run" in code and "test_sum" not in code
    assert "def test_sum" in tests and "adds up" in tests and "def run" not in tests
    assert MENDED.solution is not None and render_text(subject(), "code") == MENDED.solution.code
    assert render_text(subject(), "tests") == MENDED.tests


def test_the_saved_form_shows_of_the_samples_what_the_share_allows() -> None:
    asked = []

    def overviews(share: Any) -> dict[str, Overview]:
        asked.append(share)
        bars = (Bar("0 – 5", 4711), Bar("5 – 10", 3))
        return {
            "sales": Overview(
                "DataFrame", "3 rows", (ColumnOverview("price", "int64", 0, 3, drawing="histogram", bars=bars),)
            )
        }

    html = render_html(subject(overviews=overviews))
    assert "price" in html and "4711" not in html and "4,711" not in html  # the model was told no such count
    render_html(subject(overviews=overviews, sent={**SENT, "share": "stats"}))
    render_html(subject(overviews=overviews, sent={}))
    assert asked == ["rows", "stats", "schema"]


def test_schemas_are_saved_unless_only_names_may_be_seen() -> None:
    assert "DataFrameSchema" in render_html(subject())
    assert "DataFrameSchema" not in render_html(subject(sent={**SENT, "share": "schema"}))


def test_a_form_stays_small_whatever_was_written(read: Any) -> None:
    """Three attempts, ten tests, a sample of twenty columns; then the same with the longest possible texts."""
    for times in (1, 40):
        html = render_html(large(times))
        assert len(html.encode()) < 70_000
        page = read(html).text
        for words in ("Ready", "growth.run(sales: DataFrame", "Attempt 3", "test_9", "docker (a container"):
            assert words in page
        assert ("def run(" in page) is (times == 1)
        assert "'column'" in page or times > 1
        assert "Too long for a saved notebook: %autocode show growth shows it in the kernel." in page


def test_a_pending_result_is_one_line(read: Any) -> None:
    for waits in (True, False):
        assert read(pending_html("<autocode <growth> running>", waits=waits)).text == "<autocode <growth> running>"


@each("part", ["all", "code", "tests", "report", "trace"])
@each("share", ["rows", "schema"])
def test_nothing_from_outside_becomes_markup(part: Any, share: str, read: Any) -> None:
    column = ColumnOverview(
        HOSTILE, HOSTILE, 0, 1, facts=((HOSTILE, HOSTILE),), drawing="ranking", bars=(Bar(HOSTILE, 3),)
    )
    overview = Overview(HOSTILE, HOSTILE, (column,))
    sent = {"share": share, "text": HOSTILE, "masked": {HOSTILE: 1}, "left_out": {HOSTILE: [HOSTILE]}}
    nasty = subject(NASTY, sent=sent, overviews=lambda share: {HOSTILE: overview})
    page = read(render_html(nasty, part))
    assert "script" not in page.tags
    for said in (page.text, render_text(nasty, part)):
        assert "\x1b" not in said and "\u202e" not in said
