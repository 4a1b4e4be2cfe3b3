"""The line that says what a verified function rests on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter
from autocoder_jupyter import types
from autocoder_jupyter.display.card import card
from autocoder_jupyter.display.inspector import document
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_html, card_text
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import keep, question_key, run_of, verified
from autocoder_jupyter.types import (
    CheckOutcome,
    CodeChange,
    CodePlan,
    CodeSolution,
    Difference,
    Evidence,
    HiddenInput,
    Invariant,
    Loss,
    OutputSpec,
    Report,
    SecondOpinion,
    Strength,
    TestOutcome,
)
from autocoder_jupyter.types.evidence import NO_CHANGE, TIME_IS_UP, ZONE
from tests.cases import each
from tests.html_reader import read as read

PASSED = tuple(TestOutcome(id=f"test_{number}", outcome="passed") for number in range(7))
AGREES = SecondOpinion(state="agree", compared=("a", "b"), parts=60)
PLAN = CodePlan(
    description="d", approach="a", outputs=(OutputSpec(name="a", type="float"), OutputSpec(name="b", type="float"))
)


def noticed(count: int, of: int) -> tuple[CodeChange, ...]:
    names = ["test_1"] * count + [""] * (of - count)
    return tuple(CodeChange(line=3, was="a < b", now="a <= b", noticed_by=name) for name in names)


FULL = Evidence(
    tests=PASSED,
    strength=Strength(changes=noticed(10, 12)),
    acceptance=tuple(CheckOutcome(name=f"your test test_{name}", passed=True) for name in "ab"),
)
LINE = (
    "verified: 7 tests catch 10 of 12 code mutations · second opinion agrees on 2 of 2 outputs · 60 subsamples · "
    "your 2 tests"
)


def test_a_function_of_which_all_is_known_is_verified() -> None:
    found = verified(FULL, AGREES, 2)
    assert found.line == LINE and not found.weaknesses


def test_card_and_terminal_have_the_same_line_and_another_colour_if_something_is_missing() -> None:
    state = FunctionRun("growth", phase="ready", plan=PLAN, evidence=FULL, second_opinion=AGREES)
    assert LINE in card_text(state) and LINE.removeprefix("verified: ") in card_html(state)
    weak = FunctionRun("growth", phase="ready", plan=PLAN, evidence=FULL)
    assert "verified in part: " in card_text(weak) and "no second opinion" in card_html(weak)
    assert card_html(state).casefold().count("verified") == 1, "the label alone"
    assert card_text(state).count("7 tests") == 1, "the row of what passed does not repeat it"
    assert "verified" not in card_text(FunctionRun("growth", phase="failed", plan=PLAN, evidence=FULL))


def test_the_inspector_and_a_saved_notebook_have_the_same_line_and_list_the_survivors_first() -> None:
    solution = CodeSolution(code="def run(a):\n    return 1")
    found = {"plan": PLAN, "evidence": FULL, "second_opinion": AGREES, "solution": solution}
    saved = Subject(Report(name="growth", run_id="1", prompt="p", success=True).model_copy(update=found), "ready")
    page = document.render_html(saved)
    assert LINE in document.render_text(saved) and LINE.removeprefix("verified: ") in page
    assert [found[0] for found in re.findall("– not caught|✓ caught", page)] == ["–"] * 2 + ["✓"] * 10


@each(
    ("evidence", "opinion", "weakness"),
    [
        (FULL, None, "no second opinion"),
        (FULL, SecondOpinion(), "no second opinion"),
        (FULL, SecondOpinion(code="def run(): ..."), "no second opinion of yours (--refresh makes it anew, with one)"),
        (FULL, SecondOpinion(state="differ", compared=("a",)), "the second opinion differs"),
        (FULL, SecondOpinion(state="not compared"), "the second opinion could not be compared"),
        (
            FULL,
            SecondOpinion(state="not compared", compared=("a",)),
            "second opinion agrees on 1 of 2 outputs",
        ),
        (Evidence(strength=Strength(ended="there are no tests")), AGREES, "no tests"),
        (Evidence(acceptance=(CheckOutcome(name="total > 0", passed=True),)), AGREES, "no tests"),
        (
            Evidence(tests=PASSED, strength=Strength(changes=noticed(10, 12), dropped=("Orders of one piece count.",))),
            AGREES,
            "fails 1 further test",
        ),
        (Evidence(tests=PASSED), AGREES, "tests not tried on mutated code"),
        (
            Evidence(tests=PASSED, strength=Strength(changes=noticed(9, 12))),
            AGREES,
            "7 tests catch only 9 of 12 code mutations",
        ),
        (
            Evidence(tests=PASSED, strength=Strength(ended="the time was up")),
            AGREES,
            "tests not tried on mutated code: the time was up",
        ),
        (
            Evidence(tests=PASSED, strength=Strength(changes=noticed(1, 1), ended="the time was up")),
            AGREES,
            "not all code mutations were tried: the time was up",
        ),
        (FULL.model_copy(update={"rows_cut": True}), AGREES, "not enough time for rows used"),
        (FULL, AGREES.model_copy(update={"cut": True}), "not enough time to compare all variations"),
        (
            FULL.model_copy(update={"losses": (Loss(line=3, words="1 of 52 keys has no match", asks=True),)}),
            AGREES,
            "1 of 52 keys has no match",
        ),
        (
            Evidence(tests=PASSED, strength=Strength(dependences=(HiddenInput(on="the date", differs=True),))),
            AGREES,
            "depends on the date",
        ),
        (
            Evidence(
                tests=PASSED,
                strength=Strength(relations=(Invariant(name="another order of the rows", holds=False, where="a"),)),
            ),
            AGREES,
            "another order of the rows changes a",
        ),
        (
            Evidence(tests=PASSED, strength=Strength(), remarks=("a is empty on 6 rows of data", "b is missing")),
            AGREES,
            "a is empty on 6 rows of data",
        ),
    ],
)
def test_what_is_missing_or_weak_is_named(evidence: Evidence, opinion: SecondOpinion | None, weakness: str) -> None:
    found = verified(evidence, opinion, 2)
    assert found.weaknesses == (weakness,) and found.line.startswith("verified in part: ")


WEAK = Strength(changes=noticed(10, 12), dependences=(HiddenInput(on="the date", differs=True),))
DIFFERS = SecondOpinion(state="differ", differences=(Difference(where="a", first="1", second="2"),))
READY, ASKS, OPEN = "Ready", "Ready, with a question for you", "Ready, not fully checked"


@each(
    ("changes", "headline"),
    [
        ({}, READY),
        ({"second_opinion": None}, OPEN),
        ({"second_opinion": DIFFERS}, ASKS),
        ({"second_opinion": DIFFERS, "evidence": Evidence()}, ASKS),
        ({"second_opinion": SecondOpinion(state="not compared")}, OPEN),
        ({"evidence": None}, OPEN),
        ({"evidence": Evidence(tests=PASSED)}, OPEN),
        ({"evidence": Evidence(tests=PASSED, strength=Strength(ended=TIME_IS_UP))}, OPEN),
        ({"evidence": FULL.model_copy(update={"strength": WEAK})}, ASKS),
        ({"evidence": FULL.model_copy(update={"remarks": ("a is empty on 6 rows of data",)})}, ASKS),
        ({"evidence": FULL.model_copy(update={"tests_changed": ("test_a",)})}, OPEN),
        ({"drift": ("sales['price'] is missing in 60 % of the rows; recorded: 0 %.",)}, ASKS),
        ({"reason": "It cost $0.62, more than the budget of $0.50."}, OPEN),
        ({"phase": "running", "beside": ("second opinion",), "second_opinion": None}, OPEN),
    ],
)
def test_the_headline_is_one_of_three_and_only_the_first_is_green(changes: dict[str, Any], headline: str) -> None:
    state = replace(FunctionRun("growth", phase="ready", plan=PLAN, evidence=FULL, second_opinion=AGREES), **changes)
    shown = card(state)
    assert (shown.title, shown.tone) == (headline, {READY: "good", ASKS: "warn", OPEN: "quiet"}[headline])
    assert f"● growth  {headline}" in card_text(state) and f"● {headline}" in card_html(state)


def test_a_result_has_the_headline_too() -> None:
    found = {"evidence": FULL, "second_opinion": DIFFERS}
    report = Report(name="growth", run_id="1", prompt="p", success=True, plan=PLAN).model_copy(update=found)
    result = CodeGenEvalResult("growth", Pending.resolved(Resolution("ready", report)))
    assert repr(result) == "<autocode growth ready, with a question for you · 7/7 tests>"


def test_the_question_stands_above_everything_and_is_not_repeated(read: Any) -> None:
    evidence = FULL.model_copy(update={"strength": WEAK, "remarks": ("a is empty on 6 rows of data",)})
    state = FunctionRun("growth", phase="ready", plan=PLAN, evidence=evidence, second_opinion=DIFFERS)
    text, html = card_text(state), read(card_html(state)).text
    first = text.splitlines()[1:5]
    assert "a would be 2 instead of 1" in first[0].casefold() and "A is empty on 6 rows" in first[1]
    assert "depends on the date" in first[2] and "%autocode reply growth keep" in first[3]
    for shown in (text, html):
        assert shown.count("would be 2 instead of 1") == 1 and shown.count("A is empty on 6 rows") == 1


def test_keeping_it_ends_the_question_in_every_place_until_the_numbers_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / name)
    solution = CodeSolution(code="def run(a):\n    return 1, 2")
    found = {"evidence": FULL, "second_opinion": DIFFERS, "solution": solution}
    report = Report(name="growth", run_id="1", prompt="p", success=True, plan=PLAN).model_copy(update=found)
    asked = run_of(report, "ready")
    key = question_key(asked)
    assert card(keep(asked)).title == READY
    again = run_of(report, "ready")  # in another kernel
    assert card(again).title == READY and question_key(again) == "" and "kept by you" in card_text(again)
    assert "would be 2 instead of 1" in card_html(again), "what was found is still shown"
    moved = report.model_copy(
        update={
            "second_opinion": SecondOpinion(state="differ", differences=(Difference(where="a", first="1", second="3"),))
        }
    )
    other = report.model_copy(update={"solution": CodeSolution(code="def run(a):\n    return 2, 2")})
    for changed in (moved, other):
        assert card(run_of(changed, "ready")).title == ASKS
    assert question_key(run_of(other, "ready")) == key != question_key(run_of(moved, "ready"))


def test_that_no_change_shows_what_the_tests_notice_counts_only_without_a_second_opinion() -> None:
    evidence = Evidence(tests=PASSED, strength=Strength(ended=NO_CHANGE))
    assert verified(evidence, AGREES, 2).weaknesses == ()
    missed = f"tests not tried on mutated code: {NO_CHANGE}"
    assert verified(evidence, None, 2).weaknesses == (missed, "no second opinion")
    assert missed in verified(evidence, SecondOpinion(state="not compared"), 2).weaknesses


def test_examples_tests_and_checks_of_the_user_are_counted_apart() -> None:
    names = ("your example sales=… -> total=3", "your example 2", "your test test_one", "total > 0", "rows <= 3")
    own = tuple(CheckOutcome(name=name, passed=True) for name in names)
    assert verified(FULL.model_copy(update={"acceptance": own}), AGREES, 2).rests_on[-3:] == (
        "your 2 examples",
        "your test",
        "your 2 checks",
    )


def test_another_time_zone_may_matter() -> None:
    strength = Strength(relations=(Invariant(name=ZONE, holds=False, where="a"),))
    assert verified(Evidence(tests=PASSED, strength=strength), AGREES, 2).weaknesses == ()


def test_the_old_names_of_records_warn() -> None:
    with pytest.warns(DeprecationWarning, match="Relation was renamed to Invariant"):
        assert types.Relation is Invariant
    with pytest.warns(DeprecationWarning, match="Dependence was renamed to HiddenInput"):
        assert types.Dependence is HiddenInput
    for module in (types, autocoder_jupyter):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Nothing'"):
            _ = module.Nothing
