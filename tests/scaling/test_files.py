"""Files as a source of `over`: the rows are those that a call with the path reads."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset

from autocoder_jupyter.data import json_tables, text_pieces
from autocoder_jupyter.data.columns_read import EVERY_COLUMN
from autocoder_jupyter.data.readers import Recorded, read_table
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.data.sources import parquet_dataset
from autocoder_jupyter.errors import DataDrift, InvalidRequest, PieceFailed
from autocoder_jupyter.scaling.pieces import Dtypes, frame_of
from autocoder_jupyter.scaling.sources import Batches, source_of
from tests.scaling.conftest import BY_SHOP, MERGE, ROWS, Build

SALES = pd.DataFrame(
    {
        "shop": ["a", "b", None, "ä;ö", "e"] * 4,
        "code": ["007", "012", "100", "3", "04"] * 4,
        "units": [1, 2, 3, 4, 5] * 4,
        "price": [0.5, np.nan, 2.25, 1000.75, -1.0] * 4,
        "open": [True, False, True, True, False] * 4,
        "day": pd.to_datetime(["2024-01-31", "2024-02-01", "2024-03-01", "2024-01-31", "2024-05-31"] * 4),
    }
)


def rows_by_over(source: Any, like: pd.DataFrame | None = None) -> pd.DataFrame:
    """All rows of a source, put together as pieces are."""
    shape = {} if like is None else shape_of(like)
    opened = source_of(source, partial(Recorded.of, shape, {}, EVERY_COLUMN))
    assert isinstance(opened, Batches)
    tables = [batch.table for batch in opened.read(opened.names)]
    assert opened.rows == sum(table.num_rows for table in tables)
    dtypes = Dtypes(
        {str(literal): str(dtype) for literal, dtype in shape.get("columns", ())}, shape.get("categories", {})
    )
    return frame_of(pa.concat_tables(tables), dtypes)


WRITTEN: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "sales.csv": lambda table, path: table.to_csv(path, index=False),
    "semicolons.csv": lambda table, path: table.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252"),
    "wide.csv": lambda table, path: table.to_csv(path, index=False, encoding="utf-16"),
    "sales.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "sales.csv.gz": lambda table, path: table.to_csv(path, index=False),
    "sales.jsonl": lambda table, path: table.to_json(path, orient="records", lines=True, date_format="iso"),
    "sales.ndjson": lambda table, path: table.to_json(path, orient="records", lines=True, date_format="iso"),
    "sales.feather": lambda table, path: table.to_feather(path),
    "sales.arrow": lambda table, path: table.to_feather(path),
    "sales.parquet": lambda table, path: table.to_parquet(path),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_pieces, "ROWS", 3)
    monkeypatch.setattr(json_tables, "_PIECE_ROWS", 3)
    monkeypatch.setattr(json_tables, "_BATCH_BYTES", 200)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_rows_are_those_that_a_call_reads(tmp_path: Path, name: str) -> None:
    WRITTEN[name](SALES, tmp_path / name)
    expected = read_table("sales", tmp_path / name, shape_of(SALES))
    pd.testing.assert_frame_equal(expected, SALES, check_dtype=False)
    for source in (
        tmp_path / name,
        [str(tmp_path / name)],
        str(tmp_path / "*[a-z].*"),
        str(tmp_path),
        f"file://{tmp_path}/{name}",
    ):
        pd.testing.assert_frame_equal(rows_by_over(source, SALES), expected)


COLUMNS = (
    "1 2 3 4 5 6 7 8",
    "1 2 3 4 5 6 7 x",
    "1 2 3 4 5 6 7.5 8",
    "1 2 3 4 5 6  8",
    "   4 5 6 7 8",
    "True False True False True False True False",
    "True False True False   True False",
    "True False True 1 2 3 4 5",
    "True False True x y z a b",
    "        ",
    "      7 x",
    "      7 8",
    "1.50 2.0 3 0x 5 6 7 8",
    "007 012 3 4 5 6 7 8",
    "1 2 3 4 18446744073709551615 6 7 8",
    "1 2 3 4 18446744073709551615 6 7.5 8",
    "1 2 3 4 18446744073709551615 6 7 x",
    "1 2 3 9007199254740993 5 6 7.5 8",
    "1 2 3 -4 18446744073709551615 7 8 9",
    "1 2 3 99999999999999999999999 5 6 x 8",
    "NA 1 2 3 null NaN 4 5",
    "2024-01-01 1 2 3 4 5 6 7",
    "1e3 1 2 3 4 5 6 7",
)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_has_the_dtype_that_all_of_its_values_give(tmp_path: Path, column: str) -> None:
    """pandas would choose another one for some of these pieces of three rows."""
    lines = (f"{number},{value}" for number, value in enumerate(column.split(" ")))
    (tmp_path / "a.csv").write_text("\n".join(["n,v", *lines]))
    expected = read_table("sales", tmp_path / "a.csv", None)
    found = rows_by_over(tmp_path / "a.csv")
    found["v"] = found["v"].where(found["v"].notna(), np.nan)  # a gap between truth values is None in Arrow
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    kinds = [pd.api.types.infer_dtype(table["v"], skipna=True) for table in (found, expected)]
    assert kinds[0] == kinds[1]


def test_recorded_dtypes_are_given_to_each_piece(tmp_path: Path) -> None:
    like = SALES.assign(
        shop=SALES["shop"].astype("category"),
        units=SALES["units"].astype("Int64"),
        price=SALES["price"].astype("float32"),
        day=SALES["day"].dt.tz_localize("Europe/Berlin"),
    )
    like.to_csv(tmp_path / "sales.csv", index=False)
    expected = read_table("sales", tmp_path / "sales.csv", shape_of(like))
    pd.testing.assert_frame_equal(rows_by_over(tmp_path / "sales.csv", like), expected)
    assert dict(expected.dtypes) == dict(like.dtypes)


def test_the_index_of_the_sample_is_that_of_each_piece(tmp_path: Path) -> None:
    for like in (SALES.set_index("code"), SALES.set_index(pd.Index(range(100, 120)))):
        like.to_csv(tmp_path / "sales.csv")
        expected = read_table("sales", tmp_path / "sales.csv", shape_of(like))
        pd.testing.assert_frame_equal(rows_by_over(tmp_path / "sales.csv", like), expected)
        pd.testing.assert_index_equal(expected.index, like.index)


def test_files_of_text_with_other_dialects_are_one_table(tmp_path: Path) -> None:
    for number, name in enumerate(("semicolons.csv", "sales.csv", "sales.csv.gz")):
        WRITTEN[name](SALES.iloc[number * 5 : number * 5 + 5], tmp_path / f"{number}-{name}")
    expected = read_table("sales", tmp_path, shape_of(SALES))
    assert len(expected) == 15
    for source in (tmp_path, str(tmp_path / "*.csv*"), sorted(tmp_path.iterdir())):
        pd.testing.assert_frame_equal(rows_by_over(source, SALES), expected)


def test_what_does_not_fit_together_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("shop,units\na,1\n")
    (tmp_path / "b.csv").write_text("shop,units\na,many\n")
    with pytest.raises(DataDrift, match=r"b\.csv has types"):
        rows_by_over(tmp_path)
    (tmp_path / "b.csv").write_text("shop,price\na,1\n")
    with pytest.raises(DataDrift, match=r"b\.csv lacks 'units'"):
        rows_by_over(tmp_path)
    SALES.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(InvalidRequest, match="several formats"):
        rows_by_over(tmp_path)


REFUSED = {
    "a.json": ("[]", "is not read in pieces"),
    "a.xlsx": ("", "is not read in pieces"),
    "short.csv": ("a,b\n1,2\n1,2,3,4\n", r"short\.csv cannot be read"),
    "huge.csv": ("a,b\n1,99999999999999999999999\n", "more than 64 bits"),
    "numbers.csv": ("1,2\n3,4\n", "numbers as names"),
    "broken.jsonl": ('{"a": 1}\n{"a": \n', r"broken\.jsonl cannot be read"),
    "deep.jsonl": ('{"a": {"b": 1}}\n{"a": {"c": 1}}\n', "lists or objects"),
    "mixed.jsonl": ('{"a": 1}\n' * 9 + '{"a": "x"}\n', r"mixed\.jsonl cannot be read"),
    "broken.feather": ("ARROW1", r"broken\.feather cannot be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    text, message = REFUSED[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidRequest, match=message):
        rows_by_over(tmp_path / name)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_an_index_that_only_some_files_have_is_lost(tmp_path: Path, names: str) -> None:
    parts = {"a": SALES[SALES["units"] > 2], "b": SALES}  # pandas stores the index of the first
    for place, name in enumerate(names):
        parts[name].to_parquet(tmp_path / f"{place}.parquet")
    expected = pd.concat([parts[name] for name in names], ignore_index=True)
    pd.testing.assert_frame_equal(rows_by_over(tmp_path, SALES), expected)
    for name in ("0.parquet", "1.parquet"):
        parts["a"].to_parquet(tmp_path / name)
    pd.DataFrame().to_parquet(tmp_path / f"{names}.parquet")
    pd.testing.assert_frame_equal(rows_by_over(tmp_path, SALES), pd.concat([parts["a"]] * 2))


def test_text_that_is_compressed_otherwise_is_not_said_to_be_damaged_parquet(tmp_path: Path) -> None:
    SALES.to_csv(tmp_path / "sales.csv.zip", index=False)
    for source in (tmp_path / "sales.csv.zip", [tmp_path / "sales.csv.zip"], str(tmp_path / "*.zip")):
        with pytest.raises(InvalidRequest, match=r"sales\.csv\.zip cannot be read") as refused:
            rows_by_over(source)
        assert "unpack what is compressed otherwise" in refused.value.hint


def test_keys_that_some_lines_lack_are_missing_values(tmp_path: Path) -> None:
    lines = [f'{{"n": {number}}}' for number in range(9)] + ['{"n": 9, "late": "x"}', '{"late": "y"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    expected = read_table("sales", tmp_path / "a.jsonl", None)
    pd.testing.assert_frame_equal(rows_by_over(tmp_path / "a.jsonl"), expected, check_dtype=False)


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("shop,units\n")
    source = source_of(tmp_path / "a.csv")
    assert (source.names, source.rows) == (["shop", "units"], 0)


@pytest.mark.parametrize("name", ["sales.jsonl", "sales.parquet"])
def test_a_file_without_rows_and_columns_adds_nothing(tmp_path: Path, name: str) -> None:
    """Where something writes a file each hour, some have nothing in them."""
    for number in (0, 2, 3):
        table = SALES if number == 2 else pd.DataFrame()
        WRITTEN[name](table, tmp_path / f"{number}-{name}")
    expected = rows_by_over(tmp_path / f"2-{name}", SALES)
    pd.testing.assert_frame_equal(rows_by_over(tmp_path, SALES), expected)


def test_files_with_the_same_name_are_told_apart(built: Build, tmp_path: Path) -> None:
    """Many programs call the file in each folder the same."""
    body = "assert (sales['units'] < 99).all(), 'too many'\n    return sales[['units']] * 2"
    growth = built(body, {"sales": SALES}, known=ROWS)
    for year in (2022, 2023, 2024):
        table = SALES.assign(units=SALES["units"] + 100 * (SALES.index == 17) * (year == 2024))
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        table.to_parquet(tmp_path / "in" / f"year={year}" / "part-0.parquet", index=False)
    files = sorted(tmp_path.rglob("part-0.parquet"))
    for source in (tmp_path / "in", files, [str(file) for file in files], f"{tmp_path}/in/*/*.parquet"):
        with pytest.raises(PieceFailed, match=r"It fails with year=2024/part-0\.parquet, row 17 "):
            growth.over(source)
    with pytest.raises(PieceFailed, match=r"It fails with part-0\.parquet, row 17; part-0\.parquet \(2\), row 17 "):
        built(
            body.replace("(sales['units'] < 99).all()", "sum(sales['units'] > 99) < 2"), {"sales": SALES}, known=ROWS
        ).over([files[2], files[2]])
    SALES.drop(columns="units").to_parquet(files[1], index=False)
    with pytest.raises(
        DataDrift, match=r"year=2023/part-0\.parquet lacks 'units', which year=2022/part-0\.parquet has"
    ):
        growth.over(tmp_path / "in")


def test_a_file_that_cannot_have_the_types_of_the_others_is_not_said_to_be_unreadable(tmp_path: Path) -> None:
    pd.DataFrame({"units": [2**53 + 1]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"units": [1.5]}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(
        DataDrift, match=r"a\.parquet has 'units' as int64, which does not fit to the double of all files"
    ):
        rows_by_over(tmp_path)


GROWN: dict[str, list[Any]] = {
    "a": [{"x": 1}, {"x": 1, "y": 2}],
    "b": [[{"x": 1}], [{"x": 1, "y": 2}]],
    "c": [{"x": {"x": 1}}, {"x": {"x": 1, "y": 2}}],
}


@pytest.mark.parametrize("column", GROWN)
@pytest.mark.parametrize("is_grown", [True, False], ids=["grown", "shrunk"])
def test_files_whose_dicts_have_other_keys_are_refused_by_name(tmp_path: Path, column: str, is_grown: bool) -> None:
    cells = GROWN[column] if is_grown else GROWN[column][::-1]
    for number, cell in enumerate(cells):
        pd.DataFrame({"n": [number], column: [cell]}).to_parquet(tmp_path / f"{number}.parquet", index=False)
    field = "x.y" if column == "c" else "y"
    source = source_of(tmp_path)
    assert isinstance(source, Batches)
    assert [batch.table.num_rows for batch in source.read(["n"])] == [1, 1]
    has, lacks = ("1", "0") if is_grown else ("0", "1")
    with pytest.raises(
        DataDrift, match=rf"{has}\.parquet has the field '{field}' in '{column}', and {lacks}\.parquet lacks"
    ):
        list(source.read([column]))


def test_a_dataset_lacks_no_field_of_its_files(tmp_path: Path) -> None:
    for number, cell in enumerate(GROWN["a"]):
        pd.DataFrame({"a": [cell]}).to_parquet(tmp_path / f"{number}.parquet", index=False)
    given: tuple[Callable[[], Any], ...] = (
        lambda: source_of(dataset.dataset(tmp_path)),
        lambda: parquet_dataset(tmp_path),
    )
    for opened in given:
        with pytest.raises(InvalidRequest, match=r"1\.parquet has the field 'y' in 'a', which the schema .* lacks"):
            opened()
    whole = pa.schema([("a", pa.struct([("x", pa.int64()), ("y", pa.int64())]))])
    source = source_of(dataset.dataset(tmp_path, schema=whole))  # who asks for None gets it
    assert isinstance(source, Batches)
    assert [batch.table["a"].to_pylist()[0] for batch in source.read(["a"])] == [{"x": 1, "y": None}, GROWN["a"][1]]


@pytest.mark.parametrize("name", ["sales.csv", "sales.jsonl"])
def test_an_error_of_a_value_names_its_row_in_the_file(tmp_path: Path, name: str) -> None:
    """The file is read in pieces of three rows."""
    bad = SALES.assign(units=[str(number) for number in range(16)] + ["many", "1", "2", "3"])
    WRITTEN[name](bad, tmp_path / name)
    with pytest.raises(InvalidRequest, match="the column units cannot be read as int64") as failed:
        rows_by_over(tmp_path / name, SALES)
    assert failed.value.why == "Unable to parse string 'many' in row 16 (counted from 0)"


def test_compressed_text_that_becomes_very_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 100_000)
    monkeypatch.setattr(text_pieces, "unpacked_most", lambda path: 100_000)
    with pytest.raises(InvalidRequest, match="unpacks to more than"):
        rows_by_over(tmp_path / "a.csv.gz")


def test_a_glob_follows_no_link_and_waits_for_no_pipe(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    SALES.to_csv(folder / "a.csv", index=False)
    os.mkfifo(folder / "pipe.csv")
    (folder / "_b.csv").write_text("x")
    assert len(rows_by_over(str(folder / "*.csv"))) == len(SALES)
    (tmp_path / "secret.csv").write_text("shop\na\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InvalidRequest, match=r"matches a link: link\.csv"):
        rows_by_over(str(folder / "*.csv"))
    with pytest.raises(InvalidRequest, match="No file matches"):
        rows_by_over(str(folder / "*.parquet"))


@pytest.mark.parametrize("given", [[], [1], ["no.csv"], ["."]])
def test_a_list_has_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequest, match=r"must have paths|There is no file|is not a file"):
        source_of(given)


@pytest.mark.local_sandbox
@pytest.mark.parametrize("name", ["semicolons.csv", "sales.csv.gz", "sales.jsonl", "sales.feather"])
def test_answers_are_those_for_the_frame(built: Build, tmp_path: Path, name: str) -> None:
    WRITTEN[name](SALES, tmp_path / name)
    bodies = {
        "return sales.assign(total=sales['price'] * sales['units'])[['code', 'total']]": ROWS,
        "return sales.groupby('shop', as_index=False)[['units', 'price']].sum()": BY_SHOP,
        "return sales.groupby('day', as_index=False)[['units']].sum()": MERGE,
    }
    for body, split in bodies.items():
        growth = built(body, {"sales": SALES}, known=split)
        made = growth.over(tmp_path / name, workers=2)
        order = list(made.columns)
        pd.testing.assert_frame_equal(
            made.sort_values(order, ignore_index=True), growth(SALES).sort_values(order, ignore_index=True)
        )
