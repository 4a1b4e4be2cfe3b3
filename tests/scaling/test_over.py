"""`growth.over` in the real local sandbox, on real files, compared with plain pandas."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.data.sources import parquet_dataset
from autocoder_jupyter.errors import DataDrift, InvalidRequest, NotSplittable, PieceFailed, SplitBroken, TooBig
from autocoder_jupyter.scaling import answers, partition, running
from autocoder_jupyter.scaling import over as over_module
from autocoder_jupyter.scaling.running import computed
from autocoder_jupyter.scaling.sources import Batches, source_of
from autocoder_jupyter.types import InputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, Split
from tests.scaling.conftest import BY_SHOP, BY_SHOP_IN_ORDER, FRAME, MERGE, ROWS, Build
from tests.scaling.conftest import WHOLE as IN_ONE

pytestmark = pytest.mark.local_sandbox

SMALL = 200_000
"""Bytes of memory with which these tables are more than one piece."""

BY_ROWS = "return sales.assign(total=sales['units'] * sales['price'])[['shop', 'total']]"
BY_GROUPS = "return sales.groupby('shop', as_index=False)['units'].sum()"
MERGED = "return pd.DataFrame({'units': [sales['units'].sum()]})"
WHOLE = "return sales.sort_values(['units', 'price'], kind='stable').head(3)[['units', 'price']].reset_index(drop=True)"


def sales(rows: int, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "shop": draw.choice([f"shop {number}" for number in range(40)], rows),
            "units": draw.integers(1, 9, rows),
            "price": draw.integers(100, 900, rows) / 4,
            "note": "never read",
        }
    )


SAMPLE = sales(240)

_ODD = "sales['note'].eq('odd').any()"

BROKEN = {
    "rows": f"return sales.assign(rest=sales['units'].mean() if {_ODD} else 0.0)[['rest']]",
    "groups": f"sales = sales.assign(units=len(sales)) if {_ODD} else sales\n    {BY_GROUPS}",
    "merge": f"return sales[['note']].head(1).assign(units=sales['units'].sum() + {_ODD})",
}
"""Functions that are split in each way, although on rows with an odd note they may not be split."""

SLOW = "time.sleep(0.3 if sales['units'].max() > 100 else 0)\n    "
"""Begins a function that takes long for a table with such units, but not in the many calls that find its split."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """30,000 rows in three files."""
    made = tmp_path / "sales"
    made.mkdir()
    for number in range(3):
        sales(10_000, number + 1).to_parquet(made / f"part-{number}.parquet", index=False)
    return made


def everything(folder: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(file) for file in sorted(folder.glob("*.parquet"))], ignore_index=True)


def plain(body: str, table: pd.DataFrame) -> pd.DataFrame:
    namespace: dict[str, Any] = {"pd": pd}
    exec(f"def run(sales):\n    {body}", namespace)
    answer: pd.DataFrame = namespace["run"](table)
    return answer


def test_rows_are_computed_in_pieces_and_keep_their_order(built: Build, folder: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    seen: list[tuple[int, int]] = []
    answer = growth.over(folder, memory=SMALL, workers=1, progress=lambda done, of: seen.append((done, of)))
    pd.testing.assert_frame_equal(answer, plain(BY_ROWS, everything(folder)))
    assert len(seen) > 3 and seen[-1][0] == len(seen)


def test_groups_are_whole_in_one_piece(built: Build, folder: Path) -> None:
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    answer = growth.over(folder, memory=SMALL * 20, workers=2)
    expected = plain(BY_GROUPS, everything(folder))
    pd.testing.assert_frame_equal(answer.sort_values("shop", ignore_index=True), expected)
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".autocode")] == []


def test_the_rows_of_a_group_stay_in_their_order(built: Build, folder: Path) -> None:
    body = "return sales.drop_duplicates('shop', keep='last')[['shop', 'units']].reset_index(drop=True)"
    growth = built(body, {"sales": SAMPLE}, known=BY_SHOP_IN_ORDER)
    answer = growth.over(folder, memory=SMALL * 20, workers=2)
    expected = plain(body, everything(folder))
    by_shop, theirs = (table.sort_values("shop", ignore_index=True) for table in (answer, expected))
    pd.testing.assert_frame_equal(by_shop, theirs)


def test_answers_that_stay_small_are_merged(built: Build, folder: Path) -> None:
    growth = built(MERGED, {"sales": SAMPLE}, known=MERGE)
    answer = growth.over(folder, memory=SMALL, workers=2)
    assert answer["units"].tolist() == [everything(folder)["units"].sum()]


def test_what_may_not_be_divided_is_one_call_or_is_refused_with_the_reason(built: Build, folder: Path) -> None:
    body = "return (sales['units'] - sales['units'].mean()).to_frame('away')"
    growth = built(body, {"sales": SAMPLE}, known=IN_ONE)
    pd.testing.assert_frame_equal(growth.over(folder), plain(body, everything(folder)))
    with pytest.raises(NotSplittable, match="does not fit into") as refused:
        growth.over(folder, memory=20_000)
    assert "pieces" in str(refused.value) or "rows" in str(refused.value)


def test_only_columns_that_the_code_reads_are_loaded(built: Build, folder: Path) -> None:
    explained = built(MERGED, {"sales": SAMPLE}, known=MERGE).over.explain(folder, memory=SMALL)
    assert explained.columns == ("units",)
    assert explained.rows == 30_000
    assert explained.pieces is not None and explained.pieces >= 1
    assert "30,000 rows of units, in about " in repr(explained)
    assert " pieces, by pyarrow, here; sales may be split: " in repr(explained)


def test_columns_that_are_only_in_the_answer_are_loaded_too(built: Build, folder: Path) -> None:
    """A filter names one column, and its answer has all of them."""
    body = "return sales[sales['units'] > 4].reset_index(drop=True)"
    answer = built(body, {"sales": SAMPLE}, known=ROWS).over(folder, memory=SMALL * 4)
    assert list(answer.columns) == list(SAMPLE.columns)
    pd.testing.assert_frame_equal(answer.reset_index(drop=True), plain(body, everything(folder)))


def test_a_dataset_and_a_reader_are_read_too(built: Build, folder: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    expected = plain(BY_ROWS, everything(folder))
    pd.testing.assert_frame_equal(growth.over(dataset.dataset(folder), memory=SMALL), expected)
    reader = pa.Table.from_pandas(everything(folder)).to_reader(max_chunksize=1000)
    pd.testing.assert_frame_equal(growth.over(reader, memory=SMALL), expected)


def test_the_answer_is_written_beside_and_gets_its_name_at_the_end(built: Build, folder: Path, tmp_path: Path) -> None:
    growth, to = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS), tmp_path / "answer"
    answer = growth.over(folder, to=to, memory=SMALL)
    assert isinstance(answer, dataset.Dataset)
    pd.testing.assert_frame_equal(
        everything(to), plain(BY_ROWS, everything(folder)), check_column_type=False, check_dtype=True
    )
    assert len({parquet.read_schema(file) for file in to.iterdir()}) == 1
    with pytest.raises(InvalidRequest, match="exists already"):
        growth.over(folder, to=to)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".answer")) == []


@pytest.mark.parametrize("to", [None, "answer"])
def test_an_answer_with_other_values_than_before_is_refused_with_its_file(
    built: Build, folder: Path, tmp_path: Path, to: str | None
) -> None:
    body = f"return sales.assign(x='much' if {_ODD} else sales['units'])[['x']]"
    growth = built(body, {"sales": SAMPLE}, known=ROWS)
    sales(9_000).assign(note="odd").to_parquet(folder / "part-9.parquet", index=False)
    with pytest.raises(DataDrift, match=r"rows .* \(part-9.parquet\) differs .*'x' is str, and int64 in rows 0 to"):
        growth.over(folder, to=to and tmp_path / to, memory=SMALL, workers=1)
    assert not list(tmp_path.glob("*answer*"))


def test_nothing_is_left_of_an_answer_that_failed(built: Build, folder: Path, tmp_path: Path) -> None:
    body = f"assert sales['units'].max() < 100, 'too many'\n    {BY_ROWS}"
    growth = built(body, {"sales": SAMPLE}, known=ROWS)
    sales(500).assign(units=lambda table: table["units"] + 100).to_parquet(folder / "part-9.parquet", index=False)
    with pytest.raises(PieceFailed, match=r"rows [0-9,]+ to [0-9,]+ \(part-") as failed:
        growth.over(folder, to=tmp_path / "answer", memory=SMALL)
    assert "too many" in str(failed.value)
    assert not list(tmp_path.glob("*answer*"))


def test_a_file_with_other_columns_or_types_is_named_before_anything_runs(built: Build, folder: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    sales(10).drop(columns="units").to_parquet(folder / "part-7.parquet", index=False)
    with pytest.raises(DataDrift, match=r"part-7.parquet lacks 'units'"):
        growth.over(folder)
    sales(10).assign(units="many").to_parquet(folder / "part-7.parquet", index=False)
    with pytest.raises(DataDrift, match=r"part-7.parquet"):
        growth.over(folder)


def test_a_group_that_is_larger_than_a_piece_is_refused_with_its_key_before_any_call(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pd.concat([sales(2_000), sales(30_000).assign(shop="the largest")])
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    called: list[Any] = []

    async def counted(*given: Any) -> Any:
        called.append(given)
        return await computed(*given)

    monkeypatch.setattr(running, "computed", counted)
    with pytest.raises(TooBig, match="shop = 'the largest'"):
        growth.over(tmp_path / "sales.parquet", memory=SMALL * 5, workers=1)
    assert called == []
    growth.over(tmp_path / "sales.parquet", memory=SMALL * 100, workers=1)
    assert called


@pytest.mark.parametrize("kind", BROKEN)
def test_a_piece_of_the_data_that_contradicts_the_split_stops_everything(
    built: Build, tmp_path: Path, kind: str
) -> None:
    """What the check before has not found: a note that changes the answer."""
    growth = built(BROKEN[kind], {"sales": SAMPLE}, known={"rows": ROWS, "groups": BY_SHOP, "merge": MERGE}[kind])
    sales(20_000).assign(note="odd").to_parquet(tmp_path / "sales.parquet", index=False)
    name, memory = ("groups of shop", SMALL * 20) if kind == "groups" else ("rows 0 to", SMALL)
    with pytest.raises(SplitBroken, match=f"may not be split like this: {name}"):
        growth.over(tmp_path / "sales.parquet", memory=memory, to=tmp_path / "answer")
    assert not (tmp_path / "answer").exists()


def test_after_an_interrupt_only_what_is_missing_is_computed(
    built: Build, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True, known=ROWS)
    computed: list[str | None] = []
    store = outcome_cache.store

    def counted(key: str | None, *outcome: Any) -> None:
        computed.append(key)
        store(key, *outcome)

    monkeypatch.setattr(outcome_cache, "store", counted)

    def stop(done: int, _: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        growth.over(folder, memory=SMALL, workers=1, resume=True, progress=stop)
    first = len(computed)
    answer = growth.over(folder, memory=SMALL, workers=1, resume=True)
    pd.testing.assert_frame_equal(answer, plain(BY_ROWS, everything(folder)))
    both = len(computed)
    growth.over(folder, memory=SMALL, workers=1, resume=True)
    assert 6 <= first < both == len(computed) == len({*computed})


def test_other_inputs_go_whole_to_every_piece(built: Build, folder: Path) -> None:
    shops = pd.DataFrame({"shop": [f"shop {number}" for number in range(40)], "city": list("ab") * 20})
    growth = built(
        "return sales.merge(shops, on='shop')[['city', 'units']]",
        {"sales": SAMPLE, "shops": shops},
        inputs=(FRAME, InputSpec(name="shops", type="DataFrame")),
        known=ROWS,
    )
    answer = growth.over(folder, memory=SMALL * 4, shops=shops)
    expected = everything(folder).merge(shops, on="shop")[["city", "units"]]
    pd.testing.assert_frame_equal(answer, expected)


def test_a_fixed_table_is_never_the_one_that_is_divided(built: Build, folder: Path) -> None:
    """Also if it is the sample, with which it was the largest before."""
    shops = pd.DataFrame({"shop": [f"shop {number}" for number in range(400)], "city": list("ab") * 200})
    growth = built(
        "return sales.merge(shops, on='shop')[['city', 'units']]",
        {"sales": SAMPLE, "shops": shops},
        inputs=(FRAME, InputSpec(name="shops", type="DataFrame")),
        known=IN_ONE.model_copy(update={"input": "shops"}),  # of `shops`; that of `sales` is found below
    )
    assert growth.split.input == "shops"
    answer = growth.over(folder, memory=SMALL * 4, shops=shops)
    pd.testing.assert_frame_equal(answer, everything(folder).merge(shops, on="shop")[["city", "units"]])


def test_the_answer_is_not_written_into_the_source(built: Build, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    monkeypatch.chdir(folder)
    for to in (folder / "new" / "answer", "answer"):
        with pytest.raises(InvalidRequest, match="is in the folder that is read"):
            growth.over(folder, to=to)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    ("kind", "rows", "is_dataset"),
    [(ROWS, 10_000, False), (ROWS, 10, False), (BY_SHOP, 10_000, False), (MERGE, 10_000, True)],
    ids=["rows", "fewer rows", "groups", "a dataset"],
)
def test_a_file_that_is_written_anew_while_it_is_read_is_said(
    built: Build, folder: Path, tmp_path: Path, kind: Split, rows: int, is_dataset: bool
) -> None:
    written: list[int] = []

    def write(batches: Any) -> Any:
        for batch in batches:
            yield batch
            if not written:
                written.append(rows)
                sales(rows, seed=99).to_parquet(folder / "part-2.parquet", index=False)

    growth = built({"rows": BY_ROWS, "groups": BY_GROUPS, "merge": MERGED}[kind.kind], {"sales": SAMPLE}, known=kind)
    source = dataset.dataset(folder) if is_dataset else folder
    with pytest.MonkeyPatch.context() as patch:
        read = over_module._looked_at
        patch.setattr(over_module, "_looked_at", lambda batches, tally: write(read(batches, tally)))
        with pytest.raises(InvalidRequest, match=r"part-2.parquet was changed while it was read|cannot be read"):
            growth.over(source, to=tmp_path / "answer", memory=SMALL * 20, workers=1)
    assert not (tmp_path / "answer").exists()


def test_a_function_of_a_series_is_refused_before_it_is_called_for_the_source(built: Build, folder: Path) -> None:
    units = InputSpec(name="sales", type="Series")
    growth = built("return pd.DataFrame({'twice': sales * 2})", {"sales": SAMPLE["units"]}, inputs=(units,))
    assert growth.split.kind == "rows"
    for call in (growth.over, growth.over.explain):
        with pytest.raises(InvalidRequest, match="takes sales as a Series"):
            call(folder)


def test_the_dtypes_of_the_sample_are_those_of_each_piece(built: Build, tmp_path: Path) -> None:
    """Whole numbers with gaps, dates and categories have several dtypes in pandas."""
    table = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=4000, freq="h"),
            "units": pd.array([1, None, 3, 4] * 1000, dtype="Int64"),
            "kind": pd.Categorical(["a", "b"] * 2000),
            "price": [1.0, 2.0] * 2000,
        }
    )
    names = ["day", "units", "kind", "price"]
    body = f"return pd.DataFrame({{name: [str(sales[name].dtype)] * len(sales) for name in {names}}})"
    table.assign(price=1).to_parquet(tmp_path / "sales.parquet", index=False)
    answer = built(body, {"sales": table.head(200)}, known=ROWS).over(tmp_path / "sales.parquet", memory=SMALL)
    assert len(answer) == 4000
    assert answer.drop_duplicates().to_dict("list") == {
        "day": [str(table["day"].dtype)],
        "units": ["Int64"],
        "kind": ["category"],
        "price": ["float64"],
    }


SIZES = pd.CategoricalDtype(["small", "large", "huge"], ordered=True)


def sized(rows: int, seed: int, dtype: pd.CategoricalDtype = SIZES) -> pd.DataFrame:
    """Sales that are sorted by a category, so that its pieces have different ones."""
    drawn = sorted(np.random.default_rng(seed).choice(list(SIZES.categories), rows))
    return sales(rows, seed).assign(size=pd.Categorical(drawn, dtype=dtype))


@pytest.mark.parametrize(
    "body",
    [
        "return sales.assign(size=sales['size'].cat.codes)[['shop', 'size']]",
        "return sales.assign(large=sales['size'] >= 'large')[['shop', 'large']]",
        "return pd.get_dummies(sales['size']).astype(int)",
    ],
)
def test_each_piece_has_the_categories_of_the_sample(built: Build, tmp_path: Path, body: str) -> None:
    table = sized(9_000, 1)
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(body, {"sales": sized(240, 2)}, known=ROWS)
    pd.testing.assert_frame_equal(growth.over(tmp_path / "sales.parquet", memory=SMALL), plain(body, table))


def test_a_category_that_the_sample_lacks_is_refused_if_it_could_change_an_answer(built: Build, tmp_path: Path) -> None:
    """The codes of such categories would be others in each piece."""
    codes, names = "return sales[['size']].apply(lambda each: each.cat.codes)", "return sales[['size', 'shop']]"
    sample = sales(240).assign(size=pd.Categorical(["huge", "small"] * 120))
    table = sales(9_000).assign(size=["large"] * 300 + ["tiny"] * 8_700)
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    with pytest.raises(SplitBroken, match="size"):
        built(codes, {"sales": sample}, known=ROWS).over(tmp_path / "sales.parquet", memory=SMALL, workers=1)
    ordered = sample.assign(size=sample["size"].cat.as_ordered())
    with pytest.raises(DataDrift, match="'size' has 'large', 'tiny', which are not in the recorded order"):
        built(names, {"sales": ordered}, known=ROWS).over(tmp_path / "sales.parquet", memory=SMALL)
    answer = built(names, {"sales": sample}, known=ROWS).over(tmp_path / "sales.parquet", memory=SMALL)
    assert answer["size"].astype(str).tolist() == table["size"].tolist()


def test_truth_values_with_gaps_in_the_sample_may_have_none_in_a_piece(built: Build, tmp_path: Path) -> None:
    table = pd.DataFrame({"open": [True, False, None] * 100 + [True, False] * 1_000})
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    body = "return pd.DataFrame({'open': sales['open'].map(str)})"
    growth = built(body, {"sales": table.head(240)}, known=ROWS)
    pd.testing.assert_frame_equal(growth.over(tmp_path / "sales.parquet", memory=SMALL // 10), plain(body, table))


def test_texts_that_are_stored_as_views_are_texts(built: Build, tmp_path: Path) -> None:
    table = sales(20_000)
    views = pa.table({"shop": pa.array(table["shop"], pa.string_view()), "units": table["units"]})
    parquet.write_table(views, tmp_path / "sales.parquet")
    growth = built(BY_GROUPS, {"sales": SAMPLE[["shop", "units"]]}, known=BY_SHOP)
    for source in (tmp_path / "sales.parquet", views.to_reader()):
        answer = growth.over(source, memory=SMALL * 20).sort_values("shop", ignore_index=True)
        pd.testing.assert_frame_equal(answer, plain(BY_GROUPS, table))


def test_answers_are_merged_without_the_index_of_the_source(built: Build, tmp_path: Path) -> None:
    table = sales(20_000).set_index(pd.Index(np.arange(20_000) ** 2, name="number"))
    table.to_parquet(tmp_path / "sales.parquet")
    growth = built(MERGED, {"sales": table.head(240)}, known=MERGE)
    assert growth.over(tmp_path / "sales.parquet", memory=SMALL)["units"].tolist() == [table["units"].sum()]


def demanded(kind: Any) -> DeclaredSplit:
    """Only this kind is compared, which takes less time."""
    return DeclaredSplit(input="sales", kind=kind, keys=("shop",) if kind == "groups" else ())


def with_range(table: pd.DataFrame, start: int = 0, step: int = 1) -> pd.DataFrame:
    """The table with an index that is a range with a name, which pandas describes in a file and does not store."""
    return table.set_axis(pd.RangeIndex(start, start + step * len(table), step, name="id"))


INDEXED = {
    "return sales[sales['units'] > 4]": "rows",
    "return sales.reset_index()[['id', 'units']]": "rows",
    "return sales.reset_index()[['id']] * 2": "rows",
    "return sales.assign(first=sales.groupby('shop')['units'].transform('first'))[['first']]": "groups",
    "return sales.reset_index().groupby('shop', as_index=False)['id'].max()": "groups",
    MERGED: "merge",
}


@pytest.mark.parametrize("body", INDEXED)
def test_a_range_with_a_name_is_the_index_of_the_pieces_of_a_file(built: Build, tmp_path: Path, body: str) -> None:
    table, file = with_range(sales(20_000), 7, -3), tmp_path / "sales.parquet"
    table.to_parquet(file)
    assert parquet.read_schema(file).names == list(table.columns)
    known = ROWS if INDEXED[body] == "rows" else None  # test_splitting.py checks functions of rows with such an index
    growth = built(body, {"sales": with_range(SAMPLE)}, split=demanded(INDEXED[body]), known=known)
    assert growth.split.kind == INDEXED[body]
    answer, expected = growth.over(file, memory=SMALL * 20), plain(body, pd.read_parquet(file))
    if INDEXED[body] == "groups":
        by = ["shop"] if "shop" in answer.columns else ["id"]
        answer, expected = (each.sort_values(by) for each in (answer, expected))
    if not expected.index.name:
        answer, expected = (each.reset_index(drop=True) for each in (answer, expected))
    pd.testing.assert_frame_equal(answer, expected)
    assert growth.over.explain(file).rows == 20_000


def test_a_range_with_a_name_is_lost_in_a_folder_as_pandas_has_it(built: Build, tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    for number in range(2):
        with_range(sales(100, number), 100 * number).to_parquet(folder / f"{number}.parquet")
    assert pd.read_parquet(folder).index.name is None
    body = "return sales[sales['units'] > 4]"
    with pytest.raises(DataDrift, match="lacks index level 'id'"):
        built(body, {"sales": with_range(SAMPLE)}, known=ROWS).over(folder)
    answer = built(body, {"sales": SAMPLE}, known=ROWS).over(folder)
    expected = plain(body, pd.read_parquet(folder))
    pd.testing.assert_frame_equal(answer, expected.reset_index(drop=True))


@pytest.mark.parametrize(
    "told",
    [
        {"start": 0, "stop": 3, "step": 0},
        {"start": 0, "stop": 2**80, "step": 1},
        {"start": 0, "stop": 99, "step": 1},
        {"start": "0", "stop": 3, "step": 1},
        {"start": 0, "stop": 3, "step": 1, "name": "units"},
        {"start": 0, "stop": 3, "step": 1, "name": ["id"]},
    ],
)
def test_a_range_that_a_file_only_claims_is_no_index(tmp_path: Path, told: dict[str, Any]) -> None:
    described = {"index_columns": [{"kind": "range", "name": "id", **told}], "columns": [], "column_indexes": []}
    table = pa.table({"units": [1, 2, 3]}).replace_schema_metadata({"pandas": json.dumps(described)})
    parquet.write_table(table, tmp_path / "sales.parquet")
    source = source_of(tmp_path / "sales.parquet")
    assert (source.names, source.index) == (["units"], [])


@pytest.mark.parametrize("without", ["a.parquet", "z.parquet"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return sales[['units', 'year', 'month']]", "rows"),
        (
            "return sales.assign(year=sales['year'].astype('float64')).groupby('shop', as_index=False)"
            "[['units', 'year']].sum()",
            "groups",
        ),
    ],
)
def test_a_file_outside_the_folders_of_a_column_has_missing_values_in_it(
    built: Build, tmp_path: Path, without: str, body: str, kind: str
) -> None:
    folder = tmp_path / "sales"
    places = {without: 1, "year=2024/m.parquet": 2, "year=2025/month=3/n.parquet": 3}
    for place, seed in places.items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        sales(4000, seed).to_parquet(file, index=False)
    everything = pd.read_parquet(folder)
    assert everything["year"].isna().sum() == 4000 and everything["month"].isna().sum() == 8000
    known = {"rows": ROWS, "groups": BY_SHOP}[kind] if without == "z.parquet" else None  # the sample is the same
    sample = everything.iloc[::50].reset_index(drop=True)
    growth = built(body, {"sales": sample}, split=demanded(kind), known=known)
    assert growth.split.kind == kind
    answer, expected = growth.over(folder, memory=SMALL * 20), plain(body, everything)
    if kind == "groups":
        answer, expected = (each.sort_values("shop", ignore_index=True) for each in (answer, expected))
    pd.testing.assert_frame_equal(answer, expected, check_dtype=False, check_categorical=False)


def test_a_file_that_stores_the_column_of_a_folder_has_its_own_values(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    sales(3).assign(year=np.array([1, 2, 3], "int32")).to_parquet(tmp_path / "a.parquet", index=False)
    sales(2).to_parquet(tmp_path / "year=2024" / "m.parquet", index=False)
    source = source_of(tmp_path)
    assert isinstance(source, Batches)
    assert [batch.table["year"].to_pylist() for batch in source.read(["year"])] == [[1, 2, 3], [2024, 2024]]


@pytest.mark.parametrize(
    ("folders", "stored"),
    [
        ([2024, 2025], [2024, 2025]),
        ([2024, 2025], [np.int32(2024), np.int32(2025)]),
        (["007", "012"], ["007", "012"]),
        (["2024-01-31", "2024-02-01"], [dt.date(2024, 1, 31), dt.date(2024, 2, 1)]),
        (["a b", "c"], pd.Categorical(["a b", "c"])),
        ([0.5, 2], [0.5, 2.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("month", ["", "month=3"], ids=["one key", "another key"])
def test_a_file_may_store_the_value_of_its_folder(tmp_path: Path, folders: Any, stored: Any, month: str) -> None:
    for folder, value in zip(folders, stored, strict=True):
        (tmp_path / f"key={folder}" / month).mkdir(parents=True)
        sales(3).assign(key=value).to_parquet(tmp_path / f"key={folder}" / month / "m.parquet", index=False)
    source = source_of(tmp_path)
    assert isinstance(source, Batches)
    assert [batch.table["key"].to_pylist() for batch in source.read(["key"])] == [[value] * 3 for value in stored]
    drawn = parquet_dataset(tmp_path).to_table()
    assert drawn["key"].to_pylist() == [value for value in stored for _ in range(3)]
    assert drawn.schema.names[-1] == "month" or not month


@pytest.mark.parametrize("rows", [[2023] * 3, [2024, 2024, 2023], [2024, 2024, None], [None] * 3, ["x"] * 3])
@pytest.mark.parametrize("statistics", [True, False])
def test_two_values_of_a_key_are_refused_by_the_name_of_the_file(
    tmp_path: Path, rows: list[Any], statistics: bool
) -> None:
    for year, values in (("2024", rows), ("2025", [2025] * 3)):
        (tmp_path / f"year={year}").mkdir()
        table = sales(3).assign(year=values)
        file = tmp_path / f"year={year}" / "m.parquet"
        table.to_parquet(file, index=False, write_statistics=statistics)
    for opened in (source_of, parquet_dataset):
        with pytest.raises(InvalidRequest, match=r"year=2024/m\.parquet stores other values of 'year' than its folder"):
            opened(tmp_path)
    source = source_of(str(tmp_path / "*" / "m.parquet"))  # as the message says: folders give no column
    assert source.names == ["shop", "units", "price", "note", "year"]


def test_a_dataset_whose_folders_contradict_its_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    sales(3).assign(year=np.int32(2023)).to_parquet(tmp_path / "year=2024" / "m.parquet", index=False)
    with pytest.raises(InvalidRequest, match="stores other values of 'year'"):
        source_of(dataset.dataset(tmp_path, partitioning="hive"))


@pytest.mark.parametrize("where", ["before", "while it runs"])
def test_a_folder_of_somebody_else_is_never_replaced(built: Build, folder: Path, tmp_path: Path, where: str) -> None:
    growth, to = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS), tmp_path / "answer"

    def made(*_: int) -> None:
        to.mkdir(exist_ok=True)
        (to / "mine").write_text("mine")

    if where == "before":
        made()
    with pytest.raises(InvalidRequest, match="exists already"):
        growth.over(folder, to=to, memory=SMALL * 20, progress=made)
    assert [path.name for path in to.iterdir()] == ["mine"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".answer")]


def test_no_rows_are_an_answer_without_rows(built: Build, tmp_path: Path) -> None:
    sales(1).iloc[:0].to_parquet(tmp_path / "none.parquet", index=False)
    for body, known in ((BY_ROWS, ROWS), (BY_GROUPS, BY_SHOP)):
        answer = built(body, {"sales": SAMPLE}, known=known).over(tmp_path / "none.parquet")
        assert len(answer) == 0 and list(answer.columns) == list(plain(body, SAMPLE).columns)


@pytest.mark.parametrize(
    ("source", "changed", "said"),
    [
        (SAMPLE, {}, "over does not accept a pandas DataFrame"),
        (3, {}, "over does not accept a builtins int"),
        ("nothing.parquet", {}, "There is no file or folder"),
        ("torn.parquet", {}, "torn.parquet cannot be read"),
        ("empty", {}, "There are no files in empty"),
        ("good.parquet", {"memory": "much"}, "memory must be a size"),
        ("good.parquet", {"workers": 0}, "workers must be a whole number"),
        ("good.parquet", {"nope": 1}, "nope"),
    ],
)
def test_what_cannot_be_read_is_said(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, changed: dict[str, Any], said: str
) -> None:
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 torn PAR1")
    (tmp_path / "empty").mkdir()
    SAMPLE.to_parquet(tmp_path / "good.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match=said):
        built(BY_ROWS, {"sales": SAMPLE}, known=ROWS).over(source, **changed)


@pytest.mark.parametrize("where", ["the pieces", "the answer"])
def test_a_full_disk_is_one_clear_error_and_nothing_half_written_is_left(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    sales(4_000, 3).to_parquet(tmp_path / "sales.parquet", index=False)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def full(made: Callable[[Any, int], Path]) -> Callable[[Any, int], Path]:
        def path(self: Any, number: int) -> Path:
            file = made(self, number)
            if not file.is_symlink():
                file.symlink_to("/dev/full")
            return file

        return path

    if where == "the pieces":
        monkeypatch.setattr(partition._BucketWriter, "_path", full(partition._BucketWriter._path))
        said, hint = "The pieces cannot be written", "set TMPDIR"
    else:
        monkeypatch.setattr(answers.InFolder, "_file", full(answers.InFolder._file))
        said, hint = "The answers cannot be written", "Choose a place"
    with pytest.raises(InvalidRequest, match=said) as failed:
        growth.over(tmp_path / "sales.parquet", to=tmp_path / "answer")
    assert "No space left on device" in failed.value.why and hint in failed.value.hint
    assert not list(temporary.glob("autocode-pieces-*"))
    assert {path.name for path in tmp_path.iterdir() if "answer" in path.name} == set()


def with_one_bad(folder: Path, row: int) -> None:
    """The second file has a row with a number of units that the function refuses."""
    path = folder / "part-1.parquet"
    table = pd.read_parquet(path)
    table.loc[row, "units"] = 13
    table.to_parquet(path, index=False)


RAISES = "assert not sales['units'].eq(13).any(), 'a bad number'\n    "


@pytest.mark.parametrize(
    ("body", "known", "memory"),
    [(BY_ROWS, ROWS, SMALL * 4), (BY_GROUPS, BY_SHOP, SMALL * 20), (MERGED, MERGE, SMALL * 4), (WHOLE, IN_ONE, "1GiB")],
    ids=["rows", "groups", "merge", "whole"],
)
def test_a_piece_that_fails_is_narrowed_to_the_row_of_a_file(
    built: Build, folder: Path, body: str, known: Split, memory: Any
) -> None:
    with_one_bad(folder, 4_321)
    growth = built(RAISES + body, {"sales": SAMPLE}, known=known)
    with pytest.raises(PieceFailed, match="a bad number") as failed:
        growth.over(folder, memory=memory, workers=2)
    assert "It fails with part-1.parquet, row 4,321" in failed.value.why
    assert "counted from 0; found in" in failed.value.why


def test_a_value_that_is_no_whole_number_is_named_with_its_row(built: Build, tmp_path: Path) -> None:
    table = sales(10_000).astype({"units": "float64"})
    table.loc[7_654, "units"] = 2.5
    table.to_parquet(tmp_path / "sales.parquet", index=False)
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    with pytest.raises(DataDrift, match="'units' is float64 instead of int64") as drift:
        growth.over(tmp_path / "sales.parquet", memory=SMALL * 4)
    assert "It fails with sales.parquet, row 7,654" in drift.value.why


def test_progress_knows_how_many_pieces_there_are(built: Build, folder: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, known=ROWS)
    seen: list[tuple[int, int]] = []
    growth.over(folder, memory=SMALL * 4, workers=1, progress=lambda *each: seen.append(each))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1] == (len(seen), len(seen))
    assert all(abs(of - len(seen)) <= 2 for _, of in seen)


def test_a_resumed_call_begins_where_the_other_ended(built: Build, folder: Path) -> None:
    growth = built(BY_ROWS, {"sales": SAMPLE}, lock=True, known=ROWS)

    def stop(done: int, _: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        growth.over(folder, memory=SMALL, workers=1, resume=True, progress=stop)
    again: list[tuple[int, int]] = []
    growth.over(folder, memory=SMALL, workers=1, resume=True, progress=lambda *each: again.append(each))
    assert again[0][0] >= 6 and again[-1] == (again[-1][0],) * 2
    last: list[tuple[int, int]] = []
    growth.over(folder, memory=SMALL, workers=1, resume=True, progress=lambda *each: last.append(each))
    assert last == [again[-1]]


def test_rows_that_were_computed_are_not_held(built: Build, tmp_path: Path) -> None:
    """Arrow has the batches of the next piece, and the texts of those that are computed, whatever came before."""
    file = tmp_path / "sales.parquet"
    pd.concat([sales(100_000, number) for number in range(6)]).to_parquet(file, index=False, row_group_size=50_000)
    whole = parquet.read_table(file).nbytes
    growth = built("return sales[sales['shop'].eq('none')]", {"sales": SAMPLE}, known=ROWS)
    used: list[int] = []
    before = pa.total_allocated_bytes()
    memory = 7 * 2_000_000
    growth.over(file, memory=memory, workers=1, progress=lambda *_: used.append(pa.total_allocated_bytes() - before))
    assert len(used) > 3 and max(used) < whole / 2
