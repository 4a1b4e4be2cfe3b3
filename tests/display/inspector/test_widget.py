from __future__ import annotations

import html
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from autocoder_jupyter.display.inspector.inspector import Inspector
from autocoder_jupyter.types import CheckOutcome, Evidence
from autocoder_jupyter.types.interface import FoundSplit, KnownSplits, Split
from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview
from autocoder_jupyter.view.markup import Html, escape
from tests.cases import each
from tests.display.inspector.results import HOSTILE, MENDED, NASTY, TRACED, subject

TITLES = ("Result and code", "Evidence", "Sent", "History")


def plain(widget: Any) -> str:
    """The text of an HTML widget."""
    return html.unescape(re.sub(r"<[^>]+>", " ", widget.value))


class Splitter:
    """A function that may be split."""

    asked = 0

    def check_split(self) -> None:
        self.asked += 1

    def on_split(self, callback: Any) -> None:
        self.told = callback


class VersionsOfOne:
    """The versions of a name that has one."""

    def rows(self) -> list[tuple[str, ...]]:
        return [("1", "r1")]

    def table(self) -> Html:
        return escape("ready · current")

    def unpin(self) -> str:
        return ""


def tabs(inspector: Inspector) -> Any:
    return inspector.widget.children[1]


def page_of(inspector: Inspector, title: str) -> Any:
    number = tabs(inspector).titles.index(title)
    tabs(inspector).selected_index = number
    return tabs(inspector).children[number]


def shown_on(page: Any) -> str:
    """The text of a page, with that of the boxes in it."""
    return " ".join(plain(one) if hasattr(one, "value") else shown_on(one) for one in flat(page))


def flat(page: Any) -> Iterator[Any]:
    for child in page.children:
        if hasattr(child, "children"):
            yield from flat(child)
        elif isinstance(getattr(child, "value", None), str):
            yield child


def test_pages_are_made_when_they_are_first_opened() -> None:
    inspector = Inspector(subject(), Splitter())
    assert tabs(inspector).titles == TITLES
    assert [bool(page.children) for page in tabs(inspector).children] == [True, False, False, False]
    page = page_of(inspector, "Evidence")
    assert "adds up" in plain(page.children[0])
    made = page.children
    page_of(inspector, "Result and code")
    assert page_of(inspector, "Evidence").children is made


def test_what_one_tab_says_no_other_tab_says() -> None:
    inspector = Inspector(subject(TRACED), Splitter(), VersionsOfOne())  # type: ignore[arg-type]
    pages = {title: shown_on(page_of(inspector, title)) for title in TITLES}
    for words, title in {
        "ties keep their order": "Result and code",
        "in part: 2 tests": "Result and code",
        "two runs agree": "Evidence",
        "whatever the stubs return": "Evidence",
        "Exactly what was sent": "Sent",
        "ready · current": "History",
        "Attempt 1": "History",
        "Turn 2": "History",
        "docker (a container": "History",
        "4 calls: Bash 3, Write 1": "History",
    }.items():
        assert [name for name, text in pages.items() if words in text] == [title], words


def test_the_button_below_the_code_asks_how_it_may_be_split_and_the_rows_show_it() -> None:
    known = [KnownSplits()]
    splitter = Splitter()
    inspector = Inspector(replace(subject(), splits=lambda: known[0]), splitter)
    page, check = page_of(inspector, "Result and code").children
    assert check.description == "Large tables: check how it may be split" and check.layout.display == ""
    assert "sales may be split" not in plain(page)
    check.click()
    assert splitter.asked == 1
    known[0] = KnownSplits(doing="any batch of rows")
    splitter.told()
    assert "checking how it may be split: any batch of rows" in plain(page) and check.layout.display == "none"
    split = Split(input="sales", kind="rows", ordered=False, comparisons=38)
    known[0] = KnownSplits(tuple(FoundSplit(spec.name, split) for spec in subject().report.declared_outputs))
    splitter.told()
    assert "sales may be split: any batch of rows · in any order of rows · 38 comparisons" in " ".join(
        plain(page).split()
    )
    inspector.freeze()
    assert "sales may be split" in plain(inspector.widget.children[0])
    splitter.told()  # a check may end after that


@pytest.mark.parametrize(("state", "buttons"), [("ready", "call edit wish"), ("failed", "edit")])
def test_buttons_run_edit_and_refine_what_there_is(state: Any, buttons: str) -> None:
    report = MENDED.model_copy(update={"success": state == "ready"})
    page = page_of(Inspector(subject(report, state), None), "Result and code").children[0]
    actions, _, _ = page.value.partition("data-autocode-block")
    found = re.findall(r'class="autocode-(call|edit|wish)"', actions.rpartition("data-autocode-refines")[2])
    assert " ".join(found) == buttons


def test_a_broken_contract_is_told_once_with_its_rows() -> None:
    broken = "revenue: less_than(max_value=20000): 5 of 12 rows (row 3: 21000, row 4: 22000)"
    promise = CheckOutcome(name="monthly satisfies Monthly on the sample", passed=False, message=broken)
    reason = f"Not solved in 1 attempt. This does not hold: {promise.name}. {broken}"
    report = MENDED.model_copy(update={"success": False, "error": reason, "evidence": Evidence(acceptance=(promise,))})
    inspector = Inspector(subject(report), Splitter())
    told = " ".join(map(plain, (inspector.widget.children[0], *page_of(inspector, "Result and code").children[:1])))
    assert told.count(f"This does not hold: {promise.name}.") == 1 and told.count(broken) == 1


def test_any_two_attempts_can_be_compared() -> None:
    third = MENDED.history[1].model_copy(update={"number": 3, "code": "x = 3\n"})
    report = MENDED.model_copy(update={"history": (*MENDED.history, third)})
    *_, choice, changes, _ = page_of(Inspector(subject(report), None), "History").children
    before, after = choice.children
    assert (before.value, after.value) == ("attempt 2", "attempt 3") and "x = 3" in plain(changes)
    before.index, after.index = 0, 1
    assert "diff" in plain(changes) and "x = 3" not in plain(changes)


def test_the_trace_of_an_agent_can_be_narrowed_to_a_class() -> None:
    *_, choice, listed, _ = page_of(Inspector(subject(TRACED), None), "History").children
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
    place = page_of(inspector, "Sent").children[1]
    deadline = time.monotonic() + 60
    while "Reading" in place.value:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert asked == [None] and "price" in place.value and "0 – 5: 4,711" in place.value


def test_samples_that_cannot_be_described_spoil_nothing() -> None:
    def broken(share: Any) -> Any:
        raise RuntimeError("an array of somebody else")

    place = page_of(Inspector(subject(overviews=broken), None), "Sent").children[1]
    deadline = time.monotonic() + 60
    while "Reading" in place.value:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "cannot be described: RuntimeError" in place.value


def test_a_frozen_inspector_is_the_static_form_and_holds_little_else() -> None:
    before = set(_instances)
    inspector = Inspector(subject(), Splitter(), VersionsOfOne())  # type: ignore[arg-type]
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
    for widget in (inspector.widget.children[0], *flat(page_of(inspector, title))):
        page = read(widget.value)
        assert "script" not in page.tags and "\x1b" not in page.text


def test_without_ipywidgets_there_is_no_inspector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError):
        Inspector(subject(), None)
