"""How large an Excel file is once it is unpacked. It is a ZIP archive, and a small one can unpack to gigabytes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any
from xml.parsers import expat

MOST_BYTES = 128 * 2**20
"""The maximum bytes of all parts of a workbook. No more of a part is read than the archive declares."""

MOST_PARTS = 2_000
MOST_CELLS = 5_000_000
"""The maximum number of cells of a sheet, as rows times columns: pandas fills the gaps between cells."""

_PIECE = 1 << 16
_LONGEST_TAG = 1 << 20


def require_moderate(path: Path) -> None:
    """Check the size of a workbook, before a library reads it.

    Raises:
        ValueError: it is too large, or not a workbook.
    """
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        unpacked = sum(part.file_size for part in parts)
        if len(parts) > MOST_PARTS or unpacked > MOST_BYTES:
            raise ValueError(
                f"it unpacks to {unpacked / 2**20:,.0f} MiB in {len(parts):,} parts; at most {MOST_BYTES // 2**20} MiB "
                f"in {MOST_PARTS:,} parts are read"
            )
        for part in parts:
            with archive.open(part) as stream:
                _Sheet().read(stream)


class _Sheet:
    """Counts the rows and columns of a part of a workbook. A part that is no sheet has none."""

    def __init__(self) -> None:
        self._row = self._rows = self._column = self._columns = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._begun
        self._parser.StartDoctypeDeclHandler = self._has_document_type

    def read(self, stream: Any) -> None:
        taken = 0
        try:
            while piece := stream.read(_PIECE):
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
        if self._rows * self._columns > MOST_CELLS:
            raise ValueError(f"a sheet has more than {MOST_CELLS:,} cells, with the empty ones between others")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _column_of(place: str) -> int:
    """`28` of `AB12`; 0 of what is no place."""
    letters = place.rstrip("0123456789").upper()
    if not letters.isascii() or not letters.isalpha() or len(letters) > 4:
        return 0
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
