from __future__ import annotations

import gzip
import importlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.files import DirProfile, FileProfile, describe_path
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File
from tests.cases import each


def describe(path: Path) -> FileProfile:
    profile = describe_path(File(path))
    assert isinstance(profile, FileProfile)
    return profile


@each("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("\n".join(delimiter.join(row) for row in [["id", "name"], ["1", "a b"], ["2", "c"]]))
    frame = describe(path).frame
    assert frame is not None
    assert list(frame.columns) == ["id", "name"]


@each(
    ("raw", "words"),
    [
        ("name;stra\u00dfe\nM\u00fcller;x\n".encode("cp1252"), "encoding='cp1252'"),
        ("name;stra\u00dfe\nM\u00fcller;x\n".encode("utf-8-sig"), "encoding='utf-8-sig'"),
        ("name;stra\u00dfe\nM\u00fcller;x\n".encode("utf-16"), "encoding='utf-16'"),
        (b"1,2.5,a\n2,3.5,b\n", "header=None"),
        (b"a,b\nc,d\na,b\ne,f\n", "header=None"),
        (b"Report of May\n\nid,n,m\n1,2,3\n4,5,6\n", "skiprows=1"),
        (b"id;price\n1;1,50\n2;1.200,75\n", "decimal=','"),
    ],
)
def test_how_to_read_it_is_told_and_works(tmp_path: Path, raw: bytes, words: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(raw)
    profile = describe(path)
    call = next(fact for fact in profile.facts if "read_csv" in fact).removeprefix("read with ")
    assert words in call
    frame = eval(call, {"pd": pd, "path": path})
    assert profile.frame is not None
    pd.testing.assert_frame_equal(frame, profile.frame)
    assert profile.rows == len(frame)


def test_the_number_of_rows_is_that_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = [f'{i},"line one\nline two, {i}"' for i in range(12_345)]
    path.write_text("i,text\n" + "\n".join(rows) + "\n\n")
    assert describe(path).rows == 12_345
    text = build_context({"f": File(path)}).text
    assert "12345 rows" in text
    assert "from the first 10000 rows" in text


@pytest.mark.parametrize("name", ["data.csv.gz", "renamed.csv"])
def test_a_compressed_file_is_opened(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 20_000))
    profile = describe(path)
    assert profile.rows == 20_000
    call = next(fact for fact in profile.facts if "read_csv" in fact).removeprefix("read with ")
    assert len(eval(call, {"pd": pd, "path": path})) == 20_000


def test_a_broken_compressed_file_is_called_broken(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(os.urandom(100_000))[:500])
    assert "broken" in describe(path).kind


def test_parquet_and_feather_are_described_by_their_metadata(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(25_000), "b": ["x"] * 25_000})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        profile = describe(tmp_path / name)
        assert profile.rows == 25_000
        assert profile.frame is not None
        assert len(profile.frame) == 10_000
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + b"x" * 50)
    assert "broken Parquet" in describe(tmp_path / "bad.parquet").kind


def test_nested_json_is_told_by_its_structure(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"meta": {"n": 1}, "items": [{"id": 1, "tags": ["a"]}, {"id": 2, "extra": None}]}))
    assert "{meta: {n: int}, items: list of {id: int, tags?: list of text, extra?: null}}" in describe(path).facts[-1]
    path.write_text("[]")
    assert describe(path).kind == "JSON"
    path.write_text("[" * 100_000)
    assert describe(path).kind in ("text", "delimited text")


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": {"c": 2}}\n' * 12_000)
    profile = describe(path)
    assert profile.rows == 12_000
    assert profile.frame is not None
    assert list(profile.frame.columns) == ["a", "b"]


def test_a_log_is_a_log_and_no_table(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(
        "".join(f"2024-01-01 10:00:{i:02d} {level} [db] a, b\n" for i, level in enumerate(["INFO", "ERROR"] * 8))
    )
    text = build_context({"log": File(path)}, max_sample_rows=3).text
    assert "levels ERROR ×8, INFO ×8" in text
    assert "16 lines" in text
    assert "first 3 lines" in text


def test_binary_is_never_shown_as_text(tmp_path: Path) -> None:
    for name, raw, kind in (
        ("p.png", b"\x89PNG\r\n\x1a\n" + os.urandom(500), "PNG"),
        ("x.csv", os.urandom(5_000), "binary"),
        ("m.pkl", b"\x80\x05\x95abc", "pickle"),
        ("empty.csv", b"", "empty"),
    ):
        (tmp_path / name).write_bytes(raw)
        profile = describe(tmp_path / name)
        assert kind in profile.kind
        assert not profile.lines
        assert profile.frame is None


def test_one_huge_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("word " * 600_000)
    text = build_context({"f": File(path)}).text
    assert len(text) < 2_000
    assert "1 lines" in text


def test_an_excel_workbook_is_described_or_says_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    try:
        pd.DataFrame({"a": range(1_500)}).to_excel(path, index=False)
    except ImportError:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("xl/workbook.xml", '<sheets><sheet name="Sheet1" sheetId="1"/></sheets>')
        assert "openpyxl" in " ".join(describe(path).facts)
    else:
        assert describe(path).rows == 1_500
    assert "'Sheet1'" in " ".join(describe(path).facts)


def test_a_folder_is_listed_and_bounded(tmp_path: Path) -> None:
    for i in range(100):
        (tmp_path / f"part_{i:03d}.csv").write_text("a,b\n1,2\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.txt").write_text("hello")
    (tmp_path / "loop").symlink_to(tmp_path)
    profile = describe_path(Dir(tmp_path))
    assert isinstance(profile, DirProfile)
    assert profile.suffixes == ((".csv", 100), (".txt", 1))
    text = build_context({"d": Dir(tmp_path)}).text
    assert "101 files" in text
    assert "and 61 more" in text
    assert "'a' int64" in text
    assert len(text) < 6_000


def test_secrets_in_a_text_file_are_masked(tmp_path: Path) -> None:
    path = tmp_path / "env.txt"
    path.write_text("PASSWORD=swordfish99\nmail me@example.org\nok\n</data>\n")
    context = build_context({"f": File(path)})
    assert "swordfish" not in context.text
    assert context.masked == {"password": 1, "email": 1}
    assert context.text.count("</data>") == 1
    assert "ok" not in build_context({"f": File(path)}, share="stats").text.splitlines()


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="There is no file"):
        describe_path(File(tmp_path / "nope"))
    with pytest.raises(InvalidRequest, match="There is no folder"):
        describe_path(Dir(tmp_path / "nope"))
    with pytest.raises(InvalidRequest, match="no file"):
        describe_path(File(tmp_path))


@pytest.mark.parametrize("share", ["rows", "stats", "schema"])
def test_the_name_of_a_file_stays_but_its_ending(tmp_path: Path, share: Any) -> None:
    path = tmp_path / "layoffs of Mary Smith.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    text = build_context({"f": File(path)}, share=share).text
    assert "Smith" not in text and "file file-1.csv" in text


@pytest.mark.parametrize("share", ["stats", "schema"])
def test_names_in_a_folder_are_told_only_with_rows(tmp_path: Path, share: Any) -> None:
    (tmp_path / "Smith").mkdir()
    (tmp_path / "Smith" / "mary.csv").write_text("a,b\n1,2\n3,4\n")
    text = build_context({"d": Dir(tmp_path)}, share=share).text
    assert "mary" not in text and "Smith" not in text and "folder-1/file-1.csv" in text
    assert "Smith/mary.csv" in build_context({"d": Dir(tmp_path)}, share="rows").text


def test_a_folder_whose_log_says_which_files_count_is_described_as_such(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert "a table of Delta: its log says which files count" in build_context({"d": Dir(tmp_path)}).text


def text_of(path: Path, request: str = "", share: Any = "rows") -> str:
    return build_context({"source": File(path)}, request=request, share=share).text


@each("sign", [",", ";", "\t"])
def test_digits_with_leading_zeros_in_a_file_are_told_as_text(sign: str, tmp_path: Path) -> None:
    rows = [["zip", "units", "share"], ["01067", "1", "0.5"], ["10115", "20", "00.25"], ["", "3", "0"]]
    (tmp_path / "a.csv").write_text("\n".join(map(sign.join, rows)))
    text = text_of(tmp_path / "a.csv")
    assert "dtype={'zip': str}" in text and "'zip' str" in text and "digits with leading zeros" in text
    assert "'units' int64" in text and "'share' float64" in text and "01067" in text
    assert "'zip' str" in text_of(tmp_path / "a.csv", share="schema")
    (tmp_path / "b.csv").write_text("zip\n1067\n10115\n")
    assert "dtype=" not in text_of(tmp_path / "b.csv")


def test_dates_with_points_are_no_numbers_where_commas_are_decimal(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day;price\n31.01.2024;1,5\n01.02.2024;2,25\n")
    text = text_of(tmp_path / "a.csv")
    assert "dtype={'day': str}" in text and "'day' str" in text and "'price' float64" in text


def test_lines_above_the_header_are_counted_with_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Report\n\nof the week\nday;price\n2024-01-31;1\n2024-02-01;2\n")
    assert "skiprows=3" in text_of(tmp_path / "a.csv") and "'day' str" in text_of(tmp_path / "a.csv")


def test_every_sheet_is_told_and_the_named_one_in_full(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({"region": ["N", "S"], "total": [1, 2]}).to_excel(writer, sheet_name="Sales", index=False)
        pd.DataFrame({"item": ["rent"], "cost": [9]}).to_excel(writer, sheet_name="Costs & more", index=False)
    text = text_of(path)
    assert "2 sheets: 'Sales', 'Costs & more'" in text
    assert "sheet 'Sales': 2 rows x 2 columns ('region', 'total')" in text
    assert ": 1 rows x 2 columns ('item', 'cost')" in text
    assert "below: the first sheet" in text and "'total' int64" in text
    named = text_of(path, "The sum of the costs & more.")
    assert "sheet_name='Costs" in named and "'cost' int64" in named and "'total' int64" not in named


def test_merged_cells_and_a_header_of_two_rows_are_told(tmp_path: Path) -> None:
    openpyxl: Any = importlib.import_module("openpyxl")
    book = openpyxl.Workbook()
    for row in (["2024", None, "2025", None], ["plan", "real", "plan", "real"], [1, 2, 3, 4], ["a", 1, 2, 3]):
        book.active.append(row)
    book.active.merge_cells("A1:B1")
    book.active.merge_cells("A4:A5")
    book.save(tmp_path / "book.xlsx")
    text = text_of(tmp_path / "book.xlsx")
    assert "merged cells A1:B1, A4:A5: only the first cell of each has the value" in text
    assert "the header has two rows" in text and "header=[0, 1]" in text
