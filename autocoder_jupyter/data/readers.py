"""Read files as the tables of a call."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import zoneinfo
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from autocoder_jupyter.data.capture import with_absolute_path
from autocoder_jupyter.data.categories import Misfit, has_texts, with_categories
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.dialects import (
    DELIMITED_SUFFIXES,
    CsvDialect,
    compression_of,
    decode,
    encoding_of,
    naming,
    open_bytes,
    read_call,
    read_head,
    require_moderate_text,
    sniff,
)
from autocoder_jupyter.data.drift import restored
from autocoder_jupyter.data.json_tables import read_json
from autocoder_jupyter.data.periods import expected_shape, patterns, period_of
from autocoder_jupyter.data.shapes import column_literal, family
from autocoder_jupyter.data.storage import Stored, is_in_storage, stored
from autocoder_jupyter.data.table_formats import iceberg_schema, iceberg_tables, opened_table, require_no_log
from autocoder_jupyter.data.workbooks import require_moderate
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.visible import visible

# Columns get the dtypes and categories that were recorded with the function, where they can

_AS_TEXT = ("text", "object", "time", "time with zone", "duration")
"""Families of dtypes whose columns are read as text from a file without types. `00501` keeps its zeros."""

_MOST_FILES = 10_000
_FIRST = "'Unnamed: 0'"
"""The literal of a column that pandas wrote from an index without a name."""


def read_table(
    name: str,
    value: str | os.PathLike[str] | File,
    shape: Mapping[str, Any] | None,
    renames: Mapping[str, str] | None = None,
    reads: ColumnsRead = EVERY_COLUMN,
) -> pd.DataFrame:
    """The table in a file, by its suffix and its bytes: Parquet, Feather, delimited text, Excel, JSON or JSON lines;
    or in all files of a folder, one below the other.

    Separator, decimal sign, encoding, lines above the header and compression of text are detected.

    Args:
        name: the name of the input, for errors.
        value: the path.
        shape: the recorded shape; None if nothing was recorded.
        renames: names of columns in the file, by the recorded ones.
        reads: what the function reads. Columns that it takes by a pattern get the dtype of those that were recorded.

    Raises:
        InvalidRequest: it does not exist, has another format, or cannot be read.
    """
    if isinstance(value, str) and is_in_storage(value):
        return _fetched_table(name, stored(value), shape, renames, reads)
    given = (value.path if isinstance(value, File | Dir) else local_path(value)).expanduser()
    known = Recorded.of(shape or {}, renames or {}, reads)
    if not given.is_dir():
        file = value if isinstance(value, File) else File(given)
        return known.with_index(_file_table(name, with_absolute_path(file).path, known))
    with _naming_errors(name, given):
        whole = opened_table(given)
        if whole is not None:
            return known.with_index(fitted(name, _rows_of(whole), known, ".parquet"))
        require_no_log(given)
    tables = {path: _file_table(name, path, known) for path in _files_of(name, given)}
    first, columns = next((path, list(table.columns)) for path, table in tables.items())
    for path, table in tables.items():
        if list(table.columns) != columns:
            raise InvalidRequest(
                f"{name}: {visible(path.name)} has other columns than {visible(first.name)}.",
                why="All files of a folder are read as parts of one table.",
                hint="Move the files of other tables away, or read them yourself and pass the DataFrame.",
            )
    return known.with_index(pd.concat(tables.values(), ignore_index=True))


def _fetched_table(name: str, place: Stored, *recorded: Any) -> pd.DataFrame:
    """The table in a file of object storage, which is copied to this machine."""
    if place.is_folder():
        raise InvalidRequest(
            f"{name}: {place.shown} is a folder.", hint="Name a file; over reads a folder in object storage."
        )
    with tempfile.TemporaryDirectory(prefix="autocode-fetched-") as folder:
        return read_table(name, place.copied(Path(folder)), *recorded)


def _files_of(name: str, folder: Path) -> list[Path]:
    """The files of a folder, sorted by name. What begins with a dot or an underline is not a part of the table."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    if any(entry.is_dir() for entry in entries):
        raise InvalidRequest(
            f"{name}: {visible(folder.name)} has folders in it, and only a folder of files is read as one table.",
            why="Which of them count may be recorded elsewhere.",
            hint="Read it with its own library, and pass the DataFrame.",
        )
    files = [entry for entry in entries if entry.is_file() and not entry.is_symlink()]
    if not files or len(files) > _MOST_FILES:
        raise InvalidRequest(
            f"{name}: {visible(folder.name)} has {len(files):,} files.",
            why=f"1 to {_MOST_FILES:,} files can be read as one table.",
        )
    return files


def _rows_of(table: Any) -> pd.DataFrame:
    """All rows of a dataset of PyArrow, or of a table of pyiceberg."""
    import pyarrow
    from pyarrow import dataset

    if isinstance(table, dataset.Dataset):
        read = table.to_table()
    else:
        tables = [iceberg_schema(table).empty_table(), *iceberg_tables(table)]
        read = pyarrow.concat_tables(tables, promote_options="permissive")
    frame: pd.DataFrame = read.to_pandas()
    return frame


@dataclass(frozen=True)
class Recorded:
    """What was recorded of a table, by the literals of its columns as a file names them."""

    dtypes: Mapping[str, str]
    categories: Mapping[str, Any]
    objects: Mapping[str, str]
    index: tuple[tuple[str, str], ...]
    renamed: Mapping[str, str]
    periods: Collection[str]
    with_periods: Callable[[Sequence[Any]], Recorded]
    """What was recorded, with those of these columns that are taken by a pattern (`data.periods`)."""

    @classmethod
    def nothing(cls) -> Recorded:
        """Of a table of which nothing was recorded."""
        return cls.of({}, {}, EVERY_COLUMN)

    @classmethod
    def of(cls, shape: Mapping[str, Any], renames: Mapping[str, str], reads: ColumnsRead) -> Recorded:
        other = {column_literal(reads): column_literal(has) for reads, has in renames.items()}

        def named(records: Mapping[str, Any]) -> dict[str, Any]:
            return {**{other[text]: part for text, part in records.items() if text in other}, **records}

        dtypes = {str(literal): str(dtype) for literal, dtype in shape.get("columns", ())}
        index = tuple((str(literal), str(dtype)) for literal, dtype in shape.get("index", ()))
        both = {**other, **{has: reads for reads, has in other.items()}}
        categories, objects = named(shape.get("categories", {})), named(shape.get("objects", {}))
        taken = patterns(shape.get("columns", ()), reads)

        def with_periods(labels: Sequence[Any]) -> Recorded:
            now = [[column_literal(label), ""] for label in labels]
            return cls.of(expected_shape(shape, now, reads), renames, EVERY_COLUMN) if taken else known

        known = cls(named(dtypes), categories, objects, index, both, taken, with_periods)
        return known

    def is_read_as_text(self, literal: str) -> bool:
        dtype = self.dtypes.get(literal) or self.levels.get(literal, "")
        if literal in self.categories:
            return has_texts(self.categories[literal])
        if dtype == "object":
            return self.objects.get(literal, "string") in ("string", "decimal", "date", "empty")
        return bool(dtype) and family(dtype) in _AS_TEXT

    def texts(self, header: pd.DataFrame) -> dict[Any, type]:
        known = self.with_periods(header.columns.tolist())
        return {label: str for label in header.columns if known.is_read_as_text(column_literal(label))}

    def found_in(self, names: Sequence[str]) -> tuple[int, int]:
        """How many of the recorded columns a file has that has these names, and how many by a pattern."""
        there = {column_literal(name) for name in names}
        new = [period_of(literal) for literal in there if literal not in self.dtypes] if self.periods else []
        further = sum(period is not None and period.pattern in self.periods for period in new)
        return sum(literal in there or self.renamed.get(literal) in there for literal in self.dtypes), further

    @property
    def levels(self) -> dict[str, str]:
        """The dtypes of the levels of the index, by the literals of the columns that a file has for them."""
        if len(self.index) == 1 and self.index[0][0] == "None" and _FIRST not in self.dtypes:
            return {_FIRST: self.index[0][1]}
        return {literal: dtype for literal, dtype in self.index if literal not in self.dtypes}

    def with_index(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table with the recorded levels of its index, if a file has them as columns."""
        labels = {column_literal(label): label for label in frame.columns}
        levels = [labels[literal] for literal in self.levels if literal in labels]
        if not levels or len(levels) < len(self.index):
            return frame
        frame = frame.set_index(levels)
        return frame.rename_axis(None) if levels == ["Unnamed: 0"] else frame


def _file_table(name: str, path: Path, known: Recorded) -> pd.DataFrame:
    with _naming_errors(name, path):
        compression = compression_of(path)
    suffix = data_suffix(path, compression)
    reader = _READERS.get(suffix)
    if reader is None or (compression and suffix not in _COMPRESSED):
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read as a table.",
            why=f"Files that can: {', '.join(_READERS)}; those of text also compressed, as .csv.gz.",
            hint=f"Read it yourself, and pass the DataFrame as {name}.",
        )
    with _naming_errors(name, path):
        if _has_geometry(known.dtypes, suffix):
            return fitted(name, _with_geometry(path), known, suffix)
        return fitted(name, reader(path, known), known, suffix)


def data_suffix(path: Path, compression: str) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(compression) and len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".xz")
    return suffixes[-2] if packed else suffixes[-1] if suffixes else ""


@contextmanager
def _naming_errors(name: str, path: Path) -> Iterator[None]:
    try:
        yield
    except InvalidRequest:
        raise
    except Exception as error:  # a parser may raise any exception
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}"
        ) from error


def fitted(name: str, frame: pd.DataFrame, known: Recorded, suffix: str) -> pd.DataFrame:
    known = known.with_periods(frame.columns.tolist())
    levels = known.levels
    for place, label in enumerate(frame.columns):
        literal = column_literal(label)
        dtype = known.dtypes.get(literal) or levels.get(literal, "")
        if not dtype:
            continue
        column = frame.iloc[:, place]
        if suffix in _JSON and family(dtype).startswith("time") and is_numeric_dtype(column.dtype):
            column = pd.to_datetime(column, unit="ms")  # as pandas writes a time
        made = _with_dtype(name, column, dtype, known.categories.get(literal), known.objects.get(literal, ""))
        if suffix not in _TYPED:
            made = _with_precision(made, dtype)
        kept: Any = restored(made, dtype, None, known.objects.get(literal))
        frame.isetitem(place, kept)
    return frame


def _has_geometry(recorded: Mapping[str, str], suffix: str) -> bool:
    return suffix in (".parquet", ".pq") and any(dtype.startswith("geometry") for dtype in recorded.values())


def _with_geometry(path: Path) -> pd.DataFrame:
    import geopandas

    read: pd.DataFrame = geopandas.read_parquet(path)
    return read


def _read_delimited(path: Path, known: Recorded) -> pd.DataFrame:
    if compression := compression_of(path):
        require_moderate_text(path, compression)
    arguments = delimited(path, known)
    header = pd.read_csv(path, nrows=0, **arguments)
    frame: pd.DataFrame = pd.read_csv(path, dtype=known.texts(header), low_memory=False, **arguments)
    return frame


def delimited(path: Path, known: Recorded) -> dict[str, Any]:
    """The keyword arguments for `pandas.read_csv`: those with which a file has the recorded columns."""
    compression = compression_of(path)
    head = read_head(path, compression)
    encoding = encoding_of(head) or "utf-8"
    text = decode(head, encoding)
    dialect = naming(text, known.found_in) or sniff(text, certain=True) or CsvDialect(",", True)
    return {**read_call(dialect, encoding)[0], "compression": compression or None}


def _read_workbook(path: Path, known: Recorded) -> pd.DataFrame:
    require_moderate(path)
    frame: pd.DataFrame = pd.read_excel(path, dtype=known.texts(pd.read_excel(path, nrows=0)))
    return frame


def _read_json(path: Path, *, lines: bool) -> pd.DataFrame:
    if compression := compression_of(path):
        require_moderate_text(path, compression)
    with open_bytes(path, compression) as file:
        return read_json(file, lines=lines)


_READERS: dict[str, Callable[[Path, Recorded], pd.DataFrame]] = {
    ".parquet": lambda path, known: pd.read_parquet(path),
    ".pq": lambda path, known: pd.read_parquet(path),
    ".feather": lambda path, known: pd.read_feather(path),
    ".arrow": lambda path, known: pd.read_feather(path),
    **dict.fromkeys((*DELIMITED_SUFFIXES, ".txt"), _read_delimited),
    ".xlsx": _read_workbook,
    ".json": lambda path, known: _read_json(path, lines=False),
    ".jsonl": lambda path, known: _read_json(path, lines=True),
    ".ndjson": lambda path, known: _read_json(path, lines=True),
}
JSON_LINES = (".jsonl", ".ndjson")
_JSON = (".json", *JSON_LINES)
_TYPED = (".parquet", ".pq", ".feather", ".arrow")
_COMPRESSED = (*DELIMITED_SUFFIXES, ".txt", *_JSON)


def _with_dtype(name: str, column: pd.Series[Any], dtype: str, record: Any, kind: str) -> pd.Series[Any]:
    """The column with the recorded dtype, if its text or numbers stand for such values."""
    then, now = family(dtype), family(str(column.dtype))
    if dtype.startswith("category"):
        try:
            return column.astype("category") if record is None else with_categories(column, record)
        except Misfit:
            return column  # said with all other differences
    if dtype == "object" and kind in ("date", "decimal") and now in ("text", "object"):
        return _with_objects(name, column, kind)
    if then == now or column.empty:
        return column
    if then == "bool" and now in ("int", "float") and column.dropna().isin([0, 1]).all():
        return column.astype("boolean") if column.hasnans else column.astype("bool")  # as Excel has them
    try:
        if then.startswith("time") and now in ("text", "object") and _is_digits(column):
            raise ValueError("it has digits alone, which can be seconds or days; write times as 2024-01-31")
        if then == "time":
            return pd.to_datetime(column, format="ISO8601")  # 01/02/2024 is ambiguous, and nothing is guessed
        if then == "time with zone":
            zone = dtype.partition(",")[2].strip(" ]")
            times = pd.to_datetime(column, utc=True, format="ISO8601")
            return times.dt.tz_convert(zone) if zone in zoneinfo.available_timezones() else times
        if then == "duration":
            return pd.to_timedelta(column)
        if then in ("int", "float") and now in ("text", "object"):
            return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError) as error:
        raise _unreadable(name, column, dtype, error) from error
    return column


def _is_digits(column: pd.Series[Any]) -> bool:
    return any(isinstance(text, str) and text.strip().isdigit() for text in column)


def _with_objects(name: str, column: pd.Series[Any], kind: str) -> pd.Series[Any]:
    """Texts as dates or decimals."""
    convert: Callable[[str], Any] = (lambda text: dt.date.fromisoformat(text[:10])) if kind == "date" else Decimal
    try:
        return column.map(lambda text: convert(text) if isinstance(text, str) else text, na_action="ignore").astype(
            object
        )
    except (ValueError, ArithmeticError) as error:
        raise _unreadable(name, column, f"an object of {kind}", error) from error


def _unreadable(name: str, column: pd.Series[Any], dtype: str, error: Exception) -> InvalidRequest:
    return InvalidRequest(
        f"{name}: the column {visible(str(column.name))} cannot be read as {dtype}.",
        why=visible(str(error)[:300]),
        hint="Correct the file, or read it yourself and pass the DataFrame.",
    )


def _with_precision(column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """Numbers of a text file as the shorter floats that they were written from."""
    if dtype not in ("float32", "Float32") or column.dtype != "float64":
        return column
    made: pd.Series[Any] = column.astype(pd.api.types.pandas_dtype(dtype))
    in_json = made.astype("float64").round(10) == column.round(10)  # pandas writes ten digits
    is_same = (made.astype(str).astype("float64") == column) | in_json | column.isna()
    return made if is_same.all() else column
