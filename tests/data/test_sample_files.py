"""Sampled rows as files for an agent: they contain only what the data description may show."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.withheld import MOST_FILE_CELLS, WithheldColumns, sample_files
from autocoder_jupyter.types import File

SALES = pd.DataFrame(
    {
        "region": ["north", None, "", 'so"uth, x'],
        "amount": [1.5, 0.1 + 0.2, np.nan, 4.0],
        "count": [1, 2, 3, 4],
        "mail": ["ada@example.com", "bob@example.com", "ada@example.com", None],
        "salary": [91_001, 91_002, 91_003, 91_004],
    }
)


def rows(files: dict[str, bytes], name: str = "sales") -> list[list[str]]:
    return list(csv.reader(io.StringIO(files[f"data/{name}.csv"].decode())))


def test_rows_are_csv_that_pandas_reads_again() -> None:
    files = sample_files({"sales": SALES}, share="rows", max_sample_rows=100)
    again = pd.read_csv(io.BytesIO(files["data/sales.csv"]))
    pd.testing.assert_frame_equal(again[["amount", "count"]], SALES[["amount", "count"]])
    assert again["region"].tolist()[::3] == ["north", 'so"uth, x']


def test_private_values_are_masked() -> None:
    told = rows(sample_files({"sales": SALES}, share="rows", max_sample_rows=100))
    assert [row[3] for row in told] == ["mail", "<email-1>", "<email-2>", "<email-1>", ""]


@pytest.mark.parametrize("share", ["stats", "schema"])
def test_without_rows_to_share_there_is_no_file(share: str) -> None:
    assert sample_files({"sales": SALES}, share=share, max_sample_rows=100) == {}  # type: ignore[arg-type]


def test_no_more_rows_than_the_model_may_see() -> None:
    many = pd.DataFrame({"n": range(10_000)})
    assert len(rows(sample_files({"sales": many}, share="rows", max_sample_rows=7))) == 1 + 7
    assert sample_files({"sales": many}, share="rows", max_sample_rows=0) == {}
    wide = pd.DataFrame(np.zeros((100, MOST_FILE_CELLS // 10)))
    assert len(rows(sample_files({"sales": wide}, share="rows", max_sample_rows=100))) == 1 + 10


def test_a_hidden_column_is_in_no_file_and_of_a_masked_one_no_value() -> None:
    withheld = WithheldColumns.of(["salary"], ["amount"])
    told = rows(sample_files({"sales": SALES}, share="rows", max_sample_rows=100, withheld=withheld))
    assert told[0] == ["region", "amount", "count", "mail"]
    assert {row[1] for row in told[1:]} == {"<masked>"}
    assert "9100" not in str(told)


def test_an_index_that_says_something_is_there_and_masked_where_that_is_asked() -> None:
    named = SALES.set_index(["mail", "count"])
    assert rows(sample_files({"sales": named}, share="rows", max_sample_rows=100))[1][:2] == ["<email-1>", "1"]
    by_salary = SALES.set_index("salary")
    told = rows(
        sample_files({"sales": by_salary}, share="rows", max_sample_rows=9, withheld=WithheldColumns.of([], ["salary"]))
    )
    assert {row[0] for row in told[1:]} == {"<masked>"}


def test_files_and_odd_labels_do_no_harm(tmp_path: object) -> None:
    odd = pd.DataFrame({("a", 1): [1], 7: pd.Series(["\ud800"], dtype=object)})
    odd.columns = pd.Index([("a", 1), 7], tupleize_cols=False)
    files = sample_files({"sales": odd, "text": File(str(tmp_path)), "../up": SALES}, share="rows", max_sample_rows=3)
    assert list(files) == ["data/sales.csv"] and rows(files)[0] == ["('a', 1)", "7"]
    series = pd.Series([1, 2], name="n")
    assert rows(sample_files({"sales": series}, share="rows", max_sample_rows=3)) == [["n"], ["1"], ["2"]]
