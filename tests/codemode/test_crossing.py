"""The conversion of values on their way into the sandbox and back."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.codemode import values
from autocoder_jupyter.codemode.values import Crossing
from autocoder_jupyter.errors import UnsupportedData
from tests.cases import each
from tests.codemode.conftest import Ask, block

SAME = [
    None,
    True,
    0,
    10**40,
    -1.5,
    float("inf"),
    "é😀",
    b"\0a",
    [1, [2]],
    (1, (2,)),
    {1, 2},
    frozenset([3]),
    {"a": {(1, 2): None}},
    {"$type": "set", "value": [1]},
    dt.date(2026, 1, 2),
    dt.datetime(2026, 1, 2, 3, 4, 5, 6),
    dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    dt.time(1, 2),
    dt.timedelta(days=-1, microseconds=3),
    decimal.Decimal("1.10"),
    1 + 2j,
]
CHANGED = [
    (pd.NaT, None),
    (pd.NA, None),
    (np.datetime64("NaT"), None),
    (np.timedelta64("NaT"), None),
    (np.int64(3), 3),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.bytes_(b"a"), b"a"),
    (pd.Timestamp("2026-01-02 03:04"), dt.datetime(2026, 1, 2, 3, 4)),
    (np.datetime64("2026-01-02"), dt.datetime(2026, 1, 2)),
    (pd.Timedelta("1h"), dt.timedelta(hours=1)),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (bytearray(b"a"), b"a"),
    ({np.int64(1): [np.float64(2.0)]}, {1: [2.0]}),
]
REFUSED = [
    (fractions.Fraction(1, 3), "fractions.Fraction"),
    (object(), "builtins.object"),
    (print, "builtin_function_or_method"),
    (types.SimpleNamespace(a=1), "SimpleNamespace"),
    (range(3), "builtins.range"),
    (pd.Timestamp("2026-01-01 00:00:00.000000001"), "nanoseconds would be lost"),
    (pd.Timedelta(1, "ns"), "nanoseconds would be lost"),
    (pd.Period("2026-01"), "Period"),
    (pd.Index([1]), "Index"),
    ("a\ud800", "which is invalid Unicode"),
    ([[[{"x": object()}]]], "builtins.object"),
]


@pytest.fixture(scope="module")
def crossing() -> Crossing:
    def refuse(*_: Any) -> NoReturn:
        raise LookupError

    return Crossing(2**26, refuse, refuse)


def test_plain_values_come_back_as_they_went_in(ask: Ask) -> None:
    given = []
    result = ask(
        [block("values = load()\ntake(values)\nvalues"), "Done."],
        {"load": lambda: SAME, "take": lambda values: given.append(values)},
    )
    assert result.value == SAME
    assert given == [SAME]
    assert [type(value) for value in result.value] == [type(value) for value in SAME]


@pytest.mark.parametrize(("value", "expected"), CHANGED, ids=lambda value: repr(value)[:30])
def test_single_values_of_pandas_and_numpy_become_pythons(crossing: Crossing, value: Any, expected: Any) -> None:
    found = crossing.inward(value, "load", "")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("value", "said"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_the_sandbox_does_not_have_is_refused_by_name(crossing: Crossing, value: Any, said: str) -> None:
    with pytest.raises(UnsupportedData, match=said):
        crossing.inward(value, "load", "")


def test_a_value_in_itself_is_refused(crossing: Crossing) -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(UnsupportedData, match="nested deeper"):
        crossing.inward(value, "load", "")


def test_a_refusal_can_be_caught_by_the_program(ask: Ask) -> None:
    code = "try:\n    load()\nexcept ValueError as error:\n    x = str(error)\nx"
    result = ask([block(code), "Done."], {"load": lambda: object()})
    assert result.value.startswith("load gave a builtins.object, which the sandbox does not have.")


@each("value", [*SAME, float("-inf"), ..., set(), ()], ids=lambda value: repr(value)[:30])
def test_the_record_keeps_types(value: Any) -> None:
    import json

    assert values.decode(json.loads(json.dumps(values.encode(value)))) == value


def test_nan_is_recorded() -> None:
    assert str(values.decode(values.encode(float("nan")))) == "nan"


@each(
    "record",
    [
        {"$type": "code", "value": "1"},
        {"$type": "bytes", "value": "?"},
        {"$type": "datetime", "value": "soon"},
        {"$type": "Decimal", "value": "x"},
        {"$type": "dict", "value": [[1]]},
        {"$type": "dict", "value": [[[1], 2]]},
        {"$type": "set", "value": [[1]]},
        {"$type": "set"},
        {"$type": ["a"], "value": 1},
    ],
    ids=str,
)
def test_a_record_that_stands_for_nothing_is_refused(record: Any) -> None:
    with pytest.raises(ValueError, match=r".*"):
        values.decode(record)


COLLIDING = [number * (2**61 - 1) for number in range(3_000)]


@pytest.mark.parametrize("make", [set, frozenset, dict.fromkeys], ids=["set", "frozenset", "dict"])
def test_keys_that_are_made_to_collide_are_refused_on_the_way_in_and_out(
    crossing: Crossing, make: Callable[[list[int]], Any]
) -> None:
    value = make(COLLIDING)
    for convert in (lambda: crossing.inward(value, "load", ""), lambda: crossing.outward(value, "the final value")):
        with pytest.raises(UnsupportedData, match="the same hash"):
            convert()
    with pytest.raises(ValueError, match="collide"):
        values.decode(values.encode(value))


def test_a_list_that_contains_another_one_many_times_is_refused(crossing: Crossing) -> None:
    value: list[Any] = [0] * 10
    for _ in range(9):
        value = [value] * 10
    with pytest.raises(UnsupportedData, match="more than 2,000,000 values"):
        crossing.outward(value, "the final value")
