from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from autocoder_jupyter.data.capture import capture, converted, original_kind, restored
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.overview import overview
from autocoder_jupyter.errors import InvalidRequest
from tests.cases import each

BIG = 2**53 + 1
SALES = pl.DataFrame(
    {
        "n": [BIG, None],
        "small": pl.Series([1, None], dtype=pl.UInt8),
        "flag": [True, None],
        "day": [dt.date(2024, 1, 1), None],
        "at": [dt.datetime(2024, 1, 1, 12), None],
        "text": ["ä", None],
        "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
        "x": [1.5, None],
    }
)


@pytest.mark.parametrize(
    "table", [SALES, SALES.to_arrow(), SALES.to_arrow().to_batches()[0]], ids=lambda t: type(t).__name__
)
def test_a_table_of_another_library_becomes_one_of_pandas_without_a_loss(table: Any) -> None:
    frame = converted(table)
    assert isinstance(frame, pd.DataFrame)
    assert list(map(str, frame.dtypes)) == (
        [
            "Int64",
            "UInt8",
            "boolean",
            "datetime64[ms]",
            "datetime64[us]",
            str(pd.Series(["ä"]).dtype),
            "category",
            "float64",
        ]
    )
    assert frame["n"][0] == BIG and frame["n"].isna()[1]
    assert frame["day"][0] == pd.Timestamp("2024-01-01")


def test_columns_become_series() -> None:
    text, gaps, whole = converted(SALES["text"]), converted(SALES["n"]), converted(pa.chunked_array([[1, 2]]))
    assert isinstance(text, pd.Series) and text.name == "text"
    assert gaps is not None and str(gaps.dtype) == "Int64"
    assert isinstance(whole, pd.Series) and list(whole) == [1, 2]


def test_what_a_pandas_table_was_in_arrow_comes_back() -> None:
    frame = pd.DataFrame({"n": [1]}, index=pd.Index(["a"], name="key"))
    pd.testing.assert_frame_equal(converted(pa.Table.from_pandas(frame)), frame)  # type: ignore[arg-type]


class OnlyInterchange:
    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return SALES.select("n", "text").to_arrow().__dataframe__()


class Broken:
    def to_pandas(self) -> Any:
        raise OSError("the server is gone")


def test_any_library_with_the_interchange_protocol_is_taken() -> None:
    frame = capture(OnlyInterchange())
    assert frame["n"][0] == BIG and original_kind(frame).endswith("OnlyInterchange")


def test_a_library_that_fails_is_quoted() -> None:
    with pytest.raises(InvalidRequest, match="Broken cannot be converted to a pandas table") as refused:
        capture(Broken())
    assert "OSError: the server is gone" in refused.value.why


@each("value", [1, "x", None, [1], pd.DataFrame, pl.DataFrame, pd.DataFrame({"a": [1]})])
def test_anything_else_is_left_alone(value: Any) -> None:
    assert converted(value) is None


def test_what_a_table_came_as_is_told_to_the_person_and_to_the_model() -> None:
    frame = capture(SALES)
    text = build_context({"sales": frame}).text
    assert "came as a polars DataFrame, and is handed over as this table of pandas" in text
    assert "came as a polars DataFrame" in build_context({"sales": frame}, share="schema").text
    assert "came as a polars DataFrame" in overview(frame).summary
    assert original_kind(capture(frame)) == original_kind(frame)  # a second capture still has it
    assert original_kind(frame.copy()) == original_kind(capture(pd.DataFrame({"a": [1]}))) == ""


def test_a_table_is_given_back_as_what_another_was() -> None:
    frame = converted(SALES)
    assert frame is not None
    assert restored(frame, "polars DataFrame").drop("day").equals(SALES.drop("day").cast({"kind": pl.Categorical}))
    assert restored(frame, "pyarrow Table")["n"].to_pylist() == [BIG, None]
    assert restored(frame["x"], "polars DataFrame").to_list() == [1.5, None]
    assert restored(frame["n"], "pyarrow Table").to_pylist() == [BIG, None]
    assert restored(frame, "") is frame and restored(7, "polars DataFrame") == 7


def test_an_index_that_says_something_becomes_columns() -> None:
    totals = pd.DataFrame({"total": [1.0]}, index=pd.Index(["north"], name="region"))
    assert restored(totals, "polars DataFrame").columns == ["region", "total"]
    assert restored(totals["total"], "pyarrow Table").column_names == ["region", "total"]


def test_an_index_with_the_name_of_a_column_is_a_column_beside_it() -> None:
    totals = pd.DataFrame({"units": [3]}, index=pd.Index([7], name="units"))
    for table in (totals, totals["units"]):
        assert restored(table, "pyarrow Table").to_pylist() == [{"units": 7, "units (2)": 3}]


def test_a_library_that_makes_no_tables_here_says_so() -> None:
    with pytest.raises(InvalidRequest, match="cannot be converted to cudf DataFrame"):
        restored(pd.DataFrame({"a": [1]}), "cudf DataFrame")
    with pytest.raises(InvalidRequest, match="cannot be converted to a table of pyarrow"):
        restored(pd.DataFrame({"a": [1, "x"]}, dtype=object), "pyarrow Table")


@pytest.mark.parametrize(
    "table", [pl.DataFrame({"o": [object()]}), pl.LazyFrame({"o": [object()]}), pl.Series("o", [object()])]
)
def test_python_objects_of_polars_are_refused(table: Any) -> None:
    with pytest.raises(InvalidRequest, match="The column 'o' has Python objects"):  # Arrow gets their addresses
        converted(table)
