from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.calls.binding import bind, checked_value, split
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.types import Dir, File, InputSpec, TypeName
from tests.cases import each

SALES = InputSpec(name="sales", type="DataFrame")
LEAST = InputSpec(name="least", type="int", required=False, default=5)


def test_arguments_are_taken_by_position_and_by_name(function: Any) -> None:
    frame = pd.DataFrame({"a": [1]})
    assert bind(function("", (SALES, LEAST)), (frame,), {"least": 7}) == {"sales": frame, "least": 7}


def test_a_sample_is_the_default_and_so_is_a_declared_value(function: Any) -> None:
    frame = pd.DataFrame({"a": [1]})
    assert bind(function("", (SALES, LEAST), samples={"sales": frame}), (), {}) == {"sales": frame, "least": 5}


def test_an_optional_input_without_a_default_is_left_to_the_function(function: Any) -> None:
    optional = InputSpec(name="least", type="int", required=False)
    assert bind(function("", (optional,)), (), {}) == {}
    assert bind(function("", (optional,)), (), {"least": None}) == {}


def test_zero_and_false_are_values_and_not_absence(function: Any) -> None:
    inputs = (
        InputSpec(name="n", type="int", required=False, default=5),
        InputSpec(name="flag", type="bool", required=False, default=True),
        InputSpec(name="word", type="str", required=False, default="x"),
    )
    assert bind(function("", inputs), (0, False, ""), {}) == {"n": 0, "flag": False, "word": ""}


def test_defaults_of_time_are_revived_from_json(function: Any) -> None:
    inputs = (
        InputSpec(name="day", type="date", required=False, default="2025-03-01"),
        InputSpec(name="at", type="datetime", required=False, default="2025-03-01T10:00:00+00:00"),
        InputSpec(name="span", type="timedelta", required=False, default=90),
        InputSpec(name="other", type="timedelta", required=False, default="PT36H"),
    )
    assert bind(function("", inputs), (), {}) == {
        "day": dt.date(2025, 3, 1),
        "at": dt.datetime(2025, 3, 1, 10, tzinfo=dt.UTC),
        "span": dt.timedelta(seconds=90),
        "other": dt.timedelta(hours=36),
    }


@pytest.mark.parametrize(
    ("positional", "keywords", "said"),
    [
        ((), {}, "growth needs sales"),
        ((1, 2, 3), {}, "takes 2 inputs, 3 were given"),
        ((), {"salse": 1}, "Did you mean sales"),
        ((), {"timout": 1}, "Did you mean timeout"),
        ((1,), {"sales": 1}, "given twice"),
        ((), {"sales": None}, "must be a DataFrame, not None"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(
    positional: tuple[Any, ...], keywords: dict[str, Any], said: str, function: Any
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        bind(function("", (SALES, LEAST)), positional, keywords)


def test_an_input_with_the_name_of_an_option_wins(function: Any) -> None:
    named = function("", (InputSpec(name="timeout", type="int"), InputSpec(name="name", type="str")))
    inputs, options = split(named, {"timeout": 3, "name": "x", "retries": 2})
    assert inputs == {"timeout": 3, "name": "x"}
    assert options == {"retries": 2}


def test_a_frame_that_lost_a_column_is_refused_before_anything_runs(function: Any) -> None:
    sample = pd.DataFrame({"day": [1], "revenue": [2.0]})
    built = function("", (SALES,), samples={"sales": sample}, sample_shapes={"sales": shape_of(sample)})
    with pytest.raises(DataDrift, match="revenue"):
        bind(built, (pd.DataFrame({"day": [1]}),), {})
    assert bind(built, (pd.DataFrame({"day": [4], "revenue": [1.0], "more": [1]}),), {})


def test_a_column_that_the_code_does_not_read_may_be_missing_or_of_another_dtype(function: Any) -> None:
    sample = pd.DataFrame({"day": [1], "revenue": [2.0], "notes": ["a"]})
    code = "def run(sales):\n    return sales.groupby('day')['revenue'].sum()"
    built = function(code, (SALES,), samples={"sales": sample}, sample_shapes={"sales": shape_of(sample)})
    assert bind(built, (sample.drop(columns="notes"),), {})
    assert bind(built, (sample.assign(notes=1),), {})
    with pytest.raises(DataDrift, match="lacks 'day'; "):
        bind(built, (sample[["revenue"]],), {})


@each(
    ("kind", "value", "expected"),
    [
        ("float", 3, 3.0),
        ("float", np.float32(0.5), 0.5),
        ("int", np.int64(7), 7),
        ("bool", np.bool_(False), False),
        ("str", "--looks like an option", "--looks like an option"),
        ("str", "O'Brien'; echo $(id) `id` \"{{.inputs.x}}\" \n\0", "O'Brien'; echo $(id) `id` \"{{.inputs.x}}\" \n\0"),
        ("list", (1, 2), [1, 2]),
        ("datetime", pd.Timestamp("2025-01-01"), pd.Timestamp("2025-01-01")),
        ("timedelta", pd.Timedelta("-1s"), pd.Timedelta("-1s")),
    ],
)
def test_a_value_of_the_declared_type_passes_unharmed(kind: TypeName, value: Any, expected: Any) -> None:
    accepted = checked_value(InputSpec(name="x", type=kind), value)
    assert accepted == expected
    assert type(accepted) is type(expected)


@each(
    ("kind", "value", "hint"),
    [
        ("int", 1.5, ""),
        ("int", True, ""),
        ("float", "1.5", ""),
        ("float", False, ""),
        ("int", np.timedelta64(1, "s"), ""),
        ("bool", 1, ""),
        ("str", 1, ""),
        ("File", "sales.csv", r"File\('sales.csv'\)"),
        ("File", Path("sales.csv"), r"File\('sales.csv'\)"),
        ("Dir", "folder", r"Dir\('folder'\)"),
        ("DataFrame", pd.Series([1]), "to_frame"),
        ("Series", pd.DataFrame({"a": [1]}), "one column"),
        ("date", dt.datetime(2025, 1, 1), "date"),
        ("datetime", "2025-01-01", "Timestamp"),
        ("datetime", pd.NaT, ""),
        ("timedelta", 5, "Timedelta"),
        ("dict", [1], ""),
        ("list", "abc", ""),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_to_write(kind: TypeName, value: Any, hint: str) -> None:
    with pytest.raises(InvalidRequest, match=f"x must be an? {kind}") as refused:
        checked_value(InputSpec(name="x", type=kind), value)
    assert re.search(hint, refused.value.hint)


def test_a_file_must_be_there_and_be_a_file(tmp_path: Path) -> None:
    spec = InputSpec(name="x", type="File")
    with pytest.raises(InvalidRequest, match="does not exist"):
        checked_value(spec, File(tmp_path / "missing"))
    with pytest.raises(InvalidRequest, match="Write Dir"):
        checked_value(spec, File(tmp_path))
    assert checked_value(InputSpec(name="x", type="Dir"), Dir(tmp_path)) == Dir(tmp_path)
