"""`growth.over` of a frame of Dask, computed by a cluster of two processes, compared with plain pandas."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import psutil
import pytest
from distributed import Client, LocalCluster

from autocoder_jupyter.errors import (
    DataDrift,
    InvalidRequest,
    NotSplittable,
    PieceFailed,
    SplitBroken,
    TooBig,
    VersionsDiffer,
)
from autocoder_jupyter.scaling import over
from autocoder_jupyter.scaling.pieces import PieceCalls
from autocoder_jupyter.scaling.prepare import versions_here
from autocoder_jupyter.types import InputSpec
from tests.scaling.conftest import BY_SHOP, BY_SHOP_IN_ORDER, FRAME, MERGE, ROWS, WHOLE, Build
from tests.scaling.test_over import BROKEN, BY_GROUPS, BY_ROWS, MERGED, SAMPLE, SLOW, plain, sales, sized

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two processes with a thread each."""
    place = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.admin.tick.limit": "60s", "distributed.comm.timeouts.connect": "5s"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=place
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


TABLE = sales(6_000, 7)


def frame(table: pd.DataFrame = TABLE, parts: int = 6) -> Any:
    return dd.from_pandas(table, npartitions=parts, sort=False)


def by(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    return table.sort_values(list(names), ignore_index=True)


def test_groups_are_whole_and_those_without_a_key_are_with_others(built: Build, client: Client) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    answer = growth.over(frame())
    assert isinstance(answer, dd.DataFrame)
    pd.testing.assert_frame_equal(by(answer.compute(), "shop"), by(plain(BY_GROUPS, TABLE), "shop"))
    wrong = frame().map_partitions(lambda part: part.groupby("shop", as_index=False)["units"].sum()).compute()
    assert len(wrong) == 6 * len(answer)
    gaps = TABLE.assign(shop=TABLE["shop"].where(TABLE["units"] > 3))
    body = BY_GROUPS.replace("as_index=False", "as_index=False, dropna=False")
    found = built(body, {"sales": gaps.head(240)}, known=BY_SHOP).over(frame(gaps)).compute()
    pd.testing.assert_frame_equal(by(found, "shop"), by(plain(body, gaps), "shop"))


def test_the_rows_of_a_group_keep_their_order(built: Build, client: Client) -> None:
    body = "return sales.assign(sum=sales.groupby('shop')['units'].cumsum())[['shop', 'units', 'sum']]"
    growth = built(body, {"sales": SAMPLE}, known=BY_SHOP_IN_ORDER)
    answer = growth.over(frame()).compute()
    for shop, expected in plain(body, TABLE).groupby("shop"):
        found = answer[answer["shop"] == shop].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected.reset_index(drop=True))


def test_rows_keep_their_order_and_only_what_is_read_is_loaded(built: Build, client: Client, tmp_path: Path) -> None:
    frame().to_parquet(tmp_path / "sales")
    stored = dd.read_parquet(tmp_path / "sales")
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    explained = growth.over.explain(stored)
    assert (explained.columns, explained.rows, explained.pieces) == (("shop", "units", "price"), None, 6)
    answer = growth.over(stored)
    pd.testing.assert_frame_equal(answer.compute().reset_index(drop=True), plain(BY_ROWS, TABLE))
    assert answer.dtypes.to_dict() == answer.compute().dtypes.to_dict()


def test_answers_that_stay_small_are_merged_and_a_whole_that_fits_is_one_call(built: Build, client: Client) -> None:
    growth = built(MERGED, {"sales": SAMPLE}, known=MERGE)
    total = growth.over(frame(parts=40))
    assert total.npartitions == 1 and total.compute().to_dict("list") == {"units": [TABLE["units"].sum()]}
    everything = frame()
    nothing = growth.over(everything[everything["units"] > 100])
    assert nothing.compute().to_dict("list") == {"units": [0]}
    body = "return (sales['units'] - sales['units'].mean()).to_frame('away')"
    away = built(body, {"sales": SAMPLE}, known=WHOLE)
    pd.testing.assert_frame_equal(away.over(frame()).compute(), plain(body, TABLE))
    with pytest.raises(NotSplittable, match="does not fit into"):
        away.over(frame(), memory=20_000).compute()


def test_a_killed_worker_loses_and_doubles_nothing(built: Build, client: Client) -> None:
    """During a shuffle. `clusters/test_dask.py` has a thousand partitions."""
    client.wait_for_workers(2)
    growth = built(SLOW + BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    table = TABLE.assign(shop=[f"shop {number % 90}" for number in range(len(TABLE))], units=TABLE["units"] + 100)
    answer = growth.over(frame(table, 8)).persist()
    futures = client.futures_of(answer)
    worker = psutil.Process(next(iter(client.run(os.getpid).values())))
    while not (any(future.done() for future in futures) and (sandboxes := worker.children(recursive=True))):
        time.sleep(0.2)
    assert not all(future.done() for future in futures)
    worker.kill()
    pd.testing.assert_frame_equal(by(answer.compute(), "shop"), by(plain(BY_GROUPS, table), "shop"))
    assert psutil.wait_procs(sandboxes, timeout=60)[1] == []  # no sandbox survives its worker


def test_what_cannot_be_right_is_refused_before_anything_is_computed(built: Build, client: Client) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    with pytest.raises(DataDrift, match="units"):
        growth.over(frame(TABLE.drop(columns="units")))
    with pytest.raises(DataDrift, match="units"):
        growth.over(frame(TABLE.assign(units="many")))
    given: tuple[dict[str, Any], ...] = ({"to": "answer"}, {"workers": 2}, {"progress": print})
    for option in given:
        with pytest.raises(InvalidRequest, match="is not supported for a Dask frame"):
            growth.over(frame(), **option)
    with pytest.raises(InvalidRequest, match="The names of the columns of a Dask frame must be strings"):
        growth.over(frame(TABLE.rename(columns={"note": 1})))


def test_a_piece_that_fails_ends_the_computation_with_its_name(built: Build, client: Client) -> None:
    broken = built(f"assert sales['units'].max() < 100, 'too many'\n    {BY_ROWS}", {"sales": SAMPLE}, known=ROWS)
    table = TABLE.assign(units=TABLE["units"].where(TABLE.index != 4_500, 200))
    with pytest.raises(PieceFailed, match=r"partition 4 \(1,000 rows\)") as failed:
        broken.over(frame(table)).compute()
    assert "too many" in str(failed.value)
    with pytest.raises(TooBig, match="repartition"):
        built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(frame(), memory=20_000).compute()
    crowded = frame(TABLE.assign(shop=TABLE["shop"].where(TABLE.index % 2 == 0, "the largest")))
    with pytest.raises(TooBig, match=r"shop = 'the largest' has [\d,]+ rows"):
        built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP).over(crowded, memory=60_000).compute()
    halves = (
        "return sales.assign(half=sales['units'] // 1 if sales['units'].max() < 100 else sales['units'] / 8)[['half']]"
    )
    with pytest.raises(DataDrift, match="float64 in 'half', and that for the sample int64"):
        built(halves, {"sales": SAMPLE}, known=WHOLE).over(frame(table)).compute()
    long = "return sales.assign(n=sales['units'] / 2 if sales['units'].max() < 100 else sales['units'] + 2**60)[['n']]"
    with pytest.raises(DataDrift, match="int64 in 'n', and that for the sample float64"):
        built(long, {"sales": SAMPLE}, known=WHOLE).over(frame(table)).compute()


def test_the_largest_groups_contradict_the_split(built: Build, client: Client) -> None:
    growth = built(BROKEN["groups"], {"sales": SAMPLE}, known=BY_SHOP)
    with pytest.raises(SplitBroken, match="a piece of groups of shop"):
        growth.over(frame(TABLE.assign(note="odd"), 2)).compute()


def test_an_index_of_the_answer_is_kept(built: Build, client: Client) -> None:
    body = "return sales.groupby('shop')[['units']].sum()"
    answer = built(body, {"sales": SAMPLE}, known=BY_SHOP).over(frame())
    assert answer.index.name == "shop"
    pd.testing.assert_frame_equal(answer.compute().sort_index(), plain(body, TABLE), check_index_type=False)


def test_a_worker_with_other_versions_is_refused(built: Build, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    older = {**versions_here(), "pandas": "1.2"}
    monkeypatch.setattr(over, "PieceCalls", partial(PieceCalls, versions=older))
    with pytest.raises(VersionsDiffer, match=r"pandas 1\.2 and"):
        growth.over(frame()).compute()


def test_other_inputs_and_an_index_go_with_the_pieces(built: Build, client: Client) -> None:
    shops = pd.DataFrame({"shop": [f"shop {number}" for number in range(40)], "city": list("ab") * 20})
    growth = built(
        "return sales.merge(shops, on='shop')[['city', 'units']]",
        {"sales": SAMPLE, "shops": shops},
        inputs=(FRAME, InputSpec(name="shops", type="DataFrame")),
        known=ROWS,
    )
    expected = TABLE.merge(shops, on="shop")[["city", "units"]]
    for answer in (growth.over(frame()), growth.over(frame(), shops=shops)):
        pd.testing.assert_frame_equal(answer.compute().reset_index(drop=True), expected)


EQUAL: dict[str, tuple[list[Any], ...]] = {
    "numbers": ([1, 2], [1.0, 2.0], [1, 2.0]),
    "decimals": ([Decimal("1.0"), Decimal("2.5")], [Decimal("1.00"), Decimal("2.50")], [Decimal(1), Decimal("2.500")]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_keys_are_one_group_whatever_dtype_a_partition_has(built: Build, client: Client, name: str) -> None:
    keys = [pd.Series(each * 40, dtype=object) for each in EQUAL[name]]
    _in_partitions(built, keys)


def test_moments_of_several_units_are_one_group(built: Build, client: Client) -> None:
    days = pd.Series(pd.date_range("2024-01-01", periods=4)).repeat(20).reset_index(drop=True)
    _in_partitions(built, [days.dt.as_unit("ns"), days.dt.as_unit("us"), days.dt.as_unit("s")])


def _in_partitions(built: Build, keys: list[pd.Series[Any]]) -> None:
    parts = [pd.DataFrame({"shop": each, "units": range(len(each))}) for each in keys]
    growth = built(BY_GROUPS, {"sales": parts[0]})
    assert growth.split.kind == "groups"
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0], enforce_metadata=False)
        found = by(growth.over(frame).compute(), "shop")
    assert found["units"].tolist() == [units * len(parts) for units in plain(BY_GROUPS, parts[0])["units"]]


def test_a_named_index_goes_with_the_columns(built: Build, client: Client) -> None:
    at = TABLE.set_index(pd.date_range("2024-01-01", periods=len(TABLE), freq="min", name="at"))
    hours = "return sales.groupby('shop')['units'].resample('1h').sum().reset_index()"
    for body, kind in ((hours, "groups"), (MERGED, "merge")):
        growth = built(body, {"sales": at.head(240)})
        assert growth.split.kind == kind
        found = growth.over(dd.from_pandas(at, npartitions=4)).compute()
        pd.testing.assert_frame_equal(by(found, *found.columns), by(plain(body, at), *found.columns), check_dtype=False)


def test_each_partition_has_the_categories_of_the_sample(built: Build, client: Client) -> None:
    table = sized(6_000, 1)
    body = "return sales.assign(size=sales['size'].cat.codes)[['shop', 'size']]"
    growth = built(body, {"sales": sized(240, 2)}, known=ROWS)
    unknown = frame(table.assign(size=table["size"].astype(str))).astype({"size": "category"})
    for each in (frame(table), unknown):
        pd.testing.assert_frame_equal(growth.over(each).compute().reset_index(drop=True), plain(body, table))
