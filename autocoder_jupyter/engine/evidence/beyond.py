"""Variations beyond the profile of a sample: what later data may have, and the sample has not.

Two solutions that agree otherwise and differ here are not in doubt: it is a mark, because nobody has said what the data
will be. A table is varied only where its dtypes, or the code, call for it. Columns of the same name in several tables
get the same new values, so that a join still finds its matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.table_rows import as_frame, columns_of, like_table
from autocoder_jupyter.engine.evidence.units import Units
from autocoder_jupyter.types.evidence import BEYOND

ROWS = 120
"""The maximum number of rows of the largest table."""

FEWEST = 6
"""Values of a column from which on it is not by chance that they have a form in common."""

_MOST_GROUPS = 50
_LARGEST = 2**53
_DAYS = {"a year and a leap day": "2024-01-31", "a leap day": "2024-02-29", "a year": "2024-01-01"}
_LONG = pd.Timedelta(days=90)

_CODE = re.compile(r"(\D*)(\d{1,9})")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_AMOUNT_LIMIT = 1e12

_BY_PLACE = re.compile(r"\.iloc\[[^\]\n]*,|\.iat\[|\.columns\[|\.values\b|\.to_numpy\(|\.itertuples\(|\.set_axis\(")
"""Code that may find columns by their place."""

Tables = dict[str, Any]


def finds_columns_by_place(code: str) -> bool:
    """Whether code may find columns by their place."""
    return bool(_BY_PLACE.search(code))


def beyond(
    base: Mapping[str, Any], units: Mapping[str, Units], *, by_place: bool = False
) -> Iterator[tuple[str, Tables]]:
    """The variations with their names.

    Args:
        base: small tables; see `variations.few_rows`.
        units: what belongs together in each table.
        by_place: whether the columns are also put in another order.
    """
    if any(one.head for one in units.values()):
        return
    shared = _shared(base)
    groups = _labels(base, {name: one.groups for name, one in units.items()})
    columns = _labels(base, {name: one.columns for name, one in units.items()})
    makers: list[tuple[str, Callable[[Mapping[str, Any], frozenset[str]], Tables | None], frozenset[str]]] = [
        ("with numbers a million times as large", _large_numbers, shared | groups),
        ("with ids beyond 2**53", _large_ids, shared),
        ("with codes of more digits", partial(_codes, more=True), shared),
        ("with codes of fewer digits", partial(_codes, more=False), shared),
        ("with new groups", _new_groups, shared | columns),
        ("with blanks around texts", _blanks, shared | columns),
        ("with a category that no row has", _unused_categories, shared),
        *((f"with dates across {name}", _moved(day, name), shared) for name, day in _DAYS.items()),
        ("with dates across a clock change", _across_clock_change, shared),
    ]
    if by_place:
        makers.append(("with the columns in another order", _other_columns, shared))
    for name, make, fixed in makers:
        try:
            made = make(base, fixed)
        except (TypeError, ValueError, OverflowError, AttributeError, KeyError):  # odd dtypes and values
            continue
        if made is not None:
            yield f"{BEYOND}{name}", made


def _labels(tables: Mapping[str, Any], places: Mapping[str, frozenset[int]]) -> frozenset[str]:
    """The names of some columns."""
    return frozenset(str(as_frame(tables[name]).columns[place]) for name, some in places.items() for place in some)


def _shared(tables: Mapping[str, Any]) -> frozenset[str]:
    """Names of columns that several tables have: they may join them."""
    names = [str(column) for table in tables.values() if isinstance(table, pd.DataFrame) for column in table.columns]
    return frozenset(name for name in names if names.count(name) > 1)


def _changed(tables: Mapping[str, Any], change: Callable[[Any, Any], Any]) -> Tables | None:
    """The tables with some columns replaced by `change(label, column)`; None if none was."""
    made: Tables = {}
    for name, table in tables.items():
        frame = as_frame(table)
        for place in range(frame.shape[1]):
            column = frame.iloc[:, place]
            new = change(frame.columns[place], column)
            if new is not None and new.dtype == column.dtype and not new.equals(column):
                frame.isetitem(place, new)
                made[name] = frame
        if name in made:
            made[name] = like_table(table, frame)
    return {**tables, **made} if made else None


def _are_years(numbers: Any) -> bool:
    return bool(numbers.min() >= 1800 and numbers.max() <= 2200)


def _is_numbering(column: Any) -> bool:
    return column.dtype.kind in "iu" and len(column) >= FEWEST and bool(column.is_unique)


def _large_numbers(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    """Amounts a million times as large, or a thousand times if that is too large: no ids, years, shares and flags."""

    def change(label: Any, column: Any) -> Any:
        if str(label) in shared or column.dtype.kind not in "iuf" or _is_numbering(column):
            return None
        values = column.to_numpy(dtype="float64", na_value=np.nan)
        values = values[np.isfinite(values)]
        if not len(values) or values.min() < 0 or values.max() <= 1 or len(np.unique(values)) < FEWEST:
            return None
        factor = 10**6 if values.max() * 10**6 < _AMOUNT_LIMIT else 10**3
        largest = np.iinfo(column.dtype.name.lower()).max if column.dtype.kind in "iu" else np.inf
        if (
            (column.dtype.kind in "iu" and _are_years(values))
            or values.max() >= _AMOUNT_LIMIT
            or values.max() * factor > largest
        ):
            return None
        return (column * factor).astype(column.dtype)

    return _changed(tables, change)


def _large_ids(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    """Ids that a fraction cannot hold."""
    frames = [table for table in tables.values() if isinstance(table, pd.DataFrame)]
    mixed = {str(name) for table in frames for name, dtype in table.dtypes.items() if dtype not in ("int64", "Int64")}

    def change(label: Any, column: Any) -> Any:
        if column.dtype not in ("int64", "Int64") or not (str(label) in shared or _is_numbering(column)):
            return None
        is_far = column.min() < 0 or column.max() > 10**9 or _are_years(column)
        return None if is_far or str(label) in mixed else column + _LARGEST

    return _changed(tables, change)


def _codes(tables: Mapping[str, Any], shared: frozenset[str], *, more: bool) -> Tables | None:
    """Codes such as R17, or ids, of which half have a digit more, or less. Their order stays."""
    found = dict[str, list[tuple[str, Any, Any]]]()
    for name, table in tables.items():
        for place, column in enumerate(columns_of(table)):
            label = str(table.columns[place]) if isinstance(table, pd.DataFrame) else ""
            numbers = _numbers_of_codes(column) if label in shared or column.dtype.kind not in "iu" else None
            if numbers is not None:
                found.setdefault(label if label in shared else f"{name}.{place}", []).append((name, place, numbers))
    made = {name: as_frame(table) for name, table in tables.items()}
    is_made = False
    for columns in found.values():
        values = np.unique(np.concatenate([numbers for *_, numbers in columns]))
        digits = len(str(values.max()))
        is_padded = any(_is_padded(made[name].iloc[:, place]) for name, place, _ in columns)
        limit = 10 ** (digits if more else digits - 1)
        if len(values) < FEWEST or len(str(values.min())) != digits or (not more and (digits < 2 or is_padded)):
            continue
        start = max(limit - len(values) // 2, 0)
        for name, place, numbers in columns:
            column = made[name].iloc[:, place]
            made[name].isetitem(place, _with_numbers(column, start + np.searchsorted(values, numbers)))
            is_made = True
    if not is_made:
        return None
    return {name: like_table(table, made[name]) for name, table in tables.items()}


def _is_text(column: Any) -> bool:
    if isinstance(column.dtype, pd.StringDtype):
        return bool(column.notna().all())
    return bool(column.dtype.kind == "O") and all(isinstance(value, str) for value in column)


def _numbers_of_codes(column: Any) -> Any:
    """The number in each code of a column; None if it has no codes of one form."""
    if column.dtype.kind in "iu" and not column.isna().any():
        numbers = column.to_numpy(dtype="int64")
        return None if numbers.min() < 0 or _are_years(numbers) else numbers
    if isinstance(column.dtype, pd.CategoricalDtype) or not _is_text(column) or not len(column):
        return None
    parts = [_CODE.fullmatch(text) for text in column]
    if not all(parts) or len({part[1] for part in parts if part}) != 1:
        return None
    return np.array([int(part[2]) for part in parts if part], dtype="int64")


def _is_padded(column: Any) -> bool:
    return column.dtype.kind not in "iu" and any(
        str(text).lstrip("-_ ABCDEFGHIJKLMNOPQRSTUVWXYZ").startswith("0") for text in column
    )


def _with_numbers(column: Any, numbers: Any) -> Any:
    if column.dtype.kind in "iu":
        return pd.Series(numbers, index=column.index, name=column.name).astype(column.dtype)
    part = _CODE.fullmatch(column.iloc[0])
    start, width = (part[1], len(part[2])) if part else ("", 1)
    width = width if _is_padded(column) else 1
    texts = [f"{start}{number:0{width}}" for number in numbers]
    return pd.Series(texts, index=column.index, name=column.name, dtype=object).astype(column.dtype)


def _is_group(column: Any) -> bool:
    if not _is_text(column) or not 2 <= column.nunique() <= min(_MOST_GROUPS, len(column) // 3):
        return False
    return not any(map(_DAY.match, column))


def _new_groups(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    """A third of the rows in groups that the sample has not, one of each."""

    def change(label: Any, column: Any) -> Any:
        if str(label) in shared or not _is_group(column):
            return None
        rows = np.arange(len(column)) % 3 == 2
        return column.where(~rows, column + "2")

    return _changed(tables, change)


def _blanks(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    """Blanks around some texts that name groups."""

    def change(label: Any, column: Any) -> Any:
        if str(label) in shared or not _is_group(column):
            return None
        rows = np.arange(len(column)) % 5 == 3
        return column.where(~rows, " " + column + " ")

    return _changed(tables, change)


def _unused_categories(tables: Mapping[str, Any], _shared: frozenset[str]) -> Tables | None:
    made: Tables = {}
    for name, table in tables.items():
        frame = as_frame(table)
        for place, dtype in enumerate(frame.dtypes):
            if isinstance(dtype, pd.CategoricalDtype) and _is_text(dtype.categories.to_series()):
                frame.isetitem(place, frame.iloc[:, place].cat.add_categories([f"{dtype.categories[-1]}2"]))
                made[name] = like_table(table, frame)
    return {**tables, **made} if made else None


def _times(tables: Mapping[str, Any]) -> list[Any]:
    columns = (column for table in tables.values() for column in columns_of(table))
    return [column for column in columns if column.dtype.kind == "M" and column.notna().any()]


def _moved(day: str, name: str) -> Callable[[Mapping[str, Any], frozenset[str]], Tables | None]:
    """Moves all times by whole weeks so that this day is in their middle."""

    def make(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
        times = _times(tables)
        if not times:
            return None
        first, last = (
            min(one.min().tz_localize(None) for one in times),
            max(one.max().tz_localize(None) for one in times),
        )
        if (last - first >= _LONG) != name.startswith("a year and") or _has(first, last, name):
            return None
        return _by_weeks(tables, (pd.Timestamp(day) - (first + (last - first) / 2)) // pd.Timedelta(days=7) + 1)

    return make


def _has(first: Any, last: Any, name: str) -> bool:
    """Whether the times of the sample already have such a day."""
    years = range(first.year, last.year + 1)
    leap = any(
        first < pd.Timestamp(year, 2, 29) < last for year in years if year % 4 == 0 and (year % 100 or not year % 400)
    )
    return ("year" not in name or len(years) > 1) and ("leap" not in name or leap)


def _by_weeks(tables: Mapping[str, Any], weeks: int) -> Tables | None:
    def change(_label: Any, column: Any) -> Any:
        if column.dtype.kind != "M":
            return None
        zone = column.dt.tz
        plain = column.dt.tz_localize(None) + pd.Timedelta(weeks=weeks)
        if zone is not None:
            plain = plain.dt.tz_localize(zone, ambiguous="NaT", nonexistent="shift_forward")
            plain = plain.ffill()
        return plain.astype(column.dtype)

    return _changed(tables, change)


def _across_clock_change(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    """Times with a zone around the change of its clocks in spring."""
    times = [column for column in _times(tables) if column.dt.tz is not None]
    if not times:
        return None
    zone = times[0].dt.tz
    hours = pd.date_range("2024-01-01", "2024-12-31", freq="h", tz="UTC").tz_convert(zone)
    offsets = np.array([pd.Timedelta(hour.utcoffset() or 0).total_seconds() for hour in hours[::12]])
    changes = np.flatnonzero(np.diff(offsets) > 0)
    if not len(changes):
        return None
    day = hours[12 * (changes[0] + 1)].tz_localize(None).normalize()
    first, last = min(one.min() for one in times), max(one.max() for one in times)
    if first.utcoffset() != last.utcoffset():
        return None
    middle = first.tz_localize(None) + (last - first) / 2
    return _by_weeks(tables, round((day - middle) / pd.Timedelta(days=7)))


def _other_columns(tables: Mapping[str, Any], shared: frozenset[str]) -> Tables | None:
    made = {
        name: table.iloc[:, ::-1]
        for name, table in tables.items()
        if isinstance(table, pd.DataFrame) and table.shape[1] > 1 and _has_own_names(table.columns)
    }
    return {**tables, **made} if made else None


def _has_own_names(columns: Any) -> bool:
    return all(isinstance(name, str) and not name.startswith("Unnamed") for name in columns)
