from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.glimpse import CHARACTERS, COLUMNS, PICTURE_BYTES, ROWS, glimpses
from autocoder_jupyter.types import Figure
from autocoder_jupyter.types.overview import Glimpse


def seen(value: Any, **secrets: str) -> Glimpse:
    (glimpse,) = glimpses({"out": value}, secrets)
    return glimpse


def test_a_table_is_its_first_rows_and_no_more() -> None:
    table = seen(pd.DataFrame([["x" * 500] * 30] * 1000)).table
    assert table is not None and (len(table.rows), len(table.headings)) == (ROWS, COLUMNS)
    assert table.size == "1,000 rows × 30 columns" and len(table.rows[0][0]) < CHARACTERS + 10


def test_private_values_and_secrets_are_replaced_before_anything_is_cut() -> None:
    frame = pd.DataFrame({"who": ["jane.roe.with.a.long.name@example.com"], "key": ["hunter2hunter2"]})
    table = seen(frame, TOKEN="hunter2hunter2").table
    assert table is not None and table.rows == (("<email-1>", "<TOKEN>"),)
    assert seen("write to jane.roe@example.com").text == "write to <email-1>"
    labels = seen(pd.DataFrame({"jane.roe@example.com": [1]}, index=["joe.doe@example.com"])).table
    assert labels is not None and "example.com" not in str(labels)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("", "(empty)", id="empty text"),
        pytest.param(None, "None", id="nothing"),
        pytest.param(0.1 + 0.2, "0.3", id="number"),
        pytest.param({"a": [1, 2, 3, 4, 5, 6, 7]}, "{'a': [1, 2, 3, 4, 5, … 2 more]}", id="nested"),
        pytest.param(Figure(b"", 640, 480), "a picture of 640 × 480 pixels", id="figure"),
        pytest.param("yes " * 250, f"{'yes ' * 59}yes …(+760)", id="long"),
    ],
)
def test_anything_else_is_a_short_text(value: Any, text: str) -> None:
    assert seen(value).text == text


def test_a_small_picture_is_in_the_preview_and_a_large_one_only_by_its_size() -> None:
    small, large = Figure(b"\x89PNG small", 610, 333), Figure(b"\x89PNG" + bytes(PICTURE_BYTES), 6100, 3330)
    one, other = glimpses({"chart": small, "poster": large}, {})
    assert glimpses({"chart": small}, {"TOKEN": "correct-horse"})[0].picture == b""
    assert one.picture == small.png and one.text == "a picture of 610 × 333 pixels"
    assert other.picture == b"" and other.text == "a picture of 6100 × 3330 pixels"
    bomb = Figure(b"\x89PNG of one colour", 20_000, 5_000)
    assert glimpses({"chart": bomb}, {})[0] == Glimpse("chart", "a picture of 20000 × 5000 pixels")
