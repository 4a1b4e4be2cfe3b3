"""What later data may have and the sample has not: variations beyond its profile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.display.verified import opinion_blocks
from autocoder_jupyter.engine.evidence.beyond import finds_columns_by_place
from autocoder_jupyter.engine.evidence.comparison import ComparisonOutcome, FoundPlace, TriedVariation
from autocoder_jupyter.engine.evidence.second_opinion import Findings
from autocoder_jupyter.engine.evidence.units import Units
from autocoder_jupyter.engine.evidence.variations import VariedSample, few_rows
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.types import Difference, OutputSpec, SecondOpinion
from autocoder_jupyter.types.evidence import BEYOND
from autocoder_jupyter.view.as_text import blocks_text
from tests.cases import each


def beyond(*, by_place: bool = False, **tables: Any) -> dict[str, Any]:
    """The variations by name; of one table, that table."""
    varied = VariedSample(tables).beyond(by_place=by_place)
    assert all(one.is_outside and one.name.startswith(BEYOND) for one in varied)
    return {one.name.removeprefix(BEYOND): one.tables["x"] if len(tables) == 1 else one.tables for one in varied}


def sales(rows: int = 60) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "shop": np.resize(["North", "South", "West"], rows),
            "units": (np.arange(rows) % 9 + 1).astype("int32"),
            "year": 2019 + np.arange(rows) % 3,
            "share": np.arange(rows) / rows,
        }
    )


def test_amounts_are_larger_and_ids_years_shares_and_flags_stay() -> None:
    frame = sales().assign(id=range(60), paid=np.arange(60) % 2)
    table = beyond(x=frame)["with numbers a million times as large"]
    assert (table["units"] == frame["units"] * 10**6).all() and table["units"].dtype == "int32"
    assert table.drop(columns="units").equals(frame.drop(columns="units"))
    assert "with numbers a million times as large" not in beyond(x=frame.assign(units=frame["units"].astype("int8")))


def test_there_are_more_groups_and_blanks_around_their_names() -> None:
    made = beyond(x=sales())
    assert set(made["with new groups"]["shop"]) == {"North", "South", "West2"}
    assert set(made["with blanks around texts"]["shop"].str.strip()) == {"North", "South", "West"}
    assert made["with blanks around texts"]["shop"].str.startswith(" ").any()


@each(
    ("codes", "more", "fewer"),
    [
        ([f"R{n}" for n in range(20, 60)], {3, 4}, {2, 3}),
        ([f"{n:03}" for n in range(20, 60)], {3}, None),
        ([f"{n}" for n in range(1, 9)], {1, 2}, None),
    ],
)
def test_codes_pass_a_number_of_digits_and_keep_their_order(
    codes: list[str], more: set[int], fewer: set[int] | None
) -> None:
    frame = pd.DataFrame({"code": codes, "n": 1.5})
    made = beyond(x=frame)
    texts = made["with codes of more digits"]["code"] if "with codes of more digits" in made else frame["code"]
    assert set(texts.str.len()) == more and texts.dtype == frame["code"].dtype
    assert texts.str.extract(r"(\d+)")[0].astype(int).is_monotonic_increasing and texts.is_unique
    lengths = set(made["with codes of fewer digits"]["code"].str.len()) if fewer is not None else None
    assert lengths == fewer and ("with codes of fewer digits" in made) is (fewer is not None)


def test_a_join_still_finds_its_matches_also_of_numbers_with_texts() -> None:
    counts = pd.DataFrame({"station": np.resize(np.arange(10, 50), 80), "riders": np.arange(80) % 7 + 1})
    stations = pd.DataFrame({"station": [f"0{number}" for number in range(10, 50)], "line": ["U1", "U2"] * 20})
    made = beyond(counts=counts, stations=stations)["with codes of more digits"]
    joined = made["counts"].assign(station=made["counts"]["station"].astype(str).str.zfill(3)).merge(made["stations"])
    assert len(joined) == 80 and joined["station"].str.lstrip("0").str.len().nunique() == 2
    assert "with ids beyond 2**53" not in beyond(counts=counts, stations=stations)
    ids = beyond(counts=counts, stations=stations.assign(station=range(10, 50)))["with ids beyond 2**53"]
    assert len(ids["counts"].merge(ids["stations"])) == 80 and ids["counts"]["station"].min() > 2**53


@each(
    ("first", "days", "names"),
    [
        ("2023-03-01", 200, {"with dates across a year and a leap day"}),
        ("2023-03-01", 30, {"with dates across a leap day", "with dates across a year"}),
        ("2023-12-10", 40, {"with dates across a leap day"}),
        ("2023-10-01", 300, set[str]()),
    ],
)
def test_dates_pass_a_year_and_a_leap_day(first: str, days: int, names: set[str]) -> None:
    times = pd.Timestamp(first) + pd.to_timedelta(np.arange(0, days, max(1, days // 40)), unit="D")
    frame = pd.DataFrame({"day": times.repeat(3), "n": 1.5}).sample(frac=1, random_state=1).iloc[:-1]
    made = {name: table["day"] for name, table in beyond(x=frame).items() if "dates" in name}
    assert set(made) == names
    for name, moved in made.items():
        assert (moved.dt.day_of_week == frame["day"].dt.day_of_week).all()
        assert "leap" not in name or moved.min() < pd.Timestamp("2024-02-29") < moved.max()
        assert "a year" not in name or moved.dt.year.nunique() == 2


def test_times_with_a_zone_pass_the_change_of_its_clocks() -> None:
    hours = pd.date_range("2024-01-08", periods=60, freq="7h", tz="Europe/Berlin")
    moved = beyond(x=pd.DataFrame({"at": hours, "n": 1.5}))["with dates across a clock change"]["at"]
    assert moved.dt.tz is not None and moved.map(lambda one: one.utcoffset()).nunique() == 2


def test_a_category_without_rows_and_columns_in_another_order() -> None:
    frame = sales().assign(shop=pd.Categorical(sales()["shop"]))
    made = beyond(x=frame, by_place=True)
    shop = made["with a category that no row has"]["shop"]
    assert (
        list(shop.cat.categories) == ["North", "South", "West", "West2"]
        and (shop.astype(str) == frame["shop"].astype(str)).all()
    )
    assert list(made["with the columns in another order"]) == ["share", "year", "units", "shop"]
    assert "with the columns in another order" not in beyond(x=frame)
    assert finds_columns_by_place("x.iloc[:, 2]") and not finds_columns_by_place("x.iloc[2:5]['a']")


def test_they_have_few_rows_and_odd_tables_have_none() -> None:
    assert len(few_rows({"x": sales(900)}, {"x": Units.of(sales(900))})["x"]) == 120
    for table in (pd.DataFrame(), pd.DataFrame({"a": [[1], {}] * 30}), pd.Series([1.5] * 30), pd.Series(["a"] * 30)):
        assert beyond(x=table) == {}
    assert "with numbers a million times as large" in beyond(x=pd.Series(np.arange(60) % 23))


def test_they_are_a_mark_in_one_line_and_no_difference() -> None:
    place, names = FoundPlace(where="total", first="4", second="5"), ("new groups", "missing values", "a", "b")
    tried = tuple(TriedVariation(f"{BEYOND}with {name}", differences=(place, place)) for name in names)
    found = Findings(
        ComparisonOutcome(compared=("total",), tried=tried),
        (OutputSpec(name="total", type="float"),),
        Redaction("rows"),
    )
    assert [one.on for one in found.differences] == [f"{BEYOND}with {name}" for name in names]
    opinion = SecondOpinion(
        state="agree", compared=("total",), differs_on=found.differs_on, differences=found.differences
    )
    told = "\n".join(blocks_text(opinion_blocks("growth", opinion)))
    assert (
        "Beyond the profile of the sample, it differs with new groups, with missing values, with a and 1 more" in told
    )
    assert "would be" not in told and "≠" not in told
    twice = Difference(where="total", first="4", second="5", on="if all rows came 3 times")
    assert "If all rows came 3 times" in "\n".join(
        blocks_text(opinion_blocks("growth", opinion.model_copy(update={"differences": (twice,)})))
    )
