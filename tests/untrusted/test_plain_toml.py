from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.untrusted.plain_json import LEVELS
from autocoder_jupyter.untrusted.plain_toml import parse
from tests.cases import each


def test_ordinary_toml_is_read() -> None:
    assert parse('[a.b]\nc = ["1.2.3", {d = 1}]') == {"a": {"b": {"c": ["1.2.3", {"d": 1}]}}}


@each(
    "text",
    [
        pytest.param("a." * 250_000 + "b = 1", id="a key of very many parts"),
        pytest.param("x = {" + "a." * 2_000 + "a.b = 1}", id="such a key inside"),
        pytest.param("[" + "a." * 2_000 + "a.b]", id="such a table"),
        pytest.param(('"\u2028".' + "a." * 400) * 100 + "b = 1", id="such a key that seems to have several lines"),
        pytest.param("".join(f"k{n}.{'a.' * 400}b = 1\n" for n in range(100)), id="many long keys"),
        pytest.param(f"[{'a.' * 400}b]\n" + "".join(f"k{n} = 1\n" for n in range(10_000)), id="keys far down"),
        pytest.param("a." * LEVELS + "b = 1", id="deep"),
        pytest.param("x = [\n" + ("{" + "a." * 40 + "b = [\n") * 9 + "]}\n" * 9 + "]", id="deep in steps"),
        pytest.param("x = " + "[" * 100_000, id="a bomb of brackets"),
        pytest.param("x = [", id="cut short"),
    ],
)
def test_what_would_break_or_hold_its_reader_is_a_value_error(text: Any) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_a_long_list_on_one_line_is_read() -> None:
    pins = [f"package-{number}==1.2.{number}" for number in range(150)]
    assert parse(f"x = 1\npins = {pins!r}\n" + "# a.b.c\n" * 2_000)["pins"] == pins
