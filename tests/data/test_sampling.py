"""Samples of tables whose rows are elsewhere: each kind is drawn by its own engine, the same rows each time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import duckdb
import ibis
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

from autocoder_jupyter.data import sampling, sources
from autocoder_jupyter.data.capture import computed, origin_of
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.overview import overview
from autocoder_jupyter.data.renames import renamed_samples
from autocoder_jupyter.data.sampling import is_source, sampled
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.sources import source_of
from autocoder_jupyter.types import File
from autocoder_jupyter.types.records import Drawn

ROWS = 25_000
TABLE = pd.DataFrame({"n": np.arange(ROWS), "x": np.arange(ROWS) / 7, "s": [f"s{n % 9}" for n in range(ROWS)]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two Parquet files, in folders that are a column, with row groups."""
    root = tmp_path_factory.mktemp("sales")
    for year, part in ((2024, TABLE.iloc[:15_000]), (2025, TABLE.iloc[15_000:])):
        (root / f"year={year}").mkdir()
        part.to_parquet(root / f"year={year}" / "part.parquet", index=False, row_group_size=4_000)
    return root


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.parquet"))


def of_dask(_: Path) -> Any:
    return dd.from_pandas(TABLE, npartitions=5, sort=False)


def of_duckdb(folder: Path) -> Any:
    return duckdb.connect().read_parquet(str(folder / "*/*.parquet"))


SOURCES: dict[str, tuple[Callable[[Path], Any], str, bool]] = {
    "polars": (lambda folder: pl.scan_parquet(files(folder)), "polars LazyFrame", True),
    "narwhals": (lambda folder: nw.from_native(pl.scan_parquet(files(folder))), "narwhals LazyFrame", True),
    "duckdb": (of_duckdb, "duckdb DuckDBPyRelation", True),
    "ibis": (lambda folder: ibis.duckdb.connect().read_parquet(folder / "*/*.parquet"), "ibis Table", True),
    "ibis polars": (lambda _: ibis.polars.connect().create_table("t", pa.table(TABLE)), "ibis Table", False),
    "dataset": (lambda folder: dataset.dataset(files(folder)), "pyarrow FileSystemDataset", True),
    "filtered": (
        lambda folder: dataset.dataset(files(folder)).filter(dataset.field("n") >= 0),
        "pyarrow FileSystemDataset",
        True,
    ),
    "tables": (lambda _: dataset.dataset(pa.table(TABLE)), "pyarrow InMemoryDataset", True),
    "folder": (lambda folder: folder, "pyarrow FileSystemDataset", True),
    "file": (lambda folder: str(files(folder)[0]), "pyarrow FileSystemDataset", True),
    "dask": (of_dask, "dask DataFrame", True),
}  # fmt: skip


async def drawn(value: Any) -> pd.DataFrame:
    with dask.config.set(scheduler="threads"):
        return (await sampled({"sales": value}))["sales"]


@pytest.mark.parametrize("name", SOURCES)
async def test_a_sample_is_drawn_by_the_engine_of_a_table_and_is_the_same_again(folder: Path, name: str) -> None:
    made, kind, seeded = SOURCES[name]
    assert is_source(made(folder))
    first, again = await drawn(made(folder)), await drawn(made(folder))
    of = 15_000 if name == "file" else ROWS
    assert 9_000 < len(first) <= 10_000
    assert origin_of(first).drawn == Drawn(kind=kind, rows=len(first), of=of, seeded=seeded)
    assert origin_of(first).kind == kind
    assert first.equals(again) is seeded
    assert first["n"].is_unique and list(first.index) == list(range(len(first)))
    pd.testing.assert_frame_equal(
        first[["n", "x", "s"]], TABLE.iloc[first["n"]].reset_index(drop=True), check_dtype=False
    )
    assert first["n"].max() > of * 0.9 and abs(first["n"].mean() / of - 0.5) < 0.05
    if name == "folder":
        assert first["year"].value_counts().to_dict().keys() == {2024, 2025}


@pytest.mark.parametrize("name", SOURCES)
async def test_a_small_table_is_taken_whole(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_ROWS", ROWS)
    whole = await drawn(SOURCES[name][0](folder))
    assert origin_of(whole).drawn is None and len(whole) == (15_000 if name == "file" else ROWS)
    assert origin_of(whole).kind == SOURCES[name][1]


async def test_what_goes_to_the_model_and_to_its_owner_says_that_it_is_a_sample(folder: Path) -> None:
    table = await drawn(pl.scan_parquet(files(folder)))
    said = "a sample of 10,000 of 25,000 rows"
    assert f"came as a polars LazyFrame, and is handed over as this table of pandas\n{said}, so what" in (
        build_context({"sales": table}).text
    )
    assert said in overview(table).summary
    renamed = renamed_samples({"sales": table}, {"number": "n"})["sales"]
    assert "number" in renamed and origin_of(renamed) == origin_of(table)


async def test_few_cells_and_bytes_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = pl.scan_parquet(files(folder))
    monkeypatch.setattr(sampling, "MOST_CELLS", 300)
    assert len(await drawn(lazy)) == 100
    monkeypatch.setattr(sampling, "MOST_BYTES", 500)
    with pytest.raises(InvalidRequest, match="sales: A sample of it has more than 0 MiB"):
        await drawn(lazy)
    monkeypatch.setattr(sampling, "MOST_COLUMNS", 2)
    with pytest.raises(InvalidRequest, match="sales: It has 3 columns; at most 2 are read"):
        await drawn(lazy)


async def test_a_connection_is_free_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    database = duckdb.connect()
    database.execute("CREATE TABLE numbers AS SELECT range AS n FROM range(100_000)")
    monkeypatch.setattr(sampling, "MOST_BYTES", 500)
    with pytest.raises(InvalidRequest, match="more than 0 MiB") as kept:
        await drawn(database.table("numbers"))
    assert kept.value.__traceback__ is not None  # IPython keeps it too
    assert database.execute("SELECT count(*) FROM numbers").fetchall() == [(100_000,)]


async def test_of_many_row_groups_only_a_few_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_GROUPS", 3)
    monkeypatch.setattr(sampling, "MOST_ROWS", 2_000)
    table = await drawn(folder)
    assert len(table) == 2_000 and (table["n"] // 1_000).nunique() <= 12
    monkeypatch.setattr(sources, "MOST_READ", 1)
    assert (await drawn(folder))["n"].max() < 4_000  # the first


async def test_intervals_are_refused_in_words() -> None:
    relation = duckdb.sql("SELECT 1 AS a, {'b': INTERVAL 1 MONTH} AS waits")
    for read in (lambda: asyncio.run(drawn(relation)), lambda: computed(relation), lambda: source_of(relation)):
        with pytest.raises(InvalidRequest, match="The column 'waits' has intervals of months and days") as refused:
            await asyncio.to_thread(read)
        assert "to a duration, a number or a text" in refused.value.hint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT of DuckDB"),
        ("'12:00:00+02'::TIMETZ", "TIME WITH TIME ZONE of DuckDB"),
        ("[{'a': '101'::BIT}]", "BIT of DuckDB"),
        ("5::BIGNUM", "BIGNUM of DuckDB"),
        ("union_value(k := 1)", "a union of types"),
    ],
)
async def test_values_that_would_become_others_are_refused_in_words(given: str, said: str) -> None:
    relation = duckdb.sql(f"SELECT 1 AS a, {given} AS odd")
    for read in (lambda: asyncio.run(drawn(relation)), lambda: computed(relation), lambda: source_of(relation)):
        with pytest.raises(InvalidRequest, match=f"The column 'odd' has (the type )?{said}"):
            await asyncio.to_thread(read)
    for kind in ("BIT", "UHUGEINT"):  # these are names and values
        named = duckdb.sql(f"SELECT {{'{kind}': 1}} AS a, '{kind}'::ENUM('{kind}') AS b, '101'::BIT::VARCHAR AS c")
        assert (await drawn(named)).iloc[0].to_list() == [{kind: 1}, kind, "101"]


async def test_a_type_that_ibis_does_not_know_is_refused_in_words() -> None:
    database = ibis.duckdb.connect()
    database.raw_sql("CREATE TABLE sales AS SELECT 1 AS a, 340282366920938463463374607431768211455::UHUGEINT AS odd")
    table = database.table("sales")
    for read in (lambda: asyncio.run(drawn(table)), lambda: computed(table), lambda: source_of(table)):
        with pytest.raises(InvalidRequest, match="The column 'odd' has a type that Ibis does not know"):
            await asyncio.to_thread(read)
    assert (await drawn(table.drop("odd")))["a"].to_list() == [1]


async def test_waiting_for_a_slow_table_ends_and_says_how_to_take_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def wait(table: pl.DataFrame) -> pl.DataFrame:
        go.wait(20)
        return table

    monkeypatch.setattr(sampling, "SECONDS", 0.2)
    slow = pl.LazyFrame({"a": [1]}).map_batches(wait, schema={"a": pl.Int64})
    try:
        with pytest.raises(InvalidRequest, match=r"There was no sample of sales after 0\.2 s") as ended:
            await drawn(slow)
    finally:
        go.set()
    assert "few = sales.head(10_000).collect()" in ended.value.hint


async def test_an_interrupt_stops_the_query() -> None:
    database = ibis.duckdb.connect()
    two = "range(10000000) a, range(10000000) b"
    database.raw_sql(f"CREATE VIEW endless AS SELECT a.range AS n FROM {two} WHERE hash(a.range, b.range) = 7")
    endless = database.table("endless")
    waiting = asyncio.ensure_future(drawn(endless))
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(100):  # the query would take hours, and the connection computes one at a time
        try:
            assert database.raw_sql("SELECT 1").fetchall() == [(1,)]
            break
        except duckdb.Error:
            await asyncio.sleep(0.1)
    else:
        pytest.fail("the query goes on")


async def test_a_warehouse_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "IN_PROCESS", frozenset())
    monkeypatch.setattr(sampling, "IN_PROCESS", frozenset())
    with pytest.raises(InvalidRequest, match="sales: A sample is not drawn from a table of duckdb") as refused:
        await drawn(ibis.memtable({"a": [1]}))
    assert "may cost money" in refused.value.why and ".limit(10_000).to_pandas()" in refused.value.hint


async def test_what_cannot_be_read_is_one_clear_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="sales: a sample of it cannot be drawn") as failed:
        await drawn(pl.scan_parquet(files(folder)).select("nothing"))
    assert "nothing" in failed.value.why
    for path, said in (
        (tmp_path, "There are no Parquet files"),
        (tmp_path / "gone.parquet", "There is no file or folder"),
    ):
        with pytest.raises(InvalidRequest, match=said):
            await drawn(path)
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(InvalidRequest, match="cannot be drawn") as failed:
        await drawn(str(tmp_path / "broken.parquet"))
    assert "such as one file" in failed.value.hint


async def test_what_others_put_into_a_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    TABLE.head(9).to_parquet(folder / "a.parquet")
    os.mkfifo(folder / "b.parquet")
    (folder / "_log").symlink_to(".")
    assert len(await drawn(folder)) == 9  # a pipe is no file, and hidden names are no data
    (tmp_path / "named").symlink_to(folder)
    assert len(await drawn(tmp_path / "named")) == 9
    for links in ({"d.parquet": "a.parquet"}, {"zeros": "/dev/zero"}, {"again": ".", "and again": "."}):
        for link, to in links.items():
            (folder / link).symlink_to(to)
        for read in (lambda: asyncio.run(drawn(folder)), lambda: source_of(folder)):
            with pytest.raises(InvalidRequest, match="has a link"):
                await asyncio.wait_for(asyncio.to_thread(read), 60)
        for link in links:
            (folder / link).unlink()
    with pytest.raises(InvalidRequest, match="There is no file or folder"):
        await drawn(str(folder / "b.parquet"))


async def test_a_folder_with_very_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_ENTRIES", 3)
    TABLE.head(9).to_parquet(tmp_path / "a.parquet")
    for name in "bcd":
        (tmp_path / name).mkdir()
    with pytest.raises(InvalidRequest, match="more than 3 files and folders"):
        await drawn(tmp_path)


def test_files_and_texts_are_no_sources(tmp_path: Path) -> None:
    (tmp_path / "north").mkdir()
    for value in (File("a.parquet"), "north", str(tmp_path / "north"), Path("a.csv"), TABLE, pl.DataFrame, 5):
        assert not is_source(value)
