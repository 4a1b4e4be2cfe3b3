from __future__ import annotations

from typing import Any

from autocoder_jupyter.view.source import colour_diff, render_text, side_by_side


def test_a_diff_shows_what_came_and_what_went(read: Any) -> None:
    pair = ("a\n<b>\n", "a\nc\n", "1", "2")
    assert "-<b>\n+c" in render_text(*pair)
    page = read(colour_diff(*pair))
    assert "-<b>\n+c" in page.text
    assert page.tags == {"pre", "span"}


def test_equal_sources_are_called_equal() -> None:
    assert render_text("a", "a", "1", "2") == "1 and 2 are equal."
    assert colour_diff("a", "a", "1", "2") == ""


def test_escape_sequences_in_a_source_are_taken_out() -> None:
    assert "\x1b" not in render_text("a", "\x1b[31mb", "1", "2")


def test_sources_longer_than_any_module_are_not_compared() -> None:
    """In a foreign file they may have megabytes, and comparing takes time in the square of their lines."""
    before, after = ("".join(f"{number % step}\n" for number in range(5_001)) for step in (150, 151))
    told = "1 and 2 are too long to compare."
    assert render_text(before, after, "1", "2") == told
    assert told in colour_diff(before, after, "1", "2") and told in side_by_side(before, after, "1", "2")
