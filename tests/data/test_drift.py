from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.drift import (
    check_drift,
    remaining_differences,
    restore_dtypes,
    unread_drift,
    with_known_categories,
)
from autocoder_jupyter.data.shapes import shape_of
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
    for other in (BASE.assign(n=[1.0, np.nan]), BASE.assign(n=[1e300, 1.0])):
        assert restore_dtypes(other, shape_of(BASE)) is other
    assert check_drift("t", BASE.assign(n=[1, "x"]), shape_of(BASE)) is not None


def test_columns_that_are_not_read_stay_as_they_are() -> None:
    given = BASE.astype(object)
    made = restore_dtypes(given, shape_of(BASE), ColumnsRead(all=False, names=frozenset({"x"})))
    assert made["n"].dtype == object and made["x"].dtype == float


SIZES = pd.Categorical(["M", "S", None], ["S", "M", "L"], ordered=True)
CATEGORIES = {
    "ordered": SIZES,
    "unordered": pd.Categorical(["b", "a", None], ["c", "b", "a"]),
    "numbers": pd.Categorical([3, 1, None], [3, 2, 1], ordered=True),
    "truth values": pd.Categorical([True, False, None], [True, False]),
    "times": pd.Series(["2024-01-02", "2024-01-01", None], dtype="datetime64[us]").astype("category").array,
    "intervals": pd.cut(pd.Series([1, 5, None]), [0, 2, 4, 6]).array,
}


@each("kept", CATEGORIES.values(), ids=[*CATEGORIES])
def test_texts_and_other_categories_get_the_recorded_ones(kept: Any) -> None:
    frame = pd.DataFrame({"x": kept})
    shape = json.loads(json.dumps(shape_of(frame)))
    objects = pd.Series(kept).astype(object)
    forms = {
        "itself": frame["x"],
        "values": objects.infer_objects(),
        "texts": objects.map(str, na_action="ignore"),
        "no order": pd.Series(pd.Categorical(objects)) if frame["x"].dtype.kind == "O" else frame["x"],
        "gaps": pd.Series([None, None, None]),
    }
    for form, column in forms.items():
        given = pd.DataFrame({"x": column})
        assert check_drift("t", given, shape) is None, form
        made = restore_dtypes(given, shape)["x"]
        assert made.cat.ordered == frame["x"].cat.ordered, form
        assert made.cat.categories.tolist() == frame["x"].cat.categories.tolist(), form
        if form != "gaps":
            assert made.cat.codes.tolist() == frame["x"].cat.codes.tolist(), form


@each(
    ("other", "words"),
    [
        (
            pd.Categorical(["M"], ["L", "M", "S"], ordered=True),
            "'x' has the order 'L' < 'M' < 'S' instead of 'S' < 'M' < 'L'",
        ),
        (
            pd.Categorical(["S"], ["S", "XL", "L"], ordered=True),
            "'XL', which is not in the recorded order",
        ),
        (["M", "XL"], "'XL', which is not in the recorded order"),
        ([1, 2], "which are not in the recorded order"),
    ],
)
def test_another_order_and_a_value_without_a_place_in_it_are_drift(other: Any, words: str) -> None:
    sentence = check_drift("t", pd.DataFrame({"x": other}), shape_of(pd.DataFrame({"x": SIZES})))
    assert words in str(sentence)
    series = check_drift("t", pd.Series(other, name="x"), shape_of(pd.Series(SIZES, name="x")))
    assert words.removeprefix("'x' ") in str(series)


def test_an_order_that_has_more_categories_stays_and_new_values_without_an_order_are_added() -> None:
    more = pd.DataFrame({"x": pd.Categorical(["XL", "S"], ["S", "M", "L", "XL"], ordered=True)})
    shape = shape_of(pd.DataFrame({"x": SIZES}))
    assert check_drift("t", more, shape) is None and restore_dtypes(more, shape) is more
    fewer = restore_dtypes(pd.DataFrame({"x": pd.Categorical(["S", "L"], ["S", "L"], ordered=True)}), shape)
    assert fewer["x"].cat.categories.tolist() == ["S", "M", "L"]
    for categories, found in ((["a", "c"], ["a", "b", "c"]), (["c", "a"], ["c", "a", "b"])):
        kept = shape_of(pd.DataFrame({"x": pd.Categorical(["a"], categories)}))
        made = restore_dtypes(pd.DataFrame({"x": ["b", "a"]}), kept)
        assert made["x"].tolist() == ["b", "a"] and made["x"].cat.categories.tolist() == found


def test_categories_that_may_not_be_written_down_are_not_and_their_order_is_asked_for() -> None:
    frame = pd.DataFrame({"x": SIZES})
    shape = shape_of(frame, lambda label, column: False)
    assert "'S'" not in json.dumps(shape) and "S" not in json.dumps(shape["categories"]).replace("values", "")
    assert "the recorded order is not known" in str(check_drift("t", frame.astype(str), shape))
    known = with_known_categories(shape, frame)
    assert check_drift("t", frame.astype(object), known) is None
    assert restore_dtypes(frame.astype(object), known)["x"].dtype == frame["x"].dtype
    private = shape_of(pd.DataFrame({"x": pd.Categorical(["alice@example.com"])}))
    assert private["categories"]["'x'"]["values"] is None


FORMS = {
    "unit": (pd.date_range("2024", periods=2, unit="ns"), pd.date_range("2024", periods=2, unit="s")),
    "zone": (
        pd.date_range("2024", periods=2, tz="Europe/Berlin"),
        pd.date_range("2024", periods=2, tz="Europe/Berlin").tz_convert("UTC"),
    ),
    "nullable": (pd.array([1, None], dtype="Int64"), [1.0, None]),
    "precision": (np.array([0.5, 0.25], "float32"), [0.5, 0.25]),
    "whole numbers": ([1.0, 2.0], [1, 2]),
    "strings": (["a", "b"], np.array(["a", "b"], dtype=object)),
    "objects": (pd.Series(["a", None], dtype=object), pd.Series(["a", None], dtype="string")),
    "truth values": (pd.Series([True, False], dtype=object), [True, False]),
    "truth values with gaps": (pd.array([True, None], dtype="boolean"), pd.Series([True, None], dtype=object)),
}


@each(("then", "now"), FORMS.values(), ids=[*FORMS])
def test_each_property_of_a_dtype_that_can_change_an_answer_is_restored(then: Any, now: Any) -> None:
    recorded, given = pd.DataFrame({"x": then}), pd.DataFrame({"x": now})
    shape = shape_of(recorded)
    assert check_drift("t", given, shape) is None
    assert restore_dtypes(given, shape)["x"].dtype == recorded["x"].dtype
    series: pd.Series[Any] = restore_dtypes(given["x"], shape_of(recorded["x"]))
    assert series.dtype == recorded["x"].dtype
    assert remaining_differences("t", restore_dtypes(given, shape), shape, EVERY_COLUMN) == ""


def test_what_cannot_be_restored_is_told() -> None:
    precise = pd.DataFrame({"x": [0.1, 0.2]}, index=pd.date_range("2024", periods=2))
    shape = shape_of(precise.astype("float32"))
    given = precise.reset_index(drop=True)
    assert check_drift("t", given, shape) is None
    said = remaining_differences("t", restore_dtypes(given, shape), shape, EVERY_COLUMN)
    assert said == "t: 'x' is float64 instead of float32, the index is int64 instead of datetime64[us]."


@each(
    ("then", "now", "words"),
    [
        (
            pd.Series(["a", "b"], dtype=object),
            pd.Series(["a", 1], dtype=object),
            "values of several kinds instead of texts",
        ),
        (
            pd.Series([True, None], dtype=object),
            pd.Series(["True", None], dtype=object),
            "texts instead of truth values",
        ),
        (["01067", "1234"], pd.Series([1067, 1234], dtype=object), "'x' is object instead of str"),
        (["1", "2"], pd.Categorical([1, 2]), "'x' is category instead of str"),
    ],
)
def test_objects_of_another_kind_are_drift(then: Any, now: Any, words: str) -> None:
    assert words in str(check_drift("t", pd.DataFrame({"x": now}), shape_of(pd.DataFrame({"x": then}))))


def test_an_index_level_with_other_values_is_drift() -> None:
    indexed = pd.DataFrame({"x": [1]}, index=pd.DatetimeIndex(["2024-01-01"], name="day"))
    other = indexed.set_axis(pd.Index(["2024-01-01"], name="day"))
    assert "index level 'day' is str instead of datetime64" in str(check_drift("t", other, shape_of(indexed)))


@each(
    "recorded, now, values",
    [
        ("int8", "int64", [1, 2, 100]),
        ("int8", "Int64", [1, 2, 100]),
        ("Int16", "int32", [1, 2, 100]),
    ],
)
def test_whole_numbers_are_not_computed_with_less_room_than_they_have(
    recorded: Any, now: Any, values: list[Any]
) -> None:
    """`n * 100` of a small sample fits into eight bits; that of a later table does not."""
    shape = shape_of(pd.DataFrame({"n": [0, 1, 1]}).astype(recorded))
    frame = pd.DataFrame({"n": values}).astype(now)
    assert check_drift("sales", frame, shape) is None
    made = restore_dtypes(frame, shape)
    assert str(made["n"].dtype) == now
    assert remaining_differences("sales", made, shape, EVERY_COLUMN) == f"sales: 'n' is {now} instead of {recorded}."


@each("recorded, now, value", [("int64", "uint64", 2**63 + 5), ("uint64", "int64", -5)])
def test_numbers_that_only_another_sign_can_hold_stay_as_they_are(recorded: Any, now: Any, value: int) -> None:
    shape = shape_of(pd.DataFrame({"n": [1, 2]}).astype(recorded))
    made = restore_dtypes(pd.DataFrame({"n": np.array([1, value], dtype=now)}), shape)
    assert made["n"].tolist() == [1, value]


def test_the_levels_of_an_index_come_in_the_order_of_the_sample() -> None:
    """`groupby(level=0)` would group by another level."""
    frame = pd.DataFrame({"kind": ["a", "b"], "post": ["01", "02"], "n": [1, 2]}).set_index(["kind", "post"])
    for table, swapped in ((frame, frame.swaplevel()), (frame["n"], frame["n"].swaplevel())):
        shape = shape_of(table)
        assert check_drift("sales", swapped, shape) is None
        assert restore_dtypes(swapped, shape).index.equals(table.index)
        assert swapped.index.names == ["post", "kind"]
