"""Small inputs on which two solutions still differ: the search for them, their source, and whether a model may see one.

The search removes rows, then replaces values by simpler ones. Removing halves, then quarters, then single rows is the
idea of delta debugging (Zeller and Hildebrandt, 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.table_rows import taken
from autocoder_jupyter.engine.evidence.variations import Tables
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.equality.scalars import is_missing
from autocoder_jupyter.redaction.masking import Masker

# Synthetic values
#
# They show the order of the data's values, and no value.

Form = Callable[[int], Any]
"""Makes a value from its rank among the values of its column, from 0."""


def value_forms(dtype: Any) -> list[Form]:
    """The forms of synthetic values for a column, the simplest first."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        first = pd.Timestamp("2024-01-01", tz=getattr(dtype, "tz", None))
        return [
            lambda rank: first + pd.Timedelta(days=rank),
            lambda rank: first + pd.DateOffset(months=rank),
            lambda rank: first + pd.DateOffset(years=rank),
        ]
    if pd.api.types.is_numeric_dtype(dtype):
        return [lambda rank: 1, lambda rank: rank + 1, lambda rank: 10 * (rank + 1)]
    if pd.api.types.is_timedelta64_dtype(dtype):
        return [lambda rank: pd.Timedelta(days=rank + 1)]
    return [lambda rank: "a", lambda rank: chr(97 + rank) if rank < 26 else f"a{rank}"]


def is_synthetic(column: Any) -> bool:
    """Whether all values of a column are missing, are truth values of a boolean dtype, or have one of the forms."""
    present = column.dropna()
    if present.empty or pd.api.types.is_bool_dtype(column.dtype):
        return True
    try:
        found = present.drop_duplicates()
        return any(_has(found, form) for form in value_forms(column.dtype))
    except (TypeError, ValueError, OverflowError):
        return False  # values that cannot be compared


def _has(found: Any, form: Form) -> bool:
    expected: Sequence[Any] = [form(rank) for rank in range(len(found))]
    return bool(found.isin(expected).all())


# The search

Differs = Callable[[Tables], bool]

Change = Callable[[Any, int], Any]
"""Makes a simpler value from a value and its rank."""

TRIALS = 300
"""The maximum number of runs of both solutions to find it."""


def smallest(
    tables: Mapping[str, Any],
    differs: Differs,
    trials: int = TRIALS,
    has_time: Callable[[], bool] = lambda: True,
) -> Tables:
    """The input with the fewest rows that were found. If `tables` differs, so does the result."""
    left = [trials]

    def tried(candidate: Tables) -> bool:
        left[0] -= 1
        return differs(candidate)

    kept = dict(tables)
    for name in sorted(kept, key=lambda name: -len(kept[name])):
        kept = _fewer_rows(kept, name, tried, lambda: left[0] > 0 and has_time())
    return kept


def _fewer_rows(tables: Tables, name: str, differs: Differs, may_continue: Callable[[], bool]) -> Tables:
    part = max(1, len(tables[name]) // 2)
    while may_continue():
        start, shrunk = 0, False
        while start < (count := len(tables[name])) and may_continue():
            rest = np.r_[0:start, min(start + part, count) : count].astype(int)
            candidate = {**tables, name: taken(tables[name], rest)}
            if differs(candidate):
                tables, shrunk = candidate, True
            else:
                start += part
        if part == 1 and not shrunk:
            break
        part = max(1, part // 2)
    return tables


def simplified(tables: Tables, differs: Differs, has_time: Callable[[], bool] = lambda: True) -> Tables:
    """The same input with synthetic values, as far as the two still differ. Columns in which they would agree then keep
    values of the data.
    """
    for name in tables:
        for place in range(1 if isinstance(tables[name], pd.Series) else tables[name].shape[1]):
            column = _column(tables[name], place)
            for values in _simpler(column):
                if not has_time():
                    return tables
                candidate = {**tables, name: _replaced(tables[name], place, values)}
                if values.dtype == column.dtype and differs(candidate):
                    tables = candidate
                    break
    return tables


def _column(table: Any, place: int) -> Any:
    return table if isinstance(table, pd.Series) else table.iloc[:, place]


def _replaced(table: Any, place: int, values: Any) -> Any:
    if isinstance(table, pd.Series):
        return values
    copy = table.copy()
    copy.isetitem(place, values)
    return copy


def _simpler(column: Any) -> Iterator[Any]:
    """The column with simpler values, the simplest first: synthetic ones, then those of the data that are changed."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return  # contains no value of the data
    for change in (*map(_by_rank, value_forms(column.dtype)), *_taken_over(column)):
        yield from _changed(column, change)


def _by_rank(form: Form) -> Change:
    return lambda _, rank: form(rank)


def _taken_over(column: Any) -> list[Change]:
    """Functions that make the data's values simpler: rounded numbers, and times that are moved to 2024."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        return [lambda value, _: round(value)] if pd.api.types.is_numeric_dtype(column.dtype) else []
    first = pd.Timestamp("2024-01-01", tz=column.dt.tz)
    earliest = column.min()
    if pd.isna(earliest):
        return []
    weeks = (first - earliest) // pd.Timedelta(days=7)
    years = 2024 - earliest.year
    return [
        lambda value, _: value.floor("D") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("min") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("D") + pd.DateOffset(years=years),
    ]


def _changed(column: Any, change: Change) -> Iterator[Any]:
    """The column with each value replaced by a function of the value and its rank; yields nothing if that fails."""
    try:
        ordered = sorted({value for value in column if not pd.isna(value)})
        place = {value: rank for rank, value in enumerate(ordered)}
        values = [None if pd.isna(value) else change(value, place[value]) for value in column]
        yield pd.Series(values, index=column.index, name=column.name).astype(column.dtype)
    except (TypeError, ValueError, OverflowError, KeyError):
        return  # values that cannot be sorted, or a dtype (such as categories) that cannot hold others


# Tables as Python source
#
# With exact dtypes, for the user and for a test.

CELLS = 200
"""The maximum number of values. A larger table is not written as source."""

_PLAIN = (bool, int, float, str)

Cells = Sequence[Sequence[Any]]
"""The values of a table by column: None, truth values, numbers and text."""


def cells(table: Any) -> list[list[Any]] | None:
    """The values of a table; None if it cannot be made from them again."""
    if table.size > CELLS:
        return None
    columns = [table] if isinstance(table, pd.Series) else [table.iloc[:, place] for place in range(table.shape[1])]
    found = [[_plain(value) for value in column] for column in columns]
    same = pd.testing.assert_series_equal if isinstance(table, pd.Series) else pd.testing.assert_frame_equal
    if not _has_plain_names(table) or not all(map(_is_plain, (value for column in found for value in column))):
        return None
    try:
        same(built(found, dtypes(table), table), table)
    except Exception:
        return None  # a dtype or index that a short expression cannot make, or must not show
    return found


def _is_plain(value: Any) -> bool:
    return value is None or (type(value) in _PLAIN and (type(value) is not float or math.isfinite(value)))


def _has_plain_names(table: Any) -> bool:
    """Whether the names of the columns can be written as keys of a dict."""
    if isinstance(table, pd.Series):
        return table.name is None or type(table.name) in (str, int)
    return bool(table.columns.is_unique) and all(type(name) in (str, int) for name in table.columns.tolist())


def dtypes(table: Any) -> list[str]:
    """The names of the dtypes of a table's columns."""
    return [str(table.dtype)] if isinstance(table, pd.Series) else list(map(str, table.dtypes))


def built(values: Cells, kinds: Sequence[str], like: Any) -> Any:
    """A table with these values and dtypes, and the names of another one."""
    if any(isinstance(pd.api.types.pandas_dtype(kind), pd.SparseDtype) for kind in kinds):
        raise ValueError("a sparse dtype shows its fill value")
    columns = [_built_column(column, kind) for column, kind in zip(values, kinds, strict=True)]
    if isinstance(like, pd.Series):
        return columns[0].rename(like.name)
    return pd.DataFrame(dict(enumerate(columns))).set_axis(like.columns, axis=1)


def table_source(values: Cells, kinds: Sequence[str], like: Any) -> str:
    """An expression that uses `pd`, for the same table."""
    if isinstance(like, pd.Series):
        return _column_source(values[0], kinds[0], like.name)
    columns = zip(like.columns, values, kinds, strict=True)
    lines = [f"        {name!r}: {_column_source(column, kind)}," for name, column, kind in columns]
    return "\n".join(["pd.DataFrame(", "    {", *lines, "    }", ")"])


def _built_column(column: Sequence[Any], kind: str) -> Any:
    zone = _zone(kind)
    if zone is None:
        return pd.Series(list(column), dtype=kind)
    moments: Any = pd.Series(pd.to_datetime(list(column), utc=True))
    return moments.dt.tz_convert(zone).astype(kind)


def _column_source(column: Sequence[Any], kind: str, name: Any = None) -> str:
    values, zone = ", ".join(map(repr, column)), _zone(kind)
    named = "" if name is None else f", name={name!r}"
    if zone is None:
        return f"pd.Series([{values}], dtype={kind!r}{named})"
    moments = f"pd.Series(pd.to_datetime([{values}], utc=True){named})"
    return f"{moments}.dt.tz_convert({zone!r}).astype({kind!r})"


def _zone(kind: str) -> str | None:
    dtype = pd.api.types.pandas_dtype(kind)
    return str(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else None


def _plain(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, pd.Timestamp):
        return str(value.tz_convert("UTC") if value.tz else value).removesuffix(" 00:00:00")
    if isinstance(value, pd.Timedelta):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


# Inputs that the model may see

LONGEST_SOURCE = 10_000
"""Characters of a small input as source."""


@dataclass(frozen=True)
class SmallInput:
    """A small input that may be written as source.

    Args:
        is_synthetic: whether it contains no value of the data.
    """

    tables: Mapping[str, Any]
    source: str
    is_synthetic: bool

    @classmethod
    def of(cls, tables: Mapping[str, Any], given: Mapping[str, Any]) -> SmallInput | None:
        """The tables as source; None if they are too large, or cannot be written as a short expression."""
        sources = []
        for name, table in tables.items():
            values = cells(table)
            if values is None:
                return None
            sources.append(f"{name} = {table_source(values, dtypes(table), table)}")
        text = "\n".join(sources)
        is_synthetic = len(tables) == len(given) and all(map(_has_no_own_value, tables.values()))
        return cls(tables, text, is_synthetic) if text and len(text) <= LONGEST_SOURCE else None


def _has_no_own_value(table: Any) -> bool:
    columns = [table] if isinstance(table, pd.Series) else [table.iloc[:, place] for place in range(table.shape[1])]
    return all(map(is_synthetic, columns))


def may_be_sent(setup: GenerationSetup, small: SmallInput) -> bool:
    """Whether the model may see an input: synthetic values always, values of the data only if rows are shared.

    The input has all columns, so the answer is no if a column is hidden, or if a name of a column is private.
    """
    config = setup.config
    if config.hide or Masker().mask(small.source) != small.source:
        return False
    return small.is_synthetic or (setup.share_of_runs == "rows" and config.max_sample_rows > 0)
