"""Record the values of a table in figures, and compare later tables with them, one sentence for each difference.

A difference is reported if it is large, and too large to be chance.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types as pdt
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.sample import sample_positions
from autocoder_jupyter.data.shapes import column_literal
from autocoder_jupyter.data.text_formats import cell_text
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.untrusted.visible import visible

# Records
#
# A record is in the folder of the function, so it holds no more than `--share` allows: nothing of hidden columns, of
# masked ones only how many values are missing, and of texts only frequent values.

ROWS_RECORDED = 20_000
"""The most rows, spread over the table, from which a profile is made."""

LEAST_ROWS = 30
"""Of a table with fewer rows only their number is recorded, and a table with fewer rows is not compared."""

MOST_COLUMNS = 300
MOST_VALUES = 20
LEAST_REPEATS = 5
"""A column of texts has its values recorded if there are at most so many, and each occurs at least so often."""

_LONGEST_VALUE = 100
_PARTS = np.arange(1, 10) / 10

Kind = Literal["number", "time", "text", "other"]
_Share = Annotated[float, Field(ge=0, le=1)]
_Rows = Annotated[int, Field(ge=0, le=2**53)]
"""A record is not trusted, and a number that is not a float would stop every call."""


class ColumnValues(BaseModel):
    """The values of one column in figures. All shares are between 0 and 1.

    Args:
        label: the column's name as in `drift.shape_of`.
        zeros: the share of zeros among the numbers; None for other kinds.
        unique: whether no value of whole numbers or texts repeats. Of such keys nothing else is recorded.
        low, high: the smallest and largest number, or time in seconds since 1970.
        below: for each of them the share of values that are not above it.
        values: all texts, with their shares; empty if there are too many, or rare ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field(max_length=2_000)
    kind: Kind = "other"
    missing: _Share = 0.0
    zeros: _Share | None = None
    unique: bool = False
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    edges: tuple[FiniteFloat, ...] = Field(default=(), max_length=9)
    below: tuple[_Share, ...] = Field(default=(), max_length=9)
    values: tuple[tuple[Annotated[str, Field(max_length=_LONGEST_VALUE)], _Share], ...] = Field(
        default=(), max_length=MOST_VALUES
    )

    @model_validator(mode="after")
    def _check_kind(self) -> ColumnValues:
        if len(self.edges) != len(self.below) or (self.edges and self.kind not in ("number", "time")):
            raise ValueError("edges: they are for numbers and times, each with its share")
        if self.values and self.kind != "text":
            raise ValueError("values: they are for texts")
        return self


class TableValues(BaseModel):
    """The values of a table in figures.

    Args:
        compared: the number of rows from which the figures are.
        columns: its columns; none if there are few rows, or no statistics may be recorded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: _Rows
    compared: _Rows = 0
    columns: tuple[ColumnValues, ...] = Field(default=(), max_length=MOST_COLUMNS)


def recorded_values(record: Any) -> TableValues | None:
    """A profile from a file that is not trusted; None if it is not valid."""
    try:
        return TableValues.model_validate(record)
    except ValidationError:
        return None


def value_profiles(samples: Mapping[str, Any], share: Share, withheld: WithheldColumns) -> dict[str, dict[str, Any]]:
    """The profiles of all DataFrames among the samples, as JSON, by name."""
    return {
        name: value_profile(value, share, withheld).model_dump(mode="json", exclude_defaults=True)
        for name, value in samples.items()
        if isinstance(value, pd.DataFrame)
    }


def value_profile(frame: pd.DataFrame, share: Share, withheld: WithheldColumns) -> TableValues:
    rows = len(frame)
    if share == "schema" or rows < LEAST_ROWS:
        return TableValues(rows=rows)
    positions = spread_positions(rows, ROWS_RECORDED)
    found = []
    for place, label in enumerate(frame.columns[:MOST_COLUMNS]):
        if str(label) in withheld.hidden:
            continue
        seen = sampled_column(frame.iloc[:, place], positions)
        if seen is None:
            continue
        if str(label) in withheld.masked:
            found.append(ColumnValues(label=column_literal(label), missing=seen.missing_share))
        else:
            found.append(_column(column_literal(label), frame.iloc[:, place], seen))
    return TableValues(rows=rows, compared=len(positions), columns=tuple(found))


@functools.lru_cache(maxsize=64)
def spread_positions(rows: int, most: int) -> np.ndarray[Any, Any]:
    """The positions of at most so many rows, spread over the table; the same for equal lengths."""
    return sample_positions(rows, most, first=0)


@dataclass(frozen=True)
class SampledColumn:
    """Values of some rows of a column.

    Args:
        present: finite numbers, times in seconds, or codes of texts.
        may_be_key: whether they are whole numbers or texts.
    """

    kind: Kind
    rows: int
    missing: int
    present: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    texts: Sequence[Any] = ()
    may_be_key: bool = False

    @property
    def missing_share(self) -> float:
        return self.missing / self.rows if self.rows else 0.0


def sampled_column(column: pd.Series[Any], positions: np.ndarray[Any, Any]) -> SampledColumn | None:
    """The values of a column at some positions; None if they cannot be read."""
    try:
        return _sampled(column, positions)
    except Exception:
        # Extension arrays and foreign objects may raise anywhere. Such a column is not compared.
        return None


def _sampled(column: pd.Series[Any], positions: np.ndarray[Any, Any]) -> SampledColumn:
    dtype, rows = column.dtype, len(positions)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        values = column.to_numpy()[positions].astype(np.float64)
        missing = int(np.isnan(values).sum()) if dtype.kind == "f" else 0
        return SampledColumn("number", rows, missing, values[np.isfinite(values)], may_be_key=dtype.kind != "f")
    array = column.array.take(positions)
    gaps = np.asarray(pd.isna(array))
    missing, array = int(gaps.sum()), array[~gaps] if gaps.any() else array
    if pdt.is_bool_dtype(dtype):
        return SampledColumn("text", rows, missing, np.asarray(array, dtype=bool).astype(np.int64), (False, True))
    if pdt.is_numeric_dtype(dtype) and not pdt.is_complex_dtype(dtype):
        values = pd.Series(array).to_numpy(dtype=np.float64)
        return SampledColumn(
            "number", rows, missing, values[np.isfinite(values)], may_be_key=pdt.is_integer_dtype(dtype)
        )
    if pdt.is_datetime64_any_dtype(dtype):
        times = pd.DatetimeIndex(array).as_unit("s").asi8
        return SampledColumn("time", rows, missing, times.astype(np.float64))
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype) or pdt.is_object_dtype(dtype):
        codes, texts = pd.factorize(array)
        if all(isinstance(text, str) for text in texts):
            return SampledColumn("text", rows, missing, codes, texts, may_be_key=True)
    return SampledColumn("other", rows, missing)


def _column(label: str, column: pd.Series[Any], seen: SampledColumn) -> ColumnValues:
    figures: dict[str, Any] = {"label": label, "kind": seen.kind, "missing": seen.missing_share}
    present = seen.present
    if seen.may_be_key and not seen.missing and len(np.unique(present)) == seen.rows:
        figures["unique"] = seen.rows == len(column) or bool(column.is_unique)
    if figures.get("unique"):
        return ColumnValues(**figures)  # the numbers of later orders are higher, which is not a difference
    if seen.kind in ("number", "time") and len(present) >= LEAST_ROWS and not _is_private(present, seen.kind):
        edges, ordered = np.unique(np.quantile(present, _PARTS, method="higher")), np.sort(present)
        figures |= {
            "low": float(ordered[0]),
            "high": float(ordered[-1]),
            "edges": tuple(map(float, edges)),
            "below": tuple(float(part) for part in np.searchsorted(ordered, edges, side="right") / len(present)),
        }
        if seen.kind == "number":
            figures["zeros"] = float(np.mean(present == 0))
    elif seen.kind == "text" and len(present):
        figures["values"] = _frequent(seen)
    return ColumnValues(**figures)


def _is_private(present: np.ndarray[Any, Any], kind: Kind) -> bool:
    """Whether numbers may be those of cards or phones, which would be masked in a prompt."""
    if kind != "number":
        return False
    few = {cell_text(int(value)) if float(value).is_integer() else "" for value in (present.min(), present.max())}
    return any(Masker().mask(text) != text for text in few if text)


def _frequent(seen: SampledColumn) -> tuple[tuple[str, float], ...]:
    """All texts with their shares, if there are few of them and none is rare or private."""
    counts = np.bincount(seen.present, minlength=len(seen.texts))
    counted = [(seen.texts[code], int(count)) for code, count in enumerate(counts) if count]
    if len(counted) > MOST_VALUES or any(count < LEAST_REPEATS for _, count in counted):
        return ()
    named = [(value_text(value), count / len(seen.present)) for value, count in counted]
    return tuple(sorted(named)) if all(Masker().mask(text) == text for text, _ in named) else ()


def value_text(value: Any) -> str:
    """A text as it is recorded."""
    text = value if isinstance(value, str) else str(value)
    return text[:_LONGEST_VALUE]


# Comparison
#
# Large means: a share differs by 5 points, a population stability index of 0.25 (Siddiqi, Credit Risk Scorecards, 2006:
# "a significant shift"), or a Kolmogorov–Smirnov distance of 0.2. Chance is what two samples of one table show with a
# probability of about one in 100,000 for each comparison: by a test of two proportions, by the chi-square distribution
# of the index (Yurdakul, 2018), by the Kolmogorov–Smirnov test, and, for values outside of the recorded range, by the
# distribution of the extremes of a sample (a beta distribution). Many columns are compared, so a usual limit such as
# 5 % would give false alarms every day.

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
        column: the name of the column as a Python literal; "" for the whole table.
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
    """How the values of a table differ from the recorded ones, in the columns that the function reads."""
    rows = len(frame)
    if rows == 0 < then.rows or (is_sample and rows * _FEWER_ROWS < then.rows):
        return (ColumnDrift("rows", "", f"{name} has {_rows(rows)}; recorded: {then.rows:,}."),)
    if rows < LEAST_ROWS or not then.columns:
        return ()
    places = {column_literal(label): place for place, label in enumerate(frame.columns)}
    positions = spread_positions(rows, ROWS_COMPARED)
    found: list[ColumnDrift] = []
    for column in then.columns:
        place = places.get(column.label)
        if place is None or not reads.covers(column.label):
            continue
        seen = sampled_column(frame.iloc[:, place], positions)
        if seen is not None:
            found += _Comparison(f"{name}[{visible(column.label)}]", column, then.compared, seen, show_values).found()
    return tuple(found)


def similar_values(then: ColumnValues, compared: int, column: pd.Series[Any]) -> bool | None:
    """Whether a column has values like the recorded ones; None if too little was recorded to decide."""
    seen = sampled_column(column, spread_positions(len(column), ROWS_COMPARED))
    if seen is None or seen.kind != then.kind or not (then.edges or then.values) or seen.rows < LEAST_ROWS:
        return False if seen is not None and seen.kind != then.kind else None
    comparison = _Comparison("", then, compared, seen, show_values=False)
    return not any(difference.what != "missing" for difference in comparison.found())


class _Comparison:
    """The comparison of one column. `where` names it in sentences."""

    def __init__(self, where: str, then: ColumnValues, compared: int, seen: SampledColumn, show_values: bool) -> None:
        self._where = where
        self._then = then
        self._seen = seen
        self._shows = show_values
        self._count_then = max(1, round(compared * (1 - then.missing)))
        self._compared = max(1, compared)

    def found(self) -> list[ColumnDrift]:
        found = [*self._missing()]
        if self._seen.kind == self._then.kind and len(self._seen.present) >= LEAST_ROWS:
            found += self._numbers() if self._then.edges else self._texts()
            found += self._repeats()
        return found

    def _drift(self, what: What, words: str) -> ColumnDrift:
        return ColumnDrift(what, self._then.label, f"{self._where} {words}")

    def _missing(self) -> Iterator[ColumnDrift]:
        now, then = self._seen.missing_share, self._then.missing
        if differ(then, self._compared, now, self._seen.rows):
            yield self._drift("missing", f"is missing in {percent(now)} of the rows; recorded: {percent(then)}.")

    def _repeats(self) -> Iterator[ColumnDrift]:
        present = self._seen.present
        if not self._then.unique or not self._seen.may_be_key:
            return
        share = 1 - len(np.unique(present)) / len(present)
        chance = _UNSEEN * len(present) / self._compared**2  # of so many draws from values that did not repeat
        if share > max(0.01, chance):
            yield self._drift("repeats", f"has {percent(share)} repeated values; recorded: 0 %.")

    def _numbers(self) -> list[ColumnDrift]:
        then, present, found = self._then, self._seen.present, list[ColumnDrift]()
        count = len(present)
        if then.kind == "number" and then.zeros is not None:
            zeros = float(np.mean(present == 0))
            if differ(then.zeros, self._count_then, zeros, count):
                words = f"is 0 in {percent(zeros)} of the rows; recorded: {percent(then.zeros)}."
                found.append(self._drift("zeros", words))
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
            found.append(self._drift("distribution", f"{words}; {recorded}"))
        return found

    def _outside(self) -> Iterator[ColumnDrift]:
        """Values that are outside of the recorded range, more of them than by chance."""
        then, present, recorded = self._then, self._seen.present, self._count_then
        low, high = then.low, then.high
        if low is None or high is None:
            return
        is_time, span = then.kind == "time", high - low
        margin = max(span, 86_400.0) if is_time else 0.0  # new rows have later dates, which is not a difference
        negative = float(np.mean(present < 0)) if low >= 0 and not is_time else 0.0
        if negative > _UNSEEN / recorded:
            words = f"is below 0 in {percent(negative)} of the rows, down to {_number(present.min())}"
            yield self._drift("range", f"{words}; recorded: from {_number(low)}.")
            return
        share = float(np.mean((present < low - margin) | (present > high + margin)))
        if share > max(0.01, 1.7 * _UNSEEN / recorded):
            shown = _time if is_time else _number
            words = f"is outside of the recorded {shown(low)} to {shown(high)} in {percent(share)} of the rows"
            now = f"now it is {shown(present.min())} to {shown(present.max())}."
            yield self._drift("dates" if is_time else "range", f"{words}; {now}")

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
            yield self._drift("new values", f"{words}; recorded: {len(then)} values.")
        lost = [value for value, part in then.items() if part * count > _UNSEEN and not now.get(value)]
        if lost:
            words = f"lacks {len(lost)} of {len(then)} recorded values ({_listed(lost)})"
            part = sum(then[value] for value in lost)
            yield self._drift("lost values", f"{words}; they were {percent(part)} of the rows.")
        if share > _UNSEEN / recorded or lost:
            return
        index, largest = _stability(then, now, recorded, count)
        if index >= LARGE_INDEX and index > (1 / recorded + 1 / count) * _chi_square(len(then) - 1):
            words = f"is {_shown(largest)} in {percent(now.get(largest, 0) / count)} of the rows"
            yield self._drift(
                "distribution", f"{words}; recorded: {percent(then[largest])} (population stability index {index:.2f})."
            )


def differ(then: float, count_then: int, now: float, count_now: int, least: float = LARGE_SHARE) -> bool:
    """Whether two shares differ, by the test of two proportions, and by `least`."""
    if abs(now - then) < least:
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
