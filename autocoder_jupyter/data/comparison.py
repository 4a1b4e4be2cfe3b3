"""Describe the differences between two values in a few sentences: frames by shape, columns and cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.untrusted.long_ints import shortened
from autocoder_jupyter.untrusted.visible import visible

MOST_LINES = 6
"""Differences of one value that are described; the others are counted."""

_LONGEST = 60
"""Maximum length of a value or a name."""

_CLOSE = 1e-9
"""Relative tolerance of floats: sums in another order can differ by as much."""


def differences(before: Any, now: Any, *, show_values: bool) -> tuple[str, ...]:
    """The differences between two values; empty if they are equal.

    Args:
        before: a value from a sandbox: a scalar, DataFrame, Series, dict, list, Figure, File or Dir.
        now: another value from a sandbox.
        show_values: whether the sentences may contain values, or only names, shapes and counts.
    """
    lines = list(_differences(before, now, show_values))
    more = len(lines) - MOST_LINES
    return tuple(lines) if more <= 0 else (*lines[:MOST_LINES], f"and {more} more")


def _differences(before: Any, now: Any, show_values: bool) -> Iterable[str]:
    if isinstance(before, pd.DataFrame) and isinstance(now, pd.DataFrame):
        yield from _of_frames(before, now, show_values)
    elif isinstance(before, pd.Series) and isinstance(now, pd.Series):
        yield from _of_frames(_framed(before), _framed(now), show_values)
    elif isinstance(before, dict) and isinstance(now, dict):
        yield from _of_dicts(before, now, show_values)
    elif type(before) is not type(now):
        yield f"{_article(before)} → {_article(now)}"
    elif isinstance(before, Figure):
        if (before.png, before.spec) != (now.png, now.spec):
            yield "another picture"
    elif isinstance(before, File):
        if before.path.read_bytes() != now.path.read_bytes():
            yield "another content"
    elif isinstance(before, Dir):
        yield from _of_dicts(_files(before), _files(now), False)
    elif isinstance(before, list) and len(before) != len(now):
        yield f"{len(before):,} → {len(now):,} elements"
    elif not _same(before, now):
        yield f"{_told(before)} → {_told(now)}" if show_values else "another value"


def _of_frames(before: pd.DataFrame, now: pd.DataFrame, show_values: bool) -> Iterable[str]:
    if len(before) != len(now):
        yield f"{len(before):,} → {len(now):,} rows"
    yield from _named("new column", (column for column in now.columns if column not in before.columns))
    yield from _named("no more column", (column for column in before.columns if column not in now.columns))
    common = [column for column in now.columns if column in before.columns]
    for column in common:
        if _twice(before, column) or _twice(now, column):
            continue
        old, new = before[column], now[column]
        if str(old.dtype) != str(new.dtype):
            yield f"{_short(column)}: {old.dtype} → {new.dtype}"
        if len(old) == len(new):
            yield from _of_columns(column, old, new, show_values)
    if common != [column for column in before.columns if column in now.columns]:
        yield "another order of columns"


def _of_columns(column: Any, old: pd.Series, new: pd.Series, show_values: bool) -> Iterable[str]:
    differing = np.flatnonzero(~_equal(old, new))
    if not len(differing):
        return
    first = int(differing[0])
    told = f"{_short(column)}: {len(differing):,} of {len(old):,} values differ"
    if show_values:
        told += f", first in row {first}: {_told(old.iloc[first])} → {_told(new.iloc[first])}"
    yield told


def _equal(old: pd.Series, new: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if pd.api.types.is_numeric_dtype(old.dtype) and pd.api.types.is_numeric_dtype(new.dtype):
        one, other = (column.to_numpy(dtype="float64", na_value=np.nan) for column in (old, new))
        return np.asarray(np.isclose(one, other, rtol=_CLOSE, atol=0.0, equal_nan=True), dtype=bool)
    pairs = zip(old.astype(object), new.astype(object), strict=True)
    return np.fromiter((_same(one, other) for one, other in pairs), dtype=bool, count=len(old))


def _of_dicts(before: Mapping[Any, Any], now: Mapping[Any, Any], show_values: bool) -> Iterable[str]:
    yield from _named("new", (key for key in now if key not in before))
    yield from _named("no more", (key for key in before if key not in now))
    for key in (key for key in now if key in before):
        if not _same(before[key], now[key]):
            values = f"{_told(before[key])} → {_told(now[key])}" if show_values else "another value"
            yield f"{_short(key)}: {values}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=_CLOSE, atol=0.0, equal_nan=True))
    if one is None or other is None or one is pd.NaT or one is pd.NA:
        return one is other or (_is_missing(one) and _is_missing(other))
    return bool(np.all(one == other))


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _framed(series: pd.Series) -> pd.DataFrame:
    return series.to_frame("values" if series.name is None else series.name)


def _twice(frame: pd.DataFrame, column: Any) -> bool:
    return bool((frame.columns == column).sum() > 1)


def _named(what: str, names: Iterable[Any]) -> Iterable[str]:
    found = [_short(name) for name in names]
    if found:
        yield f"{what}{'s' if len(found) > 1 and what.endswith('column') else ''} {', '.join(found)}"


def _files(folder: Dir) -> dict[str, bytes]:
    files = sorted(path for path in folder.path.rglob("*") if path.is_file())
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in files}


def _article(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _told(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return _short(value)


def _short(value: Any) -> str:
    text = visible(shortened(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
