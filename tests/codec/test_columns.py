"""Every kind of column is transferred both ways unchanged, or is refused by its name."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import dateutil.tz
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.codec import Unencodable, encode
from tests.cases import each

NAN = float("nan")
TINY = 1e-310
HAS_STR = pd.Series(["a"]).dtype != object  # pandas 3


def objects(*cells: object) -> pd.Series:
    values = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        values[place] = cell
    return pd.Series(values, dtype=object)


def arrow(cells: list[object], kind: object) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(cells, type=kind)])))


DAYS = pd.DatetimeIndex(np.array(["2024-01-01T01:02:03.123456789", "NaT", "2024-03-31T02:30"], dtype="M8[ns]"))

# The 29 kinds for which a round trip through CSV was measured; six were unchanged.
KINDS: dict[str, Any] = {
    "int8": pd.Series([-128, 127, 0], dtype="int8"),
    "int64": pd.Series([1, -2, 3]),
    "int64 beyond 2**53": pd.Series([2**53 + 1, 2**63 - 1, -(2**63)]),
    "Int64 with NA": pd.Series([2**53 + 1, None, 3], dtype="Int64"),
    "float32": pd.Series([0.1, NAN, np.inf], dtype="float32"),
    "float64": pd.Series([0.1 + 0.2, TINY, np.inf, -np.inf, NAN, -0.0]),
    "bool": pd.Series([True, False, True]),
    "boolean with NA": pd.Series([True, None, False], dtype="boolean"),
    "string with null": pd.Series(["a", None, "b"]),
    "string with line ends and quotes": pd.Series(['a\r\n"b"', "c,d\n", "'", "\0", "\U0001f600", ""]),
    "text that looks like numbers": pd.Series(["007", "1e5", "NA", "None", "nan", ""]),
    "datetime": pd.Series(DAYS),
    "datetime with time zone": pd.Series(DAYS.tz_localize("UTC").tz_convert("Europe/Berlin")),
    "date": objects(dt.date(2024, 2, 29), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "time": objects(dt.time(1, 2, 3, 4), dt.time(23, 59, tzinfo=dt.UTC), None),
    "timedelta": pd.Series(pd.to_timedelta(["1 days 00:00:00.000000001", None, "-3h"])),
    "period": pd.Series(pd.PeriodIndex(["2024-01", "NaT", "2024-03"], freq="M")),
    "interval": pd.Series(pd.arrays.IntervalArray.from_breaks([0.5, 1.0, 2.0], closed="left")),
    "category": pd.Series(pd.Categorical(["b", None, "a"], categories=["c", "b", "a"], ordered=True)),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.5, NAN], fill_value=0.0)),
    "all None": objects(None, None, None),
    "list": objects([1, 2.5, None], [], ["x", [True]]),
    "dict": objects({"a": 1}, {}, {"b": {"c": [None]}, 1: "int key"}),
    "ndarray": objects(np.array([1.0, NAN]), np.array([[1, 2]], dtype="int8"), np.array(["a", None], dtype=object)),
    "bytes": objects(b"\xff\0", None, b""),
    "Decimal": objects(Decimal("1.10"), Decimal("1E+30"), Decimal("NaN"), None),
    "complex": pd.Series([1 + 2j, complex(NAN, -0.0), complex(np.inf, TINY)]),
    "mixed": objects(1, "1", 1.0, True, None, NAN, pd.NA, pd.NaT, b"1", Decimal(1), dt.date(2024, 1, 1), 2**70, 1j),
    "uuid": objects(uuid.UUID(int=5), None),
}

MORE: dict[str, Any] = {
    **{f"numpy {name}": pd.Series([1, 0, 1], dtype=name) for name in ("int16", "int32", "uint8", "uint16", "uint32")},
    "numpy uint64": pd.Series([2**64 - 1, 0], dtype="uint64"),
    "numpy complex64": pd.Series([1 + 2j, -0.5j], dtype="complex64"),
    "numpy float16": pd.Series(np.array([1.5, NAN], dtype="float16")),
    **{f"nullable {name}": pd.Series([1, None, 3], dtype=name) for name in ("Int8", "UInt64", "Float32", "Float64")},
    "object text": objects("a", "b", "007"),
    "object text with None": objects("a", None),
    "object text with nan": objects("a", NAN),
    "object text with all four missing markers": objects("a", None, NAN, pd.NA, pd.NaT, "b"),
    "all nan": objects(NAN, NAN),
    "all NA": objects(pd.NA, pd.NA),
    "object text with a lone surrogate": objects("a\ud800", None),
    "object ints": objects(1, 2**200, -5),
    "object floats with None": objects(1.5, None, NAN),
    "object bools with None": objects(True, None, False),
    "numpy scalars": objects(np.int64(1), np.float32(0.5), np.bool_(True), np.datetime64("2024-01-01"), np.str_("x")),
    "np.str_ only": objects(np.str_("x"), np.str_("y")),
    "empty object": objects(),
    "empty str": pd.Series([], dtype="str"),
    "string of Python": pd.Series(["a", None], dtype=pd.StringDtype("python")),
    "string of pyarrow": pd.Series(["a", None], dtype=pd.StringDtype("pyarrow")),
    **{f"datetime in {unit}": pd.Series(DAYS.as_unit(unit)) for unit in ("s", "ms", "us")},
    **{f"timedelta in {unit}": pd.Series(pd.to_timedelta(["1D", None]).as_unit(unit)) for unit in ("s", "ms", "us")},
    "datetime in UTC": pd.Series(DAYS.tz_localize("UTC")),
    "datetime at an offset": pd.Series(DAYS.tz_localize("UTC").tz_convert(dt.timezone(dt.timedelta(hours=-3.5)))),
    "datetime far away": pd.Series(np.array(["9999-12-31", "0001-01-01"], dtype="M8[s]")),
    "datetime with time zone in s": pd.Series(DAYS.as_unit("s").tz_localize("UTC").tz_convert("Asia/Kathmandu")),
    **{
        f"period {freq}": pd.Series(pd.period_range("2024-01-01", periods=3, freq=freq))
        for freq in ("D", "h", "Q-NOV", "Y-MAR", "W-WED", "ns", "15min")
    },
    **{
        f"interval {closed}": pd.Series(pd.arrays.IntervalArray.from_breaks([1, 2, 4], closed=closed))
        for closed in ("left", "right", "both", "neither")
    },
    "interval of datetimes": pd.Series(pd.interval_range(pd.Timestamp("2024"), periods=2, freq="D", closed="left")),
    "interval with NA": pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), None])),  # type: ignore[list-item]
    "interval of zoned datetimes": pd.Series(pd.interval_range(pd.Timestamp("2024", tz="Asia/Tokyo"), periods=2)),
    "category of ints": pd.Series(pd.Categorical([3, 1, None], categories=[9, 3, 1])),
    "category of intervals": pd.Series(pd.cut([1, 5, 9], 3)),
    "category of a range": pd.Series(pd.Categorical([0, 1], categories=pd.RangeIndex(3))),
    "category of zoned datetimes": pd.Series(pd.Categorical(DAYS[[0, 2]].tz_localize("UTC"))),
    "category of objects": pd.Series(pd.Categorical([1, "a"], categories=pd.Index(["a", 1, (1, 2)], dtype=object))),
    "category of bools": pd.Series(pd.Categorical([True, False])),
    "category without levels": pd.Series(pd.Categorical([None, None])),
    "category with 1000 levels": pd.Series(pd.Categorical(range(1000))),
    "sparse of ints": pd.Series(pd.arrays.SparseArray([0, 0, 7], fill_value=0)),
    "sparse of bools": pd.Series(pd.arrays.SparseArray([False, True], fill_value=False)),
    "sparse with NaN": pd.Series(pd.arrays.SparseArray([NAN, 1.0, NAN])),
    "sparse in blocks": pd.Series(pd.arrays.SparseArray([0, 0, 7, 7], fill_value=0, kind="block")),
    "sparse of nothing": pd.Series(pd.arrays.SparseArray([0.0, 0.0], fill_value=0.0)),
    "arrow int": arrow([1, None], pa.int64()),
    "arrow string": arrow(["a", None, ""], pa.string()),
    "arrow large_string": arrow(["a", None], pa.large_string()),
    "arrow binary": arrow([b"a", None], pa.binary()),
    "arrow bool": arrow([True, None], pa.bool_()),
    "arrow double": arrow([1.5, None, NAN], pa.float64()),
    "arrow date32": arrow([dt.date(2024, 1, 1), None], pa.date32()),
    "arrow date64": arrow([dt.date(2024, 1, 1), None], pa.date64()),
    "arrow time64": arrow([dt.time(1, 2, 3), None], pa.time64("ns")),
    "arrow time32": arrow([dt.time(1, 2, 3), None], pa.time32("s")),
    "arrow timestamp": arrow([dt.datetime(2024, 1, 1), None], pa.timestamp("us")),
    "arrow timestamp with time zone": arrow([dt.datetime(2024, 1, 1), None], pa.timestamp("ms", "Europe/Berlin")),
    "arrow duration": arrow([dt.timedelta(1), None], pa.duration("ns")),
    "arrow decimal": arrow([Decimal("1.10"), None], pa.decimal128(20, 2)),
    "arrow decimal256": arrow([Decimal("1.10"), None], pa.decimal256(60, 2)),
    "arrow list": arrow([[1, None], None, []], pa.list_(pa.int32())),
    "arrow large_list": arrow([["a"], None], pa.large_list(pa.string())),
    "arrow fixed list": arrow([[1, 2], None], pa.list_(pa.int8(), 2)),
    "arrow struct": arrow([{"a": 1, "b": ["x"]}, None], pa.struct({"a": pa.int8(), "b": pa.list_(pa.string())})),
    "arrow map": arrow([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "arrow dictionary": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["a", None, "a"]).dictionary_encode())),
    "arrow nulls": arrow([None, None], pa.null()),
    "arrow fixed binary": arrow([b"ab", None], pa.binary(2)),
    "arrow half": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(np.array([1.5], dtype="float16")))),
    "vectors": objects(np.array([1.0, 2.0]), np.array([]), np.array([NAN])),
    "vectors of ints": objects(np.array([1, 2], dtype="uint8"), np.array([3], dtype="uint8")),
    "ndarray beside missing": objects(np.array([1.0]), None),
    "strided vectors": objects(np.arange(10.0)[::3], np.arange(4.0)[::-1]),
    "datetime objects": objects(dt.datetime(2024, 1, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    "Timestamps of several zones": objects(pd.Timestamp("2024", tz="Asia/Tokyo"), pd.Timestamp("2024"), pd.NaT),
    "Timestamps of several units": objects(pd.Timestamp("2024").as_unit("s"), pd.Timestamp(1)),
    "timedelta objects": objects(dt.timedelta(1, 2, 3), pd.Timedelta(5), pd.Timedelta("1D").as_unit("s")),
    "periods of several frequencies": objects(pd.Period("2024", "Y"), pd.Period("2024-01", "M")),
    "interval objects": objects(
        pd.Interval(0, 1, closed="both"), pd.Interval(pd.Timestamp("2024"), pd.Timestamp("2025"))
    ),
    "tuples and sets": objects((1, (2, "a")), {3, 1, 2}, frozenset({"b", "a"}), set()),
    "dicts that look like ours": objects({"$": "int", "v": "0x1"}, {"$": 1}, [{"$": "NA", "v": 0}]),
    "dicts with other keys": objects({(1, 2): "a", None: 1, 1.5: 2, True: 3}),
}

if HAS_STR:
    MORE |= {
        f"str of {storage}": pd.Series(["a", None], dtype=pd.StringDtype(storage, na_value=NAN))
        for storage in ("python", "pyarrow")
    }


@each("column", [pytest.param(column, id=name) for name, column in KINDS.items()])
def test_the_29_kinds_cross_unchanged_in_a_frame(column: Any, assert_crosses: Callable[..., Any]) -> None:
    frame = column.to_frame("c")
    assert frame["c"].dtype == column.dtype
    assert_crosses(frame)


@each("column", [pytest.param(column, id=name) for name, column in (KINDS | MORE).items()])
def test_each_kind_crosses_unchanged_as_a_series(column: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(column, "Series")


@each("column", [pytest.param(column, id=name) for name, column in (KINDS | MORE).items()])
def test_each_kind_crosses_without_any_rows(column: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(column.iloc[:0], "Series")


@each("column", [pytest.param(column, id=name) for name, column in (KINDS | MORE).items()])
def test_each_kind_crosses_as_a_slice_of_something_larger(column: Any, assert_crosses: Callable[..., Any]) -> None:
    assert_crosses(pd.concat([column, column])[1:-1], "Series")


def test_there_are_29_of_them() -> None:
    assert len(KINDS) == 29


def test_nan_and_na_stay_apart_in_float64(assert_crosses: Callable[..., Any]) -> None:
    values = pd.arrays.FloatingArray(np.array([0.0, NAN, 1.0]), np.array([False, False, True]))
    back = assert_crosses(pd.Series(values), "Series")
    assert np.isnan(back.array._data[1])
    assert list(back.array._mask) == [False, False, True]


@pytest.mark.skipif(not HAS_STR, reason="pandas before 3 has no str dtype")
def test_object_text_stays_object_and_str_stays_str(cross: Callable[..., Any]) -> None:
    frame = pd.DataFrame({"o": objects("a"), "s": pd.Series(["a"], dtype="str")})
    assert [str(dtype) for dtype in cross(frame).dtypes] == ["object", "str"]


def test_one_frame_of_all_kinds_crosses(assert_crosses: Callable[..., Any]) -> None:
    columns = {name: column.reindex(range(3)) if len(column) != 3 else column for name, column in KINDS.items()}
    columns["sparse"] = pd.Series(pd.arrays.SparseArray([0.0, 1.0, NAN], fill_value=0.0))
    assert_crosses(pd.DataFrame(columns))


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    pass


class Opaque:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("executed",))


REFUSED = {
    "an object of a class": objects(Opaque()),
    "an enum": objects(Colour.RED),
    "a subclass of str": objects(Text("a")),
    "a function": objects(len),
    "a frame in a cell": objects(pd.DataFrame()),
    "a lambda deep inside": objects({"a": [1, (lambda: 0,)]}),
    "a structured array": objects(np.zeros(1, dtype=[("a", "i4")])),
    "a decimal context": objects(decimal.Context()),
    "longdouble": pd.Series(np.array([1], dtype="longdouble")),
    "an extension type of Arrow": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([uuid.uuid4().bytes], type=pa.uuid()))
    ),
    "a string view of Arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["a"], type=pa.string_view()))),
    "a dictionary inside a list of Arrow": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([["a"]], type=pa.list_(pa.dictionary(pa.int8(), pa.string()))))
    ),
    "a dateutil zone": pd.Series(pd.to_datetime(["2024"]).tz_localize(dateutil.tz.tzoffset("X", 3600))),
    "a string that is not Unicode": pd.Series(["\ud800"], dtype=pd.StringDtype("python")),
}


@each("column", [pytest.param(column, id=name) for name, column in REFUSED.items()])
def test_what_cannot_cross_is_refused_with_the_name_of_its_column(column: Any) -> None:
    frame = pd.DataFrame({"fine": [1] * len(column), "price €": column})
    with pytest.raises(Unencodable, match="column 'price €'") as refused:
        encode(frame, "DataFrame")
    assert "price €" in refused.value.path
    assert refused.value.hint


def test_a_list_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(Unencodable, match="contains itself"):
        encode(objects(loop), "Series")


def test_a_long_column_of_text_in_many_chunks_crosses(assert_crosses: Callable[..., Any]) -> None:
    chunks = pa.chunked_array([["a", None], [], ["b"]], type=pa.large_string())
    assert_crosses(pd.Series(pd.arrays.ArrowExtensionArray(chunks)), "Series")


def test_the_byte_order_of_a_column_survives(cross: Callable[..., Any]) -> None:
    column = pd.Series(np.array([1, 2], dtype=">i4"))
    back = cross(column, "Series")
    assert back.dtype == np.dtype(">i4")
    assert list(back) == [1, 2]
