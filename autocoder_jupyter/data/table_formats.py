"""Tables of Delta and Iceberg: a log says which of the files in their folder count.

A folder may come from somebody else. So a log is read with the library of its format, but without what it says of other
places: a file outside of the folder, an address, a class to import or a server to sign requests is refused or ignored.
"""

from __future__ import annotations

import bz2
import importlib.util
import io
import itertools
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from autocoder_jupyter.codec.bounded_json import Allowance, parse
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import scheme_of
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible

LOG_BYTES = 2**28
"""Bytes of the log of a table."""

LOG_FILES = 10_000

CHECKPOINT_ROWS = 10_000_000
"""Rows of a checkpoint of Delta: one for each file of the table."""

MANIFEST_BYTES = 2**24
"""Bytes of a file of metadata of Iceberg."""

WHY_A_LOG_COUNTS = (
    "A log in the folder says which of its files count. Others were removed or replaced, and are still there."
)


def format_of(folder: Path) -> str:
    """The format whose log is in a folder: `Delta`, `Iceberg` or another; "" if there is none."""
    found = (name for mark, name in LOGS.items() if (folder / mark).is_dir())
    return next((name for name in found if name != "Iceberg" or _descriptions(folder)), "")


LOGS = {
    "_delta_log": "Delta",
    ".hoodie": "Hudi",
    "_spark_metadata": "Spark Structured Streaming",
    "metadata": "Iceberg",
}
"""Names of the folders with a log, and their formats. One named `metadata` may have anything else."""


def require_no_log(folder: Path) -> None:
    """Check that the files of a folder are not those of a table with a log, also one of the folders around it.

    Raises:
        InvalidRequest: they are.
    """
    for place in (folder, *folder.resolve().parents):
        if name := format_of(place):
            raise InvalidRequest(
                f"{visible(folder.name)} is {'' if place == folder else 'a part of '}a table of {name}.",
                why=WHY_A_LOG_COUNTS,
                hint=f"Name the folder of the table: {visible(str(place))!r}."
                if name in _OPENED
                else "Read it with its own library, and pass that table.",
            )


def opened_table(folder: Path) -> Any:
    """The table of a folder: a dataset of PyArrow, or a table of pyiceberg; None if there is no log in it.

    Raises:
        InvalidRequest: its library is not installed or cannot read it, or its log names what is not in the folder.
    """
    name = format_of(folder)
    if not name:
        return None
    if name not in _OPENED:
        raise InvalidRequest(
            f"{visible(folder.name)} is a table of {name}, which is not read here.",
            why=WHY_A_LOG_COUNTS,
            hint="Read it with its own library, and pass that table.",
        )
    package, opened = _OPENED[name]
    if importlib.util.find_spec(package) is None:
        raise InvalidRequest(
            f"{visible(folder.name)} is a table of {name}, and {package} is not installed.",
            why=WHY_A_LOG_COUNTS,
            hint=f"Install it with %pip install {package}, then call again.",
        )
    try:
        return opened(folder.resolve())
    except (InvalidRequest, MemoryError):
        raise
    except BaseException as error:  # a library in Rust may raise a PanicException, which is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InvalidRequest(
            f"{visible(folder.name)} is a table of {name}, and {package} cannot read it.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Read it with another library, and pass that table or a copy of it as Parquet files.",
        ) from error


def _leaves(path: str, folder: Path) -> InvalidRequest:
    return InvalidRequest(
        f"The log in {visible(folder.name)} names a file that is not in this folder: {visible(path)[:200]}.",
        why="Whoever wrote the log decides where that leads, so it is not opened.",
        hint="If the table was moved, write it anew where it is. Or read it with its own library, and pass that.",
    )


def _require_plain(folder: Path, path: PurePosixPath, known: set[PurePosixPath]) -> None:
    """Check that a path below a folder has no link and is a regular file."""
    for part in (*reversed(path.parents[:-1]), path):
        if part in known:
            continue
        try:
            mode = os.lstat(folder / part).st_mode
        except OSError as error:
            raise InvalidRequest(
                f"The log in {visible(folder.name)} names {visible(str(path))!r}, which is not there.",
                why=f"{error.strerror}.",
                hint="Copy the whole folder again, with all of its files.",
            ) from error
        if not (stat.S_ISREG(mode) if part == path else stat.S_ISDIR(mode)):
            raise _leaves(str(path), folder)
        if part != path:
            known.add(part)


# Delta


def _delta(folder: Path) -> Any:
    """The files of the newest version as a dataset."""
    from deltalake import DeltaTable
    from pyarrow import fs
    from pyarrow.dataset import FileSystemDataset, ParquetFileFormat, ParquetFragmentScanOptions

    if "%" in str(folder):
        raise InvalidRequest(
            f"{visible(str(folder))!r} is a table of Delta, which is not read from a path with '%'.",
            why="deltalake takes `a%20b` as `a b`, which is another folder.",
            hint="Rename the folder.",
        )
    _require_moderate_log(folder)
    here = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    # The library refuses deletion vectors, mapped columns, and other features that change which rows or columns count.
    read = DeltaTable(folder.as_uri()).to_pyarrow_dataset(filesystem=here)
    # With pre_buffer, a file is kept in memory until it is closed.
    plain = ParquetFileFormat(default_fragment_scan_options=ParquetFragmentScanOptions(pre_buffer=False))
    fragments, known = [], set[PurePosixPath]()
    for fragment in read.get_fragments():
        path = PurePosixPath(fragment.path)
        if path.is_absolute() or ".." in path.parts or scheme_of(fragment.path):
            raise _leaves(fragment.path, folder)
        _require_plain(folder, path, known)
        fragments.append(plain.make_fragment(fragment.path, here, fragment.partition_expression))
    return FileSystemDataset(fragments, read.schema, plain, here)


def _require_moderate_log(folder: Path) -> None:
    """Check the files of a log before the library reads all of them."""
    from pyarrow import parquet

    size, count, folders = 0, 0, [folder / "_delta_log"]
    if folders[0].is_symlink():
        raise _leaves("_delta_log", folder)
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                count += 1
                about = entry.stat(follow_symlinks=False)
                size += about.st_size
                if count > LOG_FILES or size > LOG_BYTES:
                    raise _too_large(folder)
                if stat.S_ISDIR(about.st_mode):
                    folders.append(Path(entry.path))
                elif not stat.S_ISREG(about.st_mode):
                    raise _leaves(str(Path(entry.path).relative_to(folder)), folder)
                elif entry.name.endswith(".parquet"):
                    described = parquet.read_metadata(entry.path)
                    unpacked = sum(described.row_group(n).total_byte_size for n in range(described.num_row_groups))
                    if described.num_rows > CHECKPOINT_ROWS or unpacked > LOG_BYTES:
                        raise _too_large(folder)
                    if "sidecar" in described.schema.to_arrow_schema().names:
                        named = parquet.ParquetFile(entry.path).read(columns=["sidecar"]).column("sidecar")
                        if named.null_count < len(named):
                            raise _has_sidecars(folder)
                elif ".checkpoint." in entry.name:
                    raise _has_sidecars(folder)


def _has_sidecars(folder: Path) -> InvalidRequest:
    """The library would open any path of this machine that a checkpoint names as a further part of it."""
    return InvalidRequest(
        f"The log in {visible(folder.name)} has a checkpoint of version 2, which is not read here.",
        why="It may name further files, wherever they are.",
        hint="Read it with deltalake, and pass that table: DeltaTable(path).",
    )


def _too_large(folder: Path) -> InvalidRequest:
    return InvalidRequest(
        f"The log in {visible(folder.name)} is too large.",
        why=f"At most {LOG_FILES:,} files and {LOG_BYTES // 2**20} MiB are read.",
        hint="Read the table with its own library, and pass that table.",
    )


# Iceberg

_PARTS = 40_000
"""Lists and objects in the description of a table. A snapshot has two."""

_DESCRIPTION = re.compile(r"(?:v(\d{1,18})|(\d{1,18})-[\w-]{1,100})(?:\.gz)?\.metadata\.json")
"""`v3.metadata.json`, or `00003-b4b96146-….metadata.json`. A compressed one has `.gz` before `.metadata.json`."""

IS_DESCRIPTION = _DESCRIPTION.fullmatch
"""Whether a file is the description of an Iceberg table, by its name."""


def _descriptions(folder: Path) -> dict[str, int]:
    """The descriptions of an Iceberg table in a folder, with their numbers."""
    metadata = folder / "metadata"
    if not metadata.is_dir():
        return {}
    with os.scandir(metadata) as entries:
        names = [entry.name for entry in itertools.islice(entries, 100 * LOG_FILES)]
    found = {name: IS_DESCRIPTION(name) for name in names}
    return {name: int(match[1] or match[2]) for name, match in found.items() if match}


def _iceberg(folder: Path) -> Any:
    """The newest description as a table of pyiceberg, which opens only files in the folder."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.table import StaticTable
    from pyiceberg.table.metadata import TableMetadataUtil

    name = _newest(folder)
    if name.endswith(".gz.metadata.json"):
        raise InvalidRequest(
            f"The newest description of {visible(folder.name)} is compressed, which is not read here.",
            hint="Load the table with pyiceberg, and pass it.",
        )
    content = Folder(folder / "metadata").read_bytes(name, MANIFEST_BYTES)
    # What it holds is counted first: pydantic keeps the GIL, so many parts would stop the other threads.
    written = parse(content, Allowance(_PARTS, 10 * _PARTS))
    # The library would write all of it into its error, which takes a quarter of a second for long numbers.
    if not isinstance(written, dict) or written.get("format-version") not in (1, 2, 3):
        raise ValueError("the description has no format version from 1 to 3")
    described = TableMetadataUtil.parse_obj(written)
    location = f"{folder}/metadata/{name}"
    # `StaticTable.from_metadata` would import a class that the description names, and ask a server that it names.
    files: Any = _FilesIn(folder)
    return StaticTable(("table", visible(folder.name)), described, location, files, NoopCatalog("none"))


def _newest(folder: Path) -> str:
    """The name of the newest description: the one that `version-hint.text` says, else that with the highest number."""
    numbers = _descriptions(folder)
    hints = Folder(folder / "metadata")
    if hints.exists("version-hint.text"):
        hint = hints.read_text("version-hint.text", 1000).strip()
        names = [name for name in (hint, f"v{hint}.metadata.json", f"{hint}.metadata.json") if name in numbers]
    else:
        names = [name for name, number in numbers.items() if number == max(numbers.values())]
    if len(names) != 1:
        raise InvalidRequest(
            f"The newest version of the table in {visible(folder.name)} is not known.",
            why="Several descriptions have the highest number." if names else "There is none of that version.",
            hint="Load the table from its catalog with pyiceberg, and pass it.",
        )
    return names[0]


class _FilesIn:
    """Opens the files of a folder for pyiceberg, and nothing else.

    Args:
        of_rows: whether these are files of rows, also of deleted ones; else they are lists of files.
    """

    def __init__(self, folder: Path, *, of_rows: bool = True) -> None:
        self._folder = folder
        self._of_rows = of_rows
        self._known: set[PurePosixPath] = set()
        self.properties: dict[str, str] = {}

    def new_input(self, location: str) -> Any:
        """A file, named as in a log: `/data/t/x.parquet`, or `file:///data/t/x.parquet`."""
        from pyiceberg.io.pyarrow import PyArrowFileIO

        path = re.sub(r"^file:(//(localhost)?(?=/))?", "", location)
        plain = PurePosixPath(os.path.normpath(path))
        if not plain.is_relative_to(self._folder):
            raise _leaves(location, self._folder)
        inside = plain.relative_to(self._folder)
        _require_plain(self._folder, inside, self._known)
        if not self._of_rows:  # these are read as a whole
            content = Folder(self._folder).read_bytes(str(inside), MANIFEST_BYTES)
            _require_moderate_avro(content)
        return PyArrowFileIO().new_input(str(plain))

    @property
    def lists(self) -> _FilesIn:
        """Opens the lists of files."""
        return _FilesIn(self._folder, of_rows=False)

    def require_moderate(self, locations: Iterable[str]) -> None:
        """Check the size of files of deleted rows, which are read as a whole."""
        if sum(len(self.new_input(location)) for location in locations) > LOG_BYTES:
            raise _too_large(self._folder)


# A list of files is one of Avro: blocks, compressed, each with its number of records. The library unpacks each as a
# whole, and makes as many records as a block says.


def _require_moderate_avro(content: bytes) -> None:
    """Check what a file of Avro unpacks to, before the library reads it."""
    file = io.BytesIO(content)
    if file.read(4) != b"Obj\x01":
        raise ValueError("a list of files is not one of Avro")
    described = {}
    while count := _number(file):
        if count < 0:
            _number(file)
        for _ in range(abs(count)):
            key = _taken(file, _number(file))
            described[key] = _taken(file, _number(file))
    _taken(file, _MARK_BYTES)
    unpack = _UNPACKED.get(described.get(b"avro.codec", b"null"))
    if unpack is None:
        raise ValueError(f"a list of files is compressed with {described[b'avro.codec'][:20]!r}")
    left = MANIFEST_BYTES
    while file.tell() < len(content):
        records = _number(file)
        size = unpack(_taken(file, _number(file)), left)
        _taken(file, _MARK_BYTES)
        left -= size
        if left < 0 or not 0 <= records <= size:
            raise ValueError(f"a list of files unpacks to more than {MANIFEST_BYTES // 2**20} MiB, or to no bytes")


_MARK_BYTES = 16


def _number(file: io.BytesIO) -> int:
    """A whole number, as Avro writes it: seven bits a byte, and the sign in the last bit."""
    number = 0
    for shift in range(0, 70, 7):
        (byte,) = _taken(file, 1)
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)
    raise ValueError("a number has more than ten bytes")


def _taken(file: io.BytesIO, count: int) -> bytes:
    taken = file.read(count) if count >= 0 else b""
    if len(taken) != count:
        raise ValueError("a list of files is cut short")
    return taken


def _unpacked_zstandard(block: bytes, most: int) -> int:
    import zstandard

    with zstandard.ZstdDecompressor().stream_reader(block) as reader:
        return len(reader.read(most + 1))


_UNPACKED: dict[bytes, Callable[[bytes, int], int]] = {
    b"null": lambda block, most: len(block),
    b"deflate": lambda block, most: len(zlib.decompressobj(-15).decompress(block, most + 1)),
    b"bzip2": lambda block, most: len(bz2.BZ2Decompressor().decompress(block, most + 1)),
    b"zstandard": _unpacked_zstandard,
}
"""The bytes of a block, by its compression; of one that has more than `most`, at least one more."""


class _FilesOf:
    """Opens the files of a table that the user loaded with pyiceberg, and none that is elsewhere."""

    def __init__(self, table: Any) -> None:
        self._files = table.io
        self._location = f"{table.location().rstrip('/')}/"
        self.properties = table.io.properties

    def new_input(self, location: str) -> Any:
        """A file, named as in a log."""
        if not location.startswith(self._location) or ".." in location.split("/"):
            raise InvalidRequest(
                f"The table of pyiceberg names a file that is not in its place: {visible(location)[:200]}.",
                why=f"Its place is {visible(self._location)[:200]}. Whoever wrote the table decides where that leads.",
                hint="If that is right, pass table.scan().to_arrow_batch_reader().",
            )
        return self._files.new_input(location)

    @property
    def lists(self) -> _FilesOf:
        """Opens the lists of files."""
        return self

    def require_moderate(self, locations: Iterable[str]) -> None:
        """Check nothing: who loaded the table trusts it to be of a moderate size."""


def _planned(table: Any) -> tuple[Any, list[Any]]:
    """What opens the files of a table of pyiceberg, and the files with the rows that are not deleted."""
    files = table.io if isinstance(table.io, _FilesIn) else _FilesOf(table)
    scan = table.scan()
    scan.io = files.lists
    tasks = list(scan.plan_files())
    for task in tasks:
        files.require_moderate(each.file_path for each in task.delete_files)
    return files, tasks


def _rows_of_file(table: Any, files: Any, task: Any, schema: Any) -> Iterator[Any]:
    """All files in one scan would be read at once."""
    import pyarrow
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    for batch in ArrowScan(table.metadata, files, schema, AlwaysTrue()).to_record_batches([task]):
        yield pyarrow.Table.from_batches([batch])


def iceberg_schema(table: Any) -> Any:
    """The columns of a table of pyiceberg, a `pyarrow.Schema`."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(table.schema(), include_field_ids=False)


def iceberg_tables(table: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of a table of pyiceberg as tables of Arrow, one file after the other. Deleted rows are left out."""
    files, tasks = _planned(table)
    schema = table.schema() if columns is None else table.schema().select(*columns)
    for task in tasks:
        yield from _rows_of_file(table, files, task, schema)


def iceberg_count(table: Any) -> int:
    """The number of rows, as the log says it."""
    files, tasks = _planned(table)
    first = table.schema().select(table.schema().column_names[0])
    return sum(
        sum(part.num_rows for part in _rows_of_file(table, files, task, first))
        if task.delete_files
        else int(task.file.record_count)
        for task in tasks
    )


_OPENED = {"Delta": ("deltalake", _delta), "Iceberg": ("pyiceberg", _iceberg)}
"""The library of a format, and what opens its tables."""
