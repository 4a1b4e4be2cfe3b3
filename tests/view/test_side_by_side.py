from __future__ import annotations

import re
from typing import Any

from autocoder_jupyter.view.source import CONTEXT, side_by_side
from tests.display.inspector.results import HOSTILE, RIGHT, WRONG


def rows(html: str) -> list[tuple[str, str, str, str]]:
    """(number and sign, text) for both sides of every line."""
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in lines]
    return [tuple(re.sub(r"<[^>]+>", "", cell).strip() for cell in line) for line in cells]  # type: ignore[misc]


def test_what_changed_is_marked_within_the_line_and_by_signs() -> None:
    html = side_by_side(WRONG, RIGHT, "attempt 1", "attempt 2")
    assert ("9 −", "return sales.diff()", "9 +", "return sales.pct_change()") in rows(html)
    assert re.search(r"<del[^>]*>diff</del>", html) and re.search(r"<ins[^>]*>pct_change</ins>", html)
    assert html.count("<del") == html.count("<ins") == 1


def test_equal_lines_fold_and_those_near_a_change_stay(read: Any) -> None:
    html = side_by_side(WRONG, RIGHT, "a", "b")
    assert "⋯ 5 equal lines" in read(html).text
    shown = rows(html.partition("</details>")[2])
    assert len(shown) == CONTEXT + 1
    assert [row[0] for row in shown] == ["6", "7", "8", "9 −"]


def test_a_saved_comparison_only_counts_what_is_equal(read: Any) -> None:
    page = read(side_by_side(WRONG, RIGHT, "a", "b", equal=False))
    assert "⋯ 5 equal lines" in page.text and "import pandas" not in page.text and "details" not in page.tags


def test_added_and_removed_lines_have_nothing_opposite() -> None:
    assert ("", "", "2 +", "b") in rows(side_by_side("a\nc\n", "a\nb\nc\n", "x", "y"))
    assert ("2 −", "b", "", "") in rows(side_by_side("a\nb\nc\n", "a\nc\n", "x", "y"))


def test_lines_without_likeness_are_not_marked_within() -> None:
    html = side_by_side("alpha = beta + 1", "import os", "x", "y")
    assert "<del" not in html and "<ins" not in html


def test_blanks_between_two_changes_belong_to_the_change() -> None:
    html = side_by_side("f(a, one two, z, z)", "f(a, red blue, z, z)", "x", "y")
    marked = "".join(re.findall(r"<del[^>]*>(.*?)</del>", html))
    assert marked == "one two"


def test_equal_sources_are_said_to_be_equal(read: Any) -> None:
    assert read(side_by_side("a", "a", "attempt 1", "attempt 2")).text == "attempt 1 and attempt 2 are equal."


def test_a_long_comparison_is_cut_and_counted(read: Any) -> None:
    page = read(side_by_side("", "\n".join(f"line {n}" for n in range(900)), "a", "b", most=100)).text
    assert "… and 800 more lines" in page and "line 99" in page and "line 100" not in page


def test_a_line_without_end_is_compared_as_a_whole() -> None:
    html = side_by_side("x, " * 50_000 + "y", "x, " * 50_000 + "z", "a", "b")  # comparing word by word would take hours
    assert "<del" not in html


def test_a_source_of_many_equal_lines_takes_no_time() -> None:
    assert "2 more lines" in side_by_side("x\n" * 4_000, "x\n" * 4_000 + "y\nz\n", "a", "b", most=4_000)


def test_hostile_source_stays_text(read: Any) -> None:
    page = read(side_by_side(f"x {HOSTILE}", f"y {HOSTILE}", HOSTILE, HOSTILE))
    assert "script" not in page.tags and "\x1b" not in page.text and "<script>" in page.text
