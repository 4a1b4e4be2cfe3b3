"""Equal values have equal digests, independent of their memory layout; different values have different digests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.codec import encode
from tests.cases import each


def digest(value: object, type_name: str = "Series") -> str:
    return encode(value, type_name).digest()


def arrow_series(array: object) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


def test_nan_has_one_digest_whatever_its_bits() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF80000DEADBEEF], dtype="u8").view("f8")
    assert digest(pd.Series(odd)) == digest(pd.Series([np.nan] * 3))
    assert digest(pd.Series(odd.view("c16") if len(odd) % 2 == 0 else np.repeat(odd, 2).view("c16"))) == digest(
        pd.Series([complex(np.nan, np.nan)] * 3)
    )


def test_what_lies_under_a_null_does_not_count() -> None:
    one = pd.arrays.IntegerArray(np.array([1, 99]), np.array([False, True]))
    other = pd.arrays.IntegerArray(np.array([1, -7]), np.array([False, True]))
    assert digest(pd.Series(one)) == digest(pd.Series(other))


def test_what_lies_under_a_null_of_text_does_not_count() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 7, 8], dtype="i8"))
    kind, valid = pa.large_string(), pa.py_buffer(b"\x05")
    hidden = pa.Array.from_buffers(kind, 3, [valid, offsets, pa.py_buffer(b"ahiddenb")], null_count=1)
    hidden.validate(full=True)
    assert digest(arrow_series(hidden)) == digest(arrow_series(pa.array(["a", None, "b"], type=kind)))


def test_what_lies_under_a_null_of_lists_and_structs_does_not_count() -> None:
    kind = pa.list_(pa.int64())
    shape = [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 1, 3, 4], dtype="i4"))]
    hidden = pa.Array.from_buffers(kind, 3, shape, null_count=1, children=[pa.array([1, 8, 9, 2])])
    assert digest(arrow_series(hidden)) == digest(arrow_series(pa.array([[1], None, [2]], type=kind)))
    fields = pa.struct({"a": pa.int64()})
    hidden = pa.Array.from_buffers(fields, 2, [pa.py_buffer(b"\x01")], null_count=1, children=[pa.array([1, 2])])
    assert digest(arrow_series(hidden)) == digest(arrow_series(pa.array([{"a": 1}, None], type=fields)))


ARRAYS = {
    "ints": pa.array([1, 2, 3, None, 5]),
    "bools": pa.array([True, False, True, None, True]),
    "floats": pa.array([1.0, float("nan"), 3.0, None, 5.0]),
    "text": pa.array(["a", "", "ccc", None, "e"]),
    "lists": pa.array([[1], [], [2, 3], None, [4]]),
    "fixed lists": pa.array([[1, 2], [3, 4], None, [5, 6], [7, 8]], type=pa.list_(pa.int8(), 2)),
    "structs": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}, None, {"a": 3, "b": "z"}, {"a": 4, "b": ""}]),
    "maps": pa.array(
        [[("a", 1)], [], [("b", 2), ("c", None)], None, [("d", 4)]], type=pa.map_(pa.string(), pa.int64())
    ),
    "decimals": pa.array([1, 2, 3, None, 5], type=pa.decimal128(10, 2)),
    "fixed bytes": pa.array([b"ab", b"cd", b"ef", None, b"gh"], type=pa.binary(2)),
}


@each("array", [pytest.param(array, id=name) for name, array in ARRAYS.items()])
def test_a_slice_has_the_digest_of_its_copy(array: Any) -> None:
    for start in range(4):
        part = array.slice(start, 2)
        copy = pa.array(part.to_pylist(), type=array.type)
        assert digest(arrow_series(part)) == digest(arrow_series(copy))
        assert digest(arrow_series(part)) != digest(arrow_series(array))


def test_strides_and_blocks_do_not_count() -> None:
    values = np.arange(12.0).reshape(3, 4)
    one = pd.DataFrame(values, columns=list("abcd"))
    other = pd.DataFrame({name: values[:, place].copy() for place, name in enumerate("abcd")})
    assert digest(one, "DataFrame") == digest(other, "DataFrame")
    assert digest(one[::2].reset_index(drop=True), "DataFrame") == digest(
        one.iloc[[0, 2]].set_axis([0, 1]).set_index(pd.RangeIndex(2)), "DataFrame"
    )


DIFFERENT = {
    "a value": pd.Series([1, 2, 4]),
    "the dtype": pd.Series([1, 2, 3], dtype="int32"),
    "nullable": pd.Series([1, 2, 3], dtype="Int64"),
    "floats": pd.Series([1.0, 2.0, 3.0]),
    "the order": pd.Series([3, 2, 1]),
    "the name": pd.Series([1, 2, 3], name="a"),
    "the index": pd.Series([1, 2, 3], index=[0, 1, 3]),
    "the index's name": pd.Series([1, 2, 3], index=pd.RangeIndex(3, name="i")),
    "a null": pd.Series([1, 2, None], dtype="Int64"),
    "text": pd.Series(["1", "2", "3"], dtype="string"),
    "object text": pd.Series(["1", "2", "3"], dtype=object),
    "text cut elsewhere": pd.Series(["12", "", "3"]),
    "a category": pd.Series(pd.Categorical([1, 2, 3])),
    "an ordered category": pd.Series(pd.Categorical([1, 2, 3], ordered=True)),
    "an unused level": pd.Series(pd.Categorical([1, 2, 3], categories=[1, 2, 3, 4])),
    "other missing": pd.Series([None, 1, 2], dtype=object),
    "another missing": pd.Series([np.nan, 1, 2], dtype=object),
    "datetimes": pd.Series(pd.to_datetime([1, 2, 3], unit="s")),
    "zoned": pd.Series(pd.to_datetime([1, 2, 3], unit="s", utc=True)),
    "zero": pd.Series([0.0, 0.0, 0.0]),
    "minus zero": pd.Series([-0.0, 0.0, 0.0]),
}


def test_whatever_differs_shows() -> None:
    digests = {name: digest(series) for name, series in {"these": pd.Series([1, 2, 3]), **DIFFERENT}.items()}
    assert len(set(digests.values())) == len(digests)


def test_a_table_has_the_digest_of_earlier_versions_however_pandas_holds_it() -> None:
    """Keys of kept functions have the digests of their examples."""
    columns: dict[str, list[Any]] = {
        "a": [1.5, 2.5],
        "b": [0.5, np.nan],
        "n": [1, 2],
        "t": ["x", None],
        "c": [3.0, 4.0],
        "d": [5.0, 6.0],
    }
    whole, one_by_one = pd.DataFrame(columns), pd.DataFrame(index=range(2))
    for name, values in columns.items():
        one_by_one[name] = pd.Series(values)
    together = encode(whole[["a", "b"]].copy(), "DataFrame").header["values"]
    assert together == encode(one_by_one[["a", "b"]], "DataFrame").header["values"] and together[0]["count"] == 2
    of_rows = pd.DataFrame(np.array([[1.5, 0.5], [2.5, np.nan]]), columns=["a", "b"])
    assert digest(of_rows, "DataFrame") == digest(whole[["a", "b"]], "DataFrame")
    assert digest(whole, "DataFrame") == digest(one_by_one.reset_index(drop=True), "DataFrame")
    numbered = of_rows.set_axis(pd.Index([0, 1]), axis=1)  # its labels have the same dtype with every pandas
    assert digest(numbered, "DataFrame") == "4f93ec6accfb1129cef26d0155a37f9268fd7faa1521a30e99290903ccfcb3c0"


def test_attrs_count() -> None:
    one, other = pd.Series([1]), pd.Series([1])
    one.attrs["a"] = 1
    assert digest(one) != digest(other)


def test_scalars_have_digests() -> None:
    assert digest(1, "int") == digest(np.int8(1), "int") != digest(2, "int")
    assert digest(1, "int") != digest(1, "float")
    assert digest({"a": {3, 1, 2}}, "dict") == digest({"a": {2, 3, 1}}, "dict")
