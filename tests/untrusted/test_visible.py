"""Text from others is shown to the user with all its characters visible."""

from __future__ import annotations

import ast
import logging
import unicodedata

import pytest

from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.tasks.export import readable
from autocoder_jupyter.untrusted.visible import hides, visible, visible_block
from autocoder_jupyter.view import markup
from tests.cases import each


@each(
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
        ("😀\U000e0148\U000e0149", r"😀\U000e0148\U000e0149"),  # variation selectors can hide any bytes
        ("é\ufe00\ufe01", r"é\ufe00\ufe01"),
        ("❤\ufe0f\ufe0e\ufe0f", r"❤\ufe0f\ufe0e\ufe0f"),
        ("あ\u200d\u200c\u200dい", r"あ\u200d\u200c\u200dい"),
        ("1\ufe0f", r"1\ufe0f"),
        ("ᠠ\u180bmusic\U0001d173", r"ᠠ\u180bmusic\U0001d173"),
    ],
)
def test_what_acts_hides_or_turns_is_spelled_out(raw: str, shown: str) -> None:
    assert visible(raw) == visible_block(raw) == shown


@each("text", ["Ertrag in € für Zürich", "قیمت می‌رود", "👩‍👩‍👧 ❤️ 1️⃣ 👩‍❤️‍👨 🏴‍☠️", "שלום", "क्‍ष", "a → b … ●"])
def test_words_of_every_script_stay_as_they_are(text: str) -> None:
    assert visible(text) == visible_block(text) == text


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


def test_a_name_that_looks_like_another_hides_something() -> None:
    assert not any(map(hides, ["growth", "Zürich 2", "売上", "a.b-c"]))
    assert all(map(hides, ["growth\u3164", "\uffa0a", "a\u2800", "a\ufe0f", "a\xa0", "a\n", "a\u034f", "a\udc80"]))


def test_what_is_no_text_is_shown_as_text() -> None:
    assert visible(ValueError("a\x1bb")) == r"a\x1bb"


HOSTILE = "a\x1b]0;owned\x07\u202eb\n● growth  Ready"


def test_an_error_shows_what_it_is_made_of_and_begins_no_line_of_ours() -> None:
    error = AutocodeError(HOSTILE, why=HOSTILE, hint=HOSTILE)
    for text in (str(error), "\n".join(error._render_traceback_())):
        assert visible_block(text) == text and r"\x1b]0;owned\x07\u202eb" in text
    assert not [line for line in "\n".join(error._render_traceback_()).splitlines() if line.startswith("●")]


def test_lines_for_a_terminal_hold_no_other_lines() -> None:
    assert visible(markup.line(HOSTILE, "b")) == markup.line(HOSTILE, "b")
    assert [line[:1] for line in markup.lines([HOSTILE, "next"]).splitlines()] == ["a", " ", "n"]
    assert len(markup.columns([(HOSTILE, "b")]).splitlines()) == 1


def test_a_log_line_is_one_line_without_hidden_characters() -> None:
    written: list[str] = []
    log = redacting_logger("autocoder_jupyter.test_visible")
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        log.warning("said %s", HOSTILE)
    finally:
        log.removeHandler(handler)
    assert len(written) == 1 and visible(written[0]) == written[0]


def test_inserted_code_means_the_same_and_hides_nothing() -> None:
    code = "def run():\n    return 'a\u202eb'  # \u2066 note\n"
    shown = readable(code, "growth")
    assert visible_block(shown) == shown
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(code))


@pytest.mark.parametrize("code", ["x = r'a\u202eb'\n", "x = 1\x0c\n"])
def test_code_that_would_change_when_its_hidden_characters_are_shown_is_not_inserted(code: str) -> None:
    with pytest.raises(InvalidRequest, match="invisible characters"):
        readable(code, "growth")
