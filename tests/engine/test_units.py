"""Rows that belong together stay together in all that is made from a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.units import Units
from autocoder_jupyter.engine.evidence.variations import (
    ROWS,
    Variation,
    is_outside,
    larger,
    small_parts,
    trimmed,
    variations,
)
from tests.cases import each


def measured(persons: int = 40) -> pd.DataFrame:
    """Two measurements of each person, in an order by chance."""
    table = pd.DataFrame(
        {
            "person": np.repeat([f"p{number:04}" for number in range(persons)], 2),
            "phase": ["before", "after"] * persons,
            "value": np.arange(2 * persons) % 13 / 2,
        }
    )
    return table.iloc[np.random.default_rng(1).permutation(len(table))].reset_index(drop=True)


def bills(count: int = 40) -> pd.DataFrame:
    """The lines of each bill, and one line with its total."""
    random = np.random.default_rng(1)
    rows = []
    for bill in range(count):
        amounts = random.integers(1, 90, random.integers(1, 6))
        rows += [(f"B{bill}", "line", amount) for amount in amounts] + [(f"B{bill}", "total", amounts.sum())]
    return pd.DataFrame(rows, columns=["bill", "kind", "amount"])


def headings(count: int = 30) -> pd.DataFrame:
    """Rows below a heading, which stands in the first one only."""
    rows = [
        (f"Area {area}" if line == 0 else None, line, 10 * area)
        for area in range(count)
        for line in range(2 + area % 3)
    ]
    return pd.DataFrame(rows, columns=["area", "line", "cost"])


def wide(count: int = 40) -> pd.DataFrame:
    """An export whose first row says the units."""
    return pd.DataFrame({"weight": ["kg", *map(str, range(count))], "price": ["EUR", *map(str, range(count))]})


def hours(count: int = 100) -> pd.DataFrame:
    return pd.DataFrame(
        {"hour": pd.date_range("2024-01-01", periods=count, freq="h"), "load": np.arange(count) % 24 * 1.5}
    )


def inside(table: pd.DataFrame) -> list[Variation]:
    return [variation for variation in variations({"x": table}) if not variation.is_outside]


def parts_of(table: pd.DataFrame) -> list[pd.DataFrame]:
    made = [*(one.tables["x"] for one in inside(table)), *(part["x"] for part in small_parts({"x": table}, 40))]
    large = larger({"x": table})
    assert large is not None
    return [*made, trimmed(table), *([] if is_outside(large.name) else [large.tables["x"]])]


@each("persons", [40, 2 * ROWS])
def test_pairs_are_not_torn(persons: int) -> None:
    found = parts_of(measured(persons))
    assert len(found) > 40
    for part in found:
        assert (part.groupby("person")["phase"].agg(["size", "nunique"]) == 2).all(axis=None)


@each("count", [40, 2 * ROWS])
def test_each_bill_keeps_its_lines_and_its_total(count: int) -> None:
    whole = bills(count).groupby("bill").size()
    for part in parts_of(bills(count)):
        assert (part["kind"].eq("total").groupby(part["bill"]).sum() == 1).all()
        sizes = part.groupby("bill").size()
        assert (sizes == whole.reindex(sizes.index.str.partition("-").get_level_values(0)).to_numpy()).all()


@each("count", [30, 2 * ROWS])
def test_rows_stay_below_their_heading(count: int) -> None:
    for part in parts_of(headings(count)):
        assert pd.notna(part["area"].iloc[0])
        lines = part["line"].groupby(part["area"].notna().cumsum())
        assert lines.agg(list).map(lambda one: one == list(range(len(one))) or len(set(one)) == 1).all()


@each("count", [40, 2 * ROWS])
@each("has_names", [True, False])
def test_a_header_row_stays_first_and_is_not_repeated(count: int, has_names: bool) -> None:
    table = wide(count) if has_names else wide(count).set_axis([0, 1], axis=1)
    for part in parts_of(table):
        assert list(part.iloc[0]) == ["kg", "EUR"] and part.iloc[1:, 0].dropna().str.isdigit().all()


@each("count", [100, 2 * ROWS])
def test_of_a_sequence_without_gaps_a_part_is_a_stretch(count: int) -> None:
    found = parts_of(hours(count))
    assert len(found) > 40
    for part in found:
        assert (part["hour"].diff().dropna() == pd.Timedelta(hours=1)).all()
    assert "beyond the profile, with a stretch left out" in {one.name for one in variations({"x": hours()})}


def test_months_are_a_sequence_without_gaps_and_days_by_chance_are_none() -> None:
    months = pd.DataFrame({"month": pd.date_range("2022-01-31", periods=24, freq="ME"), "sales": range(24)})
    assert Units.of(months).is_stretch and Units.of(months.iloc[::-1]).is_stretch
    assert Units.of(months.drop(index=7)).is_plain


def test_groups_by_chance_stay_rows() -> None:
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"client": random.integers(0, 30, 200), "shop": random.choice(list("abc"), 200), "n": range(200)}
    )
    assert Units.of(table).is_plain
    few = pd.DataFrame({"shop": ["a", "b"] * 10, "day": np.arange(20) % 5})
    assert Units.of(few).is_plain


@pytest.mark.parametrize(
    "table", [pd.DataFrame(), pd.Series(range(40)), pd.DataFrame({"a": [[1]] * 40}), pd.DataFrame(index=range(40))]
)
def test_odd_tables_have_no_units(table: pd.DataFrame) -> None:
    assert Units.of(table).is_plain and list(variations({"x": table})) is not None
