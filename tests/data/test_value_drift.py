"""Values that drift are told in a sentence with both numbers, and what is chance is not told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data.columns_read import ColumnsRead
from autocoder_jupyter.data.value_drift import TableValues, recorded_values, value_drift, value_profile
from autocoder_jupyter.data.withheld import WithheldColumns
from tests.cases import each

NOTHING = WithheldColumns()


def sales(rows: int = 5_000, seed: int = 0) -> pd.DataFrame:
    """Like a table of sales: keys, days, categories, skewed prices, counts, many zeros, missing values."""
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "order": np.arange(rows) + seed * 1_000_000,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 365, rows), unit="D"),
            "region": draw.choice(["n", "e", "s", "w", "c", "x"], rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]),
            "price": np.where(draw.random(rows) < 0.02, np.nan, draw.lognormal(3, 1, rows)),
            "quantity": draw.poisson(2, rows) + 1,
            "discount": np.where(draw.random(rows) < 0.5, 0.0, draw.random(rows)),
        }
    )


def told(now: pd.DataFrame, then: pd.DataFrame | None = None, **options: Any) -> list[tuple[str, str]]:
    profile = value_profile(sales() if then is None else then, "rows", NOTHING)
    return [(found.what, found.words) for found in value_drift("sales", now, profile, **options)]


def changed(column: str, to: Callable[[pd.DataFrame], Any], part: float = 1.0) -> pd.DataFrame:
    frame = sales(seed=1)
    rows = np.random.default_rng(2).random(len(frame)) < part
    frame[column] = frame[column].where(~rows, to(frame))
    return frame


def test_new_rows_of_the_same_kind_are_no_difference() -> None:
    for seed in range(1, 6):
        assert told(sales(seed=seed), is_sample=True, show_values=True) == []


@each(
    ("now", "what", "words"),
    [
        pytest.param(changed("price", lambda f: np.nan, 0.6), "missing", "% of the rows; recorded: 2 %.", id="missing"),
        pytest.param(changed("discount", lambda f: 0.0, 0.8), "zeros", "is 0 in 9", id="zeros"),
        pytest.param(changed("quantity", lambda f: -f["quantity"], 0.1), "range", "is below 0 in", id="negative"),
        pytest.param(
            changed("price", lambda f: 1e6, 0.1), "range", "is outside of the recorded", id="out of range"
        ),
        pytest.param(
            changed("day", lambda f: pd.Timestamp("2199-01-01"), 0.1), "dates", "now it is 2024-01-0", id="dates"
        ),
        pytest.param(changed("region", lambda f: "new", 0.1), "new values", "has 1 new value ('new') in", id="new"),
        pytest.param(
            sales(seed=1).query("region not in ('n', 'e')"), "lost values", "lacks 2 of 6 recorded values ('e', 'n')",
            id="lost",
        ),
        pytest.param(changed("order", lambda f: 7_000_000, 0.4), "repeats", "repeated values; recorded: 0 %", id="key"),
        pytest.param(
            changed("price", lambda f: f["price"] * 4), "distribution", "(Kolmogorov–Smirnov 0.", id="shifted"
        ),
        pytest.param(
            sales(seed=1).assign(region=lambda f: f["region"].where(f["discount"] < 0.5, "x")),
            "distribution", "(population stability index", id="shares",
        ),
        pytest.param(sales().head(0), "rows", "sales has 0 rows; recorded: 5,000.", id="empty"),
    ],
)  # fmt: skip
def test_each_kind_is_told_in_one_sentence_with_both_numbers(now: pd.DataFrame, what: str, words: str) -> None:
    found = told(now, show_values=True)
    assert [kind for kind, _ in found] == [what], found
    assert words in found[0][1] and found[0][1].endswith(".")


def test_few_rows_are_a_difference_of_samples_only() -> None:
    few = sales().head(100)
    assert [what for what, _ in told(few, is_sample=True)] == ["rows"] and told(few) == []


def test_only_columns_that_the_function_reads_are_compared() -> None:
    now = changed("price", lambda frame: np.nan, 0.6)
    assert told(now, reads=ColumnsRead(False, frozenset({"quantity"}))) == []
    assert told(now, reads=ColumnsRead(False, frozenset({"price"}))) != []


def test_later_days_are_no_difference() -> None:
    later = sales(seed=1).assign(day=lambda frame: frame["day"] + pd.Timedelta(days=300))
    assert told(later) == []


def test_new_texts_are_named_only_where_values_are_shown_and_private_ones_never() -> None:
    now = changed("region", lambda frame: "secret", 0.2)
    assert "secret" not in told(now)[0][1] and "secret" in told(now, show_values=True)[0][1]
    private = changed("region", lambda frame: "jane.doe@example.com", 0.2)
    assert "jane" not in told(private, show_values=True)[0][1]


def test_infinite_numbers_are_not_missing() -> None:
    frame = sales().assign(price=np.where(np.arange(5_000) % 2 == 0, np.inf, 1.0))
    (price,) = [column for column in value_profile(frame, "rows", NOTHING).columns if column.label == "'price'"]
    assert price.missing == 0


@each(
    "column",
    [
        pd.array([1, None] * 50, dtype="Int64"),
        pd.array([True, None] * 50, dtype="boolean"),
        pd.Categorical(["a", "b"] * 50),
        pd.Categorical([1, 2] * 50),
        [["a"], {"b": 1}] * 50,
        [1 + 2j] * 100,
        pd.date_range("2024", periods=100, tz="Europe/Berlin"),
        pd.period_range("2024", periods=100),
        pd.timedelta_range("1s", periods=100),
        pd.arrays.SparseArray([0, 1] * 50),
        [b"a", None] * 50,
        [None] * 100,
    ],
    ids=lambda column: type(column).__name__,
)
def test_any_column_can_be_recorded_and_agrees_with_itself(column: Any) -> None:
    frame = pd.DataFrame({"x": column})
    profile = value_profile(frame, "rows", NOTHING)
    again = recorded_values(json.loads(profile.model_dump_json()))
    assert again == profile and value_drift("t", frame, profile) == ()


# What is recorded


def test_nothing_is_recorded_that_may_not_be_shared() -> None:
    frame = sales().assign(salary=np.arange(5_000) + 31_337.0, name="mallory")
    withheld = WithheldColumns.of(["name"], ["salary"])
    for share in ("rows", "stats", "schema"):
        record = value_profile(frame, share, withheld).model_dump_json()
        assert "mallory" not in record and "'name'" not in record and "31337" not in record and "36336" not in record
    assert value_profile(frame, "schema", NOTHING) == TableValues(rows=5_000)
    (salary,) = [one for one in value_profile(frame, "rows", withheld).columns if one.label == "'salary'"]
    assert salary.model_dump(exclude_defaults=True) == {"label": "'salary'"}


def test_of_texts_only_frequent_ones_are_recorded_and_no_private_ones() -> None:
    frame = sales()
    frame.loc[0, "region"] = "only once"
    frame["mail"] = np.where(np.arange(5_000) % 2, "jane.doe@example.com", "joe@example.com")
    frame["note"] = [f"note {number}" for number in range(5_000)]
    frame["card"] = 4111111111111111
    columns = {one.label: one for one in value_profile(frame, "rows", NOTHING).columns}
    assert columns["'region'"].values == columns["'mail'"].values == columns["'note'"].values == ()
    assert columns["'card'"].low is None and columns["'card'"].edges == ()
    assert len({one.label: one for one in value_profile(sales(), "stats", NOTHING).columns}["'region'"].values) == 6


def test_small_tables_record_their_number_of_rows_only() -> None:
    assert value_profile(sales(29), "rows", NOTHING) == TableValues(rows=29)


@each(
    "record",
    [
        None,
        {"rows": -1},
        {"rows": 1, "columns": [{"label": "x", "missing": 2}]},
        {"rows": 1, "columns": [{"label": "x" * 3_000}]},
        {"rows": 1, "columns": [{"label": "x", "values": [["a", 1.0]] * 21}]},
        {"rows": 1, "columns": [{"label": "x"}] * 301},
        {"rows": 1, "columns": [{"label": "x", "low": float("nan")}]},
        {"rows": 1, "more": 1},
    ],
)
def test_a_record_that_is_not_as_we_write_it_is_not_used(record: Any) -> None:
    assert recorded_values(record) is None


@each(
    "column",
    [
        {"label": "'price'", "kind": "number", "low": 5, "high": -5, "edges": [1, 0], "below": [0.5]},
        {"label": "'price'", "kind": "number", "edges": [1e308, -1e308], "below": [1, 0], "low": -1e308, "high": 1e308},
        {"label": "'day'", "kind": "time", "edges": [0], "below": [0], "low": 1e300, "high": 1e300},
        {"label": "'region'", "kind": "text", "values": [["n", 9.0], ["\u202e", -1.0]]},
        {"label": "'order'", "unique": True, "missing": 1},
        {"label": "'price'", "kind": "number", "values": [["n", 0.5]]},
        {"label": "'price'", "kind": "number", "edges": [1, 2], "below": []},
        {"label": "'price'", "kind": "number", "edges": [], "below": [1], "zeros": 0},
        {"label": "'region'", "kind": "text", "edges": [1], "below": [1]},
        {"label": "'region'", "kind": "text", "values": [["n", float("inf")]]},
        {"label": "'region'", "kind": "text", "values": [["n" * 10_000_000, 1]]},
    ],
)
@each("rows", [0, 500, pytest.param(10**400, id="more than a float can be")])
def test_a_hostile_record_compares_without_an_error(column: Any, rows: int) -> None:
    then = recorded_values({"rows": rows, "compared": rows, "columns": [column]})
    for found in value_drift("sales", sales(), then, show_values=True) if then else ():
        assert "\u202e" not in found.words
        assert len(found.words) < 1_000


# False alarms


def tables() -> dict[str, pd.DataFrame]:
    """Tables that scikit-learn ships, and two made-up ones like the tables of seaborn and of a shop."""
    from sklearn import datasets

    shipped = {
        name: getattr(datasets, f"load_{name}")(as_frame=True).frame
        for name in ("iris", "wine", "breast_cancer", "diabetes", "digits")
    }
    draw = np.random.default_rng(7)
    tips = pd.DataFrame(
        {
            "bill": draw.gamma(3, 6, 1_200).round(2),
            "tip": draw.gamma(2, 1.5, 1_200).round(2),
            "day": draw.choice(["Thu", "Fri", "Sat", "Sun"], 1_200, p=[0.25, 0.08, 0.36, 0.31]),
            "size": draw.choice([1, 2, 3, 4, 5, 6], 1_200, p=[0.02, 0.6, 0.15, 0.15, 0.04, 0.04]),
        }
    )
    return {**shipped, "tips": tips, "sales": sales()}


@pytest.mark.slow
def test_false_alarms_are_under_one_in_a_hundred() -> None:
    """Each table is split at random into recorded and later rows, 30 times: no difference is real."""
    alarms, trials = 0, 0
    for frame in tables().values():
        for seed in range(30):
            order = np.random.default_rng(seed).permutation(len(frame))
            half = len(frame) // 2
            then = value_profile(frame.iloc[order[:half]], "rows", NOTHING)
            alarms += bool(value_drift("t", frame.iloc[order[half:]], then))
            trials += 1
    assert trials == 210 and alarms < trials / 100
