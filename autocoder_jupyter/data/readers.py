"""Read files: their bytes and encoding, the dialect of delimited text, and tables for a call of a function."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import re
import zipfile
import zoneinfo
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

import pandas as pd
from pandas.api.types import is_numeric_dtype

from autocoder_jupyter.codec.bounded_json import Allowance, entries, parse
from autocoder_jupyter.data.capture import MOST_CELLS, with_absolute_path
from autocoder_jupyter.data.drift import family, shape_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import File
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
    lines = [line for line in text.splitlines() if line.strip()][:_LINES]
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
    return CsvDialect(delimiter, _has_header(table), skip, commas, width)


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
    fields = [field for record in table[1:] for field in record if _NUMBER.fullmatch(field)]
    with_comma = sum(bool(_DECIMAL_COMMA.fullmatch(field)) for field in fields)
    with_point = sum("." in field and "," not in field for field in fields)
    return with_comma > with_point and with_comma > 0


def read_call(dialect: CsvDialect, encoding: str) -> tuple[dict[str, object], str]:
    """The keyword arguments for `pandas.read_csv`, and the call as source."""
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
    return arguments, f"pd.read_csv(path{shown})"


# Tables in JSON: one object per row, or one object or list per column
#
# pandas reads JSON in one call that keeps the GIL: 10 MB of it stopped the notebook for seconds. Here other threads can
# run meanwhile.

JSON_BYTES = 2**30
JSON_CONTAINERS = 5_000_000
"""The maximum number of lists and objects in a file; each row is one."""

JSON_COLUMNS = 20_000

_BATCH_BYTES = 1 << 20
"""Bytes of lines that are parsed together."""

_PIECE_VALUES = 100_000
"""Values that pandas gets at once."""


def read_json(path: Path, *, lines: bool) -> pd.DataFrame:
    """The table in a file of JSON in UTF-8. No value is converted; names and labels that are whole numbers are ints."""
    if path.stat().st_size > JSON_BYTES:
        raise ValueError(f"it is larger than {JSON_BYTES // 2**30} GiB")
    allowance = Allowance(JSON_CONTAINERS, MOST_CELLS)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if lines:
        return _of_rows(_of_lines(data, allowance))
    if data[:_BATCH_BYTES].lstrip()[:1] == b"[":
        return _of_rows(entries(data, allowance))
    return _of_columns(parse(data, allowance))


def _of_lines(data: bytes, allowance: Allowance) -> Iterator[list[Any]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BATCH_BYTES)
        batch = [line for line in data[start : None if end < 0 else end].splitlines() if line.strip()]
        rows = parse(b"[%b]" % b",".join(batch), allowance)
        if len(rows) != len(batch):
            raise ValueError("a line is not one JSON value")
        yield rows
        start = len(data) if end < 0 else end


def _of_rows(parts: Iterator[list[Any]]) -> pd.DataFrame:
    columns: dict[Any, list[Any]] = {}
    count = 0
    for rows in parts:
        for row in rows:
            if not isinstance(row, dict | list):
                raise ValueError("a row is neither an object nor a list")
            for name, value in row.items() if isinstance(row, dict) else enumerate(row):
                column = columns.setdefault(name, [])
                column += [None] * (count - len(column))
                column.append(value)
            count += 1
            _require_size(count, len(columns))
    for column in columns.values():
        column += [None] * (count - len(column))
    return _frame_of(columns, pd.RangeIndex(count))


def _of_columns(table: Any) -> pd.DataFrame:
    if not isinstance(table, dict):
        raise ValueError("it is neither a list of rows nor an object of columns")
    if all(isinstance(column, list) for column in table.values()):
        sizes = {len(column) for column in table.values()}
        if len(sizes) > 1:
            raise ValueError("its columns are not of the same length")
        _require_size(max(sizes, default=0), len(table))
        return _frame_of(table, pd.RangeIndex(max(sizes, default=0)))
    places: dict[str, None] = {}
    for column in table.values():
        if not isinstance(column, dict):
            raise ValueError("its columns are neither all lists nor all objects")
        places.update(dict.fromkeys(column))
        _require_size(len(places), len(table))
    return _frame_of(
        {name: [column.get(place) for place in places] for name, column in table.items()}, _labels(list(places))
    )


def _require_size(rows: int, columns: int) -> None:
    if columns > JSON_COLUMNS or rows * columns > MOST_CELLS:
        raise ValueError(f"it has more than {JSON_COLUMNS:,} columns, or {MOST_CELLS:,} cells")


def _frame_of(columns: Mapping[Any, list[Any]], index: pd.Index[Any]) -> pd.DataFrame:
    made = dict(enumerate(map(_column, columns.values())))
    frame = pd.DataFrame(made, index=pd.RangeIndex(len(index)), copy=False)
    return frame.set_axis(index).set_axis(_labels(list(columns)), axis=1)


def _column(values: list[Any]) -> pd.Series[Any]:
    pieces = [_series(values[start : start + _PIECE_VALUES]) for start in range(0, max(len(values), 1), _PIECE_VALUES)]
    if len({piece.dtype for piece in pieces}) == 1:
        return pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
    return _series(values)


def _series(values: list[Any]) -> pd.Series[Any]:
    """The values with the dtype that pandas finds. `null` is NaN, also between objects."""
    made: pd.Series[Any] = pd.Series(values, dtype=None if values else object)
    return made.where(made.notna(), float("nan")) if made.dtype == object else made


def _labels(names: Sequence[Any]) -> pd.Index[Any]:
    """The names as an index. JSON has only texts as names: those that are all whole numbers are numbers."""
    are_numbers = all(isinstance(name, str) and name.isascii() and name.isdigit() and len(name) < 19 for name in names)
    labels: pd.Index[Any] = pd.Index([int(name) for name in names] if names and are_numbers else names)
    return labels


# The size of Excel workbooks
#
# A workbook is a ZIP archive, and a small one can unpack to gigabytes.

WORKBOOK_BYTES = 128 * 2**20
"""The maximum bytes of all parts of a workbook. No more of a part is read than the archive declares."""

WORKBOOK_PARTS = 2_000
WORKBOOK_CELLS = 5_000_000
"""The maximum number of cells of a sheet, as rows times columns: pandas fills the gaps between cells."""

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


# Tables for a call: columns get the dtypes that were recorded with the function, where they can

_TEXT = ("text", "object")


def read_table(name: str, value: str | os.PathLike[str] | File, shape: Mapping[str, Any] | None) -> pd.DataFrame:
    """The table in a file: Parquet, Feather, CSV, TSV, Excel, JSON or JSON lines, by its suffix.

    Raises:
        InvalidRequest: it does not exist, has another format, or cannot be read.
    """
    file = value if isinstance(value, File) else File(Path(value))
    path = with_absolute_path(file).path
    suffix = path.suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read as a table.",
            why=f"Files that can: {', '.join(_READERS)}.",
            hint=f"Read it yourself, and pass the DataFrame as {name}.",
        )
    recorded = {str(literal): str(dtype) for literal, dtype in (shape or {}).get("columns", ())}
    try:
        if suffix == ".xlsx":
            require_moderate(path)
        header = reader(path, {}, 0) if recorded and suffix not in _TYPED else pd.DataFrame()
        texts = {
            label: str
            for label, dtype in zip(header.columns, _dtypes(header, recorded), strict=True)
            if family(dtype) in _TEXT
        }
        frame = _with_geometry(path) if _has_geometry(recorded, suffix) else reader(path, texts, None)
    except Exception as error:  # a parser may raise any exception
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}"
        ) from error
    for place, dtype in enumerate(_dtypes(frame, recorded)):
        if dtype:
            column = frame.iloc[:, place]
            if suffix.startswith(".json") and family(dtype).startswith("time") and is_numeric_dtype(column.dtype):
                column = pd.to_datetime(column, unit="ms")  # as pandas writes a time
            frame.isetitem(place, _with_dtype(name, column, dtype).array)
    return frame


def _has_geometry(recorded: Mapping[str, str], suffix: str) -> bool:
    return suffix in (".parquet", ".pq") and any(dtype.startswith("geometry") for dtype in recorded.values())


def _with_geometry(path: Path) -> pd.DataFrame:
    import geopandas

    read: pd.DataFrame = geopandas.read_parquet(path)
    return read


_Reader = Callable[[Path, Mapping[Any, type], int | None], pd.DataFrame]
"""Reads a file: the columns that are text, and how many rows; None for all."""


def _csv(separator: str) -> _Reader:
    # Text keeps its zeros: "00501".
    return lambda path, texts, rows: pd.read_csv(path, sep=separator, dtype=dict(texts), nrows=rows)


_READERS: dict[str, _Reader] = {
    ".parquet": lambda path, texts, rows: pd.read_parquet(path),
    ".pq": lambda path, texts, rows: pd.read_parquet(path),
    ".feather": lambda path, texts, rows: pd.read_feather(path),
    ".csv": _csv(","),
    ".tsv": _csv("\t"),
    ".xlsx": lambda path, texts, rows: pd.read_excel(path, dtype=dict(texts), nrows=rows),
    ".json": lambda path, texts, rows: read_json(path, lines=False),
    ".jsonl": lambda path, texts, rows: read_json(path, lines=True),
}
_TYPED = frozenset(_READERS) - {".csv", ".tsv", ".xlsx"}
"""Formats whose values have types, so the columns that are text need not be known before."""


def _dtypes(frame: pd.DataFrame, recorded: Mapping[str, str]) -> list[str]:
    """The recorded dtype of each column; "" for a column that was not there. Names of a record are only compared."""
    return [recorded.get(literal, "") for literal, _ in shape_of(frame)["columns"]]


def _with_dtype(name: str, column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """The column with the recorded dtype, if its text or numbers stand for such values."""
    then, now = family(dtype), family(str(column.dtype))
    if dtype.startswith("category"):
        return column.astype("category")
    if then == now or column.empty:
        return column
    try:
        if then == "time":
            return pd.to_datetime(column, format="ISO8601")  # 01/02/2024 is ambiguous, and nothing is guessed
        if then == "time with zone":
            zone = dtype.partition(",")[2].strip(" ]")
            times = pd.to_datetime(column, utc=True, format="ISO8601")
            return times.dt.tz_convert(zone) if zone in zoneinfo.available_timezones() else times
        if then == "duration":
            return pd.to_timedelta(column)
        if then in ("int", "float") and now in _TEXT:
            return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidRequest(
            f"{name}: the column {visible(str(column.name))} cannot be read as {dtype}.",
            why=visible(str(error)[:300]),
            hint="Correct the file, or read it yourself and pass the DataFrame.",
        ) from error
    return column
