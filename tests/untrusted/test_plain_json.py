from __future__ import annotations

import tracemalloc

import pytest

from autocoder_jupyter.untrusted.plain_json import LEVELS, parse
from tests.cases import each


def test_ordinary_json_is_read() -> None:
    assert parse('{"a": [1, "x", null, {"b": 2.5}]}') == {"a": [1, "x", None, {"b": 2.5}]}
    assert parse("[" * LEVELS + "]" * LEVELS) is not None


@each(
    "text",
    [
        pytest.param("[" * (LEVELS + 1) + "]" * (LEVELS + 1), id="too deep"),
        pytest.param("[" * 1_000_000, id="a bomb of brackets"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="a bomb of braces"),
        pytest.param("9" * 5_000, id="a number of 5,000 digits"),
        pytest.param("{", id="cut short"),
    ],
)
def test_what_would_break_its_reader_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_very_many_values_are_a_value_error() -> None:
    assert len(parse("[[], [], []]", values=4)) == 3
    with pytest.raises(ValueError, match="more than 3 values"):
        parse("[[], [], []]", values=3)


def test_so_many_brackets_are_refused_before_they_take_memory() -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match="may hold more than"):
        parse("[" + "[]," * 5_000_000 + "[]]")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000  # the text itself, and little else
    tracemalloc.stop()
    assert parse('["' + "[" * 50 + '"]', values=20) == ["[" * 50]


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    assert parse('{"a\\ud800": ["\\ud83d\\ude00", "x\\udfffy"]}') == {"a\ufffd": ["\U0001f600", "x\ufffdy"]}
    assert parse("[" + "1," * 600_000 + '"\\ud800"]', values=2_000_000)[-1] == "\ufffd"
