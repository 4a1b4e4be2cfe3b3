"""Read tables in JSON: one object per row, or one object or list per column.

pandas reads JSON in one call that keeps the GIL: 10 MB of it stopped the notebook for seconds. Here other threads can
run meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import pandas as pd

from autocoder_jupyter.codec.bounded_json import Allowance, entries, parse
from autocoder_jupyter.data.capture import MOST_CELLS

JSON_BYTES = 2**30
JSON_CONTAINERS = 5_000_000
"""The maximum number of lists and objects in a file; each row is one."""

JSON_COLUMNS = 20_000

_BATCH_BYTES = 1 << 20
"""Bytes of lines that are parsed together."""

_LINE_BYTES = 1 << 26
_PIECE_BYTES = 1 << 24
_PIECE_ROWS = 1 << 16
"""A line, and a piece of a file, has at most about so many bytes or rows."""

_PIECE_VALUES = 100_000
"""Values that pandas gets at once."""


def read_json(file: IO[bytes], *, lines: bool) -> pd.DataFrame:
    """The table in a file of JSON in UTF-8. No value is converted; names and labels that are whole numbers are ints."""
    allowance = Allowance(JSON_CONTAINERS, MOST_CELLS)
    data = file.read(JSON_BYTES + 1).removeprefix(b"\xef\xbb\xbf")
    if len(data) > JSON_BYTES:
        raise ValueError(f"it is larger than {JSON_BYTES // 2**30} GiB")
    if lines:
        return _of_rows(_of_lines(data, allowance))
    if data[:_BATCH_BYTES].lstrip()[:1] == b"[":
        return _of_rows(entries(data, allowance))
    return _of_columns(parse(data, allowance))


def read_lines(file: IO[bytes]) -> Iterator[pd.DataFrame]:
    """The table in a file of JSON lines, in pieces with the names and dtypes of their own rows; at least one."""
    rest, rows, size = b"", [], 0
    is_first = is_begin = True
    while True:
        data = file.read(_BATCH_BYTES)
        if is_begin:
            data, is_begin = data.removeprefix(b"\xef\xbb\xbf"), False
        whole, newline, rest = (rest + data).rpartition(b"\n") if data else (rest, b"", b"")
        if len(rest) > _LINE_BYTES:
            raise ValueError(f"a line is longer than {_LINE_BYTES // 2**20} MiB")
        for part in _of_lines(whole + newline, Allowance(JSON_CONTAINERS, MOST_CELLS)):
            rows += part
        size += len(whole)
        if (not data and (rows or is_first)) or size >= _PIECE_BYTES or len(rows) >= _PIECE_ROWS:
            yield _of_rows(iter([rows]))
            rows, size, is_first = [], 0, False
        if not data:
            return


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
            if _is_too_large(count, size := len(columns)):
                while columns:
                    columns.popitem()  # one at a time: freeing all of them at once would block the other threads
                _require_size(count, size)
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


def _is_too_large(rows: int, columns: int) -> bool:
    return columns > JSON_COLUMNS or rows * columns > MOST_CELLS


def _require_size(rows: int, columns: int) -> None:
    if _is_too_large(rows, columns):
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
