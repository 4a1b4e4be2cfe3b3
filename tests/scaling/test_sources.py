"""The same function over each kind of source, compared with plain pandas."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import duckdb
import ibis
import narwhals as nw
import narwhals.stable.v1 as stable_narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data import sampling
from autocoder_jupyter.data.capture import origin_of
from autocoder_jupyter.data.drift import check_drift
from autocoder_jupyter.data.sampling import sampled
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import DataDrift, InvalidRequest, NotSplittable, PieceFailed
from autocoder_jupyter.scaling.pieces import Dtypes, frame_of
from autocoder_jupyter.scaling.sources import HERE, Batches, source_of
from autocoder_jupyter.types.interface import Split
from tests.scaling.conftest import BY_SHOP, BY_SHOP_IN_ORDER, MERGE, ROWS, WHOLE, Build
from tests.scaling.test_over import BY_GROUPS, BY_ROWS, MERGED, SAMPLE, SMALL, plain, sales

pytestmark = pytest.mark.local_sandbox

TABLE = sales(4_000, 3)


def of_ibis(file: Path) -> Any:
    return ibis.duckdb.connect().read_parquet(file)


SOURCES: dict[str, tuple[Callable[[Path], Any], type]] = {
    "a file": (lambda file: file, pd.DataFrame),
    "a dataset": (dataset.dataset, pd.DataFrame),
    "a reader": (lambda file: dataset.dataset(file).scanner().to_reader(), pd.DataFrame),
    "polars": (pl.scan_parquet, pl.LazyFrame),
    "duckdb": (lambda file: duckdb.connect().read_parquet(str(file)), duckdb.DuckDBPyRelation),
    "ibis": (of_ibis, ibis.Table),
    "dask": (lambda file: dd.from_pandas(pd.read_parquet(file), npartitions=5, sort=False), dd.DataFrame),
}

AWAY = "return (sales['units'] - sales['units'].mean()).to_frame('away')"

FUNCTIONS: dict[str, tuple[str, str]] = {
    "a formula": ("rows", BY_ROWS),
    "a filter": ("rows", "return sales[sales['units'] > 4].reset_index(drop=True)"),
    "sums": ("groups", BY_GROUPS),
    "running sums": (
        "groups",
        "return sales.assign(sum=sales.groupby('shop')['units'].cumsum())[['shop', 'units', 'sum']]",
    ),
    "shares": (
        "groups",
        "return pd.DataFrame({'share': sales['units'] / sales.groupby('shop')['units'].transform('sum')})",
    ),
    "medians of two keys": ("groups", "return sales.groupby(['shop', 'units'], as_index=False)['price'].median()"),
    "a total": ("merge", MERGED),
    "the first row": ("merge", "return sales.head(1)[['shop', 'units', 'price']]"),
    "the distance to the mean": ("whole", AWAY),
}

KNOWN = {
    BY_ROWS: ROWS,
    BY_GROUPS: BY_SHOP,
    FUNCTIONS["running sums"][1]: BY_SHOP_IN_ORDER,
    FUNCTIONS["medians of two keys"][1]: BY_SHOP,
    MERGED: MERGE,
    FUNCTIONS["the first row"][1]: MERGE.model_copy(update={"ordered": True}),
    AWAY: WHOLE,
}
"""What other tests, also those with Spark and Ray, take as known of how these may be split."""

ONE_OF_EACH_KIND = ("a formula", "sums", "running sums", "a total", "the first row", "the distance to the mean")
"""Functions that are called with every source; groups and merges with and without the order of rows."""


def known_of(split: Split) -> tuple[str, tuple[str, ...], bool]:
    """What of a split decides how a table is divided."""
    return split.kind, split.keys, split.ordered


def in_memory(answer: Any) -> pd.DataFrame:
    if isinstance(answer, pl.LazyFrame):
        return answer.collect().to_pandas()
    if isinstance(answer, duckdb.DuckDBPyRelation):
        return answer.df()
    if isinstance(answer, ibis.Table):
        return pa.table(answer).to_pandas()
    if isinstance(answer, dd.DataFrame):
        with dask.config.set(scheduler="threads"):
            return answer.compute()
    return answer


def by_values(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values(list(table.columns), ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_source_gives_what_pandas_gives(built: Build, tmp_path: Path, name: str) -> None:
    kind, body = FUNCTIONS[name]
    file = tmp_path / "sales.parquet"
    TABLE.to_parquet(file, index=False)
    growth, expected = built(body, {"sales": SAMPLE}), plain(body, TABLE)
    assert growth.split.kind == kind
    if body in KNOWN:
        assert known_of(growth.split) == known_of(KNOWN[body])
    memory = SMALL * 20 if kind == "groups" else SMALL * 2
    for origin in SOURCES if name in ONE_OF_EACH_KIND else ("a file", "dask"):
        made, returned = SOURCES[origin]
        source = made(file)
        if name == "a formula":
            engine = {"polars": "Polars", "duckdb": "DuckDB", "ibis": "Ibis", "dask": "Dask"}.get(origin, HERE)
            assert growth.over.explain(source).engine == engine
        answer = growth.over(source, memory=memory)
        assert isinstance(answer, returned)
        found = in_memory(answer)
        if kind == "groups":
            found, expected = by_values(found), by_values(expected)
        pd.testing.assert_frame_equal(found.reset_index(drop=True), expected, check_dtype=False)


@pytest.mark.parametrize("name", sorted(SOURCES.keys() - {"a reader", "dask"}))
def test_pieces_have_the_columns_and_dtypes_of_the_sample(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, day = 300, dt.datetime(2024, 1, 1)
    columns = {
        "gaps": pa.array([None, 1, 2] * 100),
        "open": pa.array([None, True, False] * 100),
        "day": pa.array([day.date()] * rows),
        "at": pa.array([day] * rows, pa.timestamp("us", "UTC")),
        "time": pa.array([dt.time(1)] * rows),
        "price": pa.array([Decimal("1.50")] * rows),
        "shop": pa.array(["a", "b"] * 150).dictionary_encode(),
        "tags": pa.array([["x"]] * rows),
    }
    (tmp_path / "year=2024").mkdir()
    file = tmp_path / "year=2024" / "sales.parquet"
    parquet.write_table(pa.table(columns), file)
    monkeypatch.setattr(sampling, "MOST_ROWS", 200)
    for source in (SOURCES[name][0](file), *([tmp_path] if name == "a file" else [])):
        sample = background.run(sampled({"sales": source}))["sales"]
        assert origin_of(sample).drawn is not None
        shape, opened = shape_of(sample), source_of(source)
        assert isinstance(opened, Batches)
        for batch in (*opened.examples(opened.names), *opened.read(opened.names)):
            found = frame_of(batch.table, Dtypes({str(name): str(dtype) for name, dtype in shape["columns"]}))
            assert not check_drift("sales", found, shape)


def test_what_was_read_of_a_file_is_not_kept(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"units": np.random.default_rng(0).integers(0, 2**62, 10**6)})
    numbers.to_parquet(tmp_path / "numbers.parquet", index=False, row_group_size=50_000)
    source = source_of(tmp_path / "numbers.parquet")
    assert isinstance(source, Batches)
    before = pa.total_allocated_bytes()
    kept = [pa.total_allocated_bytes() - before for _ in source.read(["units"])]
    assert len(kept) >= 15 and max(kept) < 4 * 2**20


@pytest.mark.parametrize("name", ["polars", "duckdb", "ibis"])
def test_a_query_is_computed_once_and_only_with_the_columns_that_are_read(tmp_path: Path, name: str) -> None:
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    source = source_of(SOURCES[name][0](tmp_path / "sales.parquet"))
    assert source.names == list(TABLE.columns) and source.rows is None
    assert isinstance(source, Batches)
    batches = list(source.read(["units", "shop"]))
    together = pa.concat_tables(batch.table for batch in batches).to_pandas()
    pd.testing.assert_frame_equal(together, TABLE[["units", "shop"]], check_dtype=False)


@pytest.mark.parametrize("name", ["a file", "a dataset", "polars", "duckdb", "ibis"])
def test_the_names_of_columns_are_no_expressions(tmp_path: Path, name: str) -> None:
    names = ["x", "^x$", "^.*$", "*", "a b", 'q"u', "a.b", "select", "lit(1)"]
    table = pa.table({name: [place] for place, name in enumerate(names)})
    parquet.write_table(table, tmp_path / "odd.parquet")
    source = source_of(SOURCES[name][0](tmp_path / "odd.parquet"))
    assert isinstance(source, Batches) and source.names == names
    for columns in (names, ["^x$"], ["*", "x"]):
        (batch,) = source.read(columns)
        assert batch.table.to_pylist() == table.select(columns).to_pylist()


@pytest.mark.parametrize("name", ["polars", "duckdb", "ibis"])
def test_the_answer_of_a_query_is_of_its_kind_also_in_a_folder(built: Build, tmp_path: Path, name: str) -> None:
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    made, returned = SOURCES[name]
    answer = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(
        made(tmp_path / "sales.parquet"), memory=SMALL, to=tmp_path / "to"
    )
    assert isinstance(answer, returned)
    pd.testing.assert_frame_equal(in_memory(answer), plain(BY_ROWS, TABLE), check_dtype=False)
    assert len(list((tmp_path / "to").iterdir())) > 1


@pytest.mark.slow
def test_a_series_is_a_table_with_one_column(built: Build, tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    shares = "return pd.Series((sales['units'] / sales.groupby('shop')['units'].transform('sum')).to_numpy())"
    for body, name, known in (("return sales['units'] * 2", "units", ROWS), (shares, "share", BY_SHOP)):
        growth = built(body, {"sales": SAMPLE}, {"share": "Series"}, known=known)
        expected = pd.DataFrame({name: plain(body, TABLE)})
        for origin, (made, returned) in SOURCES.items():
            answer = growth.over(made(tmp_path / "sales.parquet"), memory=SMALL * 20)
            assert isinstance(answer, returned), origin
            found = in_memory(answer)
            pd.testing.assert_frame_equal(by_values(found), by_values(expected), check_dtype=False)
        written = growth.over(tmp_path / "sales.parquet", to=tmp_path / name)
        pd.testing.assert_frame_equal(by_values(written.to_table().to_pandas()), by_values(expected))


@pytest.mark.parametrize(
    ("narwhals", "name"),
    [(nw, "polars"), (nw, "duckdb"), (nw, "ibis"), (nw, "dask"), (stable_narwhals, "polars")],
    ids=lambda given: getattr(given, "__name__", given),
)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # of narwhals about Dask
def test_a_lazy_frame_of_narwhals_is_what_it_wraps(built: Build, tmp_path: Path, name: str, narwhals: Any) -> None:
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    lazy = narwhals.from_native(SOURCES[name][0](tmp_path / "sales.parquet"))
    assert growth.over.explain(lazy).columns == ("shop", "units", "price")
    answer = growth.over(lazy)
    assert type(answer) is narwhals.LazyFrame
    found = in_memory(answer.to_native()).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, plain(BY_ROWS, TABLE), check_dtype=False)


def test_the_answer_of_a_relation_can_be_joined_with_its_tables(built: Build) -> None:
    database = duckdb.connect()
    database.register("sales", TABLE)
    database.execute("CREATE TABLE shops AS SELECT DISTINCT shop, length(shop) AS letters FROM sales")
    answer = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP).over(database.table("sales"))
    joined = answer.join(database.table("shops"), "shop").df()
    assert len(joined) == 40 and set(joined.columns) == {"shop", "units", "letters"}
    assert database.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("shops",)]


def test_no_view_and_no_variable_of_the_person_is_taken_for_an_object_of_ours(
    built: Build,
) -> None:
    database = duckdb.connect()
    database.register("sales", TABLE)
    names = ("_autocode_answer", "_autocode_source", "held", "answer", "relation", "name")
    for name in names:
        database.execute(f"CREATE VIEW {name} AS SELECT 'mine' AS shop, 0 AS units")
    answer = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP).over(database.table("sales"))
    found = answer.df()
    assert len(found) == 40 and "mine" not in set(found["shop"])
    views = database.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert {name for (name,) in views} == {*names, "sales"}


def test_what_is_wrong_with_a_query_is_said(built: Build, tmp_path: Path) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    lazy = TABLE.pipe(pl.from_pandas).lazy()
    calls: list[int] = []

    def counted(part: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return part

    watched = lazy.map_batches(counted, schema={"shop": pl.String, "units": pl.String})
    with pytest.raises(DataDrift, match="units"):
        growth.over(watched)
    with pytest.raises(DataDrift, match="units"):
        growth.over(duckdb.sql("SELECT 1 AS shop"))
    assert calls == []
    with pytest.raises(InvalidRequest, match="cannot be read"):
        growth.over(lazy.select("nothing"))
    failing = lazy.with_columns(pl.col("units").cast(pl.String).replace("3", "x").cast(pl.Int64))
    with pytest.raises(InvalidRequest, match="the table cannot be read"):
        growth.over(failing)
    away = built(AWAY, {"sales": SAMPLE}, known=WHOLE)
    with pytest.raises(NotSplittable, match="does not fit into"):
        away.over(lazy, memory=20_000)
    broken = built(f"assert sales['units'].max() < 100, 'too many'\n    {BY_ROWS}", {"sales": SAMPLE}, known=ROWS)
    with pytest.raises(PieceFailed, match="too many"):
        broken.over(lazy.with_columns(units=pl.lit(200)))


def test_a_reader_that_was_read_before_is_no_table_without_rows(built: Build) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    reader = pa.Table.from_pandas(TABLE).to_reader()
    pd.testing.assert_frame_equal(by_values(growth.over(reader)), by_values(plain(BY_GROUPS, TABLE)))
    with pytest.raises(InvalidRequest, match="The RecordBatchReader has no rows") as refused:
        growth.over(reader)
    assert "read only once" in refused.value.why and "Make a new one" in refused.value.hint


def test_what_fails_while_a_dataset_or_a_reader_is_read_is_one_clear_error(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"units": [1, 2]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"units": ["x"]}), tmp_path / "b.parquet")
    table = pa.table({"units": [1, 2]})

    def failing() -> Any:
        yield table.to_batches()[0]
        raise OSError("the network is gone")

    reader = pa.RecordBatchReader.from_batches(table.schema, failing())
    for source, said in ((dataset.dataset(tmp_path), "parse string: 'x'"), (reader, "the network is gone")):
        opened = source_of(source)
        assert isinstance(opened, Batches)
        with pytest.raises(InvalidRequest, match="the table cannot be read") as failed:
            list(opened.examples(["units"]))
            list(opened.read(["units"]))
        assert said in failed.value.why


ODD_ANSWERS = {
    "p = sales[['units']].copy(); p['month'] = pd.PeriodIndex(['2024-01'] * len(p), freq='M'); return p": "'month' has",
    "return pd.DataFrame({'a': sales['units'], 'A': sales['units']})": "'a', except for",
    "return sales[['units', 'units']]": "Duplicate|non-unique",
    "return pd.DataFrame({'c': sales['units'] * 1j})": "Unsupported numpy type",
}


@pytest.mark.parametrize(("body", "said"), ODD_ANSWERS.items())
def test_an_answer_that_a_library_cannot_have_is_refused_before_anything_is_read(
    built: Build, tmp_path: Path, body: str, said: str
) -> None:
    growth = built(body, {"sales": SAMPLE}, known=ROWS)
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    lazy = pl.scan_parquet(tmp_path / "sales.parquet")
    reads: list[int] = []

    def watched(part: pl.DataFrame) -> pl.DataFrame:
        reads.append(1)
        return part

    sources: dict[str, Any] = {"DuckDB": duckdb.connect().read_parquet(str(tmp_path / "sales.parquet"))}
    sources["Ibis"] = of_ibis(tmp_path / "sales.parquet")
    if "has" not in said and "except for" not in said:
        sources["Polars"] = lazy.map_batches(watched, schema=lazy.collect_schema())
    for library, source in sources.items():
        for to in (None, tmp_path / "to"):
            with pytest.raises(InvalidRequest, match=f"cannot be converted to a table of {library}") as refused:
                growth.over(source, to=to)
            assert re.search(said, refused.value.why) and "unique column names" in refused.value.hint
    assert reads == [] and not (tmp_path / "to").exists()


def test_an_index_of_the_answer_may_have_the_name_of_a_column(built: Build, tmp_path: Path) -> None:
    growth = built("return sales.groupby(['shop', 'units'])[['units']].sum()", {"sales": SAMPLE}, known=BY_SHOP)
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    for name in ("polars", "duckdb", "ibis"):
        found = in_memory(growth.over(SOURCES[name][0](tmp_path / "sales.parquet")))
        assert (
            list(found.columns) == ["shop", "units", "units (2)"] and found["units (2)"].sum() == TABLE["units"].sum()
        )


def test_the_answer_of_a_database_that_reads_no_parquet_is_a_table_all_the_same(built: Build, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sales.db") as database:
        TABLE.to_sql("sales", database, index=False)
    table = ibis.sqlite.connect(tmp_path / "sales.db").table("sales")
    answer = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(table, to=tmp_path / "to")
    pd.testing.assert_frame_equal(in_memory(answer), plain(BY_ROWS, TABLE), check_dtype=False)


def test_an_answer_that_cannot_be_written_is_one_clear_error(built: Build, tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built("return sales[['units', 'units']]", {"sales": SAMPLE}, known=ROWS)
    with pytest.raises(DataDrift, match="its answer cannot be written") as failed:
        growth.over(tmp_path / "sales.parquet", to=tmp_path / "to")
    assert "Duplicate" in failed.value.why and {path.name for path in tmp_path.iterdir()} >= {"sales.parquet"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith((".to", "to"))]


def test_what_is_no_parquet_file_in_a_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    TABLE.to_parquet(folder / "a.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".a.parquet.crc").write_text("x")
    assert source_of(folder).rows == len(TABLE)
    (folder / "readme.txt").write_text("hello")
    with pytest.raises(InvalidRequest, match=r"several formats: a\.parquet, readme\.txt") as refused:
        source_of(folder)
    assert "Each file in the folder is read" in refused.value.why


def test_a_column_that_pandas_cannot_have_is_named() -> None:
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    with pytest.raises(DataDrift, match="A table with the columns odd cannot be converted to pandas") as failed:
        frame_of(pa.table({"odd": union}), Dtypes())
    assert "dense_union" in failed.value.why and "leave them out" in failed.value.hint


def test_categories_inside_lists_and_structs_are_divided_like_texts(built: Build) -> None:
    rows = 40_000
    nested = pl.DataFrame(
        {
            "shop": [f"shop {number % 9}" for number in range(rows)],
            "tags": pl.Series([[f"tag {number % 700}"] for number in range(rows)], dtype=pl.List(pl.Categorical)),
            "kind": [{"a": f"kind {number}"} for number in range(rows)],
        },
        schema_overrides={"kind": pl.Struct({"a": pl.Categorical})},
    )
    body = "return sales.groupby('shop', as_index=False).agg({'tags': lambda each: each.iloc[0][0], 'kind': 'count'})"
    table = nested.with_columns(pl.col("tags").cast(pl.List(pl.String))).select("shop", "tags", "kind").to_pandas()
    growth = built(body, {"sales": table.head(300)})
    assert growth.split.kind == "groups"
    parts = [nested.slice(start, 4_000) for start in range(0, rows, 4_000)]
    source = dataset.dataset([part.to_arrow(compat_level=pl.CompatLevel.oldest()) for part in parts])
    for each in (source, nested.lazy()):
        answer = in_memory(growth.over(each, memory=SMALL * 20))
        pd.testing.assert_frame_equal(by_values(answer), by_values(plain(body, table)), check_dtype=False)


def test_a_connection_is_free_again_after_a_piece_failed(built: Build) -> None:
    broken = built(
        "assert sales['units'].max() < 100, 'too many'\n    return sales[['units']] * 2", {"sales": SAMPLE}, known=ROWS
    )
    database = duckdb.connect()
    database.execute("CREATE TABLE sales AS SELECT range AS units FROM range(300_000)")
    with pytest.raises(PieceFailed, match="too many") as kept:
        broken.over(database.table("sales"), memory=SMALL, workers=1)
    assert kept.value.__traceback__ is not None  # IPython keeps it too
    assert database.execute("SELECT count(*) FROM sales").fetchall() == [(300_000,)]
