"""A person's own tables in a call: files, lazy tables of other libraries, lists and dicts of tables, geometries."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import json
import lzma
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from autocoder_jupyter.calls.binding import checked_value
from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.data import capture, dialects, workbooks
from autocoder_jupyter.data.files import describe_file
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.types import Dir, File, InputSpec, OutputSpec
from tests.calls.conftest import StandInPool
from tests.cases import each

SALES = InputSpec(name="sales", type="DataFrame")
FRAME = pd.DataFrame(
    {
        "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        "at": pd.to_datetime(["2024-01-01 10:00", "2024-07-01 10:00"]).tz_localize("Europe/Berlin"),
        "zip": ["00501", "10115"],
        "region": pd.Categorical(["N", "S"]),
        "price": [1.5, 2.0],
        "units": [3, 4],
        "open": [True, False],
        "took": pd.to_timedelta(["1 days", "2 days"]),
    }
)


@pytest.fixture
def give(function: Callable[..., Function], pool: StandInPool) -> Callable[..., pd.DataFrame]:
    """Calls a function that returns its table unchanged."""
    code = "def run(sales):\n    return sales\n"

    def give(value: Any, built_on: pd.DataFrame = FRAME, **options: Any) -> Any:
        made = function(
            code, (SALES,), (OutputSpec(name="sales", type="DataFrame"),), sample_shapes={"sales": shape_of(built_on)}
        )
        return asyncio.run(call(made, CallOptions(**options), [value], {}))

    return give


WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
    "jsonl": lambda frame, path: frame.assign(took=frame["took"].astype(str)).to_json(
        path, orient="records", lines=True, date_format="iso"
    ),
    "xlsx": lambda frame, path: frame.assign(at=frame["at"].astype(str), took=frame["took"].astype(str)).to_excel(
        path, index=False
    ),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_is_read_with_the_dtypes_that_the_function_was_built_on(
    give: Callable[..., pd.DataFrame], suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"sales.{suffix}"
    WRITERS[suffix](FRAME, path)
    for value in (str(path), path, File(path)):
        got = give(value)
        pd.testing.assert_frame_equal(got, FRAME, check_dtype=False, check_categorical=False)
        kinds = {name: str(dtype).partition("[")[0] for name, dtype in got.dtypes.items()}
        assert kinds == {name: str(dtype).partition("[")[0] for name, dtype in FRAME.dtypes.items()}
        assert str(got["at"].dt.tz) == "Europe/Berlin"


def test_a_file_that_cannot_be_the_table_is_one_clear_error(give: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="does not exist"):
        give("nowhere.csv")
    (tmp_path / "notes.docx").write_text("x")
    with pytest.raises(InvalidRequest, match="cannot be read as a table") as caught:
        give(str(tmp_path / "notes.docx"))
    assert ".parquet" in str(caught.value)
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(InvalidRequest, match=r"broken\.parquet cannot be read"):
        give(tmp_path / "broken.parquet")
    FRAME.assign(day=["soon", "later"]).to_csv(tmp_path / "sales.csv", index=False)
    with pytest.raises(InvalidRequest, match="the column day cannot be read as datetime64"):
        give(tmp_path / "sales.csv")


MIXED = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "name": ["00501", "ä", None],
        "price": [1.5, None, 2.0],
        "open": [True, False, True],
        "nested": [[1], {"a": 1}, None],
        "large": [2**53 + 1, 2, 3],
        "at": [1704067200000, 1704153600000, 1],
    }
)


@each("orient", ["records", "columns", "lines", "lists"])
@each("rows", [3, 30_000])
def test_a_table_in_json_is_read_as_pandas_reads_it(orient: str, rows: int, tmp_path: Path) -> None:
    frame, path = pd.concat([MIXED] * (rows // 3), ignore_index=True), tmp_path / f"a.json{'l' * (orient == 'lines')}"
    if orient == "lists":
        path.write_text(json.dumps(json.loads(frame.to_json(orient="split"))["data"]))
    else:
        frame.to_json(path, orient="records" if orient == "lines" else orient, lines=orient == "lines")  # type: ignore[call-overload]
    theirs = pd.read_json(path, lines=orient == "lines", dtype=False, convert_dates=False)
    pd.testing.assert_frame_equal(read_table("sales", path, None), theirs)


def test_columns_and_rows_of_a_file_of_json_need_not_be_complete(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('\ufeff [{"a": 1}, {}, {"b": "x", "a": 2}] ', "utf-8")
    table = read_table("sales", tmp_path / "a.json", None)
    assert table.isna().to_dict("list") == {"a": [False, True, False], "b": [True, True, False]}
    (tmp_path / "b.json").write_text('{"2024": {"7": 1, "8": 2}, "2025": {"8": 3}}', "utf-8")
    table = read_table("sales", tmp_path / "b.json", None)
    assert table.loc[8, 2024] == 2 and table.shape == (2, 2) and table[2025].isna().tolist()[0]
    (tmp_path / "c.json").write_text('{"day": {"0": 1704067200000}, "at": {"0": 1719828000000}}', "utf-8")
    times = {"columns": [["'day'", "datetime64[ns]"], ["'at'", "datetime64[ns, Europe/Berlin]"]]}
    table = read_table("sales", tmp_path / "c.json", times)
    assert [str(table[name][0]) for name in table] == ["2024-01-01 00:00:00", "2024-07-01 12:00:00+02:00"]


@each(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("7", "neither a list of rows nor an object of columns"),
        ('{"a": 7}', "neither all lists nor all objects"),
        ('{"a": [7], "b": [7, 8]}', "not of the same length"),
        ("[7]", "neither an object nor a list"),
        ('[{"a": 7}] 8', "Extra data"),
        ("[" + ",".join(f'{{"{number}":1}}' for number in range(30_000)) + "]", "more than 20,000 columns"),
        ("[" + "[" * 300 + "]" * 300 + "]", "256 levels of nesting"),
    ],
    ids=range(8),
)
def test_what_is_no_table_in_json_is_said(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidRequest, match=r"a\.json cannot be read") as caught:
        read_table("sales", tmp_path / "a.json", None)
    assert why in str(caught.value)
    (tmp_path / "a.jsonl").write_text('{"a": 1}, {"a": 2}\n')
    with pytest.raises(InvalidRequest, match="a line is not one JSON value"):
        read_table("sales", tmp_path / "a.jsonl", None)


def workbook(path: Path, sheet: str, **parts: bytes) -> Path:
    """A real workbook with another sheet and further parts."""
    PLAIN.to_excel(path.with_name("real.xlsx"), index=False)
    with zipfile.ZipFile(path.with_name("real.xlsx")) as real, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in real.namelist():
            made.writestr(name, sheet if sheet and name == "xl/worksheets/sheet1.xml" else real.read(name))
        for name, content in parts.items():
            made.writestr(f"xl/{name}.xml", content)
    return path


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)


@each(
    ("sheet", "parts", "why"),
    [
        ("", {"sharedStrings": bytes(3 * 2**20)}, "it unpacks to 3 MiB"),
        (
            '<row r="1"><c r="XFD1"><v>1</v></c></row><row r="1048576"><c><v>1</v></c></row>',
            {},
            "a sheet has more than",
        ),
        ("<row><c><v>1</v></c></row>" * 1_001, {}, "a sheet has more than 1,000 cells"),
        ("", {"more": b"<!DOCTYPE a [<!ENTITY b 'b'>]><a/>"}, "a document type"),
    ],
    ids=["large parts", "a far cell", "many cells", "entities"],
)
def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sheet: str, parts: dict[str, bytes], why: str
) -> None:
    path = workbook(tmp_path / "sales.xlsx", SHEET.format(sheet) if sheet else "", **parts)
    monkeypatch.setattr(workbooks, "WORKBOOK_BYTES", 2 * 2**20)
    monkeypatch.setattr(workbooks, "WORKBOOK_CELLS", 1_000)
    monkeypatch.setattr(pd, "read_excel", lambda *args, **more: pytest.fail("it was read"))
    with pytest.raises(InvalidRequest, match=r"sales\.xlsx cannot be read") as caught:
        read_table("sales", path, None)
    assert why in str(caught.value)
    described = describe_file(path)
    assert any("the contents were not looked at" in fact for fact in described.facts)


def test_a_text_input_stays_a_text_that_names_no_file() -> None:
    assert checked_value(InputSpec(name="name", type="str"), "sales.csv") == "sales.csv"


PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})


def test_a_lazy_frame_is_computed_and_given_back_as_one(give: Callable[..., Any]) -> None:
    lazy = pl.from_pandas(PLAIN).lazy().filter(pl.col("a") > 1)
    assert give(lazy, PLAIN)["a"].tolist() == [2, 3]
    back = give(lazy, PLAIN, tables="same")
    assert isinstance(back, pl.LazyFrame) and back.collect()["b"].to_list() == ["y", "z"]


def test_a_lazy_frame_that_is_large_is_refused_with_the_number_before_it_is_computed(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "MOST_CELLS", 5)
    computed: list[int] = []
    lazy = pl.LazyFrame({"a": [1, 2, 3]}).with_columns(
        b=pl.col("a").map_elements(lambda value: computed.append(value) or "x", return_dtype=pl.String)
    )
    with pytest.raises(InvalidRequest, match="polars LazyFrame of 3 rows × 2 columns is not computed") as caught:
        give(lazy, PLAIN)
    assert computed == []
    assert "Filter or aggregate it first" in str(caught.value)


def test_a_relation_of_duckdb_is_computed_when_it_is_small(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    relation = duckdb.sql("select range as a, 'x' as b from range(3)")
    assert give(relation, PLAIN)["a"].tolist() == [0, 1, 2]
    monkeypatch.setattr(capture, "MOST_CELLS", 5)
    with pytest.raises(InvalidRequest, match="duckdb DuckDBPyRelation of 3 rows × 2 columns is not computed"):
        give(relation, PLAIN)


def test_a_lazy_frame_that_has_more_rows_than_were_counted_is_not_read_wholly(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may grow between the count and the reading, and a function may give other rows each time."""
    monkeypatch.setattr(capture, "MOST_CELLS", 10)
    given: list[int] = []

    def more(frame: pl.DataFrame) -> pl.DataFrame:
        given.append(3 if not given else 5_000)
        return pl.concat([frame] * given[-1])

    lazy = pl.LazyFrame({"a": [1], "b": ["x"]}).map_batches(more)
    with pytest.raises(InvalidRequest, match="polars LazyFrame of 6 rows × 2 columns is not computed"):
        give(lazy, PLAIN)
    assert given == [3, 5_000]


def test_a_dataset_is_read_within_the_limit(
    give: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from pyarrow import dataset

    PLAIN.to_parquet(tmp_path / "a.parquet", index=False)
    assert give(dataset.dataset(tmp_path), PLAIN)["b"].tolist() == ["x", "y", "z"]
    monkeypatch.setattr(capture, "MOST_CELLS", 5)
    with pytest.raises(InvalidRequest, match="pyarrow FileSystemDataset of 3 rows × 2 columns is not computed"):
        give(dataset.dataset(tmp_path), PLAIN)


def test_a_table_that_is_computed_for_too_long_ends_the_call_and_not_the_notebook(give: Callable[..., Any]) -> None:
    """The time limit of a call holds for all of it. What computes cannot be stopped, and stops nobody."""
    released = threading.Event()

    def waits(frame: pl.DataFrame) -> pl.DataFrame:
        released.wait(60)
        return frame

    lazy = pl.from_pandas(PLAIN).lazy().map_batches(waits)
    try:
        with pytest.raises(InvalidRequest, match=r"The arguments were not ready after 0\.5 s") as caught:
            give(lazy, PLAIN, timeout=0.5)
    finally:
        released.set()
    assert "timeout=600" in str(caught.value)
    assert give(PLAIN, PLAIN)["a"].tolist() == [1, 2, 3]


def test_a_library_that_was_interrupted_says_so_in_the_words_of_a_call(give: Callable[..., Any]) -> None:
    """Polars raises KeyboardInterrupt in the thread that computes, also for the interrupt of an earlier call."""

    def interrupted(frame: pl.DataFrame) -> pl.DataFrame:
        raise KeyboardInterrupt

    lazy = pl.from_pandas(PLAIN).lazy().map_batches(interrupted)
    with pytest.raises(InvalidRequest, match="polars LazyFrame cannot be converted to a pandas table") as caught:
        give(lazy, PLAIN)
    assert "KeyboardInterrupt" in str(caught.value)


def test_neither_library_is_imported_for_a_pandas_table() -> None:
    script = (
        "import sys, pandas as pd\n"
        "from autocoder_jupyter.data.capture import converted, is_lazy\n"
        "assert not is_lazy(pd.DataFrame()) and converted(pd.DataFrame()) is None\n"
        "assert not {'polars', 'duckdb', 'geopandas'} & sys.modules.keys()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [[PLAIN, PLAIN], {"north": PLAIN, "south": PLAIN}], ids=["list", "dict"])
def test_the_line_that_the_refusal_of_several_tables_suggests_works(give: Callable[..., Any], value: Any) -> None:
    with pytest.raises(InvalidRequest, match="sales must be a DataFrame") as caught:
        give(value, PLAIN)
    assert caught.value.hint.startswith("Pass pd.concat(sales")
    table = eval(caught.value.hint.removeprefix("Pass ").removesuffix("."), {"pd": pd, "sales": value})
    assert give(table, PLAIN)["a"].tolist() == [1, 2, 3, 1, 2, 3]


class Geometries(pd.DataFrame):
    """Stands for a GeoDataFrame, which has this method too."""

    def to_wkt(self) -> pd.DataFrame:
        return pd.DataFrame(self)


def test_a_table_with_geometries_is_refused_by_name(give: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequest, match=r"sales is a .*Geometries, but only a plain DataFrame") as caught:
        give(Geometries(PLAIN), PLAIN)
    assert "sales = sales.to_wkt()" in str(caught.value)


SIZES = pd.DataFrame(
    {
        "size": pd.Categorical(["M", "S", "L"], ["S", "M", "L"], ordered=True),
        "zip": pd.Categorical(["01067", "10115", "01067"], ["10115", "01067"]),
        "stars": pd.Categorical([3, 1, 2], [3, 2, 1], ordered=True),
        "flag": pd.array([True, None, False], dtype="boolean"),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "price": pd.array([0.1, 2.5, 3.0], dtype="float32"),
        "day": [dt.date(2024, 1, 2), None, dt.date(2024, 1, 1)],
        "at": pd.to_datetime(["2024-01-01", "2024-01-02", "NaT"]).as_unit("ns"),
    }
)
FILES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "txt": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-16"),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "jsonl": lambda frame, path: frame.astype({"day": "str"}).to_json(path, orient="records", lines=True),
    "json.gz": lambda frame, path: frame.astype({"day": "str"}).to_json(path, orient="records"),
    "parquet": lambda frame, path: frame.to_parquet(path),
}


@each("suffix", FILES)
def test_categories_and_all_of_a_dtype_are_restored_from_a_file(
    give: Callable[..., pd.DataFrame], suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"sizes.{suffix}"
    FILES[suffix](SIZES, path)
    got = give(path, SIZES)
    pd.testing.assert_frame_equal(got.drop(columns="day"), SIZES.drop(columns="day"))
    assert got["day"].dropna().tolist() == SIZES["day"].dropna().tolist()
    for name in ("size", "zip", "stars"):
        assert got[name].cat.codes.tolist() == SIZES[name].cat.codes.tolist()


def test_a_file_with_another_order_of_its_categories_is_refused_and_the_line_that_helps_is_offered(
    function: Callable[..., Function], tmp_path: Path
) -> None:
    outputs = (OutputSpec(name="sales", type="DataFrame"),)
    code = "def run(sales):\n    return sales.sort_values('size')\n"
    made = function(code, (SALES,), outputs, sample_shapes={"sales": shape_of(SIZES)})
    turned = SIZES.assign(size=SIZES["size"].cat.reorder_categories(["L", "M", "S"], ordered=True))
    turned.to_parquet(tmp_path / "sizes.parquet")
    for value in (turned, tmp_path / "sizes.parquet"):
        with pytest.raises(DataDrift, match="has the order 'L' < 'M' < 'S' instead of 'S' < 'M' < 'L'") as raised:
            asyncio.run(call(made, CallOptions(), [value], {}))
        offered = "sales['size'] = sales['size'].cat.set_categories(['S', 'M', 'L'], ordered=True)"
        assert offered in raised.value.hint


GERMAN = "Report of the week\n\nall prices in €\nday;price;zip\n2024-01-31;1.234,5;01067\n2024-02-01;2,25;10115\n"
READ = pd.DataFrame(
    {"day": pd.to_datetime(["2024-01-31", "2024-02-01"]), "price": [1234.5, 2.25], "zip": ["01067", "10115"]}
)


@each("encoding", ["utf-8", "cp1252", "utf-16", "utf-8-sig"])
@each("packed", [lambda data: data, gzip.compress, lzma.compress])
def test_text_is_read_as_it_is_written(
    give: Callable[..., pd.DataFrame], encoding: str, packed: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    (tmp_path / "sales.csv").write_bytes(packed(GERMAN.encode(encoding)))
    pd.testing.assert_frame_equal(give(tmp_path / "sales.csv", READ), READ)


@each("name", ["sales.csv", "sales.csv.gz", "sales.jsonl.gz"])
def test_compressed_text_that_becomes_very_large_is_not_read(
    give: Callable[..., pd.DataFrame], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialects, "_UNPACKED_BYTES", 2**20)
    (tmp_path / name).write_bytes(gzip.compress(GERMAN.encode() + b" " * 2**22))
    with pytest.raises(InvalidRequest, match="it unpacks to more than 1 MiB"):
        give(tmp_path / name, READ)


def test_a_folder_is_one_table(give: Callable[..., pd.DataFrame], tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.csv").write_text(GERMAN)
    (folder / "_SUCCESS").write_text("")
    for value in (folder, str(folder), Dir(folder)):
        pd.testing.assert_frame_equal(give(value, READ), pd.concat([READ, READ], ignore_index=True))
    (folder / "c.csv").write_text(GERMAN.replace("price;", "price;note;"))
    with pytest.raises(InvalidRequest, match=r"c\.csv has other columns than a\.csv"):
        give(folder, READ)
    (folder / "c.csv").unlink()
    (folder / "_delta_log").mkdir()
    with pytest.raises(InvalidRequest, match="days is a table of Delta"):
        give(folder, READ)
    (folder / "_delta_log").rename(folder / "more")
    with pytest.raises(InvalidRequest, match="only a folder of files is read as one table"):
        give(folder, READ)


def test_the_index_of_the_sample_is_that_of_a_file(give: Callable[..., pd.DataFrame], tmp_path: Path) -> None:
    for name in ("day", None):
        table = READ.set_index("day").rename_axis(name)
        table.to_csv(tmp_path / "sales.csv")
        got = give(tmp_path / "sales.csv", table)
        pd.testing.assert_frame_equal(got, table, check_index_type=name is not None)
