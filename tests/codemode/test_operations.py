"""The operations on tables give what pandas gives, for columns of each kind, and other threads continue meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import gc
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent
from autocoder_jupyter.codemode import operations
from autocoder_jupyter.codemode.operations import Join
from autocoder_jupyter.codemode.tables import Frame, Visibility, frame_of
from autocoder_jupyter.concurrency import background
from tests.cases import each
from tests.codemode.conftest import block
from tests.readers.watch import LONGEST, Watch, require_short
from tests.scripted_model import ScriptedModel

ROWS = 300
NUMBERS = [int(number) for number in np.random.default_rng(1).integers(0, 60, ROWS)]
MISSING = [place % 17 == 3 for place in range(ROWS)]


def column(make: Callable[[int], Any], dtype: Any) -> pd.Series[Any]:
    return pd.Series([None if gone else make(n) for n, gone in zip(NUMBERS, MISSING, strict=True)], dtype=dtype)


KINDS: dict[str, pd.Series[Any]] = {
    "texts": column(lambda n: f"text {n}", "str"),
    "texts as objects": column(lambda n: f"text é {n}", object),
    "texts of Python": column(lambda n: f"text {n}", "string[python]"),
    "dates as objects": column(lambda n: dt.date(2026, 1, 1) + dt.timedelta(n), object),
    "decimals": column(lambda n: Decimal(n) / 4, object),
    "numbers as objects": column(lambda n: n / 2 if n % 2 else n, object),
    "tuples": column(lambda n: (n % 7, str(n)), object),
    "floats": column(lambda n: n / 8, "float64"),
    "integers": pd.Series(NUMBERS, dtype="int64"),
    "integers that may be missing": column(lambda n: n, "Int64"),
    "times": column(lambda n: pd.Timestamp(2026, 1, 1) + pd.Timedelta(days=n), "datetime64[us]"),
    "times of a zone": column(lambda n: pd.Timestamp(2026, 1, 1, tz="UTC") + pd.Timedelta(days=n), None),
    "durations": column(lambda n: pd.Timedelta(hours=n), "timedelta64[us]"),
    "categories": column(lambda n: f"text {n}", pd.CategoricalDtype([f"text {n}" for n in range(60)], ordered=True)),
    "truth values": column(lambda n: n % 2 == 0, "boolean"),
}


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "PIECE", 70)
    monkeypatch.setattr(operations, "VALUES", 7)


def table_of(kind: str) -> pd.DataFrame:
    return pd.DataFrame({"k": KINDS[kind], "few": [n % 4 for n in NUMBERS], "x": np.arange(ROWS) / 2}, index=[0] * ROWS)


def cells(table: pd.DataFrame) -> list[list[Any]]:
    """The cells by row; None for missing ones."""
    return [[None if pd.isna(one) is True else one for one in row] for row in table.itertuples(index=False, name=None)]


def middle(table: pd.DataFrame) -> Any:
    return table["k"].iloc[100]


@pytest.mark.usefixtures("small_pieces")
@each("kind", [kind for kind in KINDS if kind != "tuples"])
@each("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_a_comparison(kind: str, operator: str) -> None:
    table = table_of(kind)
    plain = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[operator]
    kept = table.reset_index(drop=True)
    kept = kept[kept["k"].notna()]
    kept = kept[getattr(kept["k"], plain)(middle(table)).astype(bool)]
    assert cells(operations.filtered(table, "k", operator, middle(table))) == cells(kept)


@pytest.mark.usefixtures("small_pieces")
@each("kind", KINDS)
def test_a_list_of_values(kind: str) -> None:
    table = table_of(kind)
    values = [value for value in table["k"].iloc[:40] if pd.isna(value) is not True]
    kept = table.reset_index(drop=True)
    inside = kept["k"].isin(values)
    assert cells(operations.filtered(table, "k", "in", values)) == cells(kept[inside & kept["k"].notna()])
    assert cells(operations.filtered(table, "k", "not in", values)) == cells(kept[~inside & kept["k"].notna()])


@pytest.mark.usefixtures("small_pieces")
@each("kind", KINDS)
@each("descending", [False, True])
def test_a_sort(kind: str, descending: bool) -> None:
    table = table_of(kind)
    for names in (["k"], ["few", "k"], ["k", "few"]):
        expected = table.sort_values(names, ascending=not descending, kind="stable", na_position="last")
        assert cells(operations.ordered(table, names, descending)) == cells(expected)


@pytest.mark.usefixtures("small_pieces")
@each("kind", KINDS)
@each("names", [["k"], ["few", "k"]])
def test_groups(kind: str, names: list[str]) -> None:
    table = table_of(kind)
    figures = {"n": ("x", "count"), "s": ("x", "sum"), "m": ("x", "median")}
    expected = table.groupby(names, dropna=False, observed=True, sort=True).agg(**figures).reset_index()
    made = operations.aggregated(table, figures, names)
    assert cells(made) == cells(expected)
    assert made["k"].dtype == table["k"].dtype


@pytest.mark.usefixtures("small_pieces")
@each("kind", KINDS)
@each("by", [[], ["few"]])
@each("how", operations.AGGREGATES)
def test_a_figure(kind: str, how: str, by: list[str]) -> None:
    table = table_of(kind)
    made = outcome_of(lambda: operations.aggregated(table, {"y": ("k", how)}, by)["y"].tolist())
    if how == "sum" and table["k"].map(lambda cell: isinstance(cell, str | tuple)).any():
        assert made is None
        return
    grouped = table.groupby(by)["k"] if by else None
    expected = outcome_of(lambda: [getattr(table["k"], how)()] if grouped is None else grouped.agg(how).tolist())
    if expected is not None and how in ("mean", "std", "median") and operations.has_objects(table["k"]):
        assert made == pytest.approx([float(one) for one in expected])
    else:
        assert made == expected


def outcome_of(work: Callable[[], list[Any]]) -> list[Any] | None:
    """What an operation gives; None if the cells do not have this figure."""
    try:
        return work()
    except (TypeError, ValueError):
        return None


@pytest.mark.usefixtures("small_pieces")
@each("kind", KINDS)
@each("how", get_args(Join))
def test_a_join(kind: str, how: Join) -> None:
    table = table_of(kind)
    left = table.iloc[:200]
    right = table.iloc[150:].rename(columns={"x": "y"})[["y", "k", "few"]]
    for names in (["k"], ["few", "k"]):
        ours, theirs = left, right if "few" in names else right.drop(columns="few")
        expected = ours.merge(theirs, on=names, how=how)
        made = operations.joined(ours, theirs, names, how)
        assert cells(made) == cells(expected)
        assert list(made.columns) == list(expected.columns)
        assert made.dtypes["y"] == expected.dtypes["y"]


def test_cells_that_cannot_be_ordered_are_groups_in_the_order_of_the_rows() -> None:
    mixed = pd.DataFrame({"k": ["x", dt.date(2026, 1, 1), 3, "x", None], "n": range(5)})
    made = operations.aggregated(mixed, {"s": ("n", "sum")}, ["k"])
    assert cells(made) == [["x", 3], [dt.date(2026, 1, 1), 1], [3, 2], [None, 4]]
    with pytest.raises(TypeError, match="'<' not supported"):
        operations.ordered(mixed, ["k"], False)


def test_keys_that_are_never_equal_are_said() -> None:
    texts, numbers = (pd.DataFrame({"k": values}) for values in (["1", "2"], [1, 2]))
    with pytest.raises(ValueError, match="'k' has texts in one table and numbers in the other"):
        operations.joined(texts, numbers, ["k"], "inner")


MANY = 500_000
MANY_OBJECTS = 200_000
"""Python compares decimals, as it does dates, so a step that takes all of them at once is long enough with fewer."""


@pytest.fixture(scope="module")
def many() -> dict[str, pd.Series[Any]]:
    """Columns of very many rows. They and the objects of other tests are not collected, which would take long."""
    places = np.random.default_rng(0).permutation(MANY)
    made: dict[str, pd.Series[Any]] = {
        "texts": pd.Series([f"id {place}" for place in places], dtype="str"),
        "texts as objects": pd.Series([f"id {place}" for place in places], dtype=object),
        "decimals": pd.Series([Decimal(int(place)) for place in places[:MANY_OBJECTS]], dtype=object),
    }
    gc.collect()
    gc.freeze()
    return made


WORK: dict[str, Callable[[Frame], Any]] = {
    "equal": lambda frame: frame.filter("k", "==", frame.table["k"].iloc[5]),
    "one of many": lambda frame: frame.filter("k", "in", list(frame.table["k"].iloc[:100_000])),
    "contains": lambda frame: frame.filter("k", "contains", "99"),
    "sorted": lambda frame: frame.sort("k"),
    "sorted by two": lambda frame: frame.sort(["few", "k"]),
    "grouped": lambda frame: frame.aggregate({"s": ("x", "sum")}, by="k"),
    "grouped by two": lambda frame: frame.aggregate({"s": ("x", "sum")}, by=["few", "k"]),
    "figures": lambda frame: frame.aggregate({"a": ("k", "min"), "b": ("k", "nunique"), "c": ("k", "count")}),
    "figures of groups": lambda frame: frame.aggregate({"a": ("k", "max"), "b": ("k", "nunique")}, by="few"),
    "sums": lambda frame: frame.aggregate({"a": ("k", "sum"), "b": ("k", "mean")}, by="few"),
    "joined": lambda frame: frame.join(frame.select("k", "x"), "k"),
    "joined with all": lambda frame: frame.join(frame.select("k", "x"), "k", "outer"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads another thread's clock")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["texts", "texts as objects", "decimals"])
@pytest.mark.parametrize("work", WORK)
def test_no_operation_on_many_rows_stops_the_other_threads(
    many: dict[str, pd.Series[Any]], kind: str, work: str
) -> None:
    rows = np.arange(len(many[kind]))
    frame = frame_of(pd.DataFrame({"k": many[kind], "few": rows % 20, "x": rows / 2}, copy=False), "many", Visibility())

    def operate() -> float:
        with Watch() as watch, contextlib.suppress(TypeError):  # texts have no sum
            WORK[work](frame)
        return watch.longest

    require_short(operate, LONGEST / 2)


def test_values_of_one_hash_stop_no_other_thread() -> None:
    same = [number * (2**61 - 1) for number in range(20_000)]
    frame = frame_of(pd.DataFrame({"k": pd.Series([same[1], "x", None], dtype=object)}), "t", Visibility())

    def operate() -> float:
        with Watch() as watch:
            assert frame.filter("k", "in", same).count() == 1
        return watch.longest

    require_short(operate)


@pytest.mark.slow
async def test_a_cancel_does_not_wait_for_an_operation_and_nothing_follows_it(
    tmp_path: Path, many: dict[str, pd.Series[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended, times = threading.Event(), threading.Event(), 0
    sort = operations.ordered

    def watched(*arguments: Any) -> pd.DataFrame:
        nonlocal times
        times += 1
        assert not background.is_current()
        begun.set()
        try:
            return sort(*arguments)
        finally:
            ended.set()

    monkeypatch.setattr(operations, "ordered", watched)
    frames = {"many": many["decimals"].to_frame("k")}
    with ScriptedModel([block("for _ in range(1000):\n    many.sort('k')"), "Done."]) as model:
        agent = CodeModeAgent(model="openai/scripted", api_base=model.url)
        run = asyncio.create_task(agent.run.aio("Sort.", frames=frames, journal_root=tmp_path / ".autocode"))
        await asyncio.to_thread(begun.wait)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert not ended.is_set()
        await asyncio.to_thread(ended.wait)
    assert times == 1
