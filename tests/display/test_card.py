from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import pytest

from autocoder_jupyter.display import card
from autocoder_jupyter.display.actions import WORDS, buttons, possible
from autocoder_jupyter.display.live import card_html, card_text, document_of, status_line, strip_of
from autocoder_jupyter.models.preflight import no_key
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.run import events
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import (
    EnvironmentReady,
    Event,
    Finished,
    KeptVerified,
    SampleOutputs,
    StageStarted,
    VersionBegun,
)
from autocoder_jupyter.run.function_run import AgentState, FunctionRun, LogLine, StageState, StreamedAnswer
from autocoder_jupyter.run.of_report import headline
from autocoder_jupyter.types import (
    Changes,
    CheckOutcome,
    CodePlan,
    ColumnSpec,
    DatabaseColumn,
    DatabaseTable,
    Difference,
    Evidence,
    InputSpec,
    OutputChange,
    OutputSpec,
    PlanQuestion,
    Reading,
    RowStep,
    RowsUsed,
    SampledDatabase,
    SecondOpinion,
    Strength,
    TestChoice,
    TestOutcome,
    ToolUse,
    Trace,
    Usage,
)
from autocoder_jupyter.types.records import STAGES, Excerpt, Glimpse, StageName
from autocoder_jupyter.view.as_html import document_html
from autocoder_jupyter.view.markup import style
from tests.cases import each

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\"'&\x1b[31mred\x1b]0;title\x07\u202egnp\x00"

FAILED = TestOutcome(id="test_sum", outcome="failed", sentence="adds up", message="assert 1 == 2\nmore")
PASSED = TestOutcome(id="test_rows", outcome="passed", seconds=0.012)
RUNNING = FunctionRun(
    "growth",
    max_cost=0.5,
    seconds=41,
    stage="run",
    attempt=2,
    of=4,
    stages=(("plan", StageState("done")), ("code", StageState("done", replayed=True)), ("run", StageState("running"))),
    expected=("test_sum", "test_rows", "test_late"),
    outcomes=(FAILED, PASSED),
    usage=Usage(input_tokens=12_300, cached_tokens=8_100, output_tokens=1_900, cost=0.031),
)


def hostile_state() -> FunctionRun:
    plan = CodePlan(
        description=HOSTILE,
        approach=HOSTILE,
        outputs=(OutputSpec(name=HOSTILE, type="str", meaning=HOSTILE),),
        assumptions=(HOSTILE,),
        packages=(HOSTILE,),
    )
    outcome = TestOutcome(id=HOSTILE, outcome="failed", sentence=HOSTILE, message=HOSTILE)
    evidence = Evidence(
        tests=(outcome,),
        checks=(CheckOutcome(name=HOSTILE, passed=False, message=HOSTILE),),
        vacuous_tests=(HOSTILE,),
        tests_changed=(HOSTILE,),
        rows_used=RowsUsed(
            table=HOSTILE, before=2, used=1, output=HOSTILE, steps=(RowStep(line=1, table=HOSTILE, reason=HOSTILE),)
        ),
    )
    opinion = SecondOpinion(
        state="differ",
        differences=(Difference(where=HOSTILE, first=HOSTILE, second=HOSTILE, at=HOSTILE, count=2, of=3, on=HOSTILE),),
        readings=(Reading(words=HOSTILE, line=HOSTILE, assumption=HOSTILE),),
        not_compared=(HOSTILE,),
        tests=(HOSTILE,),
    )
    table = DatabaseTable(home=HOSTILE, columns=(DatabaseColumn(name=HOSTILE),), comment=HOSTILE)
    database = SampledDatabase(
        name="shop", dialect="duckdb", tables={HOSTILE: table}, others=(HOSTILE,), queries=(HOSTILE,)
    )
    use = ToolUse(turn=1, tool=HOSTILE, argument=HOSTILE, kind="denied", reason=HOSTILE, outcome="denied")
    trace = Trace(calls=(use,), turns=1, max_turns=2, suite_changed=(HOSTILE,))
    return FunctionRun(
        second_opinion=opinion,
        backend=HOSTILE,
        house_rules=(HOSTILE,),
        databases=(database,),
        agent=AgentState(trace, (("a", use),), HOSTILE),
        packages=(HOSTILE,),
        environment=HOSTILE,
        sandbox=HOSTILE,
        name=HOSTILE,
        notice=(HOSTILE,),
        why=HOSTILE,
        writer=HOSTILE,
        drift=(HOSTILE,),
        option=HOSTILE,
        asks_for="name",
        is_kept=True,
        kept=HOSTILE,
        phase="failed",
        reason=HOSTILE,
        stages=(("plan", StageState("failed", HOSTILE)),),
        plan=plan,
        solution=HOSTILE,
        solutions=("x",),
        tests=HOSTILE,
        expected=(HOSTILE + "2",),
        outcomes=(outcome,),
        evidence=evidence,
        approval=(HOSTILE,),
        answers=(StreamedAnswer("plan", 7, HOSTILE), StreamedAnswer("code", fault=HOSTILE)),
        building=(HOSTILE,),
        questions=(PlanQuestion(text=HOSTILE, options=(HOSTILE, "b"), assumed=HOSTILE),),
        replies=(HOSTILE,),
        refinement=HOSTILE,
        changes=Changes(
            plan=plan.model_copy(update={"assumptions": (f"{HOSTILE}2",)}),
            code=f"{HOSTILE}2",
            tests=(TestChoice(id=HOSTILE, fate="dropped", reason=HOSTILE),),
            outputs=(OutputChange(name=HOSTILE, lines=(HOSTILE,)),),
        ),
        log=(LogLine(1.0, HOSTILE),),
        sent=HOSTILE,
        replaced=HOSTILE,
        later=HOSTILE,
        outputs=SampleOutputs(
            (Glimpse(HOSTILE, HOSTILE), Glimpse(HOSTILE, "", Excerpt((HOSTILE,), ((HOSTILE,),), HOSTILE, (False,))))
        ),
    )


def test_nothing_from_outside_becomes_markup(read: Any) -> None:
    page = read(card_html(hostile_state()))
    blocks = {"div", "details", "summary", "pre", "ul", "li", "table", "tr", "th", "td"}
    assert page.tags <= {*blocks, "span", "strong", "button"}
    ours = {"style", "class", "title", "open", "tabindex", "role", "aria-label", "scope"}
    assert page.attributes <= {*ours, "hidden", "data-autocode-option", "data-autocode-refines"}  # of buttons
    assert page.text.count("<script>alert(1)</script>") >= 15


@pytest.mark.parametrize("render", [card_html, card_text, status_line])
def test_no_escape_sequence_or_direction_override_comes_through(render: Any) -> None:
    shown = render(hostile_state())
    assert not {"\x1b", "\x00", "\x07", "\u202e"} & set(shown)


def test_the_hostile_state_fills_every_field_that_takes_text() -> None:
    state = hostile_state()
    empty = [field.name for field in fields(state) if getattr(state, field.name) in ("", ())]
    assert empty == [
        "waits",
        "silent",
        "limit",
        "effort",
        "beside",
        "answered",
    ]  # words of this package, and what is not shown


def test_the_card_needs_nothing_from_outside() -> None:
    page = card_html(RUNNING)
    assert not any(word in page for word in ("http", "url(", "src=", "href", "<style", "@import"))
    assert not re.findall(r"var\(--[\w-]+\)", page)  # each variable has a fallback


def test_the_header_says_where_it_is_and_what_it_costs(read: Any) -> None:
    text = read(card_html(RUNNING)).text
    assert text.startswith("growth ● Running the tests 1 of 3 tests passed · attempt 2 of 4 · 12.3K tokens in")
    assert "12.3K tokens in (8.1K cached), 1.9K out · $0.031 of $0.50" in text


def test_a_verified_function_is_ready_while_the_rest_runs(read: Any) -> None:
    tests = tuple(TestOutcome(id=f"test_{n}", outcome="passed") for n in range(3))
    run = replace(RUNNING, outcomes=tests, expected=(), evidence=Evidence(tests=tests))
    both = run.apply(events.FunctionVerified(1, ("second opinion", "trial of the tests")))
    text = read(card_html(both)).text
    assert text.startswith("growth ● Ready, not fully checked 3 of 3 tests passed")
    assert "second opinion and trial of the tests running …" in status_line(both).casefold()
    assert (
        text.casefold().count("second opinion running") == 1
        and "no second opinion" not in text
        and "agrees" not in text
    )
    assert {"call", "insert-call", "inspect", "cancel"} <= set(buttons(both))
    assert not {"call", "inspect"} & set(buttons(run))
    again = both.apply(events.StageStarted("run", 1, 4))  # its wider tests
    assert again.passed == 3 and headline(again) == "Ready, not fully checked"
    for ended in (events.FunctionVerified(1), events.Finished("failed", "over")):
        assert not both.apply(ended).is_ready and "opinion running" not in read(card_html(both.apply(ended))).text


def test_what_holds_it_up_is_said_once(read: Any) -> None:
    retrying = replace(RUNNING, answers=(StreamedAnswer("code", fault="rate limit; next try after 4 s"),))
    loading, planned = replace(RUNNING, loading=True), replace(RUNNING, effort="Effort quick: 2 questions")
    for state, words in (
        (retrying, "Rate limit; next try after 4 s"),
        (loading, "Loading the model client"),
        (planned, "Effort quick: 2 questions"),
    ):
        assert words in read(strip_of(state).now).text and words in status_line(state)
        assert words not in read(card_html(state)).text, "the line below the card has it"
        assert words not in status_line(replace(state, answers=(), loading=False, effort=""))


def test_every_stage_has_its_place_from_the_start(read: Any) -> None:
    assert "○ Plan ○ Code ○ Tests ○ Environment ○ Run ○ Verify" in read(card_html(FunctionRun("growth"))).text
    assert "✓ Plan ↺ Code ○ Tests ○ Environment ◐ Run ○ Verify" in read(card_html(RUNNING)).text


@pytest.mark.parametrize(
    ("evidence", "marks"),
    [
        pytest.param(Evidence(checks=(CheckOutcome(name="x", passed=False),)), "✗ Run ✗ Verify", id="found"),
        pytest.param(None, "✗ Run ✓ Verify", id="not looked at yet"),
    ],
)
def test_a_stage_that_found_a_fault_is_marked(evidence: Any, marks: str, read: Any) -> None:
    done: tuple[tuple[StageName, StageState], ...] = (("run", StageState("done")), ("verify", StageState("done")))
    assert marks in read(card_html(replace(RUNNING, stages=done, evidence=evidence))).text


def test_time_passing_and_words_arriving_change_nothing_on_the_card() -> None:
    wrote = replace(RUNNING, seconds=42, last_event=42, answers=(StreamedAnswer("fix", 900, "import"),))
    assert card_html(wrote) == card_html(RUNNING)


def test_an_unknown_cost_is_called_unknown() -> None:
    text = card_text(replace(RUNNING, usage=Usage(input_tokens=10, cost=None)))
    assert "cost unknown, limit $0.50" in text


def test_pending_tests_are_listed_without_an_outcome(read: Any) -> None:
    assert "… waits test_late" in read(card_html(RUNNING)).text


def test_a_slow_first_attempt_is_called_slow() -> None:
    assert "slower than usual" in status_line(replace(RUNNING, attempt=1, seconds=30.0))
    assert "slower than usual" not in status_line(replace(RUNNING, attempt=2, seconds=30.0))


PLAN = CodePlan(description="d", approach="a", assumptions=("month of the order date",))


@each(
    ("changes", "expected"),
    [
        pytest.param({"phase": "ready"}, ["Ready", "read as: month of the order date"], id="ready"),
        pytest.param(
            {"phase": "ready", "evidence": Evidence(tests_changed=("test_sum",))},
            ["Ready, not fully checked", "tests were changed"],
            id="ready with changed tests",
        ),
        pytest.param(
            {"phase": "ready", "reason": "It cost $0.62, more than the budget of $0.5."},
            ["Ready, not fully checked", "over its budget", "It cost $0.62, more than the budget"],
            id="ready over its budget",
        ),
        pytest.param(
            {"phase": "failed", "reason": "no progress", "solution": "x"},
            ["Failed · test_sum: assert 1 == 2", "no progress"],
            id="failed",
        ),
        pytest.param(
            {"phase": "cancelled", "reason": "A newer run took over."}, ["Cancelled", "newer run"], id="cancelled"
        ),
        pytest.param(
            {"phase": "over_budget", "reason": "$0.50 spent"}, ["Out of budget", "$0.50 spent"], id="out of budget"
        ),
        pytest.param(
            {"phase": "waiting", "approval": ("evilpkg",)},
            ["Waiting for approval", "evilpkg", "%autocode reply growth yes evilpkg", "%autocode reply growth no"],
            id="waiting for approval",
        ),
        pytest.param(
            {"phase": "ready", "stages": (("plan", StageState("done", replayed=True)),)},
            ["replayed from the journal"],
            id="replayed",
        ),
    ],
)
def test_each_state_says_what_it_is_in_html_and_in_text(
    changes: dict[str, Any], expected: list[str], read: Any
) -> None:
    state = replace(RUNNING, plan=PLAN, **changes)
    html = read(card_html(state)).text
    for words in expected:
        assert words in card_text(state)
        assert words.removeprefix("read as: ").removeprefix("Failed · ") in html


def test_what_cost_more_than_it_might_is_not_green() -> None:
    passed = Evidence(tests=(TestOutcome(id="test_a", outcome="passed"),), strength=Strength())
    agrees = SecondOpinion(state="agree", compared=("a",))
    state = replace(RUNNING, phase="ready", evidence=passed, second_opinion=agrees)
    green, dear = (card_html(replace(state, reason=reason)) for reason in ("", "It cost $0.62."))
    assert style("edge-good") in green.split("growth")[0] and style("edge-good") not in dear.split("growth")[0]


def test_a_run_that_wrote_nothing_says_neither_who_wrote_it_nor_where_nor_how_often_it_was_tried(read: Any) -> None:
    ready = EnvironmentReady("local:abc", (), 1.0, (), "local", "landlock")
    running = FunctionRun("growth", writer="openai/gpt-4.1", attempt=1, of=3).apply(ready)
    ended = running.apply(Finished("failed", "There is no key for openai/gpt-4.1."))
    text = read(card_html(ended)).text
    assert "There is no key" in text
    assert not [words for words in ("Written by", "landlock", "1 attempt") if words in text]
    tried = read(card_html(replace(running, solution="x").apply(Finished("failed", "No.")))).text
    assert all(words in tried for words in ("openai/gpt-4.1", "landlock", "1 attempt"))


def test_the_card_names_the_tier_and_what_it_does_not_hold(read: Any) -> None:
    ready = EnvironmentReady("local:abc", (), 1.0, (), "local", "landlock")
    state = replace(RUNNING.apply(ready), phase="ready", solution="x = 1")
    line = (
        "local, tier landlock (Landlock alone): your files and processes are out of reach; "
        "it can see that a file exists, and its size; memory and disk limits can be passed briefly"
    )
    name, holds = line.split(": ")
    html = card_html(state)
    assert f">{name}</summary>" in html and holds in read(html).text
    assert html.index("History</summary>") < html.index(name), "behind a fold"
    assert "Sandbox" not in read(card_html(RUNNING)).text, "before it is known"


def test_a_failed_card_points_to_the_best_attempt(read: Any) -> None:
    assert "best attempt is kept" in read(card_html(replace(RUNNING, phase="failed", solution="x"))).text


@pytest.mark.parametrize("phase", ["running", "ready"])
def test_assumptions_are_in_view_and_never_folded(phase: Any, read: Any) -> None:
    page = card_html(replace(RUNNING, plan=PLAN, phase=phase))
    assert "month of the order date" in page.partition("<details")[0]


def test_a_ready_card_says_how_to_call_and_what_passed(read: Any) -> None:
    evidence = Evidence(tests=(PASSED,), checks=(CheckOutcome(name="two runs agree", passed=True),))
    plan = PLAN.model_copy(update={"outputs": (OutputSpec(name="total", type="float"),)})
    state = replace(RUNNING, phase="ready", plan=plan, evidence=evidence)
    text = read(card_html(state)).text
    assert "growth.run() -> total: float" in text and "✓ passed two runs agree" in text
    assert "verified in part: 1 test" in card_text(state) and "growth.run() runs it" in card_text(state)
    assert text.index("Verified") < text.index("Call") < text.index("two runs agree"), "folds are below"


def test_the_stages_are_gone_at_the_end(read: Any) -> None:
    done: tuple[tuple[StageName, StageState], ...] = tuple((stage, StageState("done")) for stage in STAGES)
    state = replace(RUNNING, phase="ready", stages=done, outcomes=(PASSED,))
    assert "✓ Plan" not in read(card_html(state)).text
    for phase in ("failed", "cancelled", "over_budget"):
        assert "✓ Plan" not in read(card_html(replace(state, phase=phase))).text


def test_what_the_person_demands_is_shown_apart_and_fails_first(read: Any) -> None:
    mine = CheckOutcome(name="your test test_mine", passed=False, message="assert 3 == 4")
    held = CheckOutcome(name="total >= 0", passed=True)
    state = replace(RUNNING, phase="failed", outcomes=(FAILED,), evidence=Evidence(acceptance=(mine, held)))
    text = read(card_html(state)).text
    shown = text[text.index("Your tests") :]
    assert 0 < shown.index("failed") < shown.index("your test test_mine") < shown.index("total >= 0")
    assert text.index("Failed ✗ your test test_mine") < text.index("Your tests"), "what failed is above the fold"
    assert text.index("your test test_mine") < text.index("test_sum")
    assert "your test test_mine: assert 3 == 4" in text.partition("Failed ✗ your test")[0]
    assert text.count("of 3 tests") == 1 and "of your 2 tests" not in text
    told = card_text(state).splitlines()
    assert "  failed: ✗ your test test_mine assert 3 == 4" in told
    assert "Your tests" not in read(card_html(replace(state, evidence=Evidence()))).text


def test_the_line_of_pytest_that_says_why_is_shown(read: Any) -> None:
    failed = FAILED.model_copy(update={"message": "test_solution.py:14: in test_sum\nE   assert 3 == 4"})
    state = replace(RUNNING, phase="failed", outcomes=(failed,))
    assert "Failed · test_sum: assert 3 == 4" in card_text(state)


def test_an_assertion_stands_once_on_a_failed_card(read: Any) -> None:
    message = "test_solution.py:14: in test_sum\nE   assert 3 == 4"
    failed, other = (FAILED.model_copy(update={"id": name, "message": message}) for name in ("test_sum", "test_all"))
    reason = "Not solved in 2 attempts. 1 of 2 tests fail, first test_sum: assert 3 == 4\nStill to fix: more"
    state = replace(RUNNING, phase="failed", outcomes=(PASSED, failed), reason=reason, tests="")
    assert card_text(state).count("3 == 4") == 1 and "Failed · test_sum: assert 3 == 4" in card_text(state)
    assert "  Not solved in 2 attempts. 1 of 2 tests fail.\n  Still to fix: more" in card_text(state)
    assert read(card_html(state)).text.partition("▸Tests")[0].count("test_sum: assert 3 == 4") == 1
    both = card_text(replace(state, outcomes=(failed, other)))
    assert both.count("3 == 4") == 2, "another test says what it found"


def test_the_headline_cuts_no_assertion_but_names_what_failed() -> None:
    message = f"E   assert {list(range(40))} == []"
    state = replace(RUNNING, phase="failed", outcomes=(FAILED.model_copy(update={"message": message}),))
    text = card_text(state)
    assert "Failed · ✗ test_sum · " in text.splitlines()[0]
    assert text.count(message.removeprefix("E   ")) == 1


def test_what_failed_is_in_view_while_it_is_fixed(read: Any) -> None:
    tested = Evidence(tests=(FAILED, PASSED), acceptance=(CheckOutcome(name="mine", passed=False, message="2 < 3"),))
    fixing = replace(RUNNING, stage="fix", evidence=tested)
    text = read(card_html(fixing)).text
    shown = text[: text.index("Your tests ✗ failed mine")]
    assert "Failed ✗ mine 2 < 3✗ test_sum adds upassert 1 == 2" in shown
    assert text.count("2 < 3") == 1
    again = fixing.apply(StageStarted("run", 3, 4))
    assert "✗ test_sum" not in read(card_html(again)).text, "its tests run anew"


def test_a_run_out_of_budget_says_that_first_and_what_failed_below() -> None:
    shown = card_text(replace(RUNNING, phase="over_budget", reason="The rest is too small.", solution="x"))
    first, *below = shown.splitlines()
    assert first.startswith("● growth  Out of budget · 1 of 3 tests passed") and "assert" not in first
    assert "assert 1 == 2" in "".join(below)


def test_a_run_out_of_budget_keeps_its_plan_and_says_what_was_spent_of_it(read: Any) -> None:
    plan = PLAN.model_copy(update={"inputs": (InputSpec(name="sales", type="DataFrame"),)})
    text = read(card_html(replace(RUNNING, phase="over_budget", reason="The rest is too small.", plan=plan))).text
    assert "$0.031 of $0.50" in text and "The rest is too small." in text and "growth.run(sales: DataFrame" in text


def test_a_refinement_stands_once(read: Any) -> None:
    refined = replace(RUNNING, refinement="Also by region.", why="refined: Also by region.")
    assert read(card_html(refined)).text.count("Also by region.") == 1
    assert "New version" in read(card_html(replace(refined, why="new wording"))).text


def test_a_mark_and_an_arrow_are_not_left_alone_by_a_narrow_page() -> None:
    plan = PLAN.model_copy(update={"outputs": (OutputSpec(name="total", type="float"),)})
    html = card_html(replace(RUNNING, phase="failed", plan=plan))
    assert "✗</strong>\N{NO-BREAK SPACE}<span" in html
    assert 'growth.run() <span style="white-space:nowrap">-&gt;</span> total: float<' in html


def test_the_headline_of_a_function_that_ran_out_of_time_says_after_how_long() -> None:
    late = "The program ran longer than 3 s and was stopped."
    tests = tuple(
        FAILED.model_copy(update={"id": name, "outcome": "missing", "message": told})
        for name, told in (("test_one", ""), ("test_two", late))
    )
    text = card_text(replace(RUNNING, phase="failed", outcomes=tests))
    assert text.splitlines()[0].startswith("● growth  Failed · timed out after 3 s · ")
    assert "it never ended" in text and ": missing" not in text and "ran longer" not in text
    hostile = FAILED.model_copy(update={"message": f"E {late.replace('3', '9' * 10**6)}"})
    assert "timed out" not in card_text(replace(RUNNING, phase="failed", outcomes=(hostile,)))


def test_a_run_has_the_attempts_of_its_report() -> None:
    state = RUNNING.apply(StageStarted("run", 2, 3)).apply(Finished("over_budget", "Too dear.", "", 1))
    assert "1 attempt · " in card_text(state)


def test_a_reason_that_repeats_the_title_is_left_out() -> None:
    assert card_text(replace(RUNNING, phase="cancelled", reason="Cancelled.")).lower().count("cancelled") == 1


def test_a_fix_shows_what_it_changed(read: Any) -> None:
    text = read(card_html(replace(RUNNING, solutions=("x = 1",), solution="x = 2"))).text
    assert "-x = 1\n+x = 2" in text


TABLE = Excerpt(("month", "revenue"), (("2024-01-01", "21"), ("2024-02-01", "–")), "12 rows × 2 columns", (False, True))


def test_a_ready_card_shows_the_first_rows_of_each_output(read: Any) -> None:
    seen = SampleOutputs((Glimpse("monthly", table=TABLE), Glimpse("best_month", "2024-12")))
    state = replace(RUNNING, phase="ready", plan=PLAN, outputs=seen)
    page = read(card_html(state))
    assert (
        "monthly 12 rows × 2 columns" in page.text and "2024-02-01" in page.text and "best_month 2024-12" in page.text
    )
    lines = card_text(state).splitlines()
    place = lines.index("  output monthly: 12 rows × 2 columns")
    assert [line.split() for line in lines[place + 1 : place + 3]] == [["month", "revenue"], ["2024-01-01", "21"]]
    assert "  output best_month: 2024-12" in lines


@each(
    ("changes", "typed"),
    [
        ({"phase": "ready"}, ["growth.run(sales) runs it", "%autocode insert growth", "growth shows the whole result"]),
        ({"phase": "failed", "limit": "max_iterations", "of": 4}, ["%autocode retry growth", "--max-iterations 8"]),
        (
            {"phase": "over_budget", "limit": "max_cost"},
            ["--max-cost 1 in its cell raises the limit, or any other amount"],
        ),
        ({"phase": "over_budget", "limit": "max_cost", "needs": 0.8123}, ["--max-cost 1.7 in its cell"]),
        ({"phase": "failed", "solution": "x"}, ["%autocode show growth --code"]),
        ({"phase": "running"}, []),
    ],
)
def test_where_there_are_no_buttons_it_says_what_can_be_typed(
    changes: dict[str, Any], typed: list[str], read: Any
) -> None:
    plan = PLAN.model_copy(update={"inputs": (InputSpec(name="sales", type="DataFrame"),)})
    state = replace(RUNNING, plan=plan, **changes)
    html, text = read(card_html(state)).text, card_text(state)
    assert all(words in html and words in text for words in typed)
    assert ("Next" in html) is ("next:" in text) is bool(typed)


def test_rows_that_are_not_shared_are_not_kept_on_the_card(read: Any) -> None:
    state = replace(RUNNING, phase="ready", plan=PLAN, outputs=SampleOutputs(withheld=True))
    for shown in (read(card_html(state)).text, card_text(state)):
        assert "Rows are not saved here because share forbids it. growth.run() shows them." in shown


@pytest.mark.parametrize("checks", [(), (CheckOutcome(name="revenue >= 0", passed=False, message="row 3 is -1"),)])
def test_the_first_line_names_what_failed(checks: Any, read: Any) -> None:
    outcomes = (PASSED,) if checks else (PASSED, FAILED)
    state = replace(RUNNING, phase="failed", expected=(), outcomes=outcomes, evidence=Evidence(checks=checks))
    words = "revenue >= 0: row 3 is -1" if checks else "test_sum: assert 1 == 2"
    assert words in card_text(state).splitlines()[0]
    assert words in read(card_html(state)).text.partition("Plan")[0]


def test_a_card_stays_small_whatever_was_written(read: Any) -> None:
    """Three attempts, ten tests, a sample of twenty columns; then the same with the longest possible texts."""
    for times in (1, 40):
        html = card_html(large_state(times))
        assert len(html.encode()) < 20_000
        page = read(html).text
        assert "test_9" in page and "Ready" in page and "growth.run(" in page
        assert ("def run(" in page) is (times == 1)
        assert "shows it" in page or "shows all of it" in page


def large_state(times: int) -> FunctionRun:
    code = "\n".join(["import pandas as pd", "", "def run(sales):", *(
        f'    result_{n} = sales["column_{n}"].groupby(sales["region"]).agg("sum", min_count={n})  # step {n}'
        for n in range(40 * times)
    )])  # fmt: skip
    tests = "\n".join(
        f'def test_{n}():\n    """sentence {n}"""\n' + f"    assert run(sales={{'a': [{n}]}}) == {n}\n" * 8 * times
        for n in range(10)
    )
    columns = tuple(ColumnSpec(name=f"column_{n}", dtype="float64", meaning="sum of it") for n in range(20 * times))
    plan = CodePlan(
        description="d " * 100 * times,
        approach="a " * 100 * times,
        outputs=(OutputSpec(name="monthly", type="DataFrame", columns=columns), OutputSpec(name="best", type="str")),
        assumptions=tuple(f"assumption {n}" * times for n in range(6)),
    )
    outcomes = tuple(
        TestOutcome(id=f"test_{n}", outcome="passed", seconds=0.01, sentence="it adds up") for n in range(10)
    )
    wide = Excerpt(*(tuple(f"column_{n}" for n in range(6)), (("x" * 24,) * 6,) * 5, "9 rows", (True,) * 6))
    return FunctionRun(
        "growth",
        phase="ready",
        attempt=3,
        of=4,
        stages=tuple((stage, StageState("done")) for stage in STAGES),
        plan=plan,
        solution=code,
        solutions=(code.replace("sum", "mean"),),
        tests=tests,
        outcomes=outcomes,
        evidence=Evidence(tests=outcomes, checks=(CheckOutcome(name="two runs agree", passed=True),)),
        log=tuple(LogLine(n, f"stage {n} done") for n in range(200)),
        sent="20 columns\n" + "a line of the profile of a column, as it is told\n" * 100 * times,
        outputs=SampleOutputs((Glimpse("monthly", table=wide), Glimpse("best", "2024-12"))),
    )


def test_a_kept_function_says_what_it_was_verified_on_and_a_new_one_why_it_was_made() -> None:
    kept = folded(VersionBegun("a1", kept=True), KeptVerified("5,061 rows"), Finished("ready"))
    assert "kept: verified on 5,061 rows" in card_text(kept) and "kept: verified on 5,061 rows" in card_html(kept)
    assert kept.replayed and "replayed" not in card_text(kept)
    why = "version 1 fails on this data: <b>2 of 5 tests fail</b>"
    anew = folded(VersionBegun("a1", kept=True), VersionBegun("a1-2", why), Finished("failed", "Not solved."))
    assert f"new version: {why}" in card_text(anew) and "kept" not in card_text(anew)
    assert "&lt;b&gt;2 of 5" in card_html(anew)


def test_an_edited_request_offers_to_refine_the_function_that_is_there() -> None:
    edited, other = (folded(VersionBegun("b2", "new wording", is_new_request=new)) for new in (True, False))
    assert 'class="autocode-refine-cell" aria-label="Refine it instead"' in card_html(edited)
    assert "Add --refine to the first line" in card_text(edited)
    assert "refine" not in card_html(other) and "refine" not in card_text(other)


def test_a_good_function_from_before_is_spoken_of_until_there_is_a_newer_one() -> None:
    begun = VersionBegun("b2", "new wording", has_before=True)
    assert "Until this version is ready, growth.last_good is the last good one" in card_text(folded(begun))
    failed = folded(begun, Finished("failed", "Not solved."))
    assert "growth.run(…) still calls the last good version" in card_html(failed)
    assert "last good" not in card_text(folded(begun, Finished("ready")))
    assert "last good" not in card_text(folded(VersionBegun("b2", kept=True, has_before=True)))


def folded(*events: Event) -> FunctionRun:
    state = FunctionRun("growth")
    for event in events:
        state = state.apply(event)
    return state


def test_a_shortened_log_keeps_what_a_person_decided() -> None:
    decided = LogLine(1.0, "approved: fiscalmonths", is_decision=True)
    log = (LogLine(0.5, "planned"), decided, *(LogLine(2.0 + n, f"step {n}") for n in range(30)))
    html = document_html(document_of(replace(large_state(1), log=log)), 18_000)
    assert "approved: fiscalmonths" in html and "step 29" in html
    assert "step 3<" not in html and "planned" not in html


BROKEN = (
    "revenue: less_than(max_value=20000): 5 of 12 rows (row 3: 21000, row 4: 22000)\n"
    "growth: not_nullable: 1 of 12 rows (row 0: missing)"
)


def broken_contract(phase: Any = "failed") -> FunctionRun:
    promise = CheckOutcome(name="monthly satisfies Monthly on the sample", passed=False, message=BROKEN)
    reason = f"Not solved in 1 attempt. This does not hold: {promise.name}. {BROKEN}"
    evidence = Evidence(acceptance=(promise,), tests=(PASSED,))
    return replace(RUNNING, phase=phase, outcomes=(PASSED,), expected=(), evidence=evidence, reason=reason)


@pytest.mark.parametrize("render", [card_html, card_text])
def test_a_broken_contract_is_reported_once_and_in_full(render: Any, read: Any) -> None:
    text = read(render(broken_contract())).text if render is card_html else render(broken_contract())
    for rule in BROKEN.splitlines():
        assert text.count(rule.partition(" (")[0]) == 1 and text.count(rule) == 1


def test_a_reason_keeps_its_line_breaks() -> None:
    lines = re.findall(r"<div>([^<]*)</div>", card_html(broken_contract()))
    assert BROKEN.splitlines()[1] in lines and BROKEN not in lines


def test_a_failure_that_the_reason_does_not_report_is_listed_with_its_lines(read: Any) -> None:
    state = broken_contract()
    assert state.evidence is not None
    calls = CheckOutcome(name="monthly satisfies Monthly in the calls of the tests", passed=False, message="a: b\nc: d")
    evidence = replace_evidence(state.evidence, calls)
    html = card_html(replace(state, evidence=evidence))
    assert "a: b\nc: d</pre>" in html and read(html).text.count("c: d") == 1


def replace_evidence(evidence: Evidence, more: CheckOutcome) -> Evidence:
    return evidence.model_copy(update={"acceptance": (*evidence.acceptance, more)})


def test_pictures_are_shown_on_the_card_and_leave_its_other_parts_whole(read: Any) -> None:
    png = b"\x89PNG" + bytes(40_000)
    plain = replace(RUNNING, phase="ready", solution="x = 1\n" * 300)
    seen = SampleOutputs(tuple(Glimpse(f"chart_{number}", "a picture", picture=png) for number in range(3)))
    html = card_html(replace(plain, outputs=seen))
    assert html.count('src="data:image/png;base64,') == 3 and 'alt="chart_1: a picture"' in html
    for part in ("x = 1", "chart_2"):
        assert part in read(html).text
    assert read(html).text.count("x = 1") == read(card_html(plain)).text.count("x = 1")
    assert "output chart_0: a picture" in card_text(replace(plain, outputs=seen))


def test_a_replaced_function_says_so_first_and_asks_nothing_any_more(read: Any) -> None:
    evidence = Evidence(tests=(PASSED,), strength=Strength(), remarks=("total is empty on 6 rows of data",))
    asking = replace(RUNNING, phase="ready", plan=PLAN, evidence=evidence)
    assert "keep" in possible(asking) and "Keep it as it is" in card_html(asking)
    gone = replace(asking, replaced="A later cell has refined growth: by region")
    assert card_text(gone).splitlines()[1] == "  A later cell has refined growth: by region"
    html = card_html(gone)
    assert 'aria-label="Show it"' in html and "Keep it as it is" not in html and 'aria-label="Change"' not in html
    assert card.tone(gone) == "quiet" and "keep" not in possible(gone)
    assert "Total is empty on 6 rows" in read(html).text, "what was found is in the fold"
    assert headline(gone) == "Replaced"


def test_assumptions_are_one_paragraph_each_with_its_button() -> None:
    plan = PLAN.model_copy(update={"assumptions": ("Tax is in.", "Gaps are left out.", "Sent orders count.")})
    used = RowsUsed(before=9, used=6, output="total", assumptions={"Tax is in.": 0, "Gaps are left out.": 3})
    state = replace(RUNNING, phase="ready", plan=plan, evidence=Evidence(tests=(PASSED,), rows_used=used))
    html = card_html(state)
    change = '<button hidden class="autocode-wish" aria-label="Change"></button>'
    first, _, folded = html.partition("1 more</summary>")
    assert re.search(rf"<span>Gaps are left out. <span[^>]*>\(3 rows\)</span> {change}</span>", first)
    assert f"<span>Sent orders count. {change}</span>" in first and "<li>" not in first
    assert "Tax is in. " in folded and change in folded, "it touches no row"
    assert "read as: Gaps are left out. (3 rows) Sent orders count.\n" in card_text(state)


def test_a_question_about_a_reading_can_be_answered_in_other_words() -> None:
    reading = Reading(words="net", line="Subtract the discount.")
    differs = SecondOpinion(
        state="differ", differences=(Difference(where="total", first="2", second="1"),), readings=(reading,)
    )
    asking = replace(RUNNING, phase="ready", plan=PLAN, evidence=Evidence(tests=(PASSED,)), second_opinion=differs)
    html = card_html(asking)
    keep, other = html.index('aria-label="Keep it as it is"'), html.index('aria-label="Other"')
    assert html.index('aria-label="Use this reading"') < keep < other
    assert html[other:].startswith('aria-label="Other" data-autocode-option="Subtract the discount."')
    empty = replace(asking, second_opinion=None, evidence=Evidence(tests=(PASSED,), remarks=("total is empty",)))
    assert 'aria-label="Other"></button>' in card_html(empty), "it starts with no text"


@each("run", [FunctionRun("growth"), CodeRun("growth")])
def test_what_sets_a_key_elsewhere_is_hidden_beside_the_form_for_a_key(run: Any) -> None:
    reason = str(no_key(ModelConfig("openai/gpt-4.1"), ["OPENAI_API_KEY"]))
    ended = run.apply(events.ModelRefused(())).apply(Finished("failed", reason))
    shown, _, typed = card_html(ended).partition(f'class="{WORDS}"')
    assert "OPENAI_API_KEY is not set" in shown and "before Python starts" not in shown
    assert "before Python starts" in typed and "before Python starts" in card_text(ended)


def test_many_assumptions_do_not_make_a_card_long() -> None:
    plan = PLAN.model_copy(update={"assumptions": tuple(f"{number} {'long ' * 60}" for number in range(500))})
    html = card_html(replace(RUNNING, phase="ready", plan=plan))
    assert "and 480 more, in the plan" in html and len(html) < 20_000
