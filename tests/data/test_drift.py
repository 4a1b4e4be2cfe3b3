from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.columns_read import ColumnsRead
from autocoder_jupyter.data.drift import check_drift, restore_dtypes, shape_of, unread_drift
from tests.cases import each
from tests.data.conftest import COLUMNS, FRAMES

BASE = pd.DataFrame({"n": [1, 2], "x": [1.5, 2.5], "s": ["a", "b"], "t": pd.to_datetime(["2024-01-01", "2024-01-02"])})


@each("any_frame", FRAMES.values(), ids=[*FRAMES])
def test_every_table_agrees_with_its_own_shape(any_frame: pd.DataFrame) -> None:
    shape = json.loads(json.dumps(shape_of(any_frame)))
    assert check_drift("t", any_frame, shape) is None


@each("any_series", COLUMNS.values(), ids=[*COLUMNS])
def test_every_series_agrees_with_its_own_shape(any_series: pd.Series[Any]) -> None:
    assert check_drift("s", any_series, json.loads(json.dumps(shape_of(any_series)))) is None


@each(
    "other",
    [
        BASE.head(0),
        BASE[["t", "s", "x", "n"]],
        BASE.assign(more=1),
        BASE.astype({"n": "int8"}),
        BASE.astype({"n": "Int64"}),
        BASE.astype({"x": "float32"}),
        BASE.astype({"x": "int64"}),
        BASE.astype({"s": object}),
        BASE.astype({"s": "string"}),
        BASE.astype({"s": "category"}),
        BASE.astype({"t": "datetime64[s]"}),
        BASE.assign(n=[1.0, np.nan]),
        BASE.assign(s=[None, None]),  # type: ignore[list-item]
        BASE.astype({"n": object, "x": object, "t": object}),
        BASE.astype({"n": "category", "x": "category", "t": "category"}),
    ],
    ids=lambda frame: str(list(frame.dtypes)),
)
def test_what_a_function_can_take_is_no_drift(other: pd.DataFrame) -> None:
    assert check_drift("sales", other, shape_of(BASE)) is None


@each(
    ("other", "words"),
    [
        (BASE.drop(columns="n"), "lacks 'n'"),
        (BASE.set_index("s"), "lacks 's'"),
        (BASE.assign(n=["1", "2"]), "'n' is str instead of int64"),
        (BASE.assign(n=[1.5, 2.5]), "'n' is float64 instead of int64"),
        (BASE.assign(x=["a", "b"]), "'x' is str instead of float64"),
        (BASE.assign(t=BASE["t"].dt.tz_localize("UTC")), "'t' is datetime64"),
        (BASE.assign(t=BASE["t"].astype(str)), "'t' is str"),
        (BASE["n"], "sales is a Series"),
    ],
)
def test_drift_is_one_sentence_that_names_it(other: Any, words: str) -> None:
    sentence = check_drift("sales", other, shape_of(BASE))
    assert sentence is not None
    assert words in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_a_lost_index_level_is_drift() -> None:
    indexed = BASE.set_index("s")
    assert "index level 's'" in str(check_drift("sales", indexed.reset_index(drop=True), shape_of(indexed)))


def test_many_missing_columns_are_summed_up() -> None:
    wide = pd.DataFrame([[0] * 100], columns=[f"c{i}" for i in range(100)])
    sentence = check_drift("t", wide[["c0"]], shape_of(wide))
    assert sentence is not None
    assert "and 94 more" in sentence


def test_a_name_that_stood_twice_must_stand_twice() -> None:
    twice = pd.DataFrame([[1, "a"]], columns=["a", "a"])
    assert check_drift("t", twice.iloc[:, :1], shape_of(twice)) is not None


def test_a_name_that_stood_once_must_not_stand_twice() -> None:
    once = pd.DataFrame({"a": [1], "b": [2]})
    sentence = check_drift("t", pd.concat([once, once[["a"]]], axis=1), shape_of(once))
    assert sentence is not None
    assert "more than one 'a'" in sentence


def test_a_private_name_is_kept_masked_and_still_fits() -> None:
    frame = pd.DataFrame({"n": [1], "alice@example.com": [2.0]})
    shape = shape_of(frame)
    assert shape["columns"] == [["'n'", "int64"], ["'<email-1>'", "float64"]]
    assert check_drift("t", frame, shape) is None
    assert check_drift("t", frame[["n"]], shape) is not None


def test_what_changed_in_columns_that_are_not_read_is_said_apart() -> None:
    reads = ColumnsRead(all=False, names=frozenset({"x"}))
    other = BASE.drop(columns="n").assign(s=1)
    assert check_drift("sales", other, shape_of(BASE), reads) is None
    said = unread_drift("sales", other, shape_of(BASE), reads)
    assert said == "sales lacks 'n' and has other dtypes: 's' is int64 instead of str; the function does not read that."
    assert unread_drift("sales", BASE.drop(columns="x"), shape_of(BASE), reads) is None
    assert "'x'" in str(check_drift("sales", BASE.drop(columns="x"), shape_of(BASE), reads))


@each("form", [object, "category", {"n": "float64"}, {"n": "float32", "t": "datetime64[s]"}])
def test_a_difference_of_form_alone_is_taken_away_without_touching_the_frame(form: Any) -> None:
    given = BASE.astype(form)
    before = given.copy()
    made = restore_dtypes(given, shape_of(BASE))
    assert list(made.dtypes.iloc[:2]) == list(BASE.dtypes.iloc[:2]) and made["t"].dtype.kind == "M"
    assert made["n"].tolist() == [1, 2]
    pd.testing.assert_frame_equal(given, before)


def test_what_would_lose_something_stays_as_it_is() -> None:
    for other in (BASE.assign(n=[1.0, np.nan]), BASE.assign(n=[1e300, 1.0]), BASE.assign(s=pd.Categorical(["a", "b"]))):
        assert restore_dtypes(other, shape_of(BASE)) is other
    assert check_drift("t", BASE.assign(n=[1, "x"]), shape_of(BASE)) is not None


def test_columns_that_are_not_read_stay_as_they_are() -> None:
    given = BASE.astype(object)
    made = restore_dtypes(given, shape_of(BASE), ColumnsRead(all=False, names=frozenset({"x"})))
    assert made["n"].dtype == object and made["x"].dtype == float
