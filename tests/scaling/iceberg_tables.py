"""Tables of Iceberg, as pyiceberg writes them, and as an engine does that merges on read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.manifest import ManifestEntryStatus as Status
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

BY_SHOP = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "shop"))


def made(folder: Path, rows: pa.Table, by_shop: bool) -> Any:
    """A table of Iceberg with a removed and a later file."""
    catalog = InMemoryCatalog("test", warehouse=f"file://{folder.parent}")
    catalog.create_namespace_if_not_exists("in")
    fields = {"shop": StringType(), "units": LongType(), "price": DoubleType()}
    schema = Schema(*(NestedField(number, name, kind) for number, (name, kind) in enumerate(fields.items(), 1)))
    table = catalog.create_table(
        f"in.{folder.name}", schema, f"file://{folder}", BY_SHOP if by_shop else UNPARTITIONED_PARTITION_SPEC
    )
    table.append(rows)
    table.append(pa.table({"shop": ["b"], "units": [9], "price": [9.5]}))
    table.delete("units = 1")
    return table


def with_deletes(folder: Path, table: Any, content: str) -> tuple[str, str]:
    """Delete the row with the fewest units, as an engine that merges on read does: by a file of positions."""
    task = min(
        table.scan().plan_files(), key=lambda task: parquet.read_table(task.file.file_path[7:])["units"][0].as_py()
    )
    deleted = f"file://{folder}/data/deleted.parquet"
    fields = [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
    rows = pa.table({"file_path": [task.file.file_path], "pos": [0]}, schema=pa.schema(fields))
    parquet.write_table(rows, deleted[7:])
    snapshot = table.current_snapshot()
    about: dict[str, Any] = {
        "partition": Record(),
        "record_count": 1,
        "file_size_in_bytes": Path(deleted[7:]).stat().st_size,
        "equality_ids": [2],
    }
    entry = ManifestEntry.from_args(
        status=Status.ADDED,
        snapshot_id=snapshot.snapshot_id,
        sequence_number=99,
        file_sequence_number=99,
        data_file=DataFile.from_args(
            content=DataFileContent[content], file_path=deleted, file_format=FileFormat.PARQUET, **about
        ),
    )

    class Deletes(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

    output = table.io.new_output(f"file://{folder}/metadata/deleted-m0.avro")
    with Deletes(table.spec(), table.schema(), output, snapshot.snapshot_id, "null") as writer:
        writer.add(entry)
    listed = [*snapshot.manifests(table.io), writer.to_manifest_file()]
    output = table.io.new_output(f"file://{folder}/metadata/snap-with-deleted.avro")
    with write_manifest_list(2, output, snapshot.snapshot_id, None, 99, "null") as listing:
        listing.add_manifests(listed)
    return snapshot.manifest_list, f"file://{folder}/metadata/snap-with-deleted.avro"
