"""Frames and Series: labels of every kind, attributes, and operations on a frame that came back."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocoder_jupyter.codec import TypeMismatch, Unencodable, decode, encode
from tests.cases import each

NAN = float("nan")
INDEXES = {
    "a range": pd.RangeIndex(3),
    "a range with a step and a name": pd.RangeIndex(10, 4, -2, name="n"),
    "ints out of order": pd.Index([7, 3, 5]),
    "text": pd.Index(["a", "b", "c"], name="key"),
    "object text": pd.Index(["a", None, "c"], dtype=object),
    "duplicates": pd.Index([1, 1, 1]),
    "floats with nan": pd.Index([1.5, NAN, -0.0]),
    "bools": pd.Index([True, False, True]),
    "small ints": pd.Index([1, 2, 3], dtype="int8"),
    "dates at midnight": pd.date_range("2024-01-31", periods=3, freq="ME", name="month"),
    "hours in a zone": pd.date_range("2024-03-31", periods=3, freq="h", tz="Europe/Berlin"),
    "datetimes without frequency": pd.DatetimeIndex(["2024-01-01", "2024-01-05", None]),
    "seconds": pd.date_range("2024", periods=3, freq="D", unit="s"),
    "timedeltas": pd.timedelta_range("1h", periods=3, freq="30min"),
    "periods": pd.period_range("2024Q1", periods=3, freq="Q"),
    "intervals": pd.interval_range(0, 3, closed="both"),
    "categories": pd.CategoricalIndex(["a", "b", "a"], categories=["b", "a", "z"], ordered=True),
    "nullable ints": pd.Index([1, None, 3], dtype="Int64"),
    "arrow text": pd.Index(["a", None, "c"], dtype=pd.StringDtype("pyarrow")),
    "mixed objects": pd.Index([1, "1", (1, 2)], dtype=object, tupleize_cols=False),
    "date objects": pd.Index([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None], dtype=object),
    "complex": pd.Index([1j, 2, 3]),
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["letter", None]),
    "levels with holes": pd.MultiIndex.from_tuples([("a", 1), (None, 2), ("b", None)]),
    "levels not all used": pd.MultiIndex.from_product([["a", "b"], [1, 2]])[:3],
    "levels of dates and categories": pd.MultiIndex.from_arrays(
        [pd.date_range("2024", periods=3, tz="UTC"), pd.Categorical(["x", "y", "x"])], names=[0, ("t", 1)]
    ),
    "a level of one": pd.MultiIndex.from_arrays([[1, 2, 3]]),
    "named by a tuple": pd.Index([1, 2, 3], name=("a", 1)),
    "named by a timestamp": pd.Index([1, 2, 3], name=pd.Timestamp("2024", tz="Asia/Tokyo")),
    "named by an int": pd.Index([1, 2, 3], name=0),
}


@each("index", [pytest.param(index, id=name) for name, index in INDEXES.items()])
def test_an_index_of_each_kind_survives_on_rows(index: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(pd.DataFrame({"v": [1, 2, 3]}, index=index))
    assert_crosses(pd.Series([1.0, 2.0, 3.0], index=index, name="v"), "Series")


@each("index", [pytest.param(index, id=name) for name, index in INDEXES.items()])
def test_an_index_of_each_kind_survives_on_columns(index: Any, assert_crosses: Callable[..., Any]) -> None:
    frame = pd.DataFrame([[1, "a", 2.5], [2, "b", NAN]])
    frame.columns = index
    assert_crosses(frame)


@each("index", [pytest.param(index, id=name) for name, index in INDEXES.items()])
def test_an_index_of_each_kind_survives_without_rows(index: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(pd.DataFrame({"v": [1, 2, 3]}, index=index).iloc[:0])


@each(
    "labels",
    [["a", "a"], [None, "a"], [NAN, 1], [("a", "b"), "c"], [pd.NaT, pd.NA], [1, True], [b"a", dt.date(2024, 1, 1)]],
    ids=str,
)
def test_odd_column_labels_come_back_as_they_were(
    labels: list[Any] | list[str], assert_crosses: Callable[..., Any]
) -> None:
    frame = pd.DataFrame([[1, "x"]])
    frame.columns = pd.Index(labels, dtype=object, tupleize_cols=False)
    assert_crosses(frame)


@each("name", [None, "a", 0, 1.5, ("a", 1), pd.Timestamp("2024"), dt.date(2024, 1, 1), b"x", True])
def test_the_name_of_a_series_comes_back(name: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(pd.Series([1], name=name), "Series")


@each(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame(index=range(5)),
        pd.DataFrame(columns=["a", "b"]),
        pd.DataFrame({"a": []}),
        pd.DataFrame(index=pd.Index(["x"])),
    ],
    ids=["nothing", "only rows", "only columns", "an empty column", "only a label"],
)
def test_empty_frames_cross(frame: pd.DataFrame, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(frame)


def test_attrs_come_back(assert_crosses: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"source": "ledger", "pages": [1, 2], "when": dt.date(2024, 1, 1), 3: None}
    assert_crosses(frame)


def test_attrs_that_cannot_cross_are_refused_by_their_key() -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"connection": object()}
    with pytest.raises(Unencodable, match=r"attrs\['connection'\]"):
        encode(frame, "DataFrame")


def test_a_frame_that_allows_no_duplicate_labels_still_does_not(cross: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False)
    assert not cross(frame).flags.allows_duplicate_labels


def test_tables_with_the_same_labels_do_not_share_them(cross: Callable[..., Any]) -> None:
    one, other = (cross(pd.DataFrame({"a": [1], "b": [2]})) for _ in range(2))
    one.columns.name = "changed"
    with contextlib.suppress(ValueError):  # read-only, from pandas 3 on
        one.columns.array[0] = "c"
    assert not one.columns.is_(other.columns)
    assert other.columns.tolist() == ["a", "b"] and other.columns.name is None
    assert cross(pd.DataFrame({"a": [1], "b": [2]})).columns.tolist() == ["a", "b"]


def test_an_index_that_cannot_cross_is_refused_by_name() -> None:
    with pytest.raises(Unencodable, match="the index"):
        encode(pd.DataFrame({"a": [1]}, index=[object()]), "DataFrame")
    with pytest.raises(Unencodable, match="the column labels"):
        encode(pd.DataFrame([[1]], columns=[object()]), "DataFrame")


def test_a_custom_calendar_is_left_out_of_an_index_rather_than_changed(cross: Callable[..., Any]) -> None:
    days = pd.date_range("2024-01-01", periods=3, freq=pd.offsets.CustomBusinessDay(holidays=["2024-01-02"]))
    back = cross(pd.DataFrame({"a": [1, 2, 3]}, index=days))
    assert list(back.index) == list(days)
    assert back.index.freq is None


class Special(pd.DataFrame):
    pass


def test_a_subclass_of_frame_is_refused_with_a_way_out() -> None:
    with pytest.raises(Unencodable, match=r"pd\.DataFrame\(\.\.\.\)"):
        encode(Special({"a": [1]}), "DataFrame")


@each("value", [None, [1], {"a": [1]}, np.zeros((2, 2)), pd.Series([1]), "frame"], ids=lambda v: type(v).__name__)
def test_what_is_no_frame_is_a_mismatch(value: Any) -> None:
    with pytest.raises(TypeMismatch) as mismatch:
        encode(value, "DataFrame")
    assert mismatch.value.wanted == "DataFrame"
    assert mismatch.value.got == type(value).__name__


WRITABLE = {
    "float": [1.0, 2.0],
    "int": [1, 2],
    "bool": [True, False],
    "text": ["a", "b"],
    "object": pd.Series(["a", None], dtype=object),
    "dates": pd.Series([dt.date(2024, 1, 1)] * 2, dtype=object),
    "cells": pd.Series([Decimal("1.10"), b"x"], dtype=object),
    "datetime": pd.to_datetime(["2024", "2025"]),
    "zoned": pd.to_datetime(["2024", "2025"]).tz_localize("Asia/Tokyo"),
    "timedelta": pd.to_timedelta([1, 2]),
    "Int64": pd.array([1, None], dtype="Int64"),
    "boolean": pd.array([True, None], dtype="boolean"),
    "period": pd.period_range("2024", periods=2, freq="M"),
    "category": pd.Categorical(["a", "b"]),
    "complex": [1j, 2j],
    "arrow": pd.array([1, None], dtype="int64[pyarrow]"),
    "interval": pd.interval_range(0, 2),
}


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize("immutable_payload", [False, True])
def test_a_frame_that_came_back_can_be_changed_in_place(
    kind: str, immutable_payload: bool, trusted: bool, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"v": WRITABLE[kind]})
    encoded = encode(frame, "DataFrame")
    payload = b"".join(encoded.buffers)
    view = memoryview(payload if immutable_payload else bytearray(payload))
    back = decode(encoded.header, view, folder=tmp_path, trusted=trusted)
    back.loc[0, "v"] = back.loc[1, "v"]
    back.iloc[1, 0] = frame.iloc[0, 0]
    back["more"] = 1
    assert frame.iloc[::-1].reset_index(drop=True)["v"].equals(back["v"])
    back.rename(columns={"v": "w"}, inplace=True)
    assert frame.equals(pd.DataFrame({"v": WRITABLE[kind]}))


def test_an_index_that_came_back_can_be_searched(cross: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"v": range(1000)}, index=pd.Index(np.random.default_rng(0).permutation(1000)))
    back = cross(frame)
    assert all(back.loc[key, "v"] == frame.loc[key, "v"] for key in range(0, 1000, 37))


def test_changing_one_column_leaves_its_neighbours_alone(cross: Callable[..., Any]) -> None:
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc"))
    back = cross(frame)
    back["b"] += 1
    back.loc[:, "a"] = -1.0
    assert list(back["c"]) == list(frame["c"])


def test_a_payload_that_starts_anywhere_is_read(tmp_path: Path, trusted: bool) -> None:
    frame = pd.DataFrame({"f": [1.5, 2.5], "s": ["a", "b"]})
    encoded = encode(frame, "DataFrame")
    for shift in range(9):
        room = bytearray(shift) + b"".join(encoded.buffers)
        back = decode(encoded.header, memoryview(room)[shift:], folder=tmp_path, trusted=trusted)
        pd.testing.assert_frame_equal(frame, back)
        assert back["f"].to_numpy().flags.aligned


def test_a_wide_frame_comes_back_in_one_piece(cross: Callable[..., Any]) -> None:
    frame = pd.DataFrame(np.zeros((3, 300)))
    back = cross(frame)
    back["new"] = 1  # pandas would warn about fragmentation, and warnings of this package are errors
    assert back.shape == (3, 301)


def test_numbers_are_not_copied_on_the_way(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).random(100_000), "b": 1.5}, copy=False)
    encoded = encode(frame, "DataFrame")
    assert any(np.shares_memory(np.frombuffer(piece, "u1"), frame["a"].to_numpy()) for piece in encoded.buffers)
    payload = np.frombuffer(bytearray(b"".join(encoded.buffers)), "u1")
    back = decode(encoded.header, memoryview(payload.data), folder=tmp_path, trusted=False)
    assert np.shares_memory(payload, back["a"].to_numpy())


def test_the_header_is_plain_json(tmp_path: Path) -> None:
    frame = pd.DataFrame({("a", NAN): [1]}, index=pd.Index([pd.Timestamp("2024")], name=NAN))
    header = encode(frame, "DataFrame").header
    assert json.loads(json.dumps(header, allow_nan=False)) == header
    assert header["type"] == "DataFrame"


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=8),
    st.binary(max_size=8),
    st.dates(),
    st.times(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(),
    st.decimals(),
    st.complex_numbers(),
    st.uuids(),
    st.sampled_from([pd.NA, pd.NaT]),
)
nested = st.recursive(
    cells,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
columns = st.one_of(
    st.lists(nested, min_size=4, max_size=4).map(lambda items: pd.Series(items, dtype=object)),
    st.lists(st.text(max_size=5) | st.none(), min_size=4, max_size=4).map(lambda items: pd.Series(items, dtype=object)),
    st.lists(st.floats(), min_size=4, max_size=4).map(lambda items: pd.Series(items, dtype="float64")),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4).map(
        lambda items: pd.Series(items, dtype="int64")
    ),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=4, max_size=4).map(
        lambda items: pd.Series(items, dtype="Int64")
    ),
    st.lists(st.sampled_from(["x", "y", None]), min_size=4, max_size=4).map(
        lambda items: pd.Series(items, dtype="category")
    ),
    st.lists(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)) | st.none(), min_size=4, max_size=4).map(
        lambda items: pd.Series(items, dtype="M8[us]")
    ),
)


@settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=4) | st.integers(), columns, max_size=4), st.integers(0, 4))
def test_any_frame_crosses(assert_crosses: Callable[..., Any], content: Any, rows: Any) -> None:
    assert_crosses(pd.DataFrame(content).iloc[:rows])


def test_an_ordered_dict_in_a_cell_is_refused_rather_than_made_plain() -> None:
    with pytest.raises(Unencodable, match="plain dict"):
        encode(pd.Series([OrderedDict(a=1)], dtype=object), "Series")
