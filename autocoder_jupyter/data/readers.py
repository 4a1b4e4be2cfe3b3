"""Read files: their bytes and encoding, the dialect of delimited text, and tables for a call of a function."""

from __future__ import annotations

import bz2
import csv
import datetime as dt
import gzip
import io
import lzma
import os
import re
import zipfile
import zoneinfo
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

import pandas as pd
from pandas.api.types import is_numeric_dtype

from autocoder_jupyter.data.capture import with_absolute_path
from autocoder_jupyter.data.categories import Misfit, has_texts, with_categories
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.drift import restored
from autocoder_jupyter.data.json_tables import read_json
from autocoder_jupyter.data.periods import expected_shape, patterns, period_of
from autocoder_jupyter.data.shapes import column_literal, family
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.folder import READ_AHEAD
from autocoder_jupyter.untrusted.visible import visible

# Bytes and lines

HEAD_BYTES = 256 * 1024
_LINE_BYTES = 1 << 20

_COMPRESSIONS: tuple[tuple[bytes, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bz2", bz2.open),
    (b"\xfd7zXZ\x00", "xz", lzma.open),
)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def compression_of(path: Path) -> str:
    """`gzip`, `bz2`, `xz` or "", detected from the first bytes, not from the name."""
    with path.open("rb") as file:
        magic = file.read(6)
    return next((name for start, name, _ in _COMPRESSIONS if magic.startswith(start)), "")


def open_bytes(path: Path, compression: str) -> IO[bytes]:
    """The decompressed bytes."""
    opener = next((opener for _, name, opener in _COMPRESSIONS if name == compression), None)
    if opener is None:
        return path.open("rb", buffering=READ_AHEAD)
    return io.BufferedReader(opener(path, "rb"), READ_AHEAD)


def read_head(path: Path, compression: str) -> bytes:
    """The first quarter of a megabyte, decompressed."""
    with open_bytes(path, compression) as file:
        return file.read(HEAD_BYTES)


def encoding_of(head: bytes) -> str | None:
    """`utf-8`, `utf-8-sig`, `utf-16`, `cp1252`, or None if the bytes are not text."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\x00" in head:
        return None
    odd = sum(head.count(byte) for byte in range(32) if byte not in (9, 10, 12, 13, 27))
    if odd > 0.02 * len(head):
        return None
    try:
        # A character may be cut at the end of the head.
        head[: len(head) - 3 if len(head) == HEAD_BYTES else None].decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        if len(head) == HEAD_BYTES and error.start >= HEAD_BYTES - 8:
            return "utf-8"
        return "cp1252"
    return "utf-8"


def decode(raw: bytes, encoding: str) -> str:
    """The text. Invalid bytes become a replacement character."""
    return raw.decode(encoding, "replace")


def lines_of(path: Path, compression: str, encoding: str) -> Iterator[bytes]:
    """Lines as bytes, with their line ends. Each is truncated at one megabyte, to limit the memory."""
    with open_bytes(path, compression) as file:
        if encoding == "utf-16":
            for text in file.read().decode("utf-16", "replace").splitlines(keepends=True):
                yield text.encode("utf-8", "replace")
            return
        while piece := file.readline(_LINE_BYTES):
            yield piece
            while len(piece) == _LINE_BYTES and not piece.endswith(b"\n"):
                piece = file.readline(_LINE_BYTES)


def count_records(path: Path, compression: str, encoding: str, quoted: bool) -> int:
    """The number of lines that are not empty. With `quoted`, a line break between double quotes does not end a record.

    Cost: one pass over the file, about a second for 5 million lines.
    """
    records, inside = 0, False
    for line in lines_of(path, compression, encoding):
        if not inside and line.strip():
            records += 1
        if quoted and line.count(b'"') % 2:
            inside = not inside
    return records


# The dialect of delimited text: delimiter, header, lines to skip, decimal sign

DELIMITERS = ",;\t|"
DELIMITED_SUFFIXES = (".csv", ".tsv", ".psv", ".tab", ".dat")

_LINES = 60
_NUMBER = re.compile(r"\s*+[-+]?[\d.,]*\d\s*+%?\s*+|\s*+[-+]?\d++(?:\.\d++)?[eE][-+]?\d++\s*+")
_DATE = re.compile(r"\s*+\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T].*)?")
_DECIMAL_COMMA = re.compile(r"\s*+-?\d{1,3}(?:\.\d{3})*+,\d++\s*+|\s*+-?\d++,\d++\s*+")


@dataclass(frozen=True)
class CsvDialect:
    """The parameters for `pandas.read_csv`.

    Args:
        header: whether the first record names the columns.
        decimal_comma: whether numbers are written like 1,5.
        width: the number of fields of a record.
    """

    delimiter: str
    header: bool
    skip: int = 0
    decimal_comma: bool = False
    width: int = 1


def sniff(text: str, *, certain: bool) -> CsvDialect | None:
    """The dialect of the beginning of a file, or None if it is not a table."""
    places = [place for place, line in enumerate(text.splitlines()) if line.strip()][:_LINES]
    lines = [text.splitlines()[place] for place in places]
    if not lines:
        return None
    best: tuple[float, int, str, list[list[str]]] | None = None
    for delimiter in DELIMITERS:
        records = _records(lines, delimiter)
        width, count = Counter(map(len, records)).most_common(1)[0]
        if width < 2:
            continue
        score = count / len(records), width, delimiter, records
        if best is None or score[:2] > best[:2]:
            best = score
    if best is None:
        return CsvDialect(",", _has_header([[line] for line in lines])) if certain else None
    consistency, width, delimiter, records = best
    if not certain and (consistency < 1 or len(records) < 3):
        return None
    skip = _preamble(records, width)
    table = [record for record in records[skip:] if len(record) == width] or records[skip:]
    commas = delimiter != "," and _has_decimal_commas(table)
    return CsvDialect(delimiter, _has_header(table), places[skip - 1] + 1 if skip else 0, commas, width)


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter)) or [[]]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _preamble(records: list[list[str]], width: int) -> int:
    """The number of title lines above a table: they have fewer fields and come before the first full record."""
    first = next((place for place, record in enumerate(records) if len(record) == width), 0)
    return first if all(len(record) <= max(1, width // 2) for record in records[:first]) else 0


def _has_header(table: list[list[str]]) -> bool:
    first, rest = table[0], table[1:]
    names = [field.strip() for field in first]
    if any(_NUMBER.fullmatch(name) or _DATE.fullmatch(name) for name in names if name):
        return False
    if len(set(names)) < len(names):
        return False
    if not rest:
        return True
    typed = any(
        _NUMBER.fullmatch(record[place]) or _DATE.fullmatch(record[place])
        for record in rest
        for place in range(min(len(names), len(record)))
    )
    # All cells are text: if the words of the first line occur again below, it is a record.
    again = any(
        name and name in {record[place].strip() for record in rest if place < len(record)}
        for place, name in enumerate(names)
    )
    return typed or not again


def _has_decimal_commas(table: list[list[str]]) -> bool:
    cells = (field for record in table[1:] for field in record)
    fields = [field for field in cells if _NUMBER.fullmatch(field) and not _DATE.fullmatch(field)]
    with_comma = sum(bool(_DECIMAL_COMMA.fullmatch(field)) for field in fields)
    with_point = sum("." in field and "," not in field for field in fields)
    return with_comma > with_point and with_comma > 0


_ZEROS = re.compile(r"\s*+0\d[\d.,]*+\s*+")


def not_numbers(frame: pd.DataFrame, texts: pd.DataFrame) -> list[Any]:
    """The columns that were read as numbers and are none: `01067`, or `01.02.2024` with a decimal comma."""
    found = []
    for place, label in enumerate(frame.columns):
        if is_numeric_dtype(frame.dtypes.iloc[place]):
            cells = [cell for cell in texts.iloc[:, place] if isinstance(cell, str)]
            if any((_ZEROS.fullmatch(cell) and not _is_decimal(cell)) or _DATE.fullmatch(cell) for cell in cells):
                found.append(label)
    return found


def _is_decimal(cell: str) -> bool:
    """`00.50`, which is a number."""
    return bool(re.fullmatch(r"\s*0+[.,]\d+\s*", cell))


def read_call(dialect: CsvDialect, encoding: str, texts: Sequence[Any] = ()) -> tuple[dict[str, object], str]:
    """The keyword arguments for `pandas.read_csv`, and the call as source. `texts` are columns that are no numbers."""
    arguments: dict[str, object] = {}
    if dialect.delimiter != ",":
        arguments["sep"] = dialect.delimiter
    if encoding != "utf-8":
        arguments["encoding"] = encoding
    if not dialect.header:
        arguments["header"] = None
    if dialect.skip:
        arguments["skiprows"] = dialect.skip
    if dialect.decimal_comma:
        arguments |= {"decimal": ",", "thousands": "."}
    shown = "".join(f", {name}={value!r}" for name, value in arguments.items())
    if texts:
        arguments["dtype"] = dict.fromkeys(texts, str)
        shown += f", dtype={{{', '.join(f'{label!r}: str' for label in texts)}}}"
    return arguments, f"pd.read_csv(path{shown})"


# The size of Excel workbooks
#
# A workbook is a ZIP archive, and a small one can unpack to gigabytes.

WORKBOOK_BYTES = 128 * 2**20
"""The maximum bytes of all parts of a workbook. No more of a part is read than the archive declares."""

WORKBOOK_PARTS = 2_000
WORKBOOK_CELLS = 5_000_000
"""The maximum number of cells of a sheet, as rows times columns: pandas fills the gaps between cells."""

_UNPACKED_BYTES, _UNPACKED_TIMES = 256 * 2**20, 100
"""Compressed text may unpack to so many bytes, or so many times its own; real tables take 5 to 30 times."""

_READ_BYTES = 1 << 16
_LONGEST_TAG = 1 << 20


def require_moderate(path: Path) -> None:
    """Check the size of a workbook, before a library reads it."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        unpacked = sum(part.file_size for part in parts)
        if len(parts) > WORKBOOK_PARTS or unpacked > WORKBOOK_BYTES:
            raise ValueError(
                f"it unpacks to {unpacked / 2**20:,.0f} MiB in {len(parts):,} parts; at most "
                f"{WORKBOOK_BYTES // 2**20} MiB in {WORKBOOK_PARTS:,} parts are read"
            )
        for part in parts:
            with archive.open(part) as stream:
                _Sheet().read(stream)


class _Sheet:
    """Counts the rows and columns of a part of a workbook. A part that is not a sheet has none."""

    def __init__(self) -> None:
        self._row = self._rows = self._column = self._columns = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._begun
        self._parser.StartDoctypeDeclHandler = self._has_document_type

    def read(self, stream: Any) -> None:
        taken = 0
        try:
            while piece := stream.read(_READ_BYTES):
                self._parser.Parse(piece, False)
                taken += len(piece)
                if taken - self._parser.CurrentByteIndex > _LONGEST_TAG:
                    raise ValueError(f"a tag is longer than {_LONGEST_TAG // 2**20} MiB")
        except expat.ExpatError:
            return  # no XML: a picture, or what the library refuses too

    @staticmethod
    def _has_document_type(*_: object) -> None:
        raise ValueError("a part has a document type, whose entities could expand without end")

    def _begun(self, element: str, attributes: dict[str, str]) -> None:
        name = element.rpartition(" ")[2]
        if name == "row":
            self._row = max(self._row + 1, _number(attributes.get("r", "")))
            self._rows, self._column = max(self._rows, self._row), 0
        elif name == "c":
            self._column = max(self._column + 1, _column_of(attributes.get("r", "")))
            self._columns = max(self._columns, self._column)
        if self._rows * self._columns > WORKBOOK_CELLS:
            raise ValueError(f"a sheet has more than {WORKBOOK_CELLS:,} cells, with the empty ones between others")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _column_of(place: str) -> int:
    """The number of a column: 28 of `AB12`; 0 if it is not the name of a cell."""
    letters = place.rstrip("0123456789").upper()
    if not letters.isascii() or not letters.isalpha() or len(letters) > 4:
        return 0
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


# Tables for a call: columns get the dtypes and categories that were recorded with the function, where they can

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
    given = Path(value.path if isinstance(value, File | Dir) else value).expanduser()
    known = _Recorded.of(shape or {}, renames or {}, reads)
    if not given.is_dir():
        file = value if isinstance(value, File) else File(given)
        return known.with_index(_file_table(name, with_absolute_path(file).path, known))
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


def _files_of(name: str, folder: Path) -> list[Path]:
    """The files of a folder, sorted by name. What begins with a dot or an underline is not a part of the table."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    if any((folder / log).is_dir() for log in ("_delta_log", "metadata")) or any(entry.is_dir() for entry in entries):
        raise InvalidRequest(
            f"{name}: {visible(folder.name)} has folders in it, and only a folder of files is read as one table.",
            why="Which of them count may be recorded elsewhere, as in a table of Delta or Iceberg.",
            hint="Read it with its own library, and pass the DataFrame.",
        )
    files = [entry for entry in entries if entry.is_file() and not entry.is_symlink()]
    if not files or len(files) > _MOST_FILES:
        raise InvalidRequest(
            f"{name}: {visible(folder.name)} has {len(files):,} files.",
            why=f"1 to {_MOST_FILES:,} files can be read as one table.",
        )
    return files


@dataclass(frozen=True)
class _Recorded:
    """What was recorded of a table, by the literals of its columns as a file names them."""

    dtypes: Mapping[str, str]
    categories: Mapping[str, Any]
    objects: Mapping[str, str]
    index: tuple[tuple[str, str], ...]
    renamed: Mapping[str, str]
    periods: Collection[str]
    with_periods: Callable[[Sequence[Any]], _Recorded]
    """What was recorded, with those of these columns that are taken by a pattern (`data.periods`)."""

    @classmethod
    def of(cls, shape: Mapping[str, Any], renames: Mapping[str, str], reads: ColumnsRead) -> _Recorded:
        other = {column_literal(reads): column_literal(has) for reads, has in renames.items()}

        def named(records: Mapping[str, Any]) -> dict[str, Any]:
            return {**{other[text]: part for text, part in records.items() if text in other}, **records}

        dtypes = {str(literal): str(dtype) for literal, dtype in shape.get("columns", ())}
        index = tuple((str(literal), str(dtype)) for literal, dtype in shape.get("index", ()))
        both = {**other, **{has: reads for reads, has in other.items()}}
        categories, objects = named(shape.get("categories", {})), named(shape.get("objects", {}))
        taken = patterns(shape.get("columns", ()), reads)

        def with_periods(labels: Sequence[Any]) -> _Recorded:
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


def _file_table(name: str, path: Path, known: _Recorded) -> pd.DataFrame:
    with _naming_errors(name, path):
        compression = compression_of(path)
    suffix = _data_suffix(path, compression)
    reader = _READERS.get(suffix)
    if reader is None or (compression and suffix not in _COMPRESSED):
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read as a table.",
            why=f"Files that can: {', '.join(_READERS)}; those of text also compressed, as .csv.gz.",
            hint=f"Read it yourself, and pass the DataFrame as {name}.",
        )
    with _naming_errors(name, path):
        if _has_geometry(known.dtypes, suffix):
            return _fitted(name, _with_geometry(path), known, suffix)
        return _fitted(name, reader(path, known), known, suffix)


def _data_suffix(path: Path, compression: str) -> str:
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


def _fitted(name: str, frame: pd.DataFrame, known: _Recorded, suffix: str) -> pd.DataFrame:
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


def _require_moderate_text(path: Path, compression: str) -> None:
    """Check the size of compressed text, before pandas reads all of it into the memory of the notebook."""
    most, unpacked = max(_UNPACKED_BYTES, _UNPACKED_TIMES * path.stat().st_size), 0
    with open_bytes(path, compression) as file:
        while piece := file.read(READ_AHEAD):
            unpacked += len(piece)
            if unpacked > most:
                raise ValueError(f"it unpacks to more than {most / 2**20:,.0f} MiB")


def _read_delimited(path: Path, known: _Recorded) -> pd.DataFrame:
    arguments = _delimited(path, known)
    header = pd.read_csv(path, nrows=0, **arguments)
    frame: pd.DataFrame = pd.read_csv(path, dtype=known.texts(header), low_memory=False, **arguments)
    return frame


def _delimited(path: Path, known: _Recorded) -> dict[str, Any]:
    """The keyword arguments for `pandas.read_csv`: those with which a file has the recorded columns."""
    compression = compression_of(path)
    if compression:
        _require_moderate_text(path, compression)
    head = read_head(path, compression)
    encoding = encoding_of(head) or "utf-8"
    text = decode(head, encoding)
    dialect = _with_names(text, known) or sniff(text, certain=True) or CsvDialect(",", True)
    return {**read_call(dialect, encoding)[0], "compression": compression or None}


def _with_names(text: str, known: _Recorded) -> CsvDialect | None:
    """The dialect in which a line names most of the recorded columns; None if none names any."""
    lines = text.removeprefix("\ufeff").splitlines()[:_LINES]
    most, found = (0, 0), None
    for delimiter in DELIMITERS:
        for place, line in enumerate(lines):
            names = _records([line], delimiter)[0]
            if (count := known.found_in(names)) > most:
                table = _records([below for below in lines[place:] if below.strip()], delimiter)
                commas = delimiter != "," and _has_decimal_commas(table)
                most, found = count, CsvDialect(delimiter, True, place, commas, len(names))
    return found


def _read_workbook(path: Path, known: _Recorded) -> pd.DataFrame:
    require_moderate(path)
    frame: pd.DataFrame = pd.read_excel(path, dtype=known.texts(pd.read_excel(path, nrows=0)))
    return frame


def _read_json(path: Path, *, lines: bool) -> pd.DataFrame:
    if compression := compression_of(path):
        _require_moderate_text(path, compression)
    with open_bytes(path, compression) as file:
        return read_json(file, lines=lines)


_READERS: dict[str, Callable[[Path, _Recorded], pd.DataFrame]] = {
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
_JSON = (".json", ".jsonl", ".ndjson")
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
