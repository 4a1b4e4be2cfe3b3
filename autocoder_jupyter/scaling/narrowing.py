"""The fewest rows with which a call fails, and where they are: the rest of a piece of a million rows says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autocoder_jupyter.untrusted.visible import visible

MOST_TRIES = 64
"""Calls that look for them."""

MOST_WORK = 16
"""The rows of all these calls together, as a multiple of those of the piece."""

NAMED = 5
"""Rows, or ranges of them, that an error names."""


@dataclass
class Narrowing:
    """Looks for the fewest rows of a piece with which a call fails in the same way.

    Args:
        fails: whether it does with the rows at these places.
        room: rows that may be tried.
    """

    fails: Callable[[Any], bool]
    room: int
    tries: int = 0
    was_cut: bool = False

    def fewest(self, units: Any, rows_of: Callable[[Any], Any]) -> Any:
        """The units that are left, rows or groups: those without which it was not seen to fail."""
        left = units
        while len(left) > 1:
            halves = np.array_split(left, 2)
            half = next((half for half in halves if self._tried(rows_of(half))), None)
            if half is None:
                break
            left = half
        needed = left[:0]
        while len(left) > 1 and not self.was_cut:  # several together: the shortest beginning, whose last is needed
            if len(needed) and self._tried(rows_of(needed)):
                return needed
            passes, ends = 0, len(left)
            while ends - passes > 1:
                middle = (passes + ends) // 2
                if self._tried(rows_of(np.sort(np.append(needed, left[:middle])))):
                    ends = middle
                else:
                    passes = middle
            needed, left = np.sort(np.append(needed, left[ends - 1])), left[: ends - 1]
        return np.sort(np.append(needed, left))

    def _tried(self, rows: Any) -> bool:
        if self.tries >= MOST_TRIES or len(rows) > self.room:
            self.was_cut = True
            return False
        self.tries += 1
        self.room -= len(rows)
        return self.fails(rows)


def fewest_rows(rows: Any, groups: Any, fails: Callable[[Any], bool]) -> tuple[Any, str]:
    """The fewest of these rows that were found to fail, and how they were found, as the end of a sentence.

    `groups` has the number of the group of each row, and groups are taken together first; it is None without groups.
    """
    narrowing = Narrowing(fails, MOST_WORK * len(rows))
    if groups is not None:
        found = narrowing.fewest(np.unique(groups), lambda chosen: rows[np.isin(groups, chosen)])
        rows = rows[np.isin(groups, found)]
    rows = narrowing.fewest(rows, lambda chosen: chosen)
    calls = f"{narrowing.tries:,} {'call' if narrowing.tries == 1 else 'calls'}"
    return rows, f"fewer were not tried after {calls}" if narrowing.was_cut else f"found in {calls}"


@dataclass(frozen=True)
class Stretch:
    """Neighbouring rows of a file, or of a table without files.

    Args:
        place: the name of the file; "" if there is none.
        start: the place of the first row in it, from 0 on.
    """

    place: str
    start: int
    count: int


def where_in(stretches: Sequence[Stretch], rows: Any) -> str:
    """Where rows of a piece are: `part-11.parquet, row 5,123`; several files are divided by semicolons."""
    starts = np.cumsum([0, *(stretch.count for stretch in stretches)])
    by_place: dict[str, list[int]] = {}
    for row in np.sort(np.asarray(rows)).tolist():
        at = int(np.searchsorted(starts, row, "right")) - 1
        by_place.setdefault(stretches[at].place, []).append(stretches[at].start + row - int(starts[at]))
    return "; ".join(
        f"{visible(place)}, {rows_in_words(numbers)}" if place else rows_in_words(numbers)
        for place, numbers in by_place.items()
    )


def rows_in_words(numbers: Iterable[int]) -> str:
    """`row 5`, `rows 5 to 9, 12 and 30 more`."""
    listed = sorted(numbers)
    ranges: list[list[int]] = []
    for number in listed:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [f"{first:,} to {last:,}" if last > first else f"{first:,}" for first, last in ranges[:NAMED]]
    more = sum(last - first + 1 for first, last in ranges[NAMED:])
    return f"{'row' if len(listed) == 1 else 'rows'} {', '.join(words)}{f' and {more:,} more' if more else ''}"
