from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from autocoder_jupyter.display.inspector.form import read, written
from autocoder_jupyter.types import Dir, File, InputSpec, TypeName
from tests.cases import each


def spec(kind: TypeName) -> InputSpec:
    return InputSpec(name="x", type=kind)


@each(
    ("kind", "text", "value"),
    [
        ("int", " 12 ", 12),
        ("int", "-9007199254740993", -9007199254740993),
        ("float", "1e-3", 0.001),
        ("bool", "true", True),
        ("str", " as it is ", " as it is "),
        ("date", "2025-01-31", dt.date(2025, 1, 31)),
        ("datetime", "2025-01-31 13:30+02:00", dt.datetime.fromisoformat("2025-01-31T13:30+02:00")),
        ("timedelta", "90", dt.timedelta(seconds=90)),
        ("timedelta", "1:30:00", dt.timedelta(hours=1.5)),
        ("timedelta", "P2DT3H", dt.timedelta(days=2, hours=3)),
        ("dict", '{"a": [1]}', {"a": [1]}),
        ("list", "[]", []),
        ("File", "a.csv", File("a.csv")),
        ("Dir", "data", Dir("data")),
    ],
)
def test_a_text_is_read_as_its_type(kind: Any, text: str, value: Any) -> None:
    assert read(spec(kind), text) == value
    assert type(read(spec(kind), text)) is type(value)


@each(
    ("kind", "text", "sentence"),
    [
        ("int", "3.5", "x must be a whole number, not '3.5'."),
        ("float", "nan", "x must be a number, not 'nan'."),
        ("float", "", "x must be a number, not empty."),
        ("bool", "yes", "x must be True or False, not 'yes'."),
        ("date", "31.1.2025", "x must be a date such as 2025-01-31, not '31.1.2025'."),
        ("timedelta", "soon", "x must be a duration such as 90 (seconds), 1:30:00 or P2DT3H, not 'soon'."),
        ("list", '{"a": 1}', "x must be a JSON list such as [1, 2], not '{\"a\": 1}'."),
        ("dict", "[" * 100_000, "x must be a JSON object"),
        ("File", " ", "x must be the path of a file, not empty."),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(kind: Any, text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        read(spec(kind), text)
    assert str(refused.value).startswith(sentence) and "\n" not in str(refused.value)


def test_broken_json_says_where() -> None:
    with pytest.raises(ValueError, match=r"line 1\)\.$"):
        read(spec("dict"), '{"a": }')


@each(
    ("kind", "value"),
    [
        ("int", 5),
        ("dict", {"ä": None}),
        ("timedelta", dt.timedelta(days=1, seconds=5)),
        ("date", dt.date(2025, 1, 2)),
        ("datetime", dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC)),
        ("str", "x"),
    ],
)
def test_what_is_written_is_read_back(kind: Any, value: Any) -> None:
    assert read(spec(kind), written(spec(kind), value)) == value
