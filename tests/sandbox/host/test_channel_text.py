from __future__ import annotations

import pytest

from autocoder_jupyter.sandbox.host.messages import clean, stable
from autocoder_jupyter.sandbox.host.testing import sentences


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:2:1:2:3mred\x1b[m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", r"\x1b]8;;http://x\x07link\x1b]8;;\x07"),
        ("\x1b]0;title", r"\x1b]0;title"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("a\x08\x00\x07b", r"a\x08\x00\x07b"),
        ("tab\tnew\nline", "tab\tnew\nline"),
        ("50%\r100%\r\n", "50%\n100%\n"),
        ("abc\u202edef\u2066", r"abc\u202edef\u2066"),
        ("\x9b31mred", "red"),
    ],
)
def test_colours_are_taken_out_and_what_else_acts_is_shown(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_places_addresses_and_durations_are_taken_out() -> None:
    text = "/tmp/autocode-x1/7/out.csv <A at 0x7f00deadbeef> "
    text += "/opt/e/lib/python3.11/site-packages/pandas/x.py 1 failed in 0.12s"
    assert stable(text, "/tmp/autocode-x1") == "out.csv <A at 0x…> pandas/x.py 1 failed"


def test_two_paths_of_the_standard_library_are_alike() -> None:
    assert stable('"/usr/lib/python3.11/json/x.py"', "") == stable('"/opt/py/lib/python3.12/json/x.py"', "")


def test_sentences_are_the_first_lines_of_docstrings() -> None:
    source = "def test_a():\n    '''One.\n\n    Two.'''\n"
    source += "class TestB:\n    def test_c(self):\n        'Three.'\ndef test_d(): pass\n"
    assert sentences(source) == {"test_a": "One.", "TestB::test_c": "Three.", "test_d": ""}
    assert sentences("def (") == {}
