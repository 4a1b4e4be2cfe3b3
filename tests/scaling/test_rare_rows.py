"""Rows with rare values of all files are compared with their parts when a large table is computed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.errors import SplitBroken
from autocoder_jupyter.scaling.rare_rows import RareRows
from autocoder_jupyter.scaling.sources import Batch
from autocoder_jupyter.types.interface import Split
from tests.engine.trapped_functions import (
    CLOSED,
    FILES,
    HONEST,
    ROWS,
    TRAPPED,
    TRAPPED_FUNCTIONS,
    Trap,
    orders,
    put,
    same,
)
from tests.scaling.conftest import ROWS as BY_ROWS
from tests.scaling.conftest import Build

SMALL = 60_000
"""Bytes of memory with which the tables are many pieces."""

BY_CUSTOMER = Split(input="sales", kind="groups", keys=("customer",), ordered=False, comparisons=9)


def files(folder: Path, trap: Trap) -> Path:
    folder.mkdir()
    for number in range(FILES):
        table = orders(ROWS, number)
        (trap(table) if number == TRAPPED else table).to_parquet(folder / f"part-{number:02}.parquet", index=False)
    return folder


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("name", "known"),
    [("a closed one anywhere", BY_ROWS), ("a closed one anywhere, in a group", BY_CUSTOMER)],
)
def test_a_condition_of_two_rows_in_a_late_file_stops_everything(
    built: Build, tmp_path: Path, name: str, known: Split
) -> None:
    """The check before has not found it."""
    growth = built(TRAPPED_FUNCTIONS[name].body, {"sales": orders(200, 0)}, known=known)
    with pytest.raises(SplitBroken, match="rows with rare values of all files, "):
        growth.over(files(tmp_path / "sales", CLOSED), memory=SMALL, workers=1, to=tmp_path / "answer")
    assert not (tmp_path / "answer").exists()


@pytest.mark.local_sandbox
def test_rare_values_of_a_right_function_change_nothing(built: Build, tmp_path: Path) -> None:
    growth = built(HONEST["commas left out if there are any"], {"sales": orders(200, 0)}, known=BY_ROWS)
    folder = files(tmp_path / "sales", put("price", "1,250.00", "odd"))
    assert len(growth.over(folder, memory=SMALL, workers=1)) == FILES * ROWS


@pytest.mark.local_sandbox
def test_a_condition_in_the_three_hundredth_of_many_tiny_files_stops_everything(built: Build, tmp_path: Path) -> None:
    growth = built(TRAPPED_FUNCTIONS["a closed one anywhere"].body, {"sales": orders(200, 0)}, known=BY_ROWS)
    (tmp_path / "sales").mkdir()
    for number in range(400):
        table = orders(5, number)
        table.loc[2, "category"] = "CLOSED" if number == 300 else "OPEN"
        table.to_parquet(tmp_path / "sales" / f"part-{number:03}.parquet", index=False)
    with pytest.raises(SplitBroken, match="rows with rare values of all files, "):
        growth.over(tmp_path / "sales", memory=SMALL, workers=1)


def collected(folder: Path, *tables: pd.DataFrame) -> list[tuple[pd.DataFrame, list[int]]]:
    rare = RareRows(folder)
    list(rare.passed(Batch(pa.Table.from_pandas(table)) for table in tables))
    found = [(table.to_pandas(), numbers) for table, numbers in rare.groups()]
    assert all(len(table) == len(numbers) for table, numbers in found)
    return found


def kept(folder: Path, *tables: pd.DataFrame) -> pd.DataFrame:
    ((table, _),) = collected(folder, *tables)
    return table


def test_the_first_and_the_last_row_of_each_file_are_in_groups_of_files(tmp_path: Path) -> None:
    groups = collected(tmp_path, *(pd.DataFrame({"id": [number, 7, number + 0.5]}) for number in range(1000)))
    assert len(groups) > 3 and all(len(numbers) < 600 and numbers[0] == 0 for _, numbers in groups)
    assert sorted({number for _, numbers in groups for number in numbers}) == list(range(1000))
    found = {value for table, _ in groups for value in table["id"]}
    assert found >= {number + half for number in range(1000) for half in (0, 0.5)}


def test_the_first_row_of_each_new_kind_of_value_is_kept(tmp_path: Path) -> None:
    usual = pd.DataFrame({"name": [f"name {n:03}" for n in range(900)], "units": 5, "day": pd.Timestamp("2024-01-01")})
    odd = usual.copy()
    odd.loc[400, "name"] = "name,400"
    odd.loc[401, "name"] = " name 401"
    odd.loc[402, "units"] = -5
    odd.loc[403, "day"] = pd.Timestamp("2024-01-01 10:00")
    odd.loc[404, "name"] = None
    odd.loc[405, "name"] = "name é"
    found = kept(tmp_path, usual, odd)
    assert -5 in set(found["units"]) and pd.Timestamp("2024-01-01 10:00") in set(found["day"])
    assert {"name,400", " name 401", "name é"} <= set(found["name"]) and found["name"].isna().any()
    assert len(found) < 30


def test_a_word_among_few_words_is_kept(tmp_path: Path) -> None:
    assert "CLOSED" in set(kept(tmp_path, orders(200, 0), CLOSED(orders(200, 1)))["category"])
    assert len(kept(tmp_path, same(orders(200, 0)))) < 200
