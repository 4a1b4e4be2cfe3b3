"""Folders that are a table of Delta, Iceberg or Hudi, compared with the rows that its own library gives."""

from __future__ import annotations

import asyncio
import bz2
import importlib.util
import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import zstandard
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet

from autocoder_jupyter.data import table_formats
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.sampling import sampled
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.sources import Batches, source_of
from tests.scaling.conftest import BY_SHOP, Build

SALES = pa.table({"shop": ["a", "b", None, "a%2F b/c"], "units": [1, 2, 3, 4], "price": [0.5, 1.5, 2.5, None]})


def rows_by_over(source: Any) -> pd.DataFrame:
    opened = source_of(source)
    assert isinstance(opened, Batches)
    tables = [batch.table for batch in opened.read(opened.names)]
    first = [batch.table for batch in opened.examples(opened.names)]
    assert first and first[0].num_rows
    assert opened.rows in (None, sum(table.num_rows for table in tables))
    return pa.concat_tables(tables).to_pandas()


READERS: dict[str, Callable[[Any], pd.DataFrame]] = {
    "over": rows_by_over,
    "a call": lambda folder: read_table("sales", folder, None),
    "a sample": lambda folder: asyncio.run(sampled({"sales": folder}))["sales"],
}
"""What reads a folder."""


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    made = rows.astype({"units": "float64", "shop": "str"})[["shop", "units", "price"]]
    return made.sort_values("units", ignore_index=True)


def delta(folder: Path) -> pd.DataFrame:
    """A table of Delta with a removed, a rewritten and a later file; and its rows."""
    write_deltalake(folder, SALES, partition_by=["shop"])
    write_deltalake(folder, pa.table({"shop": ["b"], "units": [9], "price": [9.5]}), mode="append")
    DeltaTable(folder).delete("units = 1")
    DeltaTable(folder).optimize.compact()
    return DeltaTable(folder).to_pandas()


def iceberg(folder: Path, *, by_shop: bool = False) -> Any:
    """A table of Iceberg with a removed and a later file. To import pyiceberg takes more than a second."""
    from tests.scaling import iceberg_tables

    return iceberg_tables.made(folder, SALES, by_shop)


@pytest.mark.parametrize("reader", READERS)
def test_a_table_of_delta_has_the_rows_of_its_newest_version(tmp_path: Path, reader: str) -> None:
    expected = delta(tmp_path / "sales")
    pd.testing.assert_frame_equal(in_order(READERS[reader](tmp_path / "sales")), in_order(expected))


@pytest.mark.parametrize("name", ["a%20b", "a b", "a#b", "q?z", "ü*"])
def test_the_folder_that_is_read_is_the_one_that_is_named(tmp_path: Path, name: str) -> None:
    """The library of Delta takes `a%20b` as `a b`."""
    write_deltalake(tmp_path / "table", SALES)
    (tmp_path / "table").rename(tmp_path / name)
    if name != "a b":
        write_deltalake(tmp_path / "a b", SALES.slice(0, 1))
    if "%" in name:
        with pytest.raises(InvalidRequest, match="not read from a path with '%'"):
            rows_by_over(tmp_path / name)
    else:
        assert len(rows_by_over(tmp_path / name)) == 4
    made = iceberg(tmp_path / f"ice {name}".replace("?", "").replace("#", ""))
    pd.testing.assert_frame_equal(in_order(rows_by_over(Path(made.location()[7:]))), in_order(made.scan().to_pandas()))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("by_shop", [False, True])
def test_a_table_of_iceberg_has_the_rows_of_its_newest_version(tmp_path: Path, reader: str, by_shop: bool) -> None:
    table = iceberg(tmp_path / "sales", by_shop=by_shop)
    pd.testing.assert_frame_equal(in_order(READERS[reader](tmp_path / "sales")), in_order(table.scan().to_pandas()))


def test_tables_that_were_loaded_are_sources_too(tmp_path: Path) -> None:
    expected = in_order(delta(tmp_path / "delta"))
    loaded = DeltaTable(tmp_path / "delta")
    pd.testing.assert_frame_equal(in_order(rows_by_over(loaded)), expected)
    pd.testing.assert_frame_equal(in_order(READERS["a sample"](loaded)), expected)
    table = iceberg(tmp_path / "iceberg")
    pd.testing.assert_frame_equal(in_order(rows_by_over(table)), in_order(table.scan().to_pandas()))
    pd.testing.assert_frame_equal(in_order(READERS["a sample"](table)), in_order(table.scan().to_pandas()))


@pytest.mark.local_sandbox
def test_answers_are_those_for_the_rows_that_count(tmp_path: Path, built: Build) -> None:
    body = "return sales.groupby('shop', as_index=False)[['units', 'price']].sum()"
    growth = built(body, {"sales": SALES.to_pandas()}, known=BY_SHOP)
    expected = growth(delta(tmp_path / "delta"))
    iceberg(tmp_path / "iceberg", by_shop=True)
    for source in (tmp_path / "delta", str(tmp_path / "iceberg"), DeltaTable(tmp_path / "delta")):
        made = growth.over(source, workers=1).sort_values("shop", ignore_index=True)
        pd.testing.assert_frame_equal(made, expected.sort_values("shop", ignore_index=True), check_dtype=False)
        assert growth.over.explain(source).engine == "pyarrow, here"


def test_deleted_rows_of_iceberg_are_left_out(tmp_path: Path) -> None:
    table = iceberg(tmp_path / "sales")
    _delete(tmp_path / "sales", table)
    left = in_order(table.scan().to_pandas())[1:].reset_index(drop=True)
    for reader in READERS.values():
        pd.testing.assert_frame_equal(in_order(reader(tmp_path / "sales")), left)


def _delete(folder: Path, table: Any, content: str = "POSITION_DELETES") -> None:
    from tests.scaling import iceberg_tables

    before, after = iceberg_tables.with_deletes(folder, table, content)
    _change(folder, lambda text: text.replace(before, after))


def _change(folder: Path, change: Callable[[str], str]) -> None:
    """Change the newest description of a table of Iceberg."""
    newest = sorted((folder / "metadata").glob("*.metadata.json"))[-1]
    newest.write_text(change(newest.read_text()))


@pytest.mark.parametrize("reader", READERS)
def test_what_a_library_does_not_apply_is_refused(tmp_path: Path, reader: str) -> None:
    table = iceberg(tmp_path / "sales")
    _delete(tmp_path / "sales", table, "EQUALITY_DELETES")
    with pytest.raises(InvalidRequest, match=r"(?i)equality"):
        READERS[reader](tmp_path / "sales")
    delta(tmp_path / "delta")
    features = {"minReaderVersion": 3, "minWriterVersion": 7}
    named = ["deletionVectors"]
    _commit(tmp_path / "delta", {"protocol": {**features, "readerFeatures": named, "writerFeatures": named}})
    with pytest.raises(InvalidRequest, match="deletionVectors"):
        READERS[reader](tmp_path / "delta")


def _commit(folder: Path, *actions: Any) -> None:
    """Add a version to a table of Delta."""
    log = folder / "_delta_log"
    number = len(list(log.glob("*.json")))
    (log / f"{number:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


LEADS_AWAY = (
    "../secret.parquet",
    "%2e%2e/secret.parquet",
    "{above}/secret.parquet",
    "file://{above}/secret.parquet",
    "s3://elsewhere/secret.parquet",
    "http://127.0.0.1:9/secret.parquet",
    "link.parquet",
    "linked/secret.parquet",
)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("path", LEADS_AWAY)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path, reader: str, path: str) -> None:
    folder, above = tmp_path / "sales", tmp_path
    parquet.write_table(SALES.select(["units", "price"]), above / "secret.parquet")
    path = path.format(above=above)
    delta(folder)
    (folder / "link.parquet").symlink_to(above / "secret.parquet")
    (folder / "linked").symlink_to(above)
    added = {"path": path, "partitionValues": {"shop": "b"}, "size": 99, "modificationTime": 0, "dataChange": True}
    _commit(folder, {"add": added})
    with pytest.raises(InvalidRequest, match=r"not in this folder|is not there"):
        READERS[reader](folder)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_checkpoint_that_names_further_files_is_refused(tmp_path: Path, suffix: str) -> None:
    """Its library opens each, also `/etc/passwd`."""
    delta(tmp_path / "sales")
    checkpoint = tmp_path / "sales" / "_delta_log" / f"{3:020}.checkpoint.{suffix}"
    further = {"path": "/etc/passwd", "sizeInBytes": 100, "modificationTime": 1}
    if suffix == "json":
        checkpoint.with_suffix(".80a083e8-7026-4e79-81be-64bd76c43a11.json").write_text(
            json.dumps({"sidecar": further})
        )
    else:
        parquet.write_table(pa.table({"sidecar": [further]}), checkpoint)
    with pytest.raises(InvalidRequest, match="checkpoint of version 2"):
        rows_by_over(tmp_path / "sales")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", ["file:///etc", "/etc", "{folder}/../x", "s3://elsewhere/t", "http://127.0.0.1:9/t"])
def test_a_place_outside_of_the_folder_is_refused(tmp_path: Path, reader: str, place: str) -> None:
    folder = tmp_path / "sales"
    iceberg(folder)
    _change(folder, lambda text: text.replace(f"file://{folder}/metadata/snap", f"{place.format(folder=folder)}/snap"))
    with pytest.raises(InvalidRequest, match="names a file that is not in this folder"):
        READERS[reader](folder)


def test_no_property_of_a_table_is_run_or_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`py-io-impl` names a class that pyiceberg imports."""
    folder = tmp_path / "sales"
    expected = in_order(iceberg(folder).scan().to_pandas())
    (tmp_path / "evil.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    evil = '"properties":{"py-io-impl":"evil.Files","s3.endpoint":"http://127.0.0.1:9","write.data.path":"/etc"}'
    _change(folder, lambda text: text.replace('"properties":{}', evil))
    assert "evil.Files" in sorted((folder / "metadata").glob("*.json"))[-1].read_text()
    for reader in READERS.values():
        pd.testing.assert_frame_equal(in_order(reader(folder)), expected)


def test_a_loaded_table_of_iceberg_reads_only_its_own_place(tmp_path: Path) -> None:
    table = iceberg(tmp_path / "sales")
    moved = json.loads(table.metadata.model_dump_json())
    moved["location"] = f"file://{tmp_path}/other"
    table.metadata = type(table.metadata).model_validate(moved)
    with pytest.raises(InvalidRequest, match="not in its place"):
        rows_by_over(table)


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_in_a_log_is_not_waited_for(tmp_path: Path, reader: str) -> None:
    delta(tmp_path / "delta")
    os.mkfifo(tmp_path / "delta" / "_delta_log" / f"{99:020}.json")
    iceberg(tmp_path / "iceberg")
    newest = sorted((tmp_path / "iceberg" / "metadata").glob("snap-*"))[-1]
    for listing in (tmp_path / "iceberg" / "metadata").glob("snap-*"):
        listing.unlink()
        os.mkfifo(listing)
    assert newest.exists()
    for name in ("delta", "iceberg"):
        with pytest.raises(InvalidRequest, match="not in this folder"):
            READERS[reader](tmp_path / name)


@pytest.mark.parametrize("reader", READERS)
def test_without_its_library_a_table_is_refused_by_name(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    delta(tmp_path / "delta")
    iceberg(tmp_path / "iceberg")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in LIBRARIES else find(name, *rest)
    )
    for library, folder in LIBRARIES.items():
        with pytest.raises(InvalidRequest, match=f"{library} is not installed") as error:
            READERS[reader](tmp_path / folder)
        assert f"install {library}" in error.value.hint


LIBRARIES = {"deltalake": "delta", "pyiceberg": "iceberg"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("mark, name", [(".hoodie", "Hudi"), ("_spark_metadata", "Spark Structured Streaming")])
def test_other_formats_are_refused_by_name(tmp_path: Path, reader: str, mark: str, name: str) -> None:
    parquet.write_table(SALES, tmp_path / "a.parquet")
    (tmp_path / mark).mkdir()
    with pytest.raises(InvalidRequest, match=f"table of {name}"):
        READERS[reader](tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_a_part_of_a_table_and_a_folder_of_tables_are_refused(tmp_path: Path, reader: str) -> None:
    delta(tmp_path / "in" / "delta")
    iceberg(tmp_path / "iceberg")
    for folder in (tmp_path / "in" / "delta" / "shop=b", tmp_path / "iceberg" / "data", tmp_path / "in"):
        with pytest.raises(InvalidRequest, match=r"table of|has folders in it"):
            READERS[reader](folder)


def test_a_plain_folder_named_metadata_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    parquet.write_table(SALES, tmp_path / "metadata" / "a.parquet")
    for reader in (READERS["over"], READERS["a sample"]):
        assert len(reader(tmp_path)) == 4


def test_the_newest_description_of_iceberg_must_be_known(tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    table = iceberg(folder)
    first = sorted((folder / "metadata").glob("00001-*"))[0]
    (folder / "metadata" / "version-hint.text").write_text(first.name.removesuffix(".metadata.json"))
    assert len(rows_by_over(folder)) == 4  # before the second file
    (folder / "metadata" / "version-hint.text").write_text("77")
    with pytest.raises(InvalidRequest, match="newest version"):
        rows_by_over(folder)
    (folder / "metadata" / "version-hint.text").unlink()
    newest = Path(table.metadata_location[7:])
    shutil.copy(newest, newest.with_name(f"{newest.name[:5]}-other.metadata.json"))
    with pytest.raises(InvalidRequest, match="newest version"):
        rows_by_over(folder)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "zstandard", "snappy"])
def test_a_list_of_files_that_unpacks_to_too_much_is_refused(tmp_path: Path, codec: str) -> None:
    """The library would unpack each block as a whole, and make as many records as it says."""
    folder = tmp_path / "sales"
    table = iceberg(folder)
    listing = Path(table.current_snapshot().manifest_list[7:])
    zeros = bytes(table_formats.MANIFEST_BYTES + 1)
    packed = {
        "null": b"",
        "deflate": zlib.compress(zeros)[2:-4],
        "bzip2": bz2.compress(zeros),
        "zstandard": zstandard.compress(zeros),
        "snappy": pa.compress(zeros, "snappy", asbytes=True),
    }[codec]
    head = (
        b"Obj\x01" + _avro(1) + b"".join(_avro(len(text)) + text for text in (b"avro.codec", codec.encode())) + _avro(0)
    )
    listing.write_bytes(head + b"m" * 16 + _avro(2**50) + _avro(len(packed)) + packed + b"m" * 16)
    with pytest.raises(InvalidRequest, match=r"cannot be read") as error:
        rows_by_over(folder)
    assert "a list of files" in error.value.why


def test_a_list_of_files_is_not_read_if_it_is_large_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sales"
    table = iceberg(folder)
    with (folder / "data" / "list.parquet").open("wb") as file:
        file.truncate(2**40)  # it takes no room on the disk
    _change(
        folder, lambda text: text.replace(table.current_snapshot().manifest_list, f"file://{folder}/data/list.parquet")
    )
    with pytest.raises(InvalidRequest, match=r"cannot be read") as error:
        rows_by_over(folder)
    assert "it is larger than" in error.value.why
    table = iceberg(tmp_path / "more")
    _delete(tmp_path / "more", table)
    monkeypatch.setattr(table_formats, "LOG_BYTES", 10)
    with pytest.raises(InvalidRequest, match="too large"):
        rows_by_over(tmp_path / "more")


def _avro(number: int) -> bytes:
    """A number as Avro writes it."""
    number, made = number << 1, bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def test_large_logs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delta(tmp_path / "delta")
    DeltaTable(tmp_path / "delta").create_checkpoint()
    iceberg(tmp_path / "iceberg")
    assert len(rows_by_over(tmp_path / "delta")) == 4
    monkeypatch.setattr(table_formats, "CHECKPOINT_ROWS", 1)
    monkeypatch.setattr(table_formats, "MANIFEST_BYTES", 2000)
    for name in ("delta", "iceberg"):
        with pytest.raises(InvalidRequest, match=r"too large|cannot read it"):
            rows_by_over(tmp_path / name)
