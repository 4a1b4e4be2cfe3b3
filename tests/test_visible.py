"""Text of others that a person reads shows all that it is made of."""

from __future__ import annotations

import unicodedata

import pytest

from autocoder_jupyter.visible import is_visible, visible, visible_block


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2J\x1b[31mred", r"\x1b[2J\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b]52;c;cm0gLXJm\x1b\\", "\\x1b]52;c;cm0gLXJm\\x1b\\"),
        ("\x9b31m\x9dtitle\x9c", r"\x9b31m\x9dtitle\x9c"),
        ("safe\u202egpj.exe", r"safe\u202egpj.exe"),
        ("\u2066a\u2069\u200eb\u200f\u061c", r"\u2066a\u2069\u200eb\u200f\u061c"),
        ("num\u200bpy\ufeff", r"num\u200bpy\ufeff"),
        ("num\u200dpy", r"num\u200dpy"),
        ("a\u2028b\u2029c\x85d\x0be\x0cf", r"a\u2028b\u2029c\x85d\x0be\x0cf"),
        ("overwritten\rline", r"overwritten\rline"),
        ("half \ud83d", r"half \ud83d"),
        ("\U000e0041hidden", r"\U000e0041hidden"),
    ],
)
def test_what_acts_hides_or_turns_is_spelled_out(raw: str, shown: str) -> None:
    assert visible(raw) == visible_block(raw) == shown
    assert not is_visible(raw)


@pytest.mark.parametrize("text", ["Ertrag in € für Zürich", "قیمت می‌رود", "👩‍👩‍👧 ❤️", "שלום", "क्‍ष", "a → b … ●"])
def test_words_of_every_script_stay_as_they_are(text: str) -> None:
    assert visible(text) == visible_block(text) == text
    assert is_visible(text)


def test_line_breaks_and_tabs_stay_in_a_block_only() -> None:
    assert visible_block("a\tb\r\nc\n") == "a\tb\nc\n"
    assert visible("a\tb\nc") == r"a\tb\nc"


def test_no_control_and_no_turn_of_direction_is_left_of_all_characters() -> None:
    shown = visible("".join(map(chr, range(0x110000))))
    left = {
        unicodedata.name(char, hex(ord(char))) for char in shown if unicodedata.category(char) in ("Cc", "Cs", "Zl")
    }
    assert not left
    assert not [char for char in shown if unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF")]
    assert not [char for char in shown if unicodedata.bidirectional(char) in ("LRI", "RLI", "FSI", "PDI")]


def test_what_is_no_text_is_shown_as_text() -> None:
    assert visible(ValueError("a\x1bb")) == r"a\x1bb"
