"""Describe the sheets of an Excel workbook: size, names of columns, merged cells, and headers of two rows."""

from __future__ import annotations

import importlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
