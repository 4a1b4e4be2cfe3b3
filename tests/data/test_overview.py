"""The overview of a sample, for the user and for a saved notebook."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.overview import BINS, COLUMNS, overview
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.types.records import ColumnOverview
from tests.cases import each


def column(values: Any, share: Any = None, name: str = "x") -> ColumnOverview:
    (found,) = overview(pd.DataFrame({name: values}), share).columns
    return found


def facts(values: Any, share: Any = None) -> dict[str, str]:
    return dict(column(values, share).facts)


def test_numbers_are_a_histogram_with_their_range_and_mean() -> None:
    found = column([*range(100), None, None])
    assert (found.missing, found.distinct, found.drawing, len(found.bars)) == (2, 100, "histogram", BINS)
    assert sum(bar.count for bar in found.bars) == 100
    assert found.bars[0].label.startswith("0 – ") and found.bars[-1].label.endswith(" – 99")
    assert dict(found.facts) == {"min": "0", "mean": "49.5", "max": "99"}


def test_a_few_whole_numbers_have_a_bar_each() -> None:
    found = column([1, 1, 2, 5, 5, 5])
    assert [(bar.label, bar.count) for bar in found.bars] == [("1", 2), ("2", 1), ("3", 0), ("4", 0), ("5", 3)]


def test_numbers_that_stand_for_a_few_things_are_ranked() -> None:
    found = column([200] * 3 + [404] * 2 + [500])
    assert (found.drawing, [(bar.label, bar.count) for bar in found.bars]) == (
        "ranking",
        [("200", 3), ("404", 2), ("500", 1)],
    )
    assert column(range(0, 600, 100)).drawing == "histogram"


def test_times_lie_on_a_line() -> None:
    found = column(pd.date_range("2024-01-01", "2024-12-31", tz="Europe/Berlin"))
    assert found.drawing == "timeline" and len(found.bars) == BINS
    assert found.bars[0].label.startswith("2023-12-31 – ")  # in UTC
    assert facts(pd.to_datetime(["2024-01-01", "2024-03-01"]))["from"] == "2024-01-01"
    hours = column(pd.date_range("2024-01-01 08:00", periods=30, freq="min"))
    assert hours.bars[0].label.startswith("2024-01-01 08:00 – ")


@each(
    "values",
    [
        pd.to_timedelta(range(50), unit="h"),
        pd.period_range("2024-01", periods=30, freq="M"),
        pd.array([1, None, 300], dtype="Int64"),
        pd.array([0.5, None], dtype="float64[pyarrow]"),
        pd.date_range("2024", periods=3).astype("timestamp[us][pyarrow]"),
    ],
)
def test_other_ranges_are_drawn_as_well(values: Any) -> None:
    found = column(values)
    assert found.bars and sum(bar.count for bar in found.bars) == int(pd.Series(values).notna().sum())


def test_texts_categories_and_truth_values_are_ranked() -> None:
    assert [(bar.label, bar.count) for bar in column(["b", "a", "b", None]).bars] == [("b", 2), ("a", 1)]
    assert column(pd.Categorical(["x", "x", "y"], categories=["x", "y", "z"])).bars[0].label == "x"
    assert [(bar.label, bar.count) for bar in column([True, False, True]).bars] == [("True", 2), ("False", 1)]
    many = column([f"v{n % 9}" for n in range(90)])
    assert len(many.bars) == BINS // 2 + 1 and (many.bars[-1].label, many.bars[-1].count) == ("others", 30)


def test_texts_that_never_repeat_are_told_by_example() -> None:
    found = column(["one", "two", "three"])
    assert found.drawing == "none" and dict(found.facts)["e.g."].startswith("one, ")


@each(
    "values",
    [
        [],
        [None, None],
        [float("nan"), float("inf"), -float("inf")],
        [1.7e308, -1.7e308],
        [[1], [2]],
        [{"a": 1}],
        [1, "a", None],
        [1 + 2j],
        [dt.date(2024, 1, 1), None],
        pytest.param([object()], id="[object]"),
        [10**400, 1],
        pd.arrays.IntervalArray.from_breaks([0, 1, 2]),
        [b"\x00", b"\xff"],
    ],
    ids=str,
)
def test_no_column_is_too_strange(values: Any) -> None:
    assert column(values).name == "x"


def test_a_wide_table_is_bounded_and_a_long_one_is_sampled() -> None:
    wide = overview(pd.DataFrame(np.zeros((2, COLUMNS + 5))))
    assert len(wide.columns) == COLUMNS and wide.more_columns == 5
    long = overview(pd.DataFrame({"n": np.arange(50_000)}))
    assert (long.rows, long.looked_at) == (50_000, 10_000)
    assert dict(long.columns[0].facts)["max"] == "49999" and not long.columns[0].distinct_exact


def test_labels_of_any_kind_and_an_index_are_named() -> None:
    frame = pd.DataFrame({("a", 1): [1], 7: [2]}, index=pd.Index([3], name="key"))
    found = overview(frame)
    assert [named.name for named in found.columns] == ["('a', 1)", "7"] and "key" in found.summary
    assert overview(pd.Series([1], name="s")).columns[0].name == "s"


# What may be saved

PRIVATE = ["jane@example.org", "jane@example.org", "joe@example.org"]
KEY = "ghp_" + "a1B2" * 9


def test_a_saved_overview_masks_private_values_and_the_persons_own_only_secrets() -> None:
    assert {bar.label for bar in column(PRIVATE).bars} == set(PRIVATE)
    assert {bar.label for bar in column(PRIVATE, "rows").bars} == {"<email-1>", "<email-2>"}
    for share in (None, "rows"):
        assert KEY not in str(column([KEY, KEY, "x"], share)) and KEY not in str(column([1], share, name=KEY))


def test_numbers_that_are_private_are_not_drawn() -> None:
    cards = [4111111111111111, 5500005555555559]
    saved = column(cards, "rows")
    assert saved.bars == () and "4111" not in str(saved.facts)
    assert column(cards).bars != ()


def test_statistics_alone_hold_no_rare_text() -> None:
    values = ["common"] * 9 + ["rare"]
    assert column(values, "stats").bars == () and "rare" not in str(column(values, "stats"))
    assert [bar.label for bar in column(["a"] * 5 + ["b"] * 5, "stats").bars] == ["a", "b"]
    assert "Jane" not in str(column(["Jane", "Joe", "Jim"], "stats"))


def test_names_and_dtypes_alone_hold_no_value() -> None:
    found = overview(pd.DataFrame({"n": [4711, None], "t": ["Jane"] * 2}, index=pd.Index(["Joe", "Jim"])), "schema")
    assert found.columns == (ColumnOverview("n", "float64"), ColumnOverview("t", "str")) or "object" in str(found)
    assert all(word not in str(found) for word in ("4711", "Jane", "Joe", "repeat"))


# Files


def test_a_table_in_a_file_is_described_like_one(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("price,region\n" + "1.5,N\n2.5,S\n" * 20)
    found = overview(File(path))
    assert found.kind == "File" and [named.name for named in found.columns] == ["price", "region"]
    assert "40 rows × 2 columns" in found.summary and found.columns[0].bars


def test_other_files_and_folders_are_summed_up(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("some words that nobody needs to see")
    assert "some words" not in str(overview(File(tmp_path / "note.txt")))
    found = overview(Dir(tmp_path))
    assert found.kind == "Dir" and "1 files" in found.summary and ".txt" in found.summary


def test_a_file_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    assert "cannot be described any more" in overview(File(tmp_path / "gone.csv")).summary
