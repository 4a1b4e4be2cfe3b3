"""An integer that is too long for Python's `str` can be shown, alone and inside of other values."""

from __future__ import annotations

import pprint
from typing import Any

import pytest
from IPython.lib.pretty import pretty

from autocoder_jupyter.display.outputs import value_text
from autocoder_jupyter.untrusted.plain_json import pretty_int, shortened
from tests.cases import each

LONG = 10**4_999 + 7
SAID = "10000000000000000000… (5,000 digits)"


@each(
    ("value", "text"),
    [
        (LONG, SAID),
        (-LONG, f"-{SAID}"),
        ({"n": LONG, "m": 1}, f"{{'n': {SAID}, 'm': 1}}"),
        ([(LONG, True)], f"[({SAID}, True)]"),
        ({LONG}, f"{{{SAID}}}"),
        (10**5_000 - 1, "99999999999999999999… (5,000 digits)"),
        (10**5_000, "10000000000000000000… (5,001 digits)"),
        (10**4_000 - 1, "9" * 4_000),
        (-123456 * 10**50_000, "-12345… (50,006 digits)"),
        (2**10_000_000, "90498… (3,010,300 digits)"),
    ],
    ids=range(10),
)
def test_a_long_int_is_shown_by_its_first_digits_and_their_number(value: Any, text: str) -> None:
    assert repr(shortened(value)) == text


def test_an_output_with_a_long_int_is_shown() -> None:
    with pytest.raises(ValueError, match="digits"):
        pprint.pformat({"n": LONG})
    assert "5,000 digits" in value_text({"n": LONG})
    assert "5,000 digits" in value_text(LONG)


def test_a_notebook_shows_a_dict_with_a_long_int(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="digits"):
        pretty({"n": [LONG]})
    from IPython.lib import pretty as module

    monkeypatch.setitem(module._type_pprinters, int, pretty_int)
    assert pretty({"n": [LONG, 5, True]}) == f"{{'n': [{SAID}, 5, True]}}"
