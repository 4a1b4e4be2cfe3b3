"""Compare two values of any kind: go through both, and collect the differences and what was not compared."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.leniency import STRICT, Leniency
from autocoder_jupyter.equality.scalars import is_single, kind_of, same, same_type
from autocoder_jupyter.equality.tables import (
    STEP,
    as_tables,
    columns_by_label,
    differing,
    flat,
    has_own_index,
    is_geometry,
    is_measured,
    is_plain,
    key_columns,
    matched_columns,
    matched_names,
)

# Results

Verdict = Literal["equal", "different", "not compared"]


class PathStep(NamedTuple):
    """One step to a part of a value. The name of an index is that of its level."""

    kind: Literal["column", "index", "key", "entry", "file"]
    name: Any


Path = tuple[PathStep, ...]


@dataclass(frozen=True)
class ValueDifference:
    """One place where two values differ.

    Args:
        path: the steps to it; empty for the value itself.
        what: `value`: two single values; `type`: their types; `dtype`: those of a column; `length`: the number of rows
            or entries; `cells`: values of a column or list; `columns` or `keys`: one side has others; `rows`: one side
            has others; `order`: that of the columns; `content`: that of a file or picture.
        one, other: the values there; for `dtype` the dtypes.
        wrong: for `cells`, a mask of those that differ.
        only_one, only_other: for `columns` and `keys` the names, for `rows` the values of `keys`, that one side has.
        keys: the columns by which rows were matched.
        rows: for `cells`, the values of `keys` of each row.
    """

    path: Path
    what: Literal["value", "type", "dtype", "length", "cells", "columns", "keys", "rows", "order", "content"]
    one: Any
    other: Any
    wrong: Any = None
    only_one: tuple[Any, ...] = ()
    only_other: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    rows: Any = None

    @property
    def count(self) -> int:
        """The number of values that differ."""
        return 1 if self.wrong is None else int(self.wrong.sum())


@dataclass(frozen=True)
class NotCompared:
    """A part that was not compared, and why."""

    path: Path
    why: str


@dataclass(frozen=True)
class Comparison:
    """The result.

    Args:
        more: the number of values that differ besides.
        not_compared: the first parts that were not compared.
        compared: the number of values that were compared. Columns that only identify a row are not counted, unless the
            table has no others.
    """

    differences: tuple[ValueDifference, ...]
    more: int
    not_compared: tuple[NotCompared, ...]
    compared: int

    @property
    def verdict(self) -> Verdict:
        """`equal` only if a value was compared, or if there was nothing else to compare, as with two empty lists."""
        if self.differences:
            return "different"
        return "equal" if self.compared or not self.not_compared else "not compared"


# The comparison

MOST = 100
"""The number of differences that are kept, and of parts that were not compared."""


def compare(
    one: Any,
    other: Any,
    leniency: Leniency = STRICT,
    *,
    name: str = "values",
    sides: tuple[str, str] = ("the first", "the second"),
) -> Comparison:
    """Compare two values, in time proportional to their size."""
    walk = _Walk(leniency, name, sides)
    walk.between((), one, other)
    return Comparison(tuple(walk.differences), walk.more, tuple(walk.not_compared), walk.compared)


def equal(one: Any, other: Any, leniency: Leniency = STRICT) -> bool:
    """Whether two values are equal. What cannot be compared is not."""
    if is_single(one) and is_single(other):
        return same(one, other, leniency)
    return compare(one, other, leniency).verdict == "equal"


def is_comparable(value: Any) -> bool:
    """Whether a value can be an expected output: with all that is in it, but no set, file or picture."""
    if isinstance(value, Mapping):
        return all(map(is_comparable, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_comparable, value))
    return kind_of(value) not in ("", "set") or isinstance(value, pd.DataFrame | pd.Series)


_FORMS = {str: "single", int: "single", list: "sequence", dict: "mapping"}
"""The forms of the most frequent types."""


def _form(value: Any) -> str:
    """How it is compared, one of `_Walk._methods`; "" for nothing that is known."""
    if type(value) in _FORMS:
        return _FORMS[type(value)]
    if isinstance(value, pd.DataFrame):
        return "table"
    if isinstance(value, pd.Series):
        return "series"
    if is_single(value):
        return "single"
    if isinstance(value, Mapping):
        return "mapping"
    if isinstance(value, list | tuple | np.ndarray):
        return "sequence"
    if isinstance(value, os.PathLike):
        return "folder" if FilePath(value).is_dir() else "file"
    return "picture" if isinstance(value, RenderedFigure) else ""


class _Walk:
    """Goes through two values, and collects what differs."""

    def __init__(self, leniency: Leniency, name: str = "", sides: tuple[str, str] = ("", "")) -> None:
        self.leniency = leniency
        self.name = name
        self.sides = sides
        self.differences: list[ValueDifference] = []
        self.more = 0
        self.not_compared: list[NotCompared] = []
        self.compared = 0
        self._methods: dict[str, Callable[[Path, Any, Any], None]] = {
            "single": self._single,
            "mapping": self._mapping,
            "sequence": self._sequence,
            "table": self._table,
            "series": self._series,
            "file": self._file,
            "folder": self._folder,
            "picture": self._picture,
        }

    def between(self, path: Path, one: Any, other: Any) -> None:
        """Compare two parts of the values."""
        forms = _form(one), _form(other)
        if self.leniency.names and forms[0] != forms[1] and (tables := as_tables(one, other, self.name)):
            one, other = tables
            forms = "table", "table"
        if forms[0] != forms[1]:
            self._unlike(path, one, other)
        elif not forms[0]:
            self._leave(path, f"values of the type {type(one).__name__} cannot be compared")
        else:
            self._methods[forms[0]](path, one, other)

    def _differ(self, difference: ValueDifference) -> None:
        if len(self.differences) < MOST:
            self.differences.append(difference)
        else:
            self.more += difference.count

    def _leave(self, path: Path, why: str) -> None:
        if len(self.not_compared) < MOST:
            self.not_compared.append(NotCompared(path, why))

    def _unlike(self, path: Path, one: Any, other: Any) -> None:
        if self.leniency.unlike:
            self._leave(path, f"{type(one).__name__} here, {type(other).__name__} there")
        else:
            self._differ(ValueDifference(path, "type", one, other))

    def _single(self, path: Path, one: Any, other: Any) -> None:
        if same(one, other, self.leniency):
            self.compared += 1
        elif self.leniency.unlike and not self._are_alike(one, other):
            self._unlike(path, one, other)
        else:
            self.compared += 1
            strict = not self.leniency.types and not same_type(one, other)
            self._differ(ValueDifference(path, "type" if strict else "value", one, other))

    def _are_alike(self, one: Any, other: Any) -> bool:
        """Whether two single values are of the same kind, so that a difference means something."""
        kinds = {kind_of(one), kind_of(other)}
        return len(kinds - {"missing"}) < 2

    def _mapping(self, path: Path, one: Mapping[Any, Any], other: Mapping[Any, Any]) -> None:
        if self.leniency.names:
            one, other = _by_text(one), _by_text(other)
            other = self._renamed(one, other)
        only_one = tuple(key for key in one if key not in other)
        only_other = tuple(key for key in other if key not in one)
        if self.leniency.names:
            for side, keys in zip(self.sides, (only_one, only_other), strict=True):
                for key in keys:
                    self._leave((*path, PathStep("key", key)), f"only in {side}")
        elif only_one or only_other:
            self._differ(ValueDifference(path, "keys", one, other, only_one=only_one, only_other=only_other))
        for key in one:
            if key in other:
                self.between((*path, PathStep("key", key)), one[key], other[key])

    def _renamed(self, one: Mapping[Any, Any], other: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The second mapping with the keys of the first, where a single value has another name there."""
        left, right = ({key: value for key, value in side.items() if is_single(value)} for side in (one, other))
        pairs = matched_names(left, right, lambda a, b: same(left[a], right[b], self.leniency))
        if len(pairs) < len(left) or len(pairs) < len(right):  # a few equal values may be so by chance
            pairs = matched_names(left, right, lambda a, b: False)
        names = {theirs: ours for ours, theirs in pairs.items()}
        return {names.get(key, key): value for key, value in other.items()}

    def _sequence(self, path: Path, one: Any, other: Any) -> None:
        if not self.leniency.types and type(one) is not type(other):
            self._differ(ValueDifference(path, "type", one, other))
        elif isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            self._array(path, one, other)
        elif len(one) != len(other):
            self._differ(ValueDifference(path, "length", one, other))
        elif all(type(value) is float for value in itertools.chain(one, other)):
            ours, theirs = (pd.Series(side, dtype="float64") for side in (one, other))
            self._cells(path, one, other, differing(ours, theirs, self.leniency, equal))
        elif all(map(is_single, itertools.chain(one, other))):
            pairs = zip(one, other, strict=True)
            self._cells(path, one, other, [not same(left, right, self.leniency) for left, right in pairs])
        else:
            for number, pair in enumerate(zip(one, other, strict=True)):
                self.between((*path, PathStep("entry", number)), *pair)

    def _array(self, path: Path, one: Any, other: Any) -> None:
        if one.shape != other.shape:
            self._differ(ValueDifference(path, "length", one, other))
        else:
            self._column(path, pd.Series(np.ravel(one)), pd.Series(np.ravel(other)))

    def _file(self, path: Path, one: Any, other: Any) -> None:
        left, right = FilePath(one), FilePath(other)
        try:
            is_same = same_content(left, right)
        except OSError:
            self._leave(path, "a file that cannot be read")
            return
        if is_same:
            self.compared += 1
        elif not self.leniency.unlike:
            self._differ(ValueDifference(path, "content", one, other))
        else:
            self._text(path, lines_of(left), lines_of(right))

    def _text(self, path: Path, one: tuple[list[str], bool] | None, other: tuple[list[str], bool] | None) -> None:
        if one is None or other is None:
            self._leave(path, "no text file")
            return
        found = len(self.differences)
        self._sequence(path, one[0], other[0])
        if len(self.differences) == found and not (one[1] and other[1]):
            self._leave(path, "the end of a long file")

    def _folder(self, path: Path, one: Any, other: Any) -> None:
        left, right = files_of(FilePath(one)), files_of(FilePath(other))
        only = tuple(name for name in left if name not in right), tuple(name for name in right if name not in left)
        if any(only):
            self._differ(ValueDifference(path, "keys", one, other, only_one=only[0], only_other=only[1]))
        for name in left:
            if name in right:
                self.between((*path, PathStep("file", name)), left[name], right[name])

    def _picture(self, path: Path, one: RenderedFigure, other: RenderedFigure) -> None:
        if one.png == other.png and equal(dict(one.spec), dict(other.spec), self.leniency):
            self.compared += 1
        elif self.leniency.unlike:
            self._leave(path, "a picture")
        else:
            self._differ(ValueDifference(path, "content", one, other))

    def _series(self, path: Path, one: Any, other: Any) -> None:
        if self.leniency.names or not self.leniency.labels:
            self._table(path, one, other)
        elif len(one) != len(other):
            self._differ(ValueDifference(path, "length", one, other))
        else:
            self._indexes(path, one, other)
            self._column(path, one, other)

    def _table(self, path: Path, one: Any, other: Any) -> None:
        if self.leniency.names:
            self._matched_table(path, flat(one, self.name), flat(other, self.name))
            return
        one, other = self._framed(one), self._framed(other)
        if _are_identical(one, other):  # the usual case, in a tenth of the time
            self.compared += one.size
            return
        if self.leniency.labels and _can_be_columns(other) and not has_own_index(one):
            other = other.reset_index()
        left, right = columns_by_label(one), columns_by_label(other)
        only_one = tuple(one.columns[place] for key, place in left.items() if key not in right)
        only_other = tuple(other.columns[place] for key, place in right.items() if key not in left)
        if only_one or only_other:
            self._differ(ValueDifference(path, "columns", one, other, only_one=only_one, only_other=only_other))
        if len(one) != len(other):
            self._differ(ValueDifference(path, "length", one, other))
        else:
            self._indexes(path, one, other)
        common = [key for key in right if key in left]
        for key in common:
            step = PathStep("column", other.columns[right[key]])
            self._column((*path, step), one.iloc[:, left[key]], other.iloc[:, right[key]])
        if not self.leniency.column_order and common != [key for key in left if key in right]:
            self._differ(ValueDifference(path, "order", one, other))

    def _framed(self, table: Any) -> Any:
        if isinstance(table, pd.DataFrame):
            return table
        return table.to_frame(self.name if table.name is None else table.name)

    def _indexes(self, path: Path, one: Any, other: Any) -> None:
        if not has_own_index(other) and (self.leniency.labels or not has_own_index(one)):
            return
        if one.index.nlevels != other.index.nlevels:
            self._differ(ValueDifference((*path, PathStep("index", None)), "type", one.index, other.index))
            return
        for level, name in enumerate(other.index.names):
            values = (pd.Series(table.index.get_level_values(level)) for table in (one, other))
            self._column((*path, PathStep("index", name)), *values)

    def _column(self, path: Path, one: Any, other: Any) -> None:
        leniency = self.leniency
        if is_geometry(one) and is_geometry(other) and one.array.crs != other.array.crs:
            first, second = (f"geometry in {getattr(side.array.crs, 'name', 'no system')}" for side in (one, other))
            self._differ(ValueDifference(path, "dtype", first, second))
        if str(one.dtype) != str(other.dtype):
            if not leniency.types:
                self._differ(ValueDifference(path, "dtype", one.dtype, other.dtype))
            leniency = replace(leniency, types=True)  # a cell adds nothing to that
        if len(one) == len(other):
            self._cells(path, one, other, differing(one, other, leniency, equal))

    def _cells(self, path: Path, one: Any, other: Any, wrong: Any, keys: Sequence[str] = (), rows: Any = None) -> None:
        self.compared += len(wrong)
        count = int(sum(wrong) if isinstance(wrong, list) else wrong.sum())
        if count and len(self.differences) < MOST:
            mask = np.asarray(wrong, dtype=bool)
            self._differ(ValueDifference(path, "cells", one, other, mask, keys=tuple(keys), rows=rows))
        else:
            self.more += count

    def _matched_table(self, path: Path, one: Any, other: Any) -> None:
        measured = sum(map(is_measured, (column for _, column in one.items())))
        if measured and one.equals(other):  # the usual case, in a tenth of the time; measured numbers are not keys
            self.compared += measured * len(one)
            return
        columns = matched_columns(one, other, self.leniency)
        for name in one.columns:
            if name not in columns:
                self._leave((*path, PathStep("column", name)), f"no such column in {self.sides[1]}")
        if not columns:
            if len(other.columns) and not len(one.columns):
                self._leave(path, f"no columns in {self.sides[0]}")
            return
        is_whole = len(columns) == one.shape[1]
        if not list(one.columns) == list(other.columns) == list(columns) == list(columns.values()):
            one, other = one[list(columns)], other[list(columns.values())].set_axis(list(columns), axis=1)
        keys, left, right = key_columns(one, other) if self.leniency.row_order else ([], [], [])
        if keys:
            one, other = self._matched_rows(path, one, other, (keys, left, right))
        elif len(one) != len(other):
            self._differ(ValueDifference(path, "length", one, other))
            return
        if is_whole and len(keys) == len(columns):  # the rows are all that the table says
            self.compared += len(one)
        rows = one[keys] if keys else None
        for name in columns:
            if name not in keys:
                pair = one[name], other[name]
                wrong = differing(*pair, self.leniency, equal)
                self._cells((*path, PathStep("column", name)), *pair, wrong, keys, rows)

    def _matched_rows(
        self, path: Path, one: Any, other: Any, matched: tuple[list[str], list[str], list[str]]
    ) -> tuple[Any, Any]:
        """The rows that both tables have, in the order of the first."""
        keys, left, right = matched
        places = dict(zip(right, range(len(right)), strict=True))
        found = np.fromiter((places.get(label, -1) for label in left), dtype="int64", count=len(left))
        here = np.flatnonzero(found >= 0)
        there = found[here]
        if len(here) < max(len(left), len(right)):
            only_one = _rows(one, keys, np.flatnonzero(found < 0))
            only_other = _rows(other, keys, np.setdiff1d(np.arange(len(right)), there))
            self._differ(ValueDifference(path, "rows", one, other, None, only_one, only_other, tuple(keys)))
        elif np.array_equal(here, there):  # all rows, in the same order
            return one, other
        return one.iloc[here].reset_index(drop=True), other.iloc[there].reset_index(drop=True)


def _by_text(mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """With keys as text, unless two have the same text."""
    texts = {str(key): value for key, value in mapping.items()}
    return texts if len(texts) == len(mapping) else mapping


def _are_identical(one: Any, other: Any) -> bool:
    """Whether two tables are equal to the bit. False if one is large, or has labels or columns with other objects."""
    return (
        len(one) <= STEP
        and not has_own_index(one)
        and not has_own_index(other)
        and all(type(name) is str for name in one.columns)
        and all(map(is_plain, one.dtypes))
        and bool(one.equals(other))
    )


def _can_be_columns(table: Any) -> bool:
    names = table.index.names
    return has_own_index(table) and None not in names and not any(name in table.columns.tolist() for name in names)


def _rows(table: Any, keys: Sequence[str], places: Any) -> tuple[Any, ...]:
    """The values of the keys in some rows."""
    part = table[list(keys)].iloc[places]
    return tuple(zip(*(part[name] for name in keys), strict=True))


# Files and pictures

_PIECE = 1 << 20

MOST_TEXT = 1_000_000
"""The number of characters of a file that are compared line by line."""


@runtime_checkable
class RenderedFigure(Protocol):
    """A figure that was rendered."""

    png: bytes
    spec: Mapping[str, Any]


def same_content(one: FilePath, other: FilePath) -> bool:
    """Whether two files have the same bytes."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while piece := left.read(_PIECE):
            if piece != right.read(_PIECE):
                return False
    return True


def lines_of(path: FilePath) -> tuple[list[str], bool] | None:
    """The lines of a text file, and whether these are all; None if it is not text."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, UnicodeDecodeError):
        return None
    return text[:MOST_TEXT].splitlines(), len(text) <= MOST_TEXT


def files_of(folder: FilePath) -> dict[str, FilePath]:
    """The files of a folder by their relative path, sorted."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
