"""What those who answered questions about untidy tables found missing or untrue in their description."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import File
from tests.cases import each

NOTE = "Of the 1,135,291 total identity cases reported, 12 % were from another source, and only rows of type A count."


def told(frame: pd.DataFrame, share: Share = "rows", *, masked: str = "") -> str:
    withheld = WithheldColumns(masked=frozenset(filter(None, [masked])))
    return build_context({"t": frame}, share=share, withheld=withheld).text


def sheet() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Table 1": ["Year", "2019", None, "2020", None, None, NOTE],
            "Unnamed: 1": ["Type", "A", None, "B", None, None, None],
            "Unnamed: 2": ["Cases", "1,234", None, "5,678", None, None, None],
        }
    )


def test_a_note_is_shown_completely_and_before_the_columns() -> None:
    text = told(sheet())
    line = f"row 6 has only this cell, a title or a note: '{NOTE}'"
    assert text.index(line) < text.index("'Table 1' str")
    assert NOTE not in told(sheet(), "stats") and "1 row has only one cell, a title or a note" in told(sheet(), "stats")
    assert "row 0" not in told(sheet(), "schema") and "only one cell" not in told(sheet(), "schema")


def test_a_note_of_a_masked_column_is_withheld() -> None:
    text = told(sheet(), masked="Table 1")
    assert NOTE not in text and "looks like the header" in text and "Cases, " not in text
    assert NOTE in told(sheet(), masked="Unnamed: 2")


def test_a_note_with_a_secret_is_masked() -> None:
    frame = sheet().replace({NOTE: "Ask ann@example.com for the rest."})
    assert "ann@example.com" not in told(frame) and "a title or a note: 'Ask <email-1> for the rest.'" in told(frame)


def test_rows_with_one_cell_are_data_if_there_are_many_of_them() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": [1.0, np.nan] * 20})
    assert "a title or a note" not in told(frame)


def test_a_header_that_is_left_in_the_rows_is_pointed_out() -> None:
    assert "row 0 looks like the header: Year, Type, Cases" in told(sheet())
    assert "row 0 looks like the header\n" in told(sheet(), "stats")
    named = sheet().set_axis(["year", "type", "cases"], axis=1)
    assert "looks like the header" not in told(named)
    numbers = pd.DataFrame({0: ["12", "13"], 1: ["1", "2"]})
    assert "looks like the header" not in told(numbers)


def test_empty_rows_are_not_told_as_rows_that_repeat() -> None:
    assert "3 rows are empty" in told(sheet()) and "repeat an earlier one" not in told(sheet())
    frame = pd.DataFrame({"a": ["x", "x", None, None], "b": [1, 1, None, None]})
    assert "1 rows repeat an earlier one" in told(frame) and "2 rows are empty" in told(frame)


@pytest.mark.parametrize(
    ("other", "meant"),
    [
        (["1,234.50", "7.25"], "'price' str | unique | numbers like 1,234, as other columns show"),
        (["12,5", "1.234,5"], "'price' str | unique | numbers with a decimal comma, as other columns show"),
        (["a", "b"], "'price' str | unique | numbers like 1,234 (a thousands comma or a decimal one)"),
    ],
)
def test_what_a_comma_means_is_settled_by_the_other_columns_of_a_table(other: list[str], meant: str) -> None:
    assert meant in told(pd.DataFrame({"price": ["19,853", "852,421"], "other": other}))


EITHER = "numbers like 1,234 (a thousands comma or a decimal one)"


@each(
    ("others", "meant"),
    [
        ([["1.234,50", "7,25"]], "numbers with a decimal comma, as other tables show"),
        ([["1,234,567", "2,345"]], "numbers like 1,234, as other tables show"),
        ([["12.50", "7.25"], ["a", "b"]], "numbers like 1,234, as other tables show"),
        ([["12.50", "7.25"], ["12,5", "7,5"]], EITHER),  # two exports
        ([["3,125", "7,250"]], EITHER),
    ],
)
def test_what_a_comma_means_is_settled_by_the_other_tables(others: list[list[str]], meant: str, tmp_path: Path) -> None:
    price = pd.DataFrame({"price": ["19,853", "852,421"]})
    tables = {f"t{place}": pd.DataFrame({"other": texts}) for place, texts in enumerate(others)}
    assert f"'price' str | unique | {meant}" in build_context({"sales": price, **tables}).text
    price.to_csv(tmp_path / "sales.csv", index=False)
    assert f"'price' str | unique | {meant}" in build_context({"sales": File(tmp_path / "sales.csv"), **tables}).text


def test_numbers_without_decimals_are_not_told_with_some() -> None:
    text = told(pd.DataFrame({"n": ["1,234,567", "1,234", "999"]}))
    assert "numbers like 1,234 (67%)" in text and "1,234.50" not in text


def test_of_values_with_another_format_one_is_shown() -> None:
    frame = pd.DataFrame({"n": [*map(str, range(1_000)), "1.2M"]})
    assert "whole numbers as text (>99%) | others such as '1.2M'" in told(frame)
    assert "1.2M" not in told(frame, "stats") and "1.2M" not in told(frame, masked="n")
    assert "others such as" not in told(pd.DataFrame({"n": [*map(str, range(100)), "N/A", ""]}))
    assert "others such as" not in told(pd.DataFrame({"n": ["some words", "other words", "more"]}))


def test_words_for_missing_are_named() -> None:
    frame = pd.DataFrame({"state": ["Unknown", "open", "-", "Unknown"]})
    assert "words that may mean missing (75%): 'Unknown', '-'" in told(frame)
    text = told(frame, "stats")
    assert "words that may mean missing (75%)" in text and "Unknown" not in text
    assert "Unknown" not in told(frame, masked="state")


def test_columns_that_do_not_fit_are_named_by_the_first_and_the_last() -> None:
    wide = pd.DataFrame({f"a_rather_long_name_of_column_{i}": [f"{i} {j}" for j in range(9)] for i in range(200)})
    text = build_context({"wide": wide, **{f"t{i}": wide for i in range(8)}}).text
    assert "before the ones below" not in text
    assert "more columns, from 'a_rather_long_name_of_column_" in text


def test_the_sign_for_a_cut_text_is_explained_where_it_stands() -> None:
    explained = "…(+9) says that 9 characters are left out here; the data have them."
    assert explained in told(pd.DataFrame({"a": ["x" * 100, "y" * 100]}))
    assert explained not in told(pd.DataFrame({"a": ["x", "y"]}))
