from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.data.capture import capture
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File


def test_later_edits_of_a_frame_change_nothing() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    before = frame.copy(deep=True)
    held = capture(frame)
    frame.loc[0, "a"] = 99
    frame.iloc[:, 1] = "changed"
    frame["new"] = 1
    frame["a"] += 5
    frame.columns = ["p", "q", "r"]
    frame.index = [7, 8, 9]
    pd.testing.assert_frame_equal(held, before)


def test_later_edits_of_a_series_change_nothing() -> None:
    series = pd.Series([1, 2, 3], name="s")
    held = capture(series)
    series.iloc[0] = 99
    series.name = "t"
    assert held.tolist() == [1, 2, 3]
    assert held.name == "s"


def test_files_are_held_as_they_are() -> None:
    for value in (File("a.csv"), Dir("d")):
        assert capture(value) is value


def test_a_table_of_another_library_is_converted() -> None:
    assert capture(pa.table({"a": [1, 2]})).equals(pd.DataFrame({"a": [1, 2]}))


@pytest.mark.parametrize("value", ["a.csv", Path("a.csv"), [1], {"a": [1]}, 5, None, pd.DataFrame])
def test_anything_else_is_refused_with_what_is_accepted(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="DataFrame, Series, File or Dir"):
        capture(value)
