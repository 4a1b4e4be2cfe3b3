"""Files as the source of `growth.over`: Parquet, Feather, delimited text and JSON lines; one, a list, a folder, a glob.

What a file says of itself is a claim: the numbers of its columns and rows are bounded here, and memory is planned by
what has been read.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from autocoder_jupyter.data.dialects import DELIMITED_SUFFIXES
from autocoder_jupyter.data.readers import JSON_LINES, Recorded, data_suffix
from autocoder_jupyter.data.sampling import MOST_COLUMNS
from autocoder_jupyter.data.sources import MOST_ENTRIES, files_in, hive_dataset, require_folder_agrees
from autocoder_jupyter.data.storage import Stored, changed, is_in_storage, state_of, stored
from autocoder_jupyter.data.struct_fields import OF_FILES, require_same_fields
from autocoder_jupyter.data.table_formats import opened_table, require_no_log
from autocoder_jupyter.data.text_pieces import TextFile
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.scaling.sources import (
    BATCH_ROWS,
    COMPUTED,
    Batch,
    Batches,
    Conversion,
    Reading,
    TableSource,
    part_of,
    plain_schema,
    source_of,
    unreadable,
)
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.visible import visible

_MOST_NUMBER = 2**62
"""No number of an index that is a range is larger."""

_INDEX = re.compile(r"__index_level_\d+__")
"""The column in which pandas stores an index without a name."""

IS_GLOB = re.compile(r"[*?[]")

_WHAT_IS_READ = (
    "Each file in the folder is read, unless its name begins with . or _. Move files that are not Parquet elsewhere, "
    "or make a dataset of PyArrow of the others."
)


@dataclass(frozen=True)
class _File:
    """A file of a source.

    Args:
        place: where it is.
        given: the values that the names of its folders give, by column.
        label: what tells it from others with the same name.
        state: what is another one after it was written anew (`state_of`), before anything of it was read.
    """

    place: Path | Stored
    given: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    state: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """For messages."""
        return self.label or self.place.name

    @cached_property
    def schema(self) -> Any:
        """Its own columns, a `pyarrow.Schema`; categories count as their values."""
        raise NotImplementedError

    @cached_property
    def rows(self) -> int:
        """How many it has."""
        raise NotImplementedError

    def stored_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows of columns that it stores, as tables."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str], schema: Any) -> Iterator[Any]:
        """Its rows with the types of a schema."""
        import pyarrow

        own = [name for name in columns if name not in self.given]
        for table in self.stored_batches(own):
            for name in columns:
                if name in self.given:
                    value = pyarrow.repeat(pyarrow.scalar(self.given[name]), table.num_rows)
                    table = table.append_column(name, value)
            yield table.select(list(columns)).cast(schema)

    @property
    def of_arrow(self) -> tuple[Any, str]:
        """The filesystem of PyArrow, and the path in it."""
        from pyarrow import fs

        if isinstance(self.place, Stored):
            return self.place.filesystem, self.place.path
        return fs.LocalFileSystem(), str(self.place)


class _ParquetFile(_File):
    """A file of Parquet."""

    def _opened(self) -> Any:
        from pyarrow import parquet

        # With pre_buffer, what was read is kept until the file is closed: the whole file in the end.
        filesystem, path = self.of_arrow
        return parquet.ParquetFile(path, pre_buffer=False, filesystem=filesystem)

    @cached_property
    def _described(self) -> tuple[Any, int]:
        with self._opened() as opened:
            if opened.metadata.num_columns > MOST_COLUMNS:
                raise InvalidRequest(f"{visible(self.name)} has more than {MOST_COLUMNS:,} columns.")
            return plain_schema(opened.schema_arrow), opened.metadata.num_rows

    @cached_property
    def schema(self) -> Any:
        return self._described[0]

    @cached_property
    def rows(self) -> int:
        return int(self._described[1])

    @cached_property
    def numbers(self) -> tuple[str, range] | None:
        """The name and the values of an index that pandas did not store, because it is a range."""
        described = self.schema.pandas_metadata
        levels = described.get("index_columns") if isinstance(described, dict) else None
        match levels:
            case [{"kind": "range", "name": str(name), "start": int(start), "stop": int(stop), "step": int(step)}]:
                is_known = step != 0 and max(map(abs, (start, stop, step))) < _MOST_NUMBER
                numbers = range(start, stop, step) if is_known else range(0)
                return (name, numbers) if name not in self.schema.names and 0 < self.rows == len(numbers) else None
            case _:
                return None

    def stored_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow

        index, numbers = self.numbers or ("", range(0))
        own = [name for name in columns if name in self.schema.names or name != index]
        rows = 0
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=own):
                table = pyarrow.Table.from_batches([batch])
                if len(own) < len(columns):
                    part = numbers[rows : rows + batch.num_rows]
                    table = table.append_column(index, pyarrow.array(np.arange(part.start, part.stop, part.step)))
                rows += batch.num_rows
                yield table


class _ArrowFile(_File):
    """A file of Feather, which is one of Arrow IPC."""

    def _fragment(self) -> Any:
        from pyarrow import dataset

        filesystem, path = self.of_arrow
        return dataset.IpcFileFormat().make_fragment(path, filesystem)

    @cached_property
    def schema(self) -> Any:
        return plain_schema(self._fragment().physical_schema)

    @cached_property
    def rows(self) -> int:
        return int(self._fragment().count_rows())

    def stored_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow

        filesystem, path = self.of_arrow
        with filesystem.open_input_file(path) as source:
            places = [self.schema.get_field_index(name) for name in columns]
            options = pyarrow.ipc.IpcReadOptions(included_fields=sorted(places), use_threads=False)
            with pyarrow.ipc.open_file(source, options=options) as reader:
                for number in range(reader.num_record_batches):
                    whole = pyarrow.Table.from_batches([reader.get_batch(number)])
                    for start in range(0, whole.num_rows, BATCH_ROWS):
                        yield whole.slice(start, BATCH_ROWS)


@dataclass(frozen=True)
class _TextFile(_File):
    """A file of delimited text, or of JSON lines.

    Args:
        recorded: gives what was recorded of the table.
    """

    recorded: Callable[[], Recorded] = Recorded.nothing

    @cached_property
    def _text(self) -> TextFile:
        """The file; one in object storage is copied to this machine, as it is read twice."""
        if isinstance(self.place, Path):
            return TextFile(self.place, self.recorded())
        folder = tempfile.mkdtemp(prefix="autocode-fetched-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return TextFile(self.place.copied(Path(folder)), self.recorded())

    @cached_property
    def schema(self) -> Any:
        return plain_schema(self._text.schema)

    @cached_property
    def rows(self) -> int:
        return self._text.rows

    def stored_batches(self, columns: Sequence[str]) -> Iterator[Any]:
        yield from self._text.pieces(columns)


_FORMATS: dict[str, type[_File]] = {
    **dict.fromkeys((".feather", ".arrow"), _ArrowFile),
    **dict.fromkeys((*DELIMITED_SUFFIXES, ".txt", *JSON_LINES), _TextFile),
}
"""By suffix. Any other file is one of Parquet, unless it is one of these:"""

_PARQUET = ("", ".parquet", ".pq", ".parq")

_AS_PARQUET = (
    "It is read as Parquet, because its name ends in nothing else that is known. Text may be compressed as .gz, .bz2 "
    "or .xz: unpack what is compressed otherwise."
)

_WHOLE = (".json", ".xlsx", ".xls")


def of_files(given: Any, recorded: Callable[[], Recorded]) -> TableSource:
    """A file, a list of files, a folder, or a text with `*`, `?` or `[`, as pandas reads them.

    The folders in a folder of Parquet files may be named `year=2024`.
    """
    if isinstance(given, list | tuple):
        if not given or not all(isinstance(each, str | os.PathLike) for each in given):
            raise InvalidRequest("A list of files must have paths or addresses, and one at least.")
        found = [place for each in given for place in _one_file(each)]
        return _joined(found, recorded, f"a list of {len(given):,} files")
    if isinstance(given, File | Dir):
        given = given.path
    if isinstance(given, str) and is_in_storage(given):
        place = stored(given)
        if IS_GLOB.search(place.path):
            return _joined(place.matching(), recorded, place.shown)
        if not place.is_folder():
            return _joined([place], recorded, place.shown)
        files = place.files()
        return _joined(files, recorded, place.shown, base=place)
    path = local_path(given)
    shown = visible(str(path))
    if not path.exists() and IS_GLOB.search(str(path)):
        return _joined(matching(path), recorded, shown)
    if not path.is_dir():
        return _joined(_one_file(path), recorded, shown)
    table = opened_table(path)
    if table is not None:
        return source_of(table)
    require_no_log(path)
    folder = path.resolve()
    return _joined([Path(file) for file in files_in(folder, visible(path.name))], recorded, shown, base=folder)


def _one_file(given: str | os.PathLike[str]) -> list[Path | Stored]:
    if isinstance(given, str) and is_in_storage(given):
        place = stored(given)
        if IS_GLOB.search(place.path) or place.is_folder():
            raise InvalidRequest(f"{place.shown} is not a file.", hint="A list has files only.")
        return [place]
    path = local_path(given)
    if not path.is_file():
        if path.exists():
            raise InvalidRequest(f"{visible(str(path))!r} is not a file.", hint="A list has files only.")
        raise InvalidRequest(f"There is no file or folder {visible(str(path))!r}.")
    return [path]


def matching(pattern: Path) -> list[Path]:
    """The files that match, sorted. Links below the part without wildcards are refused, as in a folder."""
    parts = pattern.parts
    first = next(place for place, part in enumerate(parts) if IS_GLOB.search(part))
    root = Path(*parts[:first]).resolve()
    is_plain = not any(part.startswith((".", "_")) for part in parts[first:])
    found: list[Path] = []
    matches = root.glob("/".join(parts[first:]))
    for number, path in enumerate(itertools.islice(matches, MOST_ENTRIES + 1)):
        if number == MOST_ENTRIES:
            raise InvalidRequest(f"{visible(str(pattern))!r} matches more than {MOST_ENTRIES:,} files and folders.")
        if is_plain and any(part.startswith((".", "_")) for part in path.relative_to(root).parts):
            continue
        if path.resolve() != path:
            raise InvalidRequest(
                f"{visible(str(pattern))!r} matches a link: {visible(path.name)}.",
                why="Whoever made the folder decides where a link leads.",
                hint="Name the files themselves in a list.",
            )
        if path.is_file():
            found.append(path)
    if not found:
        raise InvalidRequest(f"No file matches {visible(str(pattern))!r}.")
    for folder in {path.parent for path in found}:
        require_no_log(folder)
    return sorted(found, key=str)


def _joined(
    places: Sequence[Path | Stored],
    recorded: Callable[[], Recorded],
    shown: str,
    base: Path | Stored | None = None,
) -> TableSource:
    """One table of the rows of all files. The folders in a folder that was named, `base`, may give columns."""
    if not places:
        raise InvalidRequest(f"There are no files in {shown}." if base else f"No file matches {shown!r}.")
    if base is None and len(places) > 1:
        for folder in {place.parent for place in places if isinstance(place, Path)}:
            require_no_log(folder)
    kinds = {_FORMATS.get(_suffix(place), _ParquetFile): place.name for place in places}
    if len(kinds) > 1:
        names = kinds.values()
        raise InvalidRequest(
            f"{shown} has files of several formats: {visible(', '.join(names))[:200]}.",
            why="Each file in the folder is read, unless its name begins with . or _.",
            hint="Move the others elsewhere, or name some of them: 'sales/*.csv', or a list.",
        )
    if whole := next((place.name for place in places if _suffix(place) in _WHOLE), ""):
        raise InvalidRequest(
            f"{visible(whole)} is not read in pieces.",
            why=f"A file that ends in {_suffix(Path(whole))} can only be read whole.",
            hint="Call the function itself with the path, or write the table to a Parquet file.",
        )
    kind = next(iter(kinds))
    if base is not None and kind is not _ParquetFile and any(_parent(each) != _parent(places[0]) for each in places):
        raise InvalidRequest(
            f"{shown} has folders in it.",
            why="Folders in a folder are read if its files are Parquet: `year=2024` gives a column.",
            hint="Name the files by a glob, such as 'sales/*/*.csv', which gives no column.",
        )
    try:
        if kind is _TextFile:
            files: list[_File] = [_TextFile(place, recorded=recorded) for place in places]
        elif kind is _ParquetFile and base is not None:
            files = [_ParquetFile(place, given) for place, given in _in_folders(places, base)]
        else:
            files = [kind(place) for place in places]
        return _source(files)
    except (InvalidRequest, DataDrift, MemoryError):
        raise
    except Exception as error:  # what is in the files may raise any exception
        hint = _WHAT_IS_READ if base is not None and kind is _ParquetFile else COMPUTED
        raise unreadable(shown, error, hint) from error


def _suffix(place: Path | Stored) -> str:
    return data_suffix(Path(place.name), "packed")


def _parent(place: Path | Stored) -> str:
    return str(PurePosixPath(place.path).parent if isinstance(place, Stored) else place.parent)


def _in_folders(places: Sequence[Path | Stored], base: Path | Stored) -> list[tuple[Path | Stored, dict[str, Any]]]:
    """Files with the columns that the names of their folders give."""
    from pyarrow import dataset, fs

    filesystem = base.filesystem if isinstance(base, Stored) else fs.LocalFileSystem()
    named = {place.path if isinstance(place, Stored) else str(place): place for place in places}
    root = base.path if isinstance(base, Stored) else str(base)
    fragments = hive_dataset(filesystem, list(named), root).get_fragments()
    return [
        (named[fragment.path], dict(dataset.get_partition_keys(fragment.partition_expression)))
        for fragment in fragments
    ]


def _source(files: list[_File]) -> TableSource:
    """Files as batches, in their order."""
    import pyarrow

    files = [replace(file, state=state_of(file.place)) for file in _told_apart(files)]
    folders = _types_of_folders(files)
    schemas: list[Any] = []
    for place, file in enumerate(files):
        try:
            schema = file.schema
        except (InvalidRequest, DataDrift, MemoryError):
            raise
        except Exception as error:
            is_guess = isinstance(file, _ParquetFile) and _suffix(file.place) not in _PARQUET
            raise unreadable(file.name, error, _AS_PARQUET if is_guess else COMPUTED) from error
        if file.given.keys() & {*schema.names}:
            require_folder_agrees(file.of_arrow[1], file.of_arrow[0], file.given)
        # A file outside the folders of a column has missing values in it, unless it stores the column.
        given = {each: file.given.get(each) for each in folders if each in file.given or each not in schema.names}
        for each in given:
            if each not in schema.names:
                schema = schema.append(pyarrow.field(each, folders[each]))
        if len(files) == 1 and isinstance(file, _ParquetFile) and file.numbers is not None:
            schema = _with_index(schema, file.numbers[0])  # pandas drops it in larger folders
        if given != file.given:
            files[place] = replace(file, given=given)
        schemas.append(schema)
    # JSON lines without a line, and a table of pandas without columns, say nothing of the columns.
    pairs = list(zip(files, schemas, strict=True))
    pairs = [(file, schema) for file, schema in pairs if file.rows or file.schema.names] or pairs
    same = _without_lost_index([schema for _, schema in pairs])
    return _of_typed([_TypedFile(file, schema, file.rows) for (file, _), schema in zip(pairs, same, strict=True)])


def _told_apart(files: list[_File]) -> list[_File]:
    """The files, each with a name of its own: such as `year=2024/part-0.parquet`, or `a.csv (2)` in a list."""
    if len({file.name for file in files}) == len(files):
        return files
    paths = [file.place.path if isinstance(file.place, Stored) else str(file.place.absolute()) for file in files]
    try:
        root = os.path.commonpath([path.rpartition("/")[0] for path in paths])
    except ValueError:  # some are in object storage
        root = ""
    seen = Counter[str]()
    named = []
    for file, path in zip(files, paths, strict=True):
        label = path.removeprefix(root).lstrip("/")
        seen[label] += 1
        named.append(replace(file, label=label if seen[label] == 1 else f"{label} ({seen[label]})"))
    return named


@dataclass(frozen=True, eq=False)
class _TypedFile:
    """A file with the types of its columns.

    Args:
        schema: with the columns of its folders, and the types of converted columns.
        before: the same without conversions; None if there are none.
    """

    file: _File
    schema: Any
    count: int
    converted: Mapping[str, Conversion] = field(default_factory=dict)
    before: Any = None

    @property
    def label(self) -> str:
        return self.file.name

    def batches(self, columns: Sequence[str], schema: Any) -> Iterator[Any]:
        """Its rows with the types of a schema."""
        chosen = self.converted.keys() & {*columns}
        if not chosen:
            yield from self.file.batches(columns, schema)
            return
        as_stored, rows = schema, 0
        for name in chosen:
            as_stored = as_stored.set(as_stored.get_field_index(name), self.before.field(name))
        for table in self.file.batches(columns, as_stored):
            for name in chosen:
                made = self.converted[name][1](table.column(name), rows)
                table = table.set_column(table.column_names.index(name), name, made)
            rows += table.num_rows
            yield table.cast(schema)

    def converting(self, converted: Mapping[str, Conversion]) -> _TypedFile:
        """The file with converted columns."""
        schema = self.schema
        for name, (kind, _) in converted.items():
            schema = schema.set(schema.get_field_index(name), schema.field(name).with_type(kind))
        described = schema.pandas_metadata
        if converted and isinstance(described, dict):  # else pandas would give the column its old dtype again
            kept = [each for each in described.get("columns", []) if each.get("name") not in converted]
            schema = schema.with_metadata({b"pandas": json.dumps({**described, "columns": kept}).encode()})
        return replace(self, schema=schema, converted=converted, before=self.schema)


def _of_typed(typed: Sequence[_TypedFile]) -> Batches:
    files, schemas = [each.file for each in typed], [each.schema for each in typed]

    def read(columns: Sequence[str]) -> Reading:
        schema = _common(files, schemas, columns)
        for each, file in zip(typed, files, strict=True):
            rows = 0
            try:
                for table in each.batches(columns, schema):
                    rows += table.num_rows
                    yield Batch(table, file.name)
            except (InvalidRequest, DataDrift, MemoryError, GeneratorExit):
                raise
            except Exception as error:  # what is in the file may raise any exception
                _require_unchanged(file)
                raise _not_read(each, columns, schema, error) from error
            _require_unchanged(file)
            if rows != each.count:
                raise changed(file.name)

    def examples(columns: Sequence[str]) -> Iterator[Batch]:
        schema, seen = _common(files, schemas, columns), set()
        for each, file, own in zip(typed, files, schemas, strict=True):
            types = tuple(str(own.field(name).type) for name in columns)
            if types in seen:
                continue
            try:
                table = next(each.batches(columns, schema), None)
            except (InvalidRequest, DataDrift, MemoryError):
                raise
            except Exception as error:
                raise _not_read(each, columns, schema, error) from error
            if table is not None and table.num_rows:
                seen.add(types)
                yield Batch(table, file.name)

    return Batches(
        schemas[0],
        max(0, sum(each.count for each in typed)),
        examples,
        read=read,
        files=typed,
        converting=lambda chosen: _of_typed([each.converting(chosen.get(each, {})) for each in typed]),
    )


def _require_unchanged(file: _File) -> None:
    """Check that the file is the one whose columns and rows are known."""
    if state_of(file.place) != file.state:
        raise changed(file.name)


def _without_lost_index(schemas: list[Any]) -> list[Any]:
    """The schemas without an index that has no name, if not all files have it: pandas stores one after a filter."""
    first, *others = schemas
    for name in schemas[0].names:
        if _INDEX.fullmatch(name) and not all(name in other.names for other in others):
            first = first.remove(first.get_field_index(name))
    return [first, *others]


def _not_read(file: _TypedFile, columns: Sequence[str], schema: Any, error: Exception) -> InvalidRequest | DataDrift:
    """Why a file cannot be read with these types, which may be only because of the other files."""
    changed = [name for name in columns if file.schema.field(name).type != schema.field(name).type]
    if not changed:
        return unreadable(file.label, error)
    name, own = changed[0], file.schema.field(changed[0]).type
    return DataDrift(
        f"{visible(file.label)} has {visible(name)!r} as {visible(str(own))[:100]}, which does not fit to the "
        f"{visible(str(schema.field(name).type))[:100]} of all files together.",
        why=f"{type(error).__name__}: {visible(str(error)[:300])}",
        hint="Write the files with one type for this column.",
    )


def _types_of_folders(files: Iterable[_File]) -> dict[str, Any]:
    """The columns that the names of folders give, and their types."""
    import pyarrow

    types: dict[str, Any] = {}
    for name, value in (pair for file in files for pair in file.given.items()):
        if value is not None or name not in types:
            types[name] = pyarrow.scalar(value).type
    return types


def _with_index(schema: Any, name: str) -> Any:
    """The schema with one more column, which is the index in pandas."""
    import pyarrow

    described = schema.pandas_metadata
    column = {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    described = {**described, "index_columns": [name], "columns": [*described.get("columns", []), column]}
    metadata = {b"pandas": json.dumps(described).encode()}
    return schema.append(pyarrow.field(name, pyarrow.int64())).with_metadata(metadata)


def _common(files: Sequence[_File], schemas: Sequence[Any], columns: Sequence[str]) -> Any:
    """The types that these columns have in all files."""
    import pyarrow

    common = part_of(schemas[0], columns)
    for file, own in zip(files[1:], schemas[1:], strict=True):
        name = visible(file.name)
        if lacking := [column for column in columns if column not in own.names]:
            raise DataDrift(f"{name} lacks {visible(lacking[0])!r}, which {visible(files[0].name)} has.")
        mine = part_of(own, columns)
        if mine.types == common.types:
            continue
        require_same_fields(mine, common, file.name, files[0].name, OF_FILES)
        try:
            common = pyarrow.unify_schemas([common, mine], promote_options="permissive").with_metadata(common.metadata)
        except pyarrow.ArrowException as error:
            raise DataDrift(
                f"{name} has types that differ from those of the files before it.", why=visible(str(error)[:300])
            ) from error
    return common
