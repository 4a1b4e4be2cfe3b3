"""Excel workbooks: their size, before they are read, and their sheets: columns, merged cells, headers of two rows."""

from __future__ import annotations

import importlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

_NAMED_COLUMNS = 20
_NAMED_RANGES = 5
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^<>]*?\bref=\"([A-Z]{1,3}\d{1,7}):([A-Z]{1,3}\d{1,7})\"")
_LONGEST = 60


@dataclass(frozen=True)
class Sheet:
    """One sheet.

    Args:
        rows: the number of rows that are not empty, with the header.
        header: the cells of the first row that is not empty.
        below: those of the next one.
        merged: ranges of merged cells, as `("A1", "B1")`.
    """

    name: str
    rows: int
    header: tuple[Any, ...]
    below: tuple[Any, ...]
    merged: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """Its name, size and columns, in a phrase."""
        names = [repr(str(cell)[:_LONGEST]) for cell in self.header if cell is not None]
        more = f" and {len(names) - _NAMED_COLUMNS} more" if len(names) > _NAMED_COLUMNS else ""
        return (
            f"sheet {self.name!r}: {max(0, self.rows - 1)} rows x {len(self.header)} columns"
            f" ({', '.join(names[:_NAMED_COLUMNS])}{more})"
        )

    @property
    def remarks(self) -> list[str]:
        """What of it `pd.read_excel` reads in another way than a person does."""
        if not self.merged:
            return []
        shown = ", ".join(f"{first}:{last}" for first, last in self.merged[:_NAMED_RANGES])
        more = f" and {len(self.merged) - _NAMED_RANGES} more" if len(self.merged) > _NAMED_RANGES else ""
        found = [f"merged cells {shown}{more}: only the first cell of each has the value, the others are missing"]
        if self._has_two_header_rows:
            found.append("the header has two rows, and the first names groups of columns; read it with header=[0, 1]")
        return found

    @property
    def _has_two_header_rows(self) -> bool:
        wide = any(_row(first) == 1 and _letters(first) != _letters(last) for first, last in self.merged)
        cells = [cell for cell in self.below if cell is not None]
        return wide and len(cells) > 1 and all(isinstance(cell, str) for cell in cells)


def _letters(cell: str) -> str:
    return re.sub(r"\d", "", cell)


def _row(cell: str) -> int:
    return int(re.sub(r"\D", "", cell))


def read_sheets(path: Path) -> list[Sheet]:
    """All sheets of a workbook, whose size was checked."""
    openpyxl: Any = importlib.import_module("openpyxl")
    workbook = openpyxl.load_workbook(path, read_only=True)
    found = []
    try:
        with zipfile.ZipFile(path) as archive:
            for sheet in workbook.worksheets:
                rows = [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
                part = str(getattr(sheet, "_worksheet_path", "")).lstrip("/")
                xml = archive.read(part) if part in archive.namelist() else b""
                ranges = ((first.decode(), last.decode()) for first, last in _MERGED.findall(xml))
                merged = tuple(sorted(ranges, key=lambda pair: (_row(pair[0]), len(pair[0]), pair)))
                head = [*rows[:2], (), ()]
                found.append(Sheet(str(sheet.title), len(rows), head[0], head[1], merged))
    finally:
        workbook.close()
    return found


# Size
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
                _SizeOfPart().read(stream)


class _SizeOfPart:
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
