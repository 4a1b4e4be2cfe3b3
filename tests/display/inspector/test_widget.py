from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from autocoder_jupyter.display.inspector.inspector import Inspector
from autocoder_jupyter.types import CheckOutcome, Evidence
from autocoder_jupyter.types.interface import FoundSplit, KnownSplits, Split
from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview
from tests.cases import each
from tests.display.inspector.results import HOSTILE, MENDED, NASTY, TRACED, subject
from tests.display.inspector.test_run import plain

TITLES = ("Function", "Evidence", "Attempts", "Data", "Conversation", "Environment")


class NoVariables:
    """The variables of a notebook that has none."""

    asked = 0

    def variables(self, spec: Any) -> list[Any]:
        return []

    def sample(self, name: str) -> str:
        return "3 rows"

    def check_split(self) -> None:
        self.asked += 1

    def on_split(self, callback: Any) -> None:
        self.told = callback


def tabs(inspector: Inspector) -> Any:
    return inspector.widget.children[1]


def page_of(inspector: Inspector, title: str) -> Any:
    number = tabs(inspector).titles.index(title)
    tabs(inspector).selected_index = number
    return tabs(inspector).children[number]


def test_pages_are_made_when_they_are_first_opened() -> None:
    inspector = Inspector(subject(), NoVariables())  # type: ignore[arg-type]
    assert tabs(inspector).titles == (*TITLES, "Run")
    assert [bool(page.children) for page in tabs(inspector).children] == [True] + 6 * [False]
    page = page_of(inspector, "Evidence")
    assert "adds up" in plain(page.children[0])
    made = page.children
    page_of(inspector, "Function")
    assert page_of(inspector, "Evidence").children is made


def test_the_button_below_the_evidence_asks_how_it_may_be_split_and_the_rows_show_it() -> None:
    known = [KnownSplits()]
    caller: Any = NoVariables()
    inspector = Inspector(replace(subject(), splits=lambda: known[0]), caller)
    rows, check, others = page_of(inspector, "Function").children
    assert check.description == "Large tables: check how it may be split" and check.layout.display == ""
    assert "sales may be split" not in plain(rows) and "import" in plain(others) and "import" not in plain(rows)
    check.click()
    assert caller.asked == 1
    known[0] = KnownSplits(doing="any batch of rows")
    caller.told()
    assert "checking how it may be split: any batch of rows" in plain(rows) and check.layout.display == "none"
    split = Split(input="sales", kind="rows", ordered=False, comparisons=38)
    known[0] = KnownSplits(tuple(FoundSplit(spec.name, split) for spec in subject().report.declared_outputs))
    caller.told()
    assert "sales may be split: any batch of rows · in any order of rows · 38 comparisons" in " ".join(
        plain(rows).split()
    )
    inspector.freeze()
    assert "sales may be split" in plain(inspector.widget.children[0])
    caller.told()  # a check may end after that


def test_a_broken_contract_is_told_once_with_its_rows() -> None:
    broken = "revenue: less_than(max_value=20000): 5 of 12 rows (row 3: 21000, row 4: 22000)"
    promise = CheckOutcome(name="monthly satisfies Monthly on the sample", passed=False, message=broken)
    reason = f"Not solved in 1 attempt. This does not hold: {promise.name}. {broken}"
    report = MENDED.model_copy(update={"success": False, "error": reason, "evidence": Evidence(acceptance=(promise,))})
    inspector = Inspector(subject(report), NoVariables())  # type: ignore[arg-type]
    told = " ".join(map(plain, (inspector.widget.children[0], *page_of(inspector, "Function").children[:1])))
    assert told.count(f"This does not hold: {promise.name}.") == 1 and told.count(broken) == 1


def test_all_pages_are_of_one_height() -> None:
    inspector = Inspector(subject(), None)
    assert len({page.layout.height for page in tabs(inspector).children}) == 1


def test_without_a_function_there_is_nothing_to_run() -> None:
    assert tabs(Inspector(subject(), None)).titles == TITLES


def test_any_two_attempts_can_be_compared() -> None:
    third = MENDED.history[1].model_copy(update={"number": 3, "code": "x = 3\n"})
    report = MENDED.model_copy(update={"history": (*MENDED.history, third)})
    _, choice, changes = page_of(Inspector(subject(report), None), "Attempts").children
    before, after = choice.children
    assert (before.value, after.value) == (1, 2) and "x = 3" in plain(changes)
    before.value, after.value = 0, 1
    assert "diff" in plain(changes) and "x = 3" not in plain(changes)


def test_the_trace_of_an_agent_can_be_narrowed_to_a_class() -> None:
    inspector = Inspector(subject(TRACED), None)
    assert tabs(inspector).titles == (*TITLES[:2], "Trace", *TITLES[2:])
    choice, listed = page_of(inspector, "Trace").children
    assert (choice.value, choice.options) == ("all 4 calls", ("all 4 calls", "safe (3)", "denied (1)"))
    assert "solution.py" in plain(listed) and "curl" in plain(listed)
    choice.value = "denied (1)"
    assert "solution.py" not in plain(listed) and "curl" in plain(listed)
    choice.index = 0
    assert "solution.py" in plain(listed)


def test_the_samples_are_described_in_the_background_for_the_persons_own_eyes() -> None:
    column = ColumnOverview("price", "int64", 0, 3, drawing="histogram", bars=(Bar("0 – 5", 4711), Bar("5 – 10", 1)))
    asked: list[Any] = []

    def overviews(share: Any) -> dict[str, Overview]:
        asked.append(share)
        return {"sales": Overview("DataFrame", "3 rows", (column,))}

    inspector = Inspector(subject(overviews=overviews), None)
    assert asked == []
    place = page_of(inspector, "Data").children[1]
    deadline = time.monotonic() + 60
    while "Reading" in place.value:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert asked == [None] and "price" in place.value and "0 – 5: 4,711" in place.value


def test_samples_that_cannot_be_described_spoil_nothing() -> None:
    def broken(share: Any) -> Any:
        raise RuntimeError("an array of somebody else")

    place = page_of(Inspector(subject(overviews=broken), None), "Data").children[1]
    deadline = time.monotonic() + 60
    while "Reading" in place.value:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "cannot be described: RuntimeError" in place.value


def test_a_frozen_inspector_is_the_static_form_and_holds_little_else() -> None:
    before = set(_instances)
    inspector = Inspector(subject(), NoVariables())  # type: ignore[arg-type]
    for title in tabs(inspector).titles:
        page_of(inspector, title)
    inspector.freeze()
    inspector.freeze()
    left = [_instances[key] for key in set(_instances) - before]
    assert sorted(type(widget).__name__ for widget in left) == ["HTML", "HTMLStyle", "Layout", "Layout", "VBox"]
    assert "autocode-result" in inspector.widget.children[0].value


@each("title", TITLES)
def test_nothing_from_outside_becomes_markup(title: str, read: Any) -> None:
    overview = Overview(HOSTILE, HOSTILE, (ColumnOverview(HOSTILE, HOSTILE),))
    inspector = Inspector(subject(NASTY, overviews=lambda share: {HOSTILE: overview}), None)
    for widget in (inspector.widget.children[0], *page_of(inspector, title).children):
        if hasattr(widget, "value"):
            page = read(widget.value)
            assert "script" not in page.tags and "\x1b" not in page.text


def test_without_ipywidgets_there_is_no_inspector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError):
        Inspector(subject(), None)
