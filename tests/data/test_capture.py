from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.data.capture import capture, require_plain
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File
from tests.cases import each


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


def test_a_path_stays_the_same_when_the_working_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a")
    monkeypatch.chdir(tmp_path)
    assert (capture(File("a.csv")), capture(Dir("."))) == (File(tmp_path / "a.csv"), Dir(tmp_path))


def test_a_link_that_a_person_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    (tmp_path / "link.csv").symlink_to("a.csv")
    assert capture(File(tmp_path / "link.csv")) == File(tmp_path / "a.csv")


def test_a_path_that_cannot_be_taken_is_refused_with_the_way_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    refusals = {
        File(tmp_path): "is not a File.*\nWrite Dir",
        Dir(__file__): "is not a Dir.*\nWrite File",
        File(tmp_path / "pipe"): "neither a plain file nor a folder",
        File(tmp_path / "loop"): "does not exist",
        File("nowhere.csv"): "nowhere.csv does not exist.\nIt is looked for in",
    }
    for value, words in refusals.items():
        with pytest.raises(InvalidRequest, match=words):
            capture(value)


def test_a_table_of_another_library_is_converted() -> None:
    assert capture(pa.table({"a": [1, 2]})).equals(pd.DataFrame({"a": [1, 2]}))


@each("value", ["a.csv", Path("a.csv"), [1], {"a": [1]}, 5, None, pd.DataFrame])
def test_anything_else_is_refused_with_what_is_accepted(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="DataFrame, Series, File or Dir"):
        capture(value)


class GeoDataFrame(pd.DataFrame):
    def to_wkt(self) -> pd.DataFrame:
        return pd.DataFrame(self)


class Prices(pd.Series):
    pass


@pytest.mark.parametrize(
    ("value", "way_out"),
    [(GeoDataFrame({"a": [1]}), "towns = towns.to_wkt()"), (Prices([1]), "towns = pd.Series(towns)")],
)
def test_a_subclass_of_a_table_is_refused_by_the_variables_name_with_the_way_out(value: Any, way_out: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        require_plain("towns", value)
    assert caught.value.what.startswith("towns is a ")
    assert f"only a plain {type(value).__mro__[1].__name__} can be sent" in caught.value.what
    assert way_out in caught.value.hint


def test_a_plain_table_passes() -> None:
    require_plain("towns", pd.DataFrame({"a": [1]}))
    require_plain("towns", File("a.csv"))
