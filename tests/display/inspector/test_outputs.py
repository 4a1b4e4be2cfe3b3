from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.data.overview import excerpt
from autocoder_jupyter.display.outputs import DOWNLOAD_BYTES, error_html, outputs_html
from autocoder_jupyter.errors import SolutionError
from autocoder_jupyter.types import Dir, Figure, File
from tests.cases import each
from tests.display.inspector.results import HOSTILE


def shown(**values: Any) -> str:
    return outputs_html("growth", values, excerpt)


def test_a_table_shows_its_first_rows_and_its_size(read: Any) -> None:
    page = read(shown(monthly=pd.DataFrame({"month": ["Jan"] * 30, "growth": [0.123456789] * 30})))
    assert "30 rows × 2 columns" in page.text and page.text.count("Jan") == 10 and "0.1235" in page.text
    assert "2 rows" in read(shown(s=pd.Series([1, 2], name="n"))).text


def test_a_figure_is_a_picture_that_can_be_saved() -> None:
    html = shown(chart=Figure(b"\x89PNG", 640, 480))
    assert '<img alt="chart: a picture of 640 × 480 pixels" src="data:image/png;base64,iVBORw==' in html
    assert 'download="growth-chart.png"' in html and "640 × 480" in html


def test_a_small_file_can_be_downloaded_and_a_large_one_is_named(tmp_path: Path) -> None:
    small, large = tmp_path / "a.csv", tmp_path / "b.bin"
    small.write_text("x")
    large.write_bytes(b"")
    os.truncate(large, DOWNLOAD_BYTES + 1)
    html = shown(report=File(small))
    assert str(small) in html and 'download="a.csv"' in html and "base64,eA==" in html
    html = shown(report=File(large))
    assert str(large) in html and "1,048,577 bytes" in html and "download" not in html


def test_a_folder_lists_its_files_and_follows_no_link(tmp_path: Path, read: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("abc")
    (tmp_path / "in" / "passwd").symlink_to("/etc/passwd")
    page = read(shown(folder=Dir(tmp_path / "in"))).text
    assert "a.txt" in page and "3 bytes" in page and "passwd" not in page


def test_a_file_that_is_gone_is_said_to_be(tmp_path: Path, read: Any) -> None:
    assert "cannot be read" in read(shown(f=File(tmp_path / "gone"))).text


@each(
    ("value", "words"),
    [(3, "3"), (True, "True"), ("", "(empty)"), ({"a": [1, 2]}, "{'a': [1, 2]}"), ("x" * 9000, "+5,000")],
)
def test_anything_else_is_text(value: Any, words: str, read: Any) -> None:
    assert words in read(shown(value=value)).text


def test_an_error_is_what_why_and_what_next(read: Any) -> None:
    page = read(error_html(SolutionError("It raised KeyError.", why="No column.", hint="Rename it."))).text
    assert page == "✗ SolutionError It raised KeyError.No column.Rename it."


def test_values_stay_text(read: Any) -> None:
    frame = pd.DataFrame({HOSTILE: [HOSTILE]}, index=pd.Index([HOSTILE], name=HOSTILE))
    for value in (frame, HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE], File(HOSTILE)):
        page = read(outputs_html(HOSTILE, {HOSTILE: value}, excerpt) + error_html(ValueError(HOSTILE)))
        assert "script" not in page.tags and "\x1b" not in page.text
