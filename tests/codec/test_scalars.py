"""Declared scalar values, and values that do not fit the declaration."""

from __future__ import annotations

import datetime as dt
import enum
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codec import TypeMismatch, Unencodable, encode
from tests.cases import each

NAN = float("nan")


class Letter(str, enum.Enum):  # noqa: UP042 (the older way is the trap: its str() is not its value)
    A = "a"


@each(
    ("value", "type_name"),
    [
        ("", "str"),
        ("häß\r\n\0\U0001f600'\"", "str"),
        ("\ud800", "str"),
        ("x" * 100_000, "str"),
        (0, "int"),
        (-(10**5000), "int"),
        (2**63, "int"),
        (0.1 + 0.2, "float"),
        (1e-310, "float"),
        (-0.0, "float"),
        (NAN, "float"),
        (float("-inf"), "float"),
        (True, "bool"),
        (False, "bool"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 6), "datetime"),
        (dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1), "datetime"),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "datetime"),
        (dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3.5))), "datetime"),
        (dt.date(1, 1, 1), "date"),
        (dt.timedelta(days=-1, microseconds=1), "timedelta"),
        (dt.timedelta.max, "timedelta"),
        ({}, "dict"),
        ({"a": {"b": [1, 2.0, None, True, "x"]}, "$": "int", "v": 1}, "dict"),
        ({1: "int", (1, "a"): "tuple", None: 0, dt.date(2024, 1, 1): [Decimal("1.10")]}, "dict"),
        ([], "list"),
        ([1, [2, [3, (4, {5})]], b"x", NAN, pd.NA], "list"),
        ([np.array([1.0, 2.0])], "list"),
    ],
    ids=lambda v: v if isinstance(v, str) and v.isalpha() and len(v) < 10 else type(v).__name__,
)
def test_a_value_comes_back_as_it_went(value: Any, type_name: str, assert_crosses: Callable[..., Any]) -> None:
    back = assert_crosses(value, type_name)
    if isinstance(value, dt.datetime):
        assert back.fold == value.fold
        assert type(back.tzinfo) is type(value.tzinfo)


@each(
    ("value", "type_name", "expected"),
    [
        (3, "float", 3.0),
        (np.int8(3), "int", 3),
        (np.uint64(2**64 - 1), "int", 2**64 - 1),
        (np.float32(0.5), "float", 0.5),
        (np.int64(2), "float", 2.0),
        (np.bool_(True), "bool", True),
        (np.str_("a"), "str", "a"),
        (Letter.A, "str", "a"),
        (
            pd.Timestamp("2024-01-01", tz="Asia/Tokyo"),
            "datetime",
            dt.datetime(2024, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
        ),
        (pd.Timedelta("1D"), "timedelta", dt.timedelta(1)),
        ({"a": np.float64(1.5), "b": [np.int64(2), np.bool_(False)]}, "dict", {"a": 1.5, "b": [2, False]}),
        ({np.int64(1): np.str_("x")}, "dict", {1: "x"}),
        (Counter("aab"), "dict", {"a": 2, "b": 1}),
        (defaultdict(list, a=[OrderedDict(b=1)]), "dict", {"a": [{"b": 1}]}),
    ],
    ids=repr,
)
def test_counterparts_come_back_as_plain_python(
    value: Any, type_name: str, expected: Any, cross: Callable[..., Any]
) -> None:
    back = cross(value, type_name)
    assert back == expected
    assert type(back) is type(expected)
    if type_name == "dict":
        assert repr(back) == repr(expected)


@each(
    ("value", "type_name"),
    [
        ("1", "int"),
        (1.0, "int"),
        (True, "int"),
        (np.bool_(True), "int"),
        (np.timedelta64(1, "s"), "int"),
        (None, "int"),
        (pd.NA, "int"),
        (NAN, "int"),
        (True, "float"),
        ("1.5", "float"),
        (Decimal("1.5"), "float"),
        (None, "float"),
        (pd.NA, "float"),
        (10**400, "float"),
        (1, "bool"),
        (None, "bool"),
        (1, "str"),
        (None, "str"),
        (b"a", "str"),
        (dt.date(2024, 1, 1), "datetime"),
        ("2024-01-01", "datetime"),
        (pd.NaT, "datetime"),
        (np.datetime64("2024"), "datetime"),
        (dt.datetime(2024, 1, 1), "date"),
        (pd.Timestamp("2024"), "date"),
        (pd.NaT, "timedelta"),
        (5, "timedelta"),
        ([("a", 1)], "dict"),
        (pd.Series({"a": 1}), "dict"),
        ((1, 2), "list"),
        (np.array([1, 2]), "list"),
        ({1}, "list"),
        ("ab", "list"),
    ],
    ids=repr,
)
def test_nothing_is_cast_in_silence(value: Any, type_name: str) -> None:
    with pytest.raises(TypeMismatch) as mismatch:
        encode(value, type_name)
    assert mismatch.value.wanted == type_name
    assert type(value).__name__ in mismatch.value.got


@each(
    ("value", "path"),
    [
        ({"a": [0, object()]}, r"\['a'\]\[1\]"),
        ({"fig": pd.DataFrame()}, r"\['fig'\]"),
        ({object(): 1}, "key"),
        ({"f": len}, r"\['f'\]"),
    ],
)
def test_what_cannot_cross_inside_a_dict_is_named_by_its_path(value: object, path: str) -> None:
    with pytest.raises(Unencodable, match=path):
        encode(value, "dict")


def test_nanoseconds_are_refused_rather_than_dropped() -> None:
    with pytest.raises(Unencodable, match="nanoseconds"):
        encode(pd.Timestamp(1), "datetime")
    with pytest.raises(Unencodable, match="nanoseconds"):
        encode(pd.Timedelta(1), "timedelta")


def test_a_dict_that_contains_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(Unencodable, match="contains itself"):
        encode(loop, "dict")


def test_a_message_is_short_whatever_the_keys_are() -> None:
    loop: dict[str, object] = {}
    loop["k" * 1000] = loop
    for value in (loop, {"k" * 10_000: [object()]}, {"a": {"b" * 300: {"c": object()}}}):
        for given, name in ((value, "dict"), (pd.DataFrame({"a": [value]}), "DataFrame")):
            with pytest.raises(Unencodable) as error:
                encode(given, name)
            assert len(str(error.value)) < 400, name
