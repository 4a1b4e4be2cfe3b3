"""Rows of a source with rare values, from all of its files: what a sample of one file cannot show.

They are computed together and in parts, and compared, those of some hundred files at once. A condition that only a late
file fulfils has then another outcome for a part than for the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.scaling.partition import writing_pieces
from autocoder_jupyter.scaling.sources import Batch

MOST = 400
"""Rows of one batch, and those from which on a group is complete."""

MOST_COLUMNS = 40
"""Columns whose values are looked at."""

MOST_VALUES = 200
"""Texts of a column that are known. One with more has names or ids; of these only the characters are looked at."""

_CLASSES = (b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b" ", b".", b",", b"-+", b"/")
_OTHERS = (b":", b"%$", b"()", b"_#", b"\t\n\r")
_UNUSUAL = 1 << 13
_STARTS_BLANK, _ENDS_BLANK, _STARTS_ZERO, _EMPTY = (1 << place for place in range(14, 18))


def _table_of_classes() -> Any:
    table = np.full(256, _UNUSUAL, dtype="uint16")
    for place, characters in enumerate((*_CLASSES, *_OTHERS)):
        table[list(characters)] = 1 << place
    return table


_CLASS = _table_of_classes()
_FREQUENT = (_CLASS & 255).astype("uint8").tobytes()
_RARE = (_CLASS >> 8).astype("uint8").tobytes()
"""The bits of the class of each byte, for `bytes.translate`: those of the first eight classes, and the others."""

_MARKS = 1 << 18


@dataclass
class _Known:
    """What is known of a column.

    Args:
        marks: which marks its values had.
        has_gaps: whether a value was missing.
        values: its texts, if they are few; None if they are not.
        repeats: whether a batch has each of its texts several times, so that only the different ones are looked at.
    """

    marks: Any = field(default_factory=lambda: np.zeros(_MARKS, dtype=bool))
    has_gaps: bool = False
    values: set[Any] | None = field(default_factory=set)
    repeats: bool = True
    least: Any = None
    most: Any = None


@dataclass
class RareRows:
    """Collects them while the batches are read, of which a file has at least one.

    Args:
        folder: has the groups that are complete, so that memory has only one.
    """

    folder: Path
    _tables: list[Any] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _known: dict[str, _Known] = field(default_factory=dict)
    _batches: int = 0
    _full: int = 0

    def passed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches as they are."""
        for batch in batches:
            self._look(batch.table)
            yield batch

    def groups(self) -> Iterator[tuple[Any, list[int]]]:
        """Rows of many batches, and for each the number of its batch. Each group begins with those of the first."""
        for number in range(self._full):
            with pyarrow.OSFile(str(self._path(number))) as file:
                found = pyarrow.ipc.open_stream(file).read_all()
            last = found.num_columns - 1
            yield found.remove_column(last), found.column(last).to_pylist()
        if len(set(self._numbers)) > 1 or (self._numbers and not self._full):
            yield pyarrow.concat_tables(self._tables), self._numbers

    def _look(self, table: Any) -> None:
        if not table.num_rows:
            return
        rare: set[int] = set()
        for name in table.column_names[:MOST_COLUMNS]:
            rare |= self._new(self._known.setdefault(name, _Known()), table.column(name))
        ends = {0, table.num_rows - 1}
        kept = sorted(ends | set(sorted(rare - ends)[: MOST - len(ends)]))
        self._tables.append(table.take(kept))
        self._numbers += [self._batches] * len(kept)
        self._batches += 1
        if len(self._numbers) - self._tables[0].num_rows >= MOST:
            self._complete()

    def _complete(self) -> None:
        group = pyarrow.concat_tables(self._tables).append_column("", pyarrow.array(self._numbers))
        path = str(self._path(self._full))
        with writing_pieces(self.folder), pyarrow.ipc.new_stream(path, group.schema) as writer:
            writer.write_table(group)
        self._full += 1
        self._tables, self._numbers = self._tables[:1], [0] * self._tables[0].num_rows

    def _path(self, number: int) -> Path:
        return self.folder / f"rare-{number}.arrow"

    def _new(self, known: _Known, column: Any) -> set[int]:
        """The first rows whose values differ from all before."""
        try:
            return {int(row) for row in _rows(known, _flat(column))}
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):  # a type that has no order
            return set()


def _flat(column: Any) -> Any:
    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(array, pyarrow.ChunkedArray):
        array = pyarrow.concat_arrays(array.chunks)
    return array.dictionary_decode() if pyarrow.types.is_dictionary(array.type) else array


def _rows(known: _Known, array: Any) -> Iterator[int]:
    kind = array.type
    if array.null_count and not known.has_gaps:
        known.has_gaps = True
        yield pc.index(pc.is_null(array), True).as_py()
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        yield from _texts(known, array)
    elif pyarrow.types.is_boolean(kind):
        yield from _marked(known, array.fill_null(False).to_numpy(zero_copy_only=False).astype("int64"))
    elif pyarrow.types.is_temporal(kind):
        yield from _bounds(known, array)
        if pyarrow.types.is_timestamp(kind):
            times = pc.not_equal(pc.floor_temporal(array, unit="day"), array)
            yield from _marked(known, times.fill_null(False).to_numpy(zero_copy_only=False).astype("int64"))
    elif pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        yield from _bounds(known, array)
        yield from _marked(known, _signs(array))


def _signs(array: Any) -> Any:
    """For each number its sign, whether it is whole and whether it is NaN, as bits; a missing one counts as 1."""
    values = array.fill_null(1) if array.null_count else array
    if pyarrow.types.is_integer(array.type):
        values = values.to_numpy(zero_copy_only=False)
        return _positive(values) | (values < 0).view("u1") << 2 | np.uint8(1)
    values = values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        whole, nan = (values == np.floor(values)).view("u1"), (values != values).view("u1")
    return _positive(values) | (values < 0).view("u1") << 2 | whole | nan << 3


def _positive(values: Any) -> Any:
    return (values > 0).view("u1") << 1


def _bounds(known: _Known, array: Any) -> Iterator[int]:
    """The rows with the smallest and the largest value, if they are beyond those before."""
    found = pc.min_max(array)
    least, most = found["min"], found["max"]
    if not least.is_valid:
        return
    if known.least is None or pc.less(least, known.least).as_py():
        known.least = least
        yield pc.index(array, least).as_py()
    if known.most is None or pc.greater(most, known.most).as_py():
        known.most = most
        yield pc.index(array, most).as_py()


def _marked(known: _Known, marks: Any) -> Iterator[int]:
    """The first row of each mark that was not there before."""
    if marks.dtype == np.uint8:
        seen = np.flatnonzero(known.marks[:256]).astype("uint8").tobytes()
        if not marks.tobytes().translate(None, seen):
            return
    new = np.flatnonzero(~known.marks[marks])
    if len(new):
        found, first = np.unique(marks[new], return_index=True)
        known.marks[found] = True
        yield from new[first].tolist()


def _texts(known: _Known, array: Any) -> Iterator[int]:
    looked = array
    if known.repeats:
        looked = pc.unique(array).drop_null()
        known.repeats = 4 * len(looked) <= max(len(array), 4 * MOST_VALUES)
    if known.values is not None:
        distinct = looked if looked is not array else pc.unique(array).drop_null()
        if len(distinct) + len(known.values) > MOST_VALUES:
            known.values = None
        else:
            for value in distinct.to_pylist():
                if value not in known.values:
                    known.values.add(value)
                    yield pc.index(array, pyarrow.scalar(value, array.type)).as_py()
    for place in (*_marked(known, _characters(looked)), *_bounds(known, pc.binary_length(looked))):
        yield place if looked is array else pc.index(array, looked[place]).as_py()


def _characters(array: Any) -> Any:
    """For each text the classes of its characters, as bits."""
    filled = array.fill_null("") if array.null_count else array
    width = "int64" if pyarrow.types.is_large_string(filled.type) else "int32"
    ends = np.frombuffer(filled.buffers()[1], width, len(filled) + 1, filled.offset * np.dtype(width).itemsize)
    content = np.frombuffer(filled.buffers()[2] or b"", "uint8")[int(ends[0]) : int(ends[-1])]
    ends = ends.astype("intp") - ends[0]
    marks = np.zeros(len(filled), dtype="intp")
    rows = np.flatnonzero(ends[1:] > ends[:-1])
    if len(rows) == len(filled):
        starts, last = ends[:-1], ends[1:] - 1
    else:
        marks += _EMPTY
        marks[rows] = 0
        starts, last = ends[:-1][rows], ends[1:][rows] - 1
    if len(rows):
        characters = content.tobytes()
        classes = characters.translate(_FREQUENT)
        found = np.bitwise_or.reduceat(np.frombuffer(classes, "uint8"), starts).astype("intp")
        if b"\0" in classes:  # a character of the other classes
            others = np.frombuffer(characters.translate(_RARE), "uint8")
            found |= np.bitwise_or.reduceat(others, starts).astype("intp") << 8
        first = content[starts]
        found[first == 32] |= _STARTS_BLANK
        found[content[last] == 32] |= _ENDS_BLANK
        found[first == 48] |= _STARTS_ZERO
        marks[rows if len(rows) < len(filled) else slice(None)] |= found
    return marks
