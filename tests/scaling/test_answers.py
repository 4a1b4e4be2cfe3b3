"""Answers are put together only if their columns have values of the same kind, in memory and in a folder."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from autocoder_jupyter.errors import DataDrift
from autocoder_jupyter.scaling.answers import InFolder, InMemory, rounds
from tests.cases import each

DAY = pd.Timestamp("2024-01-01")
LONG = 2**60 + 1
NONE: list[Any] = [None, None]


def put_together(columns: list[Any], to: Path | None) -> pd.DataFrame:
    """The answers of pieces with one column each."""
    answers = InMemory() if to is None else InFolder(to)
    made: Any
    try:
        for place, column in enumerate(columns):
            answers.put(place, pd.DataFrame({"a": column}), f"piece {place}")
        made = answers.finish()
    finally:
        answers.close()
    if to is None:
        in_memory: pd.DataFrame = made
        return in_memory
    assert len({str(parquet.read_schema(file).remove_metadata()) for file in to.iterdir()}) == 1
    table: pd.DataFrame = made.to_table().to_pandas()
    return table


@pytest.fixture(params=["in memory", "in a folder"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "in memory" else tmp_path / "answer"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([[1, 2], ["x", "y"]], "'a' is str, and int64 in piece 0"),
        ([[1, 2], [True, False]], "'a' is bool, and int64 in piece 0"),
        ([[0.5], NONE, ["x"]], "'a' is str, and float64 in piece 0"),
        ([[DAY], [DAY.tz_localize("UTC")]], "'a' is datetime64.* UTC., and datetime64.* in piece 0"),
        ([[DAY.tz_localize("UTC")], [DAY.tz_localize("Europe/Vienna")]], "Vienna., and datetime64.* UTC. in piece 0"),
        ([[DAY], [dt.date(2024, 1, 1)]], "object .date., and datetime64"),
        ([[Decimal(1)], [1.5]], "'a' is float64, and object .decimal. in piece 0"),
        ([pd.Series([True, None], dtype=object), ["x"]], "'a' is str, and object .bool. in piece 0"),
        ([pd.Categorical(["x"]), pd.Categorical([1])], "'a' is category, and category in piece 0"),
        ([[LONG], [0.5]], "'a' would be float64, which rounds the whole numbers of piece 0"),
        ([[0.5], [1], [LONG]], "'a' would be float64, which rounds the whole numbers of piece 2"),
        ([[LONG], pd.Series([np.nan])], "'a' would be float64, which rounds the whole numbers of piece 0"),
        ([[LONG], pd.Series([1], dtype="uint64")], "'a' would be float64, which rounds the whole numbers of piece 0"),
        ([pd.array([LONG, None], dtype="Int64"), [0.5]], "which rounds the whole numbers of piece 0"),
        ([pd.Series([LONG], dtype=object), [0.5]], "which rounds the whole numbers of piece 0"),
    ],
)
def test_values_of_another_kind_are_refused_with_the_piece(columns: list[Any], said: str, to: Path | None) -> None:
    with pytest.raises(DataDrift, match=f"The answer for piece {len(columns) - 1} differs .*{said}"):
        put_together(columns, to)
    assert to is None or not list(to.parent.iterdir())


@pytest.mark.parametrize(
    "columns",
    [
        [[1, 2], [0.5, 1.5]],
        [[2**60], [0.5]],
        [[LONG], [1]],
        [pd.array([1, None], dtype="Int64"), [3]],
        [NONE, ["x", None]],
        [["x"], pd.Series([np.nan, np.nan])],
        [pd.Series([np.nan]), [DAY]],
        [[1], NONE],
        [NONE, pd.Series([True, None], dtype=object)],
        [["x"], pd.Categorical(["y"]), pd.Series(["z"], dtype=object)],
        [pd.Categorical(["x"]), pd.Categorical(["y"])],
        [[], [1], []],
        [pd.Series([], dtype="float64"), ["x"]],
        [pd.Series([np.nan]), pd.Series([np.nan])],
        [[DAY], pd.Series([DAY], dtype="datetime64[ns]")],
        [[Decimal("1.5")], [Decimal("100.25")]],
        [[dt.date(2024, 1, 1)], NONE],
        [[[1], [2]], [[3]]],
    ],
)
def test_values_of_one_kind_are_kept_as_they_are(columns: list[Any], to: Path | None) -> None:
    expected = [value for column in columns for value in pd.Series(column).tolist()]
    found = [list(value) if isinstance(value, np.ndarray) else value for value in put_together(columns, to)["a"]]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert pd.isna(one) if pd.api.types.is_scalar(other) and pd.isna(other) else one == other


SIZES = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
SUBSET = pd.CategoricalDtype(["low", "high"], ordered=True)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([pd.Series(["high", "low"], dtype=SUBSET), pd.Series(["mid"], dtype=SIZES)], SIZES),
        ([pd.Series(["mid"], dtype=SIZES), pd.Series(["high", "low"], dtype=SUBSET)], SIZES),
        ([pd.Series(["c", "a"], dtype="category"), pd.Series(["b"], dtype="category")], pd.CategoricalDtype([*"abc"])),
        (
            [pd.Series(["b"], dtype=pd.CategoricalDtype([*"ba"])), pd.Series(["c"], dtype="category")],
            pd.CategoricalDtype([*"bac"]),
        ),
        (
            [pd.Series([f"v{n:03}" for n in part], dtype="category") for part in (range(100), range(90, 200))],
            pd.CategoricalDtype([f"v{n:03}" for n in range(200)]),
        ),
        ([pd.Series(["low"], dtype=SIZES), pd.Series([None], dtype=SUBSET)], SIZES),
    ],
)
def test_the_categories_of_all_answers_are_those_of_the_column(
    columns: list[Any], expected: pd.CategoricalDtype, to: Path | None
) -> None:
    found = put_together(columns, to)["a"]
    assert isinstance(found.dtype, pd.CategoricalDtype) and found.dtype.ordered == expected.ordered
    assert found.cat.categories.tolist() == expected.categories.tolist()
    assert found.dropna().tolist() == [value for column in columns for value in column.dropna()]


def test_categories_in_another_order_are_refused(to: Path | None) -> None:
    back = pd.CategoricalDtype(["high", "low"], ordered=True)
    for other in (back, pd.CategoricalDtype(["low", "mid", "high"])):
        with pytest.raises(DataDrift, match="'a' has categories in another order than before"):
            put_together([pd.Series(["low"], dtype=SIZES), pd.Series(["low"], dtype=other)], to)


CHANGED: dict[str, list[pd.DataFrame]] = {
    "labels of its columns would be texts: 2020, 2021": [pd.DataFrame([[1, 2]], columns=[2020, 2021])],
    "labels of its columns would be texts: 'x', 'y'": [
        pd.DataFrame([[1, 2]], columns=pd.CategoricalIndex(["x", "y"]), index=pd.Index(["a"], name="shop"))
    ],
    r"labels of its columns would be texts: \('a', 1\)": [
        pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", 1)]))
    ],
    "categories of 'a' would be values of int64": [pd.DataFrame({"a": pd.Categorical([1, 2])})],
    "categories of 'a' would be values of interval": [pd.DataFrame({"a": pd.cut([1, 2], [0, 1, 2])})],
    "dicts in 'a' of which some lack the key 'y'": [pd.DataFrame({"a": [{"x": 1}, {"x": 2, "y": 3}]})],
    "dicts in 'a' of which some lack the key 'x.y'": [pd.DataFrame({"a": [{"x": [{}, {"y": 3}]}]})],
    "piece 1 has the field 'y' in 'a', and one before it lacks it": [
        pd.DataFrame({"a": [{"x": 1}]}),
        pd.DataFrame({"a": [{"x": 2, "y": 3}]}),
    ],
    "one before it has the field 'x.z' in 'a', and the answer for piece 1 lacks it": [
        pd.DataFrame({"a": [[{"x": {"z": 1, "y": 1}}]]}),
        pd.DataFrame({"a": [[{"x": {"y": 3}}]]}),
    ],
}


@pytest.mark.parametrize("said", CHANGED)
def test_what_a_file_would_change_is_refused(tmp_path: Path, said: str) -> None:
    answers = InFolder(tmp_path / "answer")
    with pytest.raises(DataDrift) as error:
        for place, answer in enumerate(CHANGED[said]):
            answers.put(place, answer, f"piece {place}")
    answers.close()
    assert re.search(said, f"{error.value.what} {error.value.why}") and error.value.hint
    assert not list(tmp_path.iterdir())
    in_memory = InMemory()
    for place, answer in enumerate(CHANGED[said]):
        in_memory.put(place, answer, f"piece {place}")
    pd.testing.assert_frame_equal(in_memory.finish().iloc[:1], CHANGED[said][0].iloc[:1])


def test_levels_of_an_index_are_compared_too(to: Path | None) -> None:
    answers = InMemory() if to is None else InFolder(to)
    answers.put(0, pd.DataFrame({"a": [1]}, index=pd.Index([1], name="shop")), "piece 0")
    with pytest.raises(DataDrift, match="'shop' is str, and int64 in piece 0"):
        answers.put(1, pd.DataFrame({"a": [1]}, index=pd.Index(["x"], name="shop")), "piece 1")
    with pytest.raises(DataDrift, match="its index is unnamed and not shop"):
        answers.put(2, pd.DataFrame({"a": [1]}, index=["x"]), "piece 2")
    answers.close()


@each(
    ("values", "dtype", "expected"),
    [
        ([2**53, -(2**53)], "int64", False),
        ([2**53 + 1], "int64", True),
        ([-(2**53) - 1], "int64", True),
        ([2**63 - 1], "int64", True),
        ([-(2**63)], "int64", False),
        ([2**64 - 1], "uint64", True),
        ([2**63], "uint64", False),
        ([2**31 - 1], "int32", False),
        ([2**60 + 1, None], "Int64", True),
        ([2**60 + 1], "int64[pyarrow]", True),
        ([2**2000], object, True),
    ],
)
def test_whole_numbers_that_a_float_rounds(values: list[Any], dtype: Any, expected: bool) -> None:
    assert rounds(pd.Series(values, dtype=dtype)) is expected
