"""Compare the values of a table with the recorded ones, in one plain sentence for each difference.

A difference is told if it is large, and too large to be chance. Large means: a share differs by 5 points, a population
stability index of 0.25 (Siddiqi, Credit Risk Scorecards, 2006: "a significant shift"), or a Kolmogorov–Smirnov distance
of 0.2. Chance is what two samples of one table show with a probability of about one in 100,000 for each comparison:
by a test of two proportions, by the chi-square distribution of the index (Yurdakul, 2018), by the Kolmogorov–Smirnov
test, and, for values outside of the recorded range, by the distribution of the extremes of a sample (a beta
distribution). Many columns are compared, so a usual limit such as 5 % would give false alarms every day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.drift import column_literal
from autocoder_jupyter.data.value_profile import (
    LEAST_ROWS,
    ColumnValues,
    TableValues,
    Taken,
    spread_positions,
    taken,
    value_text,
)
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.parsing import visible

ROWS_COMPARED = 1_000
"""The most rows of a later table that are looked at, spread over it."""

CHANCE = 1e-5
_Z = 4.42
"""The two-sided quantile of the normal distribution for `CHANCE`."""

_Z_ONE_SIDED = 4.26
LARGE_SHARE = 0.05
LARGE_INDEX = 0.25
LARGE_DISTANCE = 0.2
_UNSEEN = -math.log(CHANCE)
"""With n values seen, a share of more than this / n is never unseen, except by chance."""

_FEWER_ROWS = 10
_NAMED = 3

What = Literal["rows", "missing", "zeros", "repeats", "range", "dates", "new values", "lost values", "distribution"]


@dataclass(frozen=True)
class ColumnDrift:
    """One difference from the recorded values: of a column, or of the whole table.

    Args:
        what: its kind.
        column: the name of the column as a Python literal; "" for the whole table.
        words: the sentence, with both numbers.
    """

    what: What
    column: str
    words: str


def value_drift(
    name: str,
    frame: pd.DataFrame,
    then: TableValues,
    reads: ColumnsRead = EVERY_COLUMN,
    *,
    is_sample: bool = False,
    show_values: bool = False,
) -> tuple[ColumnDrift, ...]:
    """How the values of a table differ from the recorded ones, in the columns that the function reads.

    Args:
        name: the name of the input, for the sentences.
        frame: the table.
        then: the recorded values.
        reads: the columns that the function reads.
        is_sample: whether the table stands for all data, so that few rows are a difference.
        show_values: whether the sentences may contain texts that are not recorded.
    """
    rows = len(frame)
    if rows == 0 < then.rows or (is_sample and rows * _FEWER_ROWS < then.rows):
        return (ColumnDrift("rows", "", f"{name} has {_rows(rows)}; recorded: {then.rows:,}."),)
    if rows < LEAST_ROWS or not then.columns:
        return ()
    places = {column_literal(label): place for place, label in enumerate(frame.columns)}
    take = spread_positions(rows, ROWS_COMPARED)
    found: list[ColumnDrift] = []
    for column in then.columns:
        place = places.get(column.label)
        if place is None or not reads.covers(column.label):
            continue
        seen = taken(frame.iloc[:, place], take)
        if seen is not None:
            found += _Comparison(f"{name}[{visible(column.label)}]", column, then.compared, seen, show_values).found()
    return tuple(found)


def similar_values(then: ColumnValues, compared: int, column: pd.Series[Any]) -> bool | None:
    """Whether a column has values as recorded ones; None if nothing was recorded that could tell."""
    seen = taken(column, spread_positions(len(column), ROWS_COMPARED))
    if seen is None or seen.kind != then.kind or not (then.edges or then.values) or seen.rows < LEAST_ROWS:
        return False if seen is not None and seen.kind != then.kind else None
    comparison = _Comparison("", then, compared, seen, show_values=False)
    return not any(difference.what != "missing" for difference in comparison.found())


class _Comparison:
    """The comparison of one column. `where` names it in sentences."""

    def __init__(self, where: str, then: ColumnValues, compared: int, seen: Taken, show_values: bool) -> None:
        self._where = where
        self._then = then
        self._seen = seen
        self._shows = show_values
        self._count_then = max(1, round(compared * (1 - then.missing)))
        self._compared = max(1, compared)

    def found(self) -> list[ColumnDrift]:
        """The differences."""
        found = [*self._missing()]
        if self._seen.kind == self._then.kind and len(self._seen.present) >= LEAST_ROWS:
            found += self._numbers() if self._then.edges else self._texts()
            found += self._repeats()
        return found

    def _told(self, what: What, words: str) -> ColumnDrift:
        return ColumnDrift(what, self._then.label, f"{self._where} {words}")

    def _missing(self) -> Iterator[ColumnDrift]:
        now, then = self._seen.missing_share, self._then.missing
        if _differ(then, self._compared, now, self._seen.rows):
            yield self._told("missing", f"is missing in {percent(now)} of the rows; recorded: {percent(then)}.")

    def _repeats(self) -> Iterator[ColumnDrift]:
        present = self._seen.present
        if not self._then.unique or not self._seen.may_be_key:
            return
        share = 1 - len(np.unique(present)) / len(present)
        chance = _UNSEEN * len(present) / self._compared**2  # of so many draws from values that did not repeat
        if share > max(0.01, chance):
            yield self._told("repeats", f"has {percent(share)} repeated values; recorded: 0 %.")

    def _numbers(self) -> list[ColumnDrift]:
        then, present, found = self._then, self._seen.present, list[ColumnDrift]()
        count = len(present)
        if then.kind == "number" and then.zeros is not None:
            zeros = float(np.mean(present == 0))
            if _differ(then.zeros, self._count_then, zeros, count):
                words = f"is 0 in {percent(zeros)} of the rows; recorded: {percent(then.zeros)}."
                found.append(self._told("zeros", words))
        found += self._outside()
        edges, below = np.array(then.edges), np.array(then.below)
        now = np.searchsorted(np.sort(present), edges, side="right") / count
        distance = float(np.max(np.abs(now - below)))
        chance = math.sqrt(-math.log(CHANCE / 2) / 2) * math.sqrt(1 / self._count_then + 1 / count)
        moves_on = then.kind == "time"  # later data are later
        if distance >= LARGE_DISTANCE and distance > chance and not found and not moves_on:
            place = int(np.argmax(np.abs(now - below)))
            words = f"is at most {_number(edges[place])} in {percent(now[place])} of the rows"
            recorded = f"recorded: {percent(below[place])} (Kolmogorov–Smirnov {distance:.2f})."
            found.append(self._told("distribution", f"{words}; {recorded}"))
        return found

    def _outside(self) -> Iterator[ColumnDrift]:
        """Values that are outside of the recorded range, more of them than by chance."""
        then, present, recorded = self._then, self._seen.present, self._count_then
        low, high = then.low, then.high
        if low is None or high is None:
            return
        is_time, span = then.kind == "time", high - low
        margin = max(span, 86_400.0) if is_time else 0.0  # new rows have later dates, which is no difference
        negative = float(np.mean(present < 0)) if low >= 0 and not is_time else 0.0
        if negative > _UNSEEN / recorded:
            words = f"is below 0 in {percent(negative)} of the rows, down to {_number(present.min())}"
            yield self._told("range", f"{words}; recorded: from {_number(low)}.")
            return
        share = float(np.mean((present < low - margin) | (present > high + margin)))
        if share > max(0.01, 1.7 * _UNSEEN / recorded):
            shown = _time if is_time else _number
            words = f"is outside of the recorded {shown(low)} to {shown(high)} in {percent(share)} of the rows"
            now = f"now it is {shown(present.min())} to {shown(present.max())}."
            yield self._told("dates" if is_time else "range", f"{words}; {now}")

    def _texts(self) -> Iterator[ColumnDrift]:
        if not self._then.values:
            return
        then, present = dict(self._then.values), self._seen.present
        counts = np.bincount(present, minlength=len(self._seen.texts))
        now = {value_text(value): int(counts[code]) for code, value in enumerate(self._seen.texts)}
        count, recorded = len(present), self._count_then
        unseen = [value for value in now if value not in then and now[value]]
        share = sum(now[value] for value in unseen) / count
        if share > _UNSEEN / recorded:
            named = f" ({_listed(unseen)})" if self._shows and all(map(_may_be_shown, unseen[:_NAMED])) else ""
            words = (
                f"has {len(unseen)} new value{'s' if len(unseen) > 1 else ''}{named} in {percent(share)} of the rows"
            )
            yield self._told("new values", f"{words}; recorded: {len(then)} values.")
        lost = [value for value, part in then.items() if part * count > _UNSEEN and not now.get(value)]
        if lost:
            words = f"lacks {len(lost)} of {len(then)} recorded values ({_listed(lost)})"
            part = sum(then[value] for value in lost)
            yield self._told("lost values", f"{words}; they were {percent(part)} of the rows.")
        if share > _UNSEEN / recorded or lost:
            return
        index, largest = _stability(then, now, recorded, count)
        if index >= LARGE_INDEX and index > (1 / recorded + 1 / count) * _chi_square(len(then) - 1):
            words = f"is {_shown(largest)} in {percent(now.get(largest, 0) / count)} of the rows"
            yield self._told(
                "distribution", f"{words}; recorded: {percent(then[largest])} (population stability index {index:.2f})."
            )


def _differ(then: float, count_then: int, now: float, count_now: int) -> bool:
    """Whether two shares differ, by the test of two proportions, and by 5 points."""
    if abs(now - then) < LARGE_SHARE:
        return False
    pooled = (then * count_then + now * count_now) / (count_then + count_now)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / count_then + 1 / count_now))
    return spread > 0 and abs(now - then) / spread > _Z


def _stability(then: dict[str, float], now: dict[str, int], recorded: int, count: int) -> tuple[float, str]:
    """The population stability index, and the value that contributes most to it."""
    parts = {}
    for value, share in then.items():
        before = max(share, 0.5 / recorded)
        after = max(now.get(value, 0) / count, 0.5 / count)
        parts[value] = (after - before) * math.log(after / before)
    return sum(parts.values()), max(parts, key=lambda value: parts[value])


def _chi_square(degrees: int) -> float:
    """The quantile of the chi-square distribution for `CHANCE`, by Wilson and Hilferty."""
    degrees = max(1, degrees)
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + _Z_ONE_SIDED * math.sqrt(part)) ** 3)


def _may_be_shown(text: str) -> bool:
    return Masker().mask(text) == text


def percent(share: float) -> str:
    """`61 %`, `0.4 %`."""
    return f"{share * 100:.{1 if 0 < share < 0.01 else 0}f} %"


def _listed(values: list[str]) -> str:
    more = len(values) - _NAMED
    return ", ".join(map(_shown, values[:_NAMED])) + (f" and {more} more" if more > 0 else "")


def _shown(value: str) -> str:
    return repr(visible(value)[:60])


def _number(value: Any) -> str:
    return f"{float(value):,.6g}"


def _time(value: Any) -> str:
    try:
        return f"{pd.Timestamp(float(value), unit='s'):%Y-%m-%d}"
    except (ValueError, OverflowError):
        return "a time that pandas cannot show"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
