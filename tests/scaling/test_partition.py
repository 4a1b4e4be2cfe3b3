"""Equal keys have the same hash, however Arrow stores them, and different ones another."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow
import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.partition import row_hashes

TEXTS = ["", "a", "a\0", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "é" * 30, "x" * 3_000, None]


def hashes(column: Any) -> list[int | None]:
    values, missing = row_hashes(pyarrow.table({"key": column}), ["key"])
    return [None if absent else value for value, absent in zip(values.tolist(), missing.tolist(), strict=True)]


@pytest.mark.parametrize(
    "keys",
    [
        pyarrow.array(TEXTS),
        pyarrow.array([1, -1, 2**40, 0, None]),
        pyarrow.array([2**64 - 1, 0, None], pyarrow.uint64()),
        pyarrow.array([True, False, None]),
        pyarrow.array([0.5, 0.0, None, np.inf]),
        pyarrow.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]),
        pyarrow.array([dt.datetime(2024, 1, 1), dt.datetime(1950, 1, 2), None]),
        pyarrow.array([Decimal("1.50"), Decimal("2.50"), None]),
    ],
    ids=lambda keys: str(keys.type),
)
def test_a_key_has_one_hash_wherever_it_is(keys: Any) -> None:
    found = hashes(keys)
    assert len(set(found)) == len(keys)
    assert [key is None for key in found] == [key is None for key in keys.to_pylist()]
    assert hashes(pyarrow.chunked_array([keys.slice(2), keys.slice(0, 2)])) == found[2:] + found[:2]
    assert hashes(keys.slice(1).take(pyarrow.array([1, 0, 1]))) == [found[2], found[1], found[2]]
    assert hashes(keys.dictionary_encode()) == found


def test_texts_have_one_hash_in_each_type_of_arrow() -> None:
    texts = pyarrow.array(TEXTS)
    assert hashes(texts.cast("large_string")) == hashes(texts.cast("string_view")) == hashes(texts)


def test_what_is_one_key_for_pandas_has_one_hash() -> None:
    assert len(set(hashes(pyarrow.array([0.0, -0.0])))) == 1
    assert hashes(pyarrow.array([1.0, float("nan"), None]))[1:] == [None, None]
    assert hashes(pyarrow.array([1, 2], pyarrow.int8())) == hashes(pyarrow.array([1, 2]))


def test_a_column_without_values_and_an_empty_table_have_no_keys() -> None:
    assert hashes(pyarrow.nulls(2)) == [None, None]
    for kind in ("string", "int64", "null", "float64"):
        assert hashes(pyarrow.array([], kind)) == hashes(pyarrow.chunked_array([], kind)) == []


def test_near_texts_are_spread_evenly() -> None:
    values, _ = row_hashes(pyarrow.table({"key": [f"shop {number}" for number in range(64_000)]}), ["key"])
    assert len(set(values.tolist())) == 64_000
    for count in (8, 64, 61):
        rows = np.bincount(values % np.uint64(count), minlength=count)
        assert rows.min() > 0.85 * 64_000 / count and rows.max() < 1.15 * 64_000 / count


def test_bytes_are_no_key() -> None:
    with pytest.raises(InvalidRequest, match="binary"):
        hashes(pyarrow.array([b"a"]))
