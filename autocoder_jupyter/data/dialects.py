"""Files of text: their bytes and encoding, and the dialect of delimited text."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from autocoder_jupyter.untrusted.folder import READ_AHEAD

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


_UNPACKED_BYTES, _UNPACKED_TIMES = 256 * 2**20, 100
"""Compressed text may unpack to so many bytes, or so many times its own; real tables take 5 to 30 times."""


def unpacked_most(path: Path) -> int:
    """The maximum bytes of compressed text, decompressed."""
    return max(_UNPACKED_BYTES, _UNPACKED_TIMES * path.stat().st_size)


def require_moderate_text(path: Path, compression: str) -> None:
    """Check the size of compressed text, before pandas reads all of it into the memory of the notebook."""
    most, unpacked = unpacked_most(path), 0
    with open_bytes(path, compression) as file:
        while piece := file.read(READ_AHEAD):
            unpacked += len(piece)
            if unpacked > most:
                raise ValueError(f"it unpacks to more than {most / 2**20:,.0f} MiB")


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


def naming(text: str, found_in: Callable[[Sequence[str]], tuple[int, int]]) -> CsvDialect | None:
    """The dialect in which a line names most columns, which `found_in` counts; None if none names any."""
    lines = text.removeprefix("\ufeff").splitlines()[:_LINES]
    most, found = (0, 0), None
    for delimiter in DELIMITERS:
        for place, line in enumerate(lines):
            names = _records([line], delimiter)[0]
            if (count := found_in(names)) > most:
                table = _records([below for below in lines[place:] if below.strip()], delimiter)
                commas = delimiter != "," and _has_decimal_commas(table)
                most, found = count, CsvDialect(delimiter, True, place, commas, len(names))
    return found


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
