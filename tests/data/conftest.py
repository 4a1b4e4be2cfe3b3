"""Tables of every kind that pandas can hold, by name."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.tables import mixed_table


def _columns() -> dict[str, pd.Series[Any]]:
    times = pd.date_range("2024-01-01", periods=4, freq="36h")
    arrow: dict[str, pa.DataType] = {
        "arrow_int": pa.int64(),
        "arrow_text": pa.string(),
        "arrow_date": pa.date32(),
        "arrow_time": pa.timestamp("us", "UTC"),
        "arrow_decimal": pa.decimal128(10, 2),
        "arrow_list": pa.list_(pa.int64()),
        "arrow_struct": pa.struct([("a", pa.int64())]),
        "arrow_bool": pa.bool_(),
        "arrow_duration": pa.duration("s"),
        "arrow_binary": pa.binary(),
        "arrow_dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    values: dict[str, list[Any]] = {
        "arrow_int": [1, 2, None, 2**60],
        "arrow_text": ["a", "b", None, "a"],
        "arrow_date": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 2), dt.date(1900, 1, 1)],
        "arrow_time": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None] * 2,
        "arrow_decimal": [decimal.Decimal("1.10"), None] * 2,
        "arrow_list": [[1, 2], None, [], [3]],
        "arrow_struct": [{"a": 1}, None, {"a": 2}, {"a": 1}],
        "arrow_bool": [True, None, False, True],
        "arrow_duration": [dt.timedelta(seconds=5), None] * 2,
        "arrow_binary": [b"\x00", None, b"abc", b""],
        "arrow_dictionary": ["x", "y", None, "x"],
    }
    made: dict[str, Any] = {
        "int64": pd.Series([1, 2, 3, 2**62]),
        "int8": pd.Series([1, -2, 3, 127], dtype="int8"),
        "uint64": pd.Series([0, 1, 2**64 - 1, 5], dtype="uint64"),
        "float64": pd.Series([1.5, np.nan, np.inf, 1e-310]),
        "float32": pd.Series([1.5, 2.5, np.nan, 0], dtype="float32"),
        "float16": pd.Series([1.5, 2.5, np.nan, 0], dtype="float16"),
        "bool": pd.Series([True, False, True, True]),
        "complex": pd.Series([1 + 2j, 0j, 1j, complex("nan")]),
        "nullable_int": pd.Series([1, None, 3, 4], dtype="Int64"),
        "nullable_uint": pd.Series([1, None, 3, 4], dtype="UInt8"),
        "nullable_float": pd.Series([1.5, None, 3, 4], dtype="Float64"),
        "nullable_bool": pd.Series([True, None, False, True], dtype="boolean"),
        "text": pd.Series(["a", "b", "", "007"]),
        "text_object": pd.Series(["a", None, "NA", "1e5"], dtype=object),
        "string": pd.Series(["a", None, "c", "d"], dtype="string"),
        "string_python": pd.Series(["a", None, "c", "d"], dtype="string[python]"),
        "newlines": pd.Series(['say "hi"\r\nthere', "a,b", "\t", "\x00\x1b[31m"]),
        "category": pd.Series(["x", "y", "x", None], dtype="category"),
        "category_ordered": pd.Series(pd.Categorical(["lo", "hi", "lo", "hi"], ["lo", "hi", "max"], ordered=True)),
        "category_int": pd.Series([3, 1, 3, 3], dtype="category"),
        "category_empty": pd.Series(pd.Categorical([None] * 4)),
        "datetime_ns": pd.Series(times.as_unit("ns")),
        "datetime_s": pd.Series([*times[:3], pd.NaT]).astype("datetime64[s]"),
        "datetime_tz": pd.Series(times.tz_localize("Europe/Berlin")),
        "datetime_mixed_tz": pd.Series(
            [pd.Timestamp("2024-01-01", tz="UTC"), pd.Timestamp("2024-01-01", tz="Asia/Tokyo")] * 2, dtype=object
        ),
        "timedelta": pd.Series(pd.to_timedelta(["1s", None, "2D", "3h"])),
        "period": pd.Series(pd.period_range("2024-01", periods=4, freq="M")),
        "interval": pd.Series(pd.interval_range(0, 4)),
        "sparse_float": pd.Series(pd.arrays.SparseArray([1.0, np.nan, np.nan, 2.0])),
        "sparse_int": pd.Series(pd.arrays.SparseArray([0, 0, 1, 0])),
        "sparse_bool": pd.Series(pd.arrays.SparseArray([False, False, True, False])),
        "date": pd.Series([dt.date(2024, 1, 1), None, dt.date(1, 1, 1), dt.date(9999, 1, 1)], dtype=object),
        "time": pd.Series([dt.time(1, 2), dt.time(3)] * 2, dtype=object),
        "lists": pd.Series([[1, 2], [], None, ["a", {"b": [1]}]]),
        "dicts": pd.Series([{"a": 1, "b": None}, {"a": "x"}, None, {}]),
        "arrays": pd.Series([np.arange(3), np.zeros((2, 2)), None, np.array([])]),
        "sets": pd.Series([{3, 1, 2}, set(), frozenset("ab"), None]),
        "tuples": pd.Series([(1, 2), (), (None,), ("a",)]),
        "bytes": pd.Series([b"abc", b"", None, bytes(range(256))]),
        "decimal": pd.Series([decimal.Decimal("1.10"), decimal.Decimal("NaN"), None, decimal.Decimal("1e500")]),
        "decimal_signalling": pd.Series([decimal.Decimal("sNaN"), decimal.Decimal(1), None, None], dtype=object),
        "uuid": pd.Series([uuid.UUID(int=5)] * 4),
        "huge_int": pd.Series([2**70, -(2**70), 1, 2], dtype=object),
        "mixed": pd.Series([1, "a", 2.5, None], dtype=object),
        "mixed_unorderable": pd.Series([dt.date(2024, 1, 1), "a", [1], {"b": 1}], dtype=object),
        "objects": pd.Series([object(), object(), type, len], dtype=object),
        "frames": pd.Series([pd.DataFrame({"a": [1]})] * 4, dtype=object),
        "all_none": pd.Series([None] * 4, dtype=object),
        "all_nan": pd.Series([np.nan] * 4),
        "all_nat": pd.Series([pd.NaT] * 4),
        "all_na_int": pd.Series([None] * 4, dtype="Int64"),
    }
    made |= {name: pd.Series(values[name], dtype=pd.ArrowDtype(kind)) for name, kind in arrow.items()}
    return made


def _indexed() -> dict[str, pd.DataFrame]:
    many = pd.DataFrame({"a": range(200), "b": list("xy") * 100})
    return {
        "no_rows": many.iloc[:0],
        "no_columns": many[[]],
        "nothing": pd.DataFrame(),
        "one_row": many.iloc[:1],
        "text_index": many.set_index(pd.Index([f"r{i}" for i in range(200)])),
        "time_index": many.set_index(pd.date_range("2024", periods=200, name="day")),
        "filtered": many[many["a"] > 100],
        "shuffled": many.iloc[::-1],
        "repeated_labels": many.set_index(pd.Index([1] * 200)),
        "multi_index": many.set_index([many["a"].rename("x"), many["b"].rename("y")]),
        "period_index": many.set_index(pd.period_range("2024-01", periods=200, freq="M")),
        "interval_index": many.set_index(pd.interval_range(0, 200)),
        "category_index": many.set_index(pd.CategoricalIndex(list("xy") * 100)),
        "object_index": many.set_index(pd.Index([object(), *range(199)], dtype=object)),
        "nan_index": many.set_index(pd.Index([np.nan, *range(199)])),
        "named_range": many.rename_axis("n"),
        "range_from_5": many.set_index(pd.RangeIndex(5, 205)),
        "duplicate_columns": pd.DataFrame([[1, "a", 2.5]] * 3, columns=["a", "a", "b"]),
        "number_columns": pd.DataFrame([[1, 2, 3]], columns=[0, 1.5, True]),
        "time_columns": pd.DataFrame([[1, 2]], columns=pd.date_range("2024", periods=2)),
        "missing_columns": pd.DataFrame([[1, 2, 3]], columns=pd.Index([None, np.nan, pd.NaT], dtype=object)),
        "multi_columns": pd.DataFrame(
            [[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", "x")], names=["p", None])
        ),
        "mixed_columns": pd.DataFrame([[1, 2, 3]], columns=["a", 1, ("t", 2)]),
        "odd_names": pd.DataFrame([[1] * 5], columns=["", " ", "a\nb", '"', "</data>"]),
        "duplicate_rows": pd.DataFrame({"a": [1, 1, 1], "b": ["x", "x", "x"]}),
        "attrs": many.copy(),
        "long_name": pd.DataFrame({"x" * 100_000: [1]}),
        "category_columns": pd.DataFrame([[1, 2]], columns=pd.CategoricalIndex(["a", "b"])),
    }


COLUMNS = _columns()
INDEXED = _indexed()
FRAMES = {name: pd.DataFrame({"value": series, "n": range(4)}) for name, series in COLUMNS.items()} | INDEXED


@pytest.fixture(scope="session")
def large_table() -> pd.DataFrame:
    """One million rows by 20 columns."""
    return pd.concat([mixed_table(100_000)] * 10, ignore_index=True)
