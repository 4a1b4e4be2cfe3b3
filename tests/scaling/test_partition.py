"""Equal keys have the same hash, however Arrow stores them, and different ones another; and buckets have a size."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from autocoder_jupyter.errors import InvalidRequest, TooBig
from autocoder_jupyter.scaling import partition as module
from autocoder_jupyter.scaling.partition import largest_group, partition, row_hashes
from tests.cases import each

TEXTS = ["", "a", "a\0", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "é" * 30, "x" * 3_000, None]


def hashes(column: Any) -> list[int | None]:
    values, missing = row_hashes(pyarrow.table({"key": column}), ["key"])
    return [None if absent else value for value, absent in zip(values.tolist(), missing.tolist(), strict=True)]


@each(
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
        pyarrow.array([b"", b"a", b"a\0", b"\xff" * 9, None]),
        pyarrow.array([b"\0\xff", b"\0\0", b"ab", None], pyarrow.binary(2)),
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
    raw = pyarrow.array([b"", b"ab", b"\xff\xfe", None])
    for kind in (pyarrow.large_binary(), pyarrow.binary_view()):
        assert hashes(raw.cast(kind)) == hashes(raw)


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


def test_lists_are_no_key() -> None:
    with pytest.raises(InvalidRequest, match="'key' cannot be a key: it has values of the type list"):
        hashes(pyarrow.array([["a"]]))


TOO_BIG = """
import pathlib, sys
import numpy as np, pyarrow
from autocoder_jupyter.errors import TooBig
from autocoder_jupyter.scaling.partition import partition
one = np.zeros(2**16, "int64")
tables = (pyarrow.table({"key": one, "a": one + 1.5, "b": one + 2.5, "c": one + 3.5}) for _ in range(32))
try:
    partition(tables, ["key"], pathlib.Path(sys.argv[1]), expected=2**26, limit=2**20, workers=1)
except TooBig as error:
    print(error.what.rpartition(": ")[2], pyarrow.default_memory_pool().max_memory())
"""


def test_to_refuse_a_group_needs_little_memory(tmp_path: Path) -> None:
    """64 MiB, of which a batch has two and a column of it half of one."""
    command = [sys.executable, "-c", TOO_BIG, str(tmp_path / "pieces")]
    said, _, most = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rpartition(" ")
    assert said == "key = 0." and int(most) < 2**24


def test_groups_are_counted_over_many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COUNTED", 10)
    keys = np.random.default_rng(0).integers(0, 50, 2_000)
    tables = [pyarrow.table({"key": keys[start : start + 30]}) for start in range(0, len(keys), 30)]
    words, rows = largest_group(tables, ["key"])
    assert (words, rows) == (f"key = {np.bincount(keys).argmax()}", np.bincount(keys).max())


def gaps(rows: int, groups: int, missing: float) -> Iterator[Any]:
    """Tables of 16 bytes a row, of which a part has no key."""
    draw = np.random.default_rng(0)
    for _ in range(rows // 1_000):
        keys = pyarrow.array(draw.integers(0, groups, 1_000), mask=draw.random(1_000) < missing)
        yield pyarrow.table({"key": keys, "a": draw.random(1_000)})


def test_rows_without_a_key_are_in_the_smallest_bucket_that_has_room(tmp_path: Path) -> None:
    limit = 2**16
    buckets = partition(gaps(50_000, 500, 0.06), ["key"], tmp_path, expected=16 * 50_000, limit=limit, workers=1)
    assert sum(bucket.rows for bucket in buckets) == 50_000
    assert all(bucket.size <= limit for bucket in buckets)
    homes = [table for bucket in buckets if (table := bucket.table())["key"].null_count]
    assert len(homes) == 1 and homes[0]["key"].null_count < homes[0].num_rows
    kept = np.concatenate([bucket.table()["a"].to_numpy() for bucket in buckets])
    assert len(np.unique(kept)) == 50_000


@pytest.mark.parametrize(("rows", "groups", "missing"), [(50_000, 500, 0.3), (7_000, 1, 0.5)])
def test_rows_without_a_key_that_have_no_room_are_refused(
    tmp_path: Path, rows: int, groups: int, missing: float
) -> None:
    with pytest.raises(TooBig, match="rows without a key"):
        partition(gaps(rows, groups, missing), ["key"], tmp_path, expected=16 * rows, limit=2**16, workers=1)
