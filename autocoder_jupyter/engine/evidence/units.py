"""Rows of a table that belong together: parts of the table take all of them, or none.

Two measurements of each person, the lines of an invoice below its total, and the rows below a heading say something
together only. A part that tears them is none that the data allow, and two right functions may differ on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.profile import sheet_rows
from autocoder_jupyter.engine.evidence.table_rows import columns_of

FEWEST = 8
"""Groups from which on it is not by chance that all are alike."""

MOST_ROWS = 30
"""Rows of a group that is kept whole."""

MOST_COLUMNS = 40
"""Columns in which groups are looked for."""

_FEW_VALUES = 12
"""Values of a column of which one occurs once in each group, such as `start` and `end`."""


@dataclass(frozen=True)
class Units:
    """Which rows of a table belong together.

    Args:
        of_rows: for each row the number of its unit, in the order of their first rows.
        groups: the column of the groups, if there are any.
        columns: that column, and those that differ within each group.
        head: how many rows at the top are not data, such as a header. They always stay first.
        is_stretch: whether the rows are a sequence without gaps, of which a part is a stretch.
    """

    of_rows: Any
    groups: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    head: int = 0
    is_stretch: bool = False

    @classmethod
    def of(cls, table: Any) -> Units:
        """The units of a table; each row is one if nothing says otherwise."""
        rows = np.arange(len(table))
        at_top = head(table)
        if at_top or len(table) < 2 * FEWEST:
            return cls(rows, head=at_top)
        columns = list(enumerate(columns_of(table)))[:MOST_COLUMNS]
        if (found := _blocks(columns) or _groups(columns)) is not None:
            return found
        return cls(rows, is_stretch=any(_is_even(column) for _, column in columns))

    @property
    def are_rows(self) -> bool:
        """Whether each row stands for itself."""
        return not self.groups

    @property
    def is_plain(self) -> bool:
        """Whether any rows are a part as the data allow it."""
        return self.are_rows and not self.head and not self.is_stretch

    @property
    def can_be_moved(self) -> bool:
        """Whether the units can come in another order: the rows of each stand together."""
        return bool((np.diff(self.of_rows) >= 0).all())

    def keeps(self, mask: Any) -> bool:
        """Whether some rows, as a mask, are whole units."""
        part = np.bincount(self.of_rows, weights=mask)
        return bool(((part == 0) | (part == np.bincount(self.of_rows))).all())

    @property
    def count(self) -> int:
        """How many there are, without the head."""
        return (
            int(self.of_rows[-1] if self.are_rows else self.of_rows.max()) + 1 - self.head if len(self.of_rows) else 0
        )

    def rows(self, chosen: Any) -> Any:
        """The positions of the rows of the head and of these units, which are numbered without the head.

        The units come in the order in which they are chosen, if the rows of each stand together.
        """
        chosen = np.asarray(chosen, dtype=int)
        if self.are_rows:
            return np.r_[np.arange(self.head), chosen + self.head]
        if not self.can_be_moved:
            return np.flatnonzero(np.isin(self.of_rows, chosen))
        ends = np.searchsorted(self.of_rows, [chosen, chosen + 1])
        return np.concatenate([np.arange(*pair) for pair in ends.T]) if len(chosen) else chosen

    def evenly(self, most: int) -> Any:
        """The positions of at most so many rows of evenly spaced units, or of a stretch."""
        if self.is_stretch:
            return np.arange(min(most, len(self.of_rows)))
        wanted = max(1, int(self.count * most / max(1, len(self.of_rows))))
        return self.rows(np.unique(np.linspace(0, self.count - 1, wanted).astype(int)))


def head(table: Any) -> int:
    """The number of rows at the top that are no data: a header below names that say nothing, or units."""
    if isinstance(table, pd.Series) or len(table) < FEWEST:
        return 0
    header = sheet_rows(table).header
    if header is not None:
        return header + 1
    texts = [column for column in columns_of(table) if pd.api.types.is_object_dtype(column.dtype) or _is_text(column)]
    return int(any(_has_words_above_numbers(column) for column in texts[:MOST_COLUMNS]))


def _is_text(column: Any) -> bool:
    return isinstance(column.dtype, pd.StringDtype)


def _has_words_above_numbers(column: Any) -> bool:
    """Whether the first cell is the only one that is no number."""
    first, below = column.iloc[0], column.iloc[1:1000].dropna()
    if not isinstance(first, str) or len(below) < FEWEST - 1:
        return False
    try:
        return bool(
            pd.isna(pd.to_numeric(first, errors="coerce")) and pd.to_numeric(below, errors="coerce").notna().all()
        )
    except (TypeError, ValueError):
        return False


def _groups(columns: list[tuple[int, Any]]) -> Units | None:
    """The smallest groups of a column that are all of one size, or in each of which some value occurs once."""
    found: list[tuple[int, Units]] = []
    for place, column in columns:
        numbers = _numbers(column)
        if numbers is None:
            continue
        sizes = np.bincount(numbers)
        if len(sizes) < FEWEST or sizes.max() > MOST_ROWS or sizes.min() < 2:
            continue
        others = [(other, one) for other, one in columns if other != place]
        if sizes.min() == sizes.max() or any(_stands_once(one, numbers, len(sizes)) for _, one in others):
            within = {other for other, one in others if _tells_apart(one, numbers, len(sizes))}
            found.append((len(sizes), Units(numbers, frozenset({place}), frozenset({place, *within}))))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _numbers(column: Any) -> Any:
    """The number of each row's group, in the order of their first rows; None if the column makes no groups."""
    if column.dtype.kind in "fcbm" or column.isna().any():
        return None
    try:
        return pd.factorize(column)[0]
    except TypeError:  # lists and dicts
        return None


def _stands_once(column: Any, groups: Any, count: int) -> bool:
    """Whether a value of the column is there once in each group."""
    if column.dtype.kind in "fcmM" or column.isna().any():
        return False
    numbers = _numbers(column) if column.dtype.kind != "b" else column.to_numpy().astype(int)
    if numbers is None or not 2 <= numbers.max() + 1 <= _FEW_VALUES:
        return False
    return any((np.bincount(groups[numbers == one], minlength=count) == 1).all() for one in range(numbers.max() + 1))


def _tells_apart(column: Any, groups: Any, count: int) -> bool:
    """Whether the column has few values, and they differ within each group."""
    numbers = _numbers(column)
    if numbers is None or numbers.max() + 1 > max(_FEW_VALUES, MOST_ROWS):
        return False
    pairs = np.unique(groups * (numbers.max() + 1) + numbers)
    return bool((np.bincount(pairs // (numbers.max() + 1), minlength=count) > 1).all())


def _blocks(columns: list[tuple[int, Any]]) -> Units | None:
    """Rows below a heading: a column that has a value in the first row of each block only."""
    for place, column in columns:
        present = column.notna().to_numpy()
        starts = np.flatnonzero(present)
        if not present[0] or not FEWEST // 2 <= len(starts) <= len(column) // 2:
            continue
        try:
            is_heading = bool(column.iloc[starts].is_unique)
        except TypeError:  # lists and dicts
            continue
        if is_heading and np.diff(np.r_[starts, len(column)]).max() <= MOST_ROWS:
            return Units(np.cumsum(present) - 1, frozenset({place}), frozenset({place}))
    return None


def _is_even(column: Any) -> bool:
    """Whether times follow each other without a gap."""
    if column.dtype.kind != "M" or column.isna().any():
        return False
    steps = np.diff(column.to_numpy(dtype="datetime64[ns]").astype("int64"))
    if len(steps) < FEWEST or not steps.all():
        return False
    if (steps == steps[0]).all():
        return True
    months = column.dt.year.to_numpy() * 12 + column.dt.month.to_numpy()
    return bool((np.abs(np.diff(months)) == 1).all() and column.dt.day.nunique() <= 4)
