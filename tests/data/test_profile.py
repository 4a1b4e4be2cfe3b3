from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.column_profile import ColumnProfile
from autocoder_jupyter.data.profile import profile_frame
from autocoder_jupyter.data.sample import sample_positions
from autocoder_jupyter.data.text_formats import percent, text_formats
from tests.cases import each


def column(values: object) -> ColumnProfile:
    return profile_frame(pd.DataFrame({"c": values})).detailed[0]


def test_small_tables_are_described_exactly() -> None:
    found = column([3, 1, 1, 2])
    assert (found.nulls, found.distinct, found.low, found.high, found.exact) == (0, 3, "1", "3", True)
    assert found.top == (("1", 2), ("2", 1), ("3", 1))


def test_large_tables_have_exact_ranges_and_gaps() -> None:
    values = np.zeros(500_000)
    values[123_456], values[400_001], values[77_777] = -5.25, 99.125, np.nan
    found = column(values)
    assert (found.low, found.high, found.nulls, found.exact) == ("-5.25", "99.125", 1, False)


def test_constant_and_unique_columns_are_noted() -> None:
    assert "constant" in column(["x"] * 5).notes
    assert "unique" in column(["a", "b", "c"]).notes
    assert "unique" in column(range(200_000)).notes
    assert "unique" not in column([1.0, 2.0, None]).notes
    assert not column(np.random.default_rng(1).integers(0, 10**12, 200_000)).notes[0].startswith("unique")


def test_a_panel_is_named_by_its_two_columns() -> None:
    panel = pd.DataFrame({"symbol": ["a", "b"] * 50, "day": [i // 2 for i in range(100)], "price": [1.5] * 100})
    assert profile_frame(panel).panel_key == ("'symbol'", "'day'")
    assert profile_frame(panel.drop(columns="day")).panel_key == ()


def test_repeated_rows_are_counted() -> None:
    assert profile_frame(pd.DataFrame({"a": [1, 1, 2], "b": [1, 1, 2]})).duplicates == 1
    assert profile_frame(pd.DataFrame({"a": [{"b": 1}, {"b": 1}]})).duplicates in (1, None)


@each(
    ("texts", "phrase"),
    [
        (["2024-01-31", "2024-02-01"], "dates %Y-%m-%d"),
        (["31/01/2024", "01/02/2024"], "dates %d/%m/%Y"),
        (["1/31/2024 1:05 PM", "2/1/2024 11:30 AM"], "dates %m/%d/%Y %I:%M %p"),
        (["31/01/2024 01:05:07 pm", "01/02/2024 11:30:00 am"], "dates %d/%m/%Y %I:%M:%S %p"),
        (["2024-01-31 01:05 PM", "2024-02-01 11:30 AM"], "dates %Y-%m-%d %I:%M %p"),
        (["11:30 PM", "1:05 am"], "times %I:%M %p"),
        (["1/31/24 13:05", "2/1/24 0:30"], "dates %m/%d/%y %H:%M"),
        (["01-31-24", "02-01-24"], "dates %m-%d-%y"),
        (["Jan. 2, 2015", "Feb. 13, 2016"], "dates %b. %d, %Y"),
        (["2016-Q1", "2016-Q2"], "quarters like 2016-Q1"),
        (["Q1 2016", "Q2 2016"], "quarters like 2016-Q1"),
        (["01/31/2024", "02/01/2024"], "dates %m/%d/%Y"),
        (["01/02/2024", "03/04/2024"], "dates %d/%m/%Y or %m/%d/%Y (day and month cannot be told apart)"),
        (["3 Mar 2024", "13 May 2024"], "dates %d %b %Y"),
        (["2024-01-31T10:00:00Z"], "dates %Y-%m-%dT%H:%M:%S%z"),
        (["10:30", "23:59"], "times %H:%M"),
        (["1,234.50", "2,000.00"], "numbers like 1,234.50"),
        (["1.234,50"], "numbers like 1.234,50"),
        (["12,5", "3,25"], "numbers with a decimal comma"),
        (["€ 12", "€ 7.50"], "amounts with a currency sign in front"),
        (["007", "042"], "digits with leading zeros (an id, not a number)"),
        (["12%", "7.5 %"], "percentages like 12%"),
        (["(12.50)"], "negative numbers in parentheses"),
        (["a ", "b"], "leading or trailing blanks (50%)"),
        (["N/A", "b"], "words that may mean missing (50%)"),
        (["Paid", "paid"], "some values differ only by case"),
        (["", "b"], "empty or blank (50%)"),
        (["12 EUR", "CHF 7.50"], "amounts with a currency code"),
        (["3 kg", "12.5kg"], "numbers with a unit behind"),
        (["12,500", "3,5", "7,25"], "numbers with a decimal comma"),
        (["0,123", "0,456"], "numbers with a decimal comma"),
        (["1,234", "2,345"], "numbers like 1,234 (a thousands comma or a decimal one)"),
        (["1,234", "950"], "numbers like 1,234 (50%)"),
        (["12:00", "11:34", "00:05"], "times like 11:34 (%H:%M, or minutes and seconds)"),
        (["12:01", "47:59", "20:10"], "minutes and seconds, or hours and minutes, like 47:59"),
        (["12,500", "3,125.50"], "numbers like 1,234.50"),
        (["192.168.100.200", "10.0.0.1"], "IP addresses"),
        (["yes", "No", "yes"], "truth values as text"),
        (["T", "F"], "truth values as text"),
        (["Y", "N", "n/a", "n/a"], "truth values as text (50%)"),
        (['{"a": 1}', "[]", "x", "y"], "JSON (50%)"),
        ([json.dumps({"name": "n" * 200})], "JSON"),
        (["{'a': None}"], "lists or dicts as Python writes them, not JSON"),
        (["2024-01-31 10:00:00", "31.01.2024 10:00", "31.01.2024 10:00:30"], "dates %d.%m.%Y %H:%M:%S (33%)"),
    ],
)
def test_forms_of_text_are_named(texts: list[str], phrase: str) -> None:
    assert phrase in text_formats(texts)


@each(
    ("texts", "misleading"),
    [
        (["20249999", "20248888"], "dates"),
        (["20240101", *(f"2024{place:04d}" for place in range(3000, 3040))], "dates"),
        (["2009-10", "2010-11", "2011-12", "2012-13", "2019-20"], "dates"),
        (["69:51", "12:30", "74:10"], "times"),
        (["SI1", "VVS1", "VVS2", "IF"], "currency"),
        (["ABC123", "LHR 1"], "currency"),
        (["F", "M"], "truth"),
        (["D", "E", "F"], "truth"),
        (["N"], "truth"),
        (["N", "NO", "O", "SO", "S", "SW", "W", "NW"], "truth"),
        (["N", "NO"], "truth"),
        (["NO", "NO"], "truth"),
        (["0,123", "0,456"], "1,234.50"),
        (["12,500", "3,5", "7,25"], "1,234.50"),
        (["12:00", "11:34", "00:05"], "times %H:%M"),
        (["12:75", "31:90"], "minutes"),
        (["[deleted]"], "JSON"),
        (["a" * 63 + " b"], "blanks"),
        (["192.168.100.200"], "1.234,50"),
    ],
)
def test_what_only_looks_like_a_form_is_none(texts: list[str], misleading: str) -> None:
    assert not any(misleading in phrase for phrase in text_formats(texts))


@each(
    ("texts", "separator"),
    [
        (["Rain, Fog", "Fog", "Rain", "Snow, Fog", "Snow"], ","),
        (["a|b", "b|c", "c", "a"], "|"),
        (["Drama; Comedy", "Drama", "Comedy; Drama; Crime", "Crime"], ";"),
    ],
)
def test_several_labels_in_a_cell_are_told_with_their_separator(texts: list[str], separator: str) -> None:
    assert any(f"several labels in a cell, separated by {separator!r}" in phrase for phrase in text_formats(texts))


@each(
    "texts",
    [
        ["Smith, John", "Meyer, Anna", "Brown, Jo"],
        ["Sales and Marketing", "Sales", "Marketing and Press"],
        ["1,5", "1,7", "5"],
        ["24/7", "7/24", "24"],
        ["https://a.org/b", "https://a.org/c", "https://b.org/c"],
        ["no", "separator", "here"],
    ],
)
def test_a_sign_between_words_that_do_not_come_back_separates_no_labels(texts: list[str]) -> None:
    assert not any("several labels" in phrase for phrase in text_formats(texts))


def test_dates_that_are_texts_have_a_first_and_a_last_one_and_sequences_their_gaps() -> None:
    assert column(["31/12/2023", "01/02/2022"]).contents == ("from 2022-02-01 to 2023-12-31",)
    assert column(["01/02/2022", "03/04/2023"]).contents == ()  # day and month cannot be told apart
    assert column([2006, 2007, 2008, 2010, 2011, 2012]).contents == ("a gap: no 2009",)
    months = ["2023-01", "2023-02", "2023-04", "2023-05", "2023-06", "2023-07"]
    assert column(months).contents == ("from 2023-01-01 to 2023-07-01", "a gap: no 2023-03")
    assert column(months[2:]).contents == ("from 2023-04-01 to 2023-07-01",)
    assert column([1900, 1950, 2000, 2010, 2020, 2021]).contents == ()
    assert column([1, 2, 3, 5, 6, 7]).contents == ()


def test_formats_are_judged_from_the_whole_column_and_mixtures_have_their_shares() -> None:
    days = [f"{1 + i % 28:02d}" for i in range(30_000)]
    texts = [f"2024-05-{day}" for day in days[:5_000]] + [f"{day}/05/2024" for day in days[5_000:]]
    shares = [re.fullmatch(r"dates (\S+) \((\d+)%\)", phrase).groups() for phrase in column(texts).formats]  # type: ignore[union-attr]
    assert [form for form, _ in shares] == ["%d/%m/%Y", "%Y-%m-%d"]
    assert [int(share) for _, share in shares] == pytest.approx([83, 17], abs=3)


def test_day_first_and_month_first_in_one_column_are_told_apart() -> None:
    formats = text_formats(["31/01/2024"] * 50 + ["01/31/2024"] * 25 + ["01/02/2024"] * 25)
    assert formats == (
        "dates %d/%m/%Y (50%)",
        "dates %m/%d/%Y (25%)",
        "dates that %d/%m/%Y or %m/%d/%Y read alike (25%)",
    )


def test_types_inside_of_cells_are_judged_from_the_whole_column() -> None:
    cells = [[1, 2]] * 4_000 + [{"k": 1, "z": None}] * 4_000 + [{"k": "one", "deep": {}}] * 4_000
    found = column(cells)
    assert found.kind == "nested"
    (types, items), (keys,) = found.formats, found.contents
    assert types.startswith("cells are dict (6") and "list (3" in types
    assert items == "2 items: int"
    assert keys.startswith(("keys k: int or str, z: None (in ", "keys k: str or int, z: None (in "))
    assert "deep: dict (in " in keys


def test_dicts_in_lists_have_their_keys_told() -> None:
    assert column([[{"sku": "a"}], [{"sku": None, "n": 1}]]).contents == (
        "keys of the items sku: None or str, n: int (in 50%)",
    )


def test_an_object_column_of_numbers_with_late_texts_is_no_column_of_numbers() -> None:
    assert re.fullmatch(r"cells are int \(\d+%\), str \(\d+%\)", column([1] * 6_000 + ["n/a"] * 4_000).formats[0])


@each(
    ("part", "whole", "text"),
    [(0, 5, "0%"), (5, 5, "100%"), (9_999, 10_000, ">99%"), (1, 10_000, "<0.1%"), (5, 900, "0.6%"), (1, 3, "33%")],
)
def test_a_share_is_all_or_none_only_where_it_is(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


def test_a_sparse_column_is_told_as_sparse() -> None:
    found = column(pd.arrays.SparseArray([0.0] * 9 + [1.0], fill_value=0.0))
    assert (found.dtype, found.low, found.high, found.distinct) == ("Sparse[float64]", "0", "1", 2)


def test_measured_numbers_are_no_key_and_hide_no_panel() -> None:
    panel = pd.DataFrame({"symbol": ["a", "b"] * 50, "day": [i // 2 for i in range(100)], "price": np.arange(100) / 7})
    assert "unique" not in column(np.arange(100) / 7).notes
    assert profile_frame(panel).panel_key == ("'symbol'", "'day'")


def test_one_clock_time_in_a_large_column_is_enough() -> None:
    times = pd.Series(pd.Timestamp("2024-01-01"), index=range(50_000))
    assert "always the first of a month" in column(times).notes
    times.iloc[33_333] = pd.Timestamp("2024-01-01 10:30")
    assert column(times).notes == ("constant in a sample",)


def test_values_of_a_category_of_numbers_are_not_shown_as_texts() -> None:
    assert not column(pd.Categorical([1, 2, 2])).quoted
    assert column(pd.Categorical(["a", "b", "b"])).quoted


def test_bounds_are_short_and_written_numbers_whole() -> None:
    found = column([-3.874388780561234, 712345678.9])
    assert (found.low, found.high) == ("-3.874389", "712345678.9")


@each(("rows", "count"), [(0, 5), (10, 0), (10, 1), (10, 10), (10, 99), (1_000, 400), (10**6, 5_000), (7, 6)])
def test_sampled_positions_are_different_sorted_and_as_many_as_asked(rows: int, count: int) -> None:
    positions = sample_positions(rows, count)
    assert len(positions) == min(rows, count)
    assert (np.diff(positions) > 0).all()
    assert all(0 <= place < rows for place in positions)
    assert positions.tolist() == sample_positions(rows, count).tolist()


def test_sampled_positions_begin_at_the_top_and_reach_everywhere() -> None:
    positions = sample_positions(1_000_000, 10_000)
    assert positions[:3].tolist() == [0, 1, 2]
    counts, _ = np.histogram(positions, bins=10, range=(0, 1_000_000))
    assert counts.min() > 850
