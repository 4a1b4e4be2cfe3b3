"""Object storage, as fsspec keeps it in memory: sources, items and answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pytest
from deltalake import write_deltalake

from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.data import storage
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.storage import stored
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.answers import InStorage
from autocoder_jupyter.types.interface import Split
from tests.scaling.conftest import BY_SHOP, ROWS, Build
from tests.scaling.test_files import SALES, WRITTEN, rows_by_over

BODY = "return sales.assign(total=sales['price'] * sales['units'])[['code', 'total']]"
SUMS = "return sales.groupby('shop', as_index=False)[['units']].sum()"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The storage. No file appears in the working folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    assert not list((tmp_path / "here").iterdir())
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]


def put(memory: Any, tmp_path: Path, name: str, table: pd.DataFrame = SALES, to: str = "") -> str:
    WRITTEN[name](table, tmp_path / name)
    memory.pipe(f"/bucket/{to or name}", (tmp_path / name).read_bytes())
    return f"memory://bucket/{to or name}"


@pytest.mark.parametrize("name", ["sales.parquet", "sales.feather", "semicolons.csv", "sales.csv.gz", "sales.jsonl"])
def test_a_file_is_read_as_one_of_this_machine(memory: Any, tmp_path: Path, name: str) -> None:
    address = put(memory, tmp_path, name)
    expected = read_table("sales", tmp_path / name, {})
    pd.testing.assert_frame_equal(read_table("sales", address, {}), expected)
    for source in (
        address,
        [address],
        "memory://bucket",
        "memory://bucket/",
        f"memory://buck*/*{name[-6:]}"[:0] or address,
    ):
        pd.testing.assert_frame_equal(rows_by_over(source), expected, check_dtype=False)
    pd.testing.assert_frame_equal(rows_by_over(f"memory://bucket/*{name[-6:]}"), expected, check_dtype=False)


def test_folders_give_columns(memory: Any, tmp_path: Path) -> None:
    for year in (2023, 2024):
        put(memory, tmp_path, "sales.parquet", SALES.assign(units=SALES["units"] + year), f"t/year={year}/a.parquet")
    memory.pipe("/bucket/t/_SUCCESS", b"")
    memory.pipe("/bucket/t/.hidden/a.parquet", b"x")
    rows = rows_by_over("memory://bucket/t")
    assert list(rows["year"]) == [2023] * 20 + [2024] * 20
    assert list(rows["units"]) == [*SALES["units"] + 2023, *SALES["units"] + 2024]
    assert len(rows_by_over("memory://bucket/t/*/a.parquet")) == 40


def test_answers_are_written_there_and_nowhere_else(memory: Any, tmp_path: Path, built: Build) -> None:
    address = put(memory, tmp_path, "sales.parquet")
    splits: dict[str, Split] = {BODY: ROWS, SUMS: BY_SHOP}
    for place, (body, split) in enumerate(splits.items()):
        growth = built(body, {"sales": SALES}, known=split)
        made = growth.over(address, to=f"memory://answers/{place}", workers=1)
        order = list(growth(SALES).columns)
        found, expected = (
            table.sort_values(order, ignore_index=True) for table in (made.to_table().to_pandas(), growth(SALES))
        )
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        assert memory.ls(f"/answers/{place}")
    with pytest.raises(InvalidRequest, match="memory://answers/0 exists already"):
        growth.over(address, to="memory://answers/0")
    with pytest.raises(InvalidRequest, match="is in the folder that is read"):
        growth.over("memory://bucket", to="memory://bucket/answers")


def test_items_of_a_map_may_be_there(memory: Any, tmp_path: Path, built: Build) -> None:
    addresses = [put(memory, tmp_path, name) for name in ("sales.csv", "sales.jsonl")]
    growth = built(SUMS, {"sales": SALES})
    mapped = growth.map([*addresses, "memory://bucket/no.csv", "http://127.0.0.1:9/a.csv"])
    for made in mapped[:2]:
        pd.testing.assert_frame_equal(made, growth(SALES))
    assert "There is no file or folder" in mapped.errors[0].error.what
    assert "is an address of http" in mapped.errors[1].error.what
    local = growth.map(str(tmp_path / "sales.*"))
    assert len(local) == 2 and not local.errors
    with pytest.raises(InvalidRequest, match="No file matches"):
        growth.map(str(tmp_path / "*.tsv"))


def test_a_table_with_a_log_is_refused(memory: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path / "sales", SALES.drop(columns="day"), partition_by=["shop"])
    memory.put(str(tmp_path / "sales"), "/lake/sales", recursive=True)
    part = next(path for path in memory.find("/lake/sales") if "shop=" in path)
    memory.pipe("/lake/iceberg/metadata/v1.metadata.json", b"{}")
    memory.pipe("/lake/iceberg/data/a.parquet", b"")
    memory.pipe("/plain/metadata/a.csv", b"a,b\n1,2\n")
    for address in (
        "lake/sales",
        "lake",
        "lake/sales/*/*.parquet",
        part.rpartition("/")[0].lstrip("/"),
        "lake/iceberg/data",
    ):
        with pytest.raises(InvalidRequest, match=r"(a Delta table|an Iceberg table)"):
            rows_by_over(f"memory://{address}")
    assert len(rows_by_over("memory://plain/metadata")) == 1


def test_an_upload_that_fails_leaves_nothing(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = InStorage(stored("memory://answers/a"))
    for place in range(3):
        answers.put(place, SALES, f"piece {place}")
    opened: list[str] = []
    write = memory._open

    def failing(path: str, mode: str = "rb", **more: Any) -> Any:
        if mode == "wb":
            opened.append(path)
            if len(opened) == 2:
                raise OSError("the disk is full")
        return write(path, mode, **more)

    monkeypatch.setattr(memory, "_open", failing)
    with pytest.raises(InvalidRequest, match="memory://answers/a cannot be reached") as error:
        answers.finish()
    answers.close()
    assert "the disk is full" in error.value.why and not memory.find("/answers")


def test_no_key_of_an_address_is_shown() -> None:
    for address in (
        "s3://KEY:SECRET@bucket/a?endpoint_override=%%",
        "az://KEY:SECRET@container/a",
        "s3://KEY:SEC/SECRET@x",
    ):
        try:
            said = stored(address).shown
        except InvalidRequest as error:
            said = f"{error.what} {error.why} {error.hint}"
        assert "SECRET" not in said and "://" in said


def test_large_folders_are_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "MOST_ENTRIES", 3)
    for number in range(5):
        memory.pipe(f"/bucket/{number}.csv", b"a,b\n1,2\n")
    with pytest.raises(InvalidRequest, match="has more than 3 files"):
        rows_by_over("memory://bucket")


def test_a_default_of_a_record_is_not_contacted(built: Build) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        address = f"s3://bucket/a.csv?endpoint_override=127.0.0.1:{server.getsockname()[1]}&scheme=http"
        function = built(SUMS, {"sales": SALES})._built()
        function = replace(function, defaults={"sales": address})
        with pytest.raises(InvalidRequest, match="sales must be a DataFrame, not str"):
            bind(function, (), {})
        with pytest.raises(TimeoutError):
            server.accept()
