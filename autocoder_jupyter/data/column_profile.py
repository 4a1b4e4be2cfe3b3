"""Profile one column: type, range, frequent values, formats, and the structure of nested cells."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types as pdt

from autocoder_jupyter.data.sample import cells_of, missing_in, sample_positions, spread
from autocoder_jupyter.data.text_formats import (
    TextForms,
    cell_text,
    date_format,
    examined,
    is_null,
    percent,
    shorten,
    with_share,
)
from autocoder_jupyter.view.numbers import number_text

# Cells that are lists, dicts or of several types

_TYPES = 5
_KEYS = 12
_ITEMS = 20
"""Number of items of one cell that are examined."""


def type_phrase(values: Sequence[Any]) -> str:
    """`cells are list (90%), str (10%)`."""
    kinds = _ranked(type(value).__name__ for value in values)
    return "cells are " + ", ".join(with_share(name, count, len(values)) for name, count in kinds[:_TYPES])


def item_phrase(values: Sequence[Any]) -> tuple[str, ...]:
    """The number of items of lists, and their types; () if there are no lists."""
    lists = [value for value in values if isinstance(value, list | tuple | set | frozenset | np.ndarray)]
    if not lists:
        return ()
    sizes = [len(value) if not isinstance(value, np.ndarray) else value.size for value in lists]
    size = f"{min(sizes)} items" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} items"
    inner = [item for value in lists for item in _first_items(value)]
    names = [name for name, _ in _ranked(map(_type_name, inner))[:_TYPES]]
    return (f"{size}: {' or '.join(names)}" if names else size,)


def key_phrase(values: Sequence[Any]) -> tuple[str, ...]:
    """The keys of dicts with the types of their values and their frequency; () if there are no dicts.

    For lists of dicts, the keys of these dicts are described. Every examined value is searched.
    """
    dicts = [value for value in values if isinstance(value, dict)]
    where = "keys"
    if not dicts:
        lists = (value for value in values if isinstance(value, list | tuple))
        dicts = [item for value in lists for item in _first_items(value) if isinstance(item, dict)]
        where = "keys of the items"
    found: dict[str, Counter[str]] = {}
    for value in dicts:
        for key, inner in list(value.items())[:_ITEMS]:
            found.setdefault(cell_text(key), Counter())[_type_name(inner)] += 1
    if not found:
        return ()
    shown = [_key_text(key, kinds, len(dicts)) for key, kinds in list(found.items())[:_KEYS]]
    return (f"{where} " + ", ".join(shown) + (f" and {len(found) - _KEYS} more" if len(found) > _KEYS else ""),)


def _key_text(key: str, kinds: Counter[str], dicts: int) -> str:
    names = " or ".join(name for name, _ in _ranked(kinds.elements())[:_TYPES])
    there = kinds.total()
    return f"{key}: {names}" + ("" if there == dicts else f" (in {percent(there, dicts)})")


def _first_items(value: Any) -> list[Any]:
    """The first items of a list. Of a set, whose order differs between runs, all items or none."""
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)[:_ITEMS].tolist())
    if isinstance(value, set | frozenset):
        return list(value) if len(value) <= _ITEMS else []
    return list(value[:_ITEMS])


def _type_name(value: Any) -> str:
    return "None" if is_null(value) else type(value).__name__


def _ranked(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names with their counts, the most frequent first. Ties are in alphabetical order."""
    return sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))


# Columns

Kind = Literal["number", "bool", "text", "time", "duration", "nested", "other"]

EXAMPLES = 3
LONG_TEXT = 500
"""If texts are longer than this on average, only a hundred of them are examined."""

_LONG_TEXT_SAMPLE = 100
_TEXTS, _OBJECTS = 1000, 500
"""Number of values, spread over the column, that are examined one by one."""

_TOP_VALUES = 8
_SET_SIZE = 20
"""Number of frequent values that are listed. A column with no more different values is listed completely."""

_NAMED_TOP_VALUES = 20
_NAMED_SET_SIZE = 50
"""The same for a column that the request mentions."""

_DIGITS = 7
"""Significant digits of a measured bound."""

_DECIMALS = 4
"""A number with more digits counts as measured. A number with fewer keeps all its digits."""


@dataclass
class ColumnProfile:
    """The profile of one column. All values are short texts that are not masked yet. `profile_column` fills it, and
    nothing changes it afterwards.

    Args:
        position: 0-based.
        dtype: the name of its dtype in pandas.
        rows: the number of rows of the whole column.
        nulls: the exact number of missing values; None if they could not be counted.
        distinct: the number of different values among `looked_at` rows, without missing ones; None if they cannot be
            compared.
        looked_at: the number of rows for `distinct`, `top`, `quartiles` and `formats`; equal to `rows` if exact.
        low, high: smallest and largest number, time or duration of the whole column, or "".
        quartiles: 25, 50 and 75 % of numbers and durations, or ().
        top: the most frequent values with their counts, if values repeat.
        rarest: the count of the rarest value, if all values are in `top`; else 0.
        complete: whether `top` has every value.
        formats: see `text_formats`; for objects, the types of the cells. These phrases contain no value of the data.
        contents: phrases with values of the data: the order of categories, the keys of dicts, the first and the last of
            dates that are texts, gaps of a sequence.
        notes: `constant`, `unique` …
        unique: whether no value of the whole column repeats or is missing.
        quoted: whether values are texts and are shown with quotes.
        examples: some different values, in the order of the rows.
        rest: a text that has none of the formats; "" if each has one.
        missing_words: texts that may stand for a missing value.
        named: whether the request mentions it; then more of its values are listed.
    """

    position: int
    label: Any
    dtype: str
    rows: int
    looked_at: int
    kind: Kind = "other"
    nulls: int | None = None
    distinct: int | None = None
    low: str = ""
    high: str = ""
    quartiles: tuple[str, ...] = ()
    top: tuple[tuple[str, int], ...] = ()
    rarest: int = 0
    complete: bool = False
    formats: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    unique: bool = False
    quoted: bool = False
    rest: str = ""
    missing_words: tuple[str, ...] = ()
    named: bool = False

    @property
    def set_size(self) -> int:
        """At most so many different values are all listed."""
        return _NAMED_SET_SIZE if self.named else _SET_SIZE

    @property
    def top_values(self) -> int:
        """How many of more values are listed."""
        return _NAMED_TOP_VALUES if self.named else _TOP_VALUES

    @property
    def exact(self) -> bool:
        """Whether every row was examined."""
        return self.looked_at == self.rows


def dtype_text(dtype: Any) -> str:
    """The name of a dtype, of limited length, with details of a category."""
    if isinstance(dtype, pd.CategoricalDtype):
        values = "" if dtype.categories is None else f" of {dtype.categories.dtype}"
        return f"{'ordered ' if dtype.ordered else ''}category{values}"
    return shorten(dtype_name(dtype), 80)


def dtype_name(dtype: Any) -> str:
    """The name of a dtype as pandas writes it, but without the fill value of a sparse one, which is a value."""
    if isinstance(dtype, np.dtype):
        return _numpy_name(dtype)
    if getattr(dtype, "storage", "") == "pyarrow_numpy":
        return "str"  # what pandas 2.2 has of the dtype with this name
    return f"Sparse[{dtype.subtype}]" if isinstance(dtype, pd.SparseDtype) else str(dtype)


@functools.lru_cache(maxsize=256)
def _numpy_name(dtype: Any) -> str:
    """The name that numpy computes anew each time, which takes longer than all else in a comparison of shapes."""
    return str(dtype)


def profile_column(
    series: pd.Series[Any], sampled: pd.Series[Any], position: int, label: Any, *, named: bool = False
) -> ColumnProfile:
    column = ColumnProfile(position, label, dtype_text(series.dtype), len(series), len(sampled), named=named)
    try:
        column.nulls = int(missing_in(series).sum())
        if isinstance(sampled.dtype, pd.SparseDtype):
            sampled = pd.Series(np.asarray(sampled.array), index=sampled.index)
            series = sampled if len(sampled) == len(series) else series
        column.kind = _kind(sampled)
        with np.errstate(all="ignore"):
            _GATHER[column.kind](series, sampled, column)
    except Exception as error:
        # Extension arrays and foreign objects may raise anywhere. The column then has fewer statistics.
        column.notes += (f"no statistics ({type(error).__name__})",)
    _note_uniqueness(series, column)
    column.quoted = column.kind == "text" and not _is_category_of_others(series.dtype)
    return column


def _is_category_of_others(dtype: Any) -> bool:
    """Whether the values of a category are numbers or intervals, which are shown without quotes."""
    return isinstance(dtype, pd.CategoricalDtype) and not (
        pdt.is_object_dtype(dtype.categories.dtype) or isinstance(dtype.categories.dtype, pd.StringDtype)
    )


def _kind(sampled: pd.Series[Any]) -> Kind:
    dtype = sampled.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "text"
    if pdt.is_bool_dtype(dtype):
        return "bool"
    if pdt.is_numeric_dtype(dtype) and not pdt.is_complex_dtype(dtype):
        return "number"
    if pdt.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "time"
    if pdt.is_timedelta64_dtype(dtype):
        return "duration"
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if pdt.is_object_dtype(dtype) or isinstance(dtype, pd.ArrowDtype):
        return _object_kind(sampled)
    return "other"


def _object_kind(sampled: pd.Series[Any]) -> Kind:
    values = spread(sampled, _OBJECTS)
    if any(isinstance(value, list | dict | tuple | set | frozenset | np.ndarray) for value in values):
        return "nested"
    if values and all(isinstance(value, str) for value in values):
        return "text"
    return "other"


def _gather_numbers(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    column.low, column.high = _bound_text(series.min()), _bound_text(series.max())
    column.distinct = int(sampled.nunique())
    values = sampled.dropna().to_numpy(dtype=np.float64)
    finite = values[np.isfinite(values)]
    if len(finite):
        column.quartiles = tuple(number_text(float(q), 4) for q in np.quantile(finite, (0.25, 0.5, 0.75)))
    if infinite := len(values) - len(finite):
        column.notes += (f"{infinite} infinite" + ("" if len(sampled) == len(series) else " in the sample"),)
    if column.distinct <= column.set_size:
        _gather_top(sampled, column)
        if column.complete:
            column.quartiles = ()
    is_year = pdt.is_integer_dtype(series.dtype) and len(finite) and finite.min() >= 1800 and finite.max() <= 2200
    if is_year and column.looked_at == column.rows:
        _note_gaps(sampled.dropna(), column, str)


def _bound_text(value: Any) -> str:
    """A minimum or maximum: `712345678.9` with all digits, `-3.87438878056` with fewer."""
    text = cell_text(value)
    measured = isinstance(value, float | np.floating) and len(text.partition(".")[2]) > _DECIMALS
    return number_text(float(value), _DIGITS) if measured else text


def _gather_times(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    column.low, column.high = cell_text(series.min()), cell_text(series.max())
    column.distinct = int(sampled.nunique())
    if column.distinct == 0 or isinstance(sampled.dtype, pd.PeriodDtype):
        return
    if _all_midnight(sampled.dropna()) and _all_midnight(times := series.dropna()):
        first = "always the first of a month" if bool((times.dt.day == 1).all()) else ""
        column.notes += (first or "no clock times",)


def _all_midnight(times: pd.Series[Any]) -> bool:
    return bool((times == times.dt.normalize()).all())


def _gather_durations(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    column.low, column.high = cell_text(series.min()), cell_text(series.max())
    column.distinct = int(sampled.nunique())


def _gather_bools(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    column.distinct = int(sampled.nunique())
    _gather_top(sampled, column)


def _gather_text(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    sampled = _bounded_text(sampled)
    column.looked_at = len(sampled)
    column.distinct = int(sampled.nunique())
    texts = [value for value in spread(sampled, _TEXTS) if isinstance(value, str)]
    _note_forms(examined(texts), column)
    _note_dates(sampled, column)
    if texts and (longest := max(map(len, texts))) > 40:
        column.notes += (f"up to {longest} characters" + ("" if len(texts) == len(series) else " in a sample"),)
    if column.distinct <= column.set_size or column.distinct <= 0.5 * len(sampled):
        _gather_top(sampled, column)
    if not column.complete and not column.top:
        column.examples = _different(texts)
    if isinstance(sampled.dtype, pd.CategoricalDtype):
        _note_categories(sampled.dtype, column)


def _note_dates(sampled: pd.Series[Any], column: ColumnProfile) -> None:
    """Note the first and the last of dates that are texts, and months that are missing between them."""
    if not (form := date_format(column.formats)):
        return
    dates = pd.to_datetime(sampled.astype(object), format=form, errors="coerce").dropna()
    if len(dates):
        where = "" if column.looked_at == column.rows else " in the sample"
        column.contents += (f"from {cell_text(dates.min())} to {cell_text(dates.max())}{where}",)
    if column.looked_at == column.rows and "%d" not in form and "%m" in form:
        _note_gaps(12 * dates.dt.year + dates.dt.month - 1, column, lambda one: f"{one // 12}-{one % 12 + 1:02}")


FEWEST_IN_SEQUENCE, MOST_GAPS = 5, 5


def _note_gaps(numbers: pd.Series[Any], column: ColumnProfile, name: Callable[[int], str]) -> None:
    """Note what is missing in a sequence, such as a year between others."""
    known = sorted({int(number) for number in numbers})
    if len(known) < FEWEST_IN_SEQUENCE or known[-1] - known[0] > 1.2 * len(known):
        return
    missing = sorted(set(range(known[0], known[-1])).difference(known))
    if missing:
        more = f" and {len(missing) - MOST_GAPS} more" if len(missing) > MOST_GAPS else ""
        column.contents += (f"a gap: no {', '.join(map(name, missing[:MOST_GAPS]))}{more}",)


def _note_forms(forms: TextForms, column: ColumnProfile) -> None:
    column.formats += tuple(forms.phrases)
    column.rest, column.missing_words = cell_text(forms.rest), tuple(map(cell_text, forms.missing))


def _gather_nested(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    values = spread(sampled, _OBJECTS)
    column.looked_at = min(len(sampled), _OBJECTS)
    column.formats += (type_phrase(values),)
    column.formats += tuple(item_phrase(values))
    column.contents += tuple(key_phrase(values))
    column.examples = _different(values, 2)


def _gather_others(series: pd.Series[Any], sampled: pd.Series[Any], column: ColumnProfile) -> None:
    values = spread(sampled, _TEXTS)
    if pdt.is_object_dtype(sampled.dtype) and values:
        column.formats += (type_phrase(values),)
    if (texts := [value for value in values if isinstance(value, str)]) and len(texts) >= 0.1 * len(values):
        _note_forms(examined(texts), column)
    column.examples = _different(values)
    try:
        column.distinct = int(sampled.nunique())
    except Exception:
        # Unhashable or incomparable values; the other statistics are still valid.
        column.distinct = None


_GATHER = {
    "number": _gather_numbers,
    "bool": _gather_bools,
    "text": _gather_text,
    "time": _gather_times,
    "duration": _gather_durations,
    "nested": _gather_nested,
    "other": _gather_others,
}


def _gather_top(sampled: pd.Series[Any], column: ColumnProfile) -> None:
    counts = sampled.value_counts()
    counts = counts[counts > 0]
    few = len(counts) <= column.set_size
    shown = zip(cells_of(counts.index.to_series()), counts, strict=True) if few else _largest(counts, column.top_values)
    ranked = sorted(((cell_text(value), int(count)) for value, count in shown), key=lambda pair: (-pair[1], pair[0]))
    column.complete = few and len(ranked) == len(counts)
    column.rarest = ranked[-1][1] if ranked and column.complete else 0
    repeated = bool(ranked) and ranked[0][1] > 1
    column.top = tuple(ranked if column.complete and repeated else ranked[: column.top_values] if repeated else ())
    column.complete = column.complete and repeated
    if not repeated:
        column.examples = tuple(text for text, _ in ranked[:EXAMPLES])


def _largest(counts: pd.Series[Any], most: int) -> list[tuple[Any, int]]:
    """The most frequent values. Ties are ordered as text, so that the order of rows does not matter."""
    threshold = int(counts.iloc[min(most, len(counts)) - 1])
    candidates = counts[counts >= threshold].iloc[:1000]
    return list(zip(cells_of(candidates.index.to_series()), candidates, strict=True))


def _bounded_text(sampled: pd.Series[Any]) -> pd.Series[Any]:
    """Fewer rows if the cells are long, because cells of megabytes would take seconds."""
    if isinstance(sampled.dtype, pd.CategoricalDtype):
        return sampled
    few = sampled.iloc[sample_positions(len(sampled), _LONG_TEXT_SAMPLE)]
    probe = [value for value in cells_of(few) if isinstance(value, str)]
    mean = sum(map(len, probe)) / max(1, len(probe))
    return few if mean > LONG_TEXT else sampled


def _note_categories(dtype: pd.CategoricalDtype, column: ColumnProfile) -> None:
    categories = dtype.categories
    if column.distinct is not None and len(categories) > column.distinct:
        column.notes += (f"{len(categories)} categories",)
    if dtype.ordered:
        shown = [cell_text(value) for value in list(categories[:10])]
        column.contents += ("order " + " < ".join(shown) + (" < …" if len(categories) > 10 else ""),)


def _is_unique(series: pd.Series[Any], column: ColumnProfile) -> bool:
    if column.nulls != 0 or len(series) < 2 or not column.distinct or column.distinct != column.looked_at:
        return False
    return column.looked_at == len(series) or _strictly_ascending(series)


def _note_uniqueness(series: pd.Series[Any], column: ColumnProfile) -> None:
    """Note whether values are unique; in words not for measured numbers, which are almost always unique."""
    column.unique = _is_unique(series, column)
    if not column.distinct or column.nulls is None or len(series) < 2:
        return
    if column.distinct == 1:
        whole = column.exact or (column.low != "" and column.low == column.high)
        words = ("constant" if whole else "constant in a sample") + (" but for the missing" if column.nulls else "")
    elif column.nulls or column.distinct != column.looked_at or pdt.is_float_dtype(series.dtype):
        return
    else:
        words = "unique" if column.unique else f"no repeats among {column.looked_at} sampled rows"
    column.notes += (words,)


def _strictly_ascending(series: pd.Series[Any]) -> bool:
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in "iuM":
        return False
    values = series.to_numpy()
    return bool((values[1:] > values[:-1]).all())


def _different(values: list[Any], count: int = EXAMPLES) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for value in values:
        found.setdefault(cell_text(value))
        if len(found) == count:
            break
    return tuple(found)
