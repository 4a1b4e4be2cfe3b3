"""Small parts of a sample, and a sample several times as large. The seed is fixed, so they are reproducible."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.numbers import numbers_in
from autocoder_jupyter.engine.second_opinion.variations import (
    SEED,
    Profile,
    Tables,
    Variation,
    enlarged,
    main_table,
    trimmed_tables,
    variations,
    with_rows,
)

T = TypeVar("T")

FEWEST, MOST = 3, 20
"""The numbers of rows of a small part."""

TIMES = 3
"""How many times as large the sample is made, at least."""

LARGEST = 20_000
"""The maximum number of rows of a table that was made larger."""


@dataclass
class VariedSample:
    """A sample with its variations and small parts. They are made once, for all who run a function on them.

    Args:
        tables: the tables of the sample, by input name.
        count: the number of small parts.
    """

    tables: Mapping[str, Any]
    count: int = 0
    _made: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def trimmed(self) -> Tables:
        """The tables, each with at most `ROWS` rows."""
        return self._once("trimmed", lambda: trimmed_tables(self.tables))

    @property
    def variations(self) -> tuple[Variation, ...]:
        """See the function of that name."""
        return self._once("variations", lambda: tuple(variations(self.tables)))

    @property
    def parts(self) -> tuple[Tables, ...]:
        """See `small_parts`."""
        return self._once("parts", lambda: tuple(small_parts(self.tables, self.count)))

    def larger(self, more_than: int) -> Variation | None:
        """See the function of that name."""
        return self._once(f"larger, {more_than}", lambda: larger(self.tables, more_than))

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made


def small_parts(tables: Mapping[str, Any], count: int) -> Iterator[Tables]:
    """Random rows of the largest table, in their order, with the rows of other tables that match them.

    Args:
        tables: DataFrames and Series by input name.
        count: how many parts.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    rows = len(base[name]) if name else 0
    if rows <= FEWEST:
        return
    random = np.random.default_rng(SEED)
    for _ in range(count):
        size = int(random.integers(FEWEST, min(MOST, rows - 1) + 1))
        yield with_rows(base, name, np.sort(random.choice(rows, size, replace=False)))


def larger(tables: Mapping[str, Any], more_than: int = 0) -> Variation | None:
    """The sample with its largest table several times as large; None if that cannot be made.

    The times of the rows that are added are later, and their keys are new, so that they are rows as the sample could
    have.

    Args:
        tables: DataFrames and Series by input name.
        more_than: it has more rows than this, if that is possible.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    table = base[name] if name else None
    if not isinstance(table, pd.DataFrame) or table.empty or not isinstance(table.index, pd.RangeIndex):
        return None
    times = max(TIMES, min(more_than + 1, LARGEST) // len(table) + 1)
    profile = Profile.of(tables[name])
    others = {
        column for other, one in base.items() if other != name and isinstance(one, pd.DataFrame) for column in one
    }
    moved = {place for place, dtype in enumerate(table.dtypes) if dtype.kind == "M"} | profile.keys
    whole = enlarged(table, times * len(table), moved)
    if not whole.dtypes.equals(table.dtypes):
        return None
    is_new = profile.has_twins or any(not whole.iloc[len(table) :, at].isin(table.iloc[:, at]).all() for at in moved)
    is_new = is_new and not any(table.columns[place] in others for place in profile.keys)
    what = "with many times as many rows" if times > TIMES else "with three times as many rows"
    of = "" if len(base) == 1 else f" of {name}"
    words = f"{what}{of}" if is_new else f"if all rows{of} came {times} times"
    return Variation(words, {**base, name: whole}, has_new_texts=any(table.dtypes.iloc[at].kind == "O" for at in moved))


def largest_number(*codes: str) -> int:
    """The largest whole number in these modules that is at most `LARGEST`; 0 if there is none."""
    numbers = (number for code in codes for number in numbers_in(code))
    return max((number for number in numbers if isinstance(number, int) and number <= LARGEST), default=0)
