from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.column_profile import ColumnProfile
from autocoder_jupyter.data.profile import profile_frame
from autocoder_jupyter.data.sample import sample_positions
from autocoder_jupyter.data.text_formats import text_formats


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


@pytest.mark.parametrize(
    ("texts", "phrase"),
    [
        (["2024-01-31", "2024-02-01"], "dates %Y-%m-%d"),
        (["31/01/2024", "01/02/2024"], "dates %d/%m/%Y"),
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
        (["N/A", "b"], "words for missing such as 'N/A' (50%)"),
        (["Paid", "paid"], "some values differ only by case"),
        (["", "b"], "empty or blank (50%)"),
    ],
)
def test_forms_of_text_are_named(texts: list[str], phrase: str) -> None:
    assert phrase in text_formats(texts)


def test_ids_are_no_dates() -> None:
    assert not any("dates" in phrase for phrase in text_formats(["20249999", "20248888"]))


@pytest.mark.parametrize(
    ("rows", "count"), [(0, 5), (10, 0), (10, 1), (10, 10), (10, 99), (1_000, 400), (10**6, 5_000), (7, 6)]
)
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
