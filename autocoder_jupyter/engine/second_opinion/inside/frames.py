"""Compares two tables that should be equal: matches their columns and rows, and finds differences."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside.values import is_number, is_time, moment, same, shown, tolerance


def as_frame(table: Any, name: str) -> Any:
    """A DataFrame or Series as a DataFrame with its index as ordinary columns."""
    frame = table.to_frame(name if table.name is None else str(table.name)) if isinstance(table, pd.Series) else table
    plain = isinstance(frame.index, pd.RangeIndex) or (frame.index.name is None and frame.index.dtype.kind in "iu")
    frame = frame if plain and frame.index.nlevels == 1 else frame.reset_index()
    frame = frame.reset_index(drop=True)
    return frame.set_axis([str(column) for column in frame.columns], axis=1)


def kind_of(column: Any) -> str:
    """`number`, `truth`, `time` or `text`. Text that contains dates counts as `time`."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return "truth"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "time"
    return "text"


def matched_columns(first: Any, second: Any) -> dict[str, str]:
    """The columns of the first frame with their counterparts in the second: matched by name, then by content.

    Of the remaining columns, two match if each is the only one of its kind in its frame.
    """
    pairs = {name: name for name in first.columns if name in set(second.columns)}
    for alike in (_same_letters, _shared_word):
        _pair_the_only_ones(pairs, first, second, alike)
    if len(first) == len(second) and len(first):
        _pair_the_only_ones(pairs, first, second, lambda one, other: not any(differing(first[one], second[other])))
    _pair_the_only_ones(pairs, first, second, lambda one, other: kind_of(first[one]) == kind_of(second[other]))
    return {name: pairs[name] for name in first.columns if name in pairs}


def _pair_the_only_ones(pairs: dict[str, str], first: Any, second: Any, alike: Any) -> None:
    left = [name for name in first.columns if name not in pairs]
    right = [name for name in second.columns if name not in set(pairs.values())]
    for one in left:
        fitting = [other for other in right if alike(one, other)]
        if len(fitting) == 1 and sum(bool(alike(rival, fitting[0])) for rival in left) == 1:
            pairs[one] = fitting[0]


def _same_letters(one: str, other: str) -> bool:
    return re.sub(r"[\W_]", "", one.casefold()) == re.sub(r"[\W_]", "", other.casefold())


def _shared_word(one: str, other: str) -> bool:
    return bool(_words(one) & _words(other))


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[\W_]+", name.casefold()) if len(word) > 2}


def key_columns(first: Any, second: Any) -> list[str]:
    """The fewest columns that identify a row in both frames; never columns of measured numbers."""
    rank = {"time": 0, "text": 1, "truth": 3, "number": 2}
    names = [name for name in first.columns if not pd.api.types.is_float_dtype(first[name].dtype)]
    names = sorted(
        (name for name in names if not pd.api.types.is_float_dtype(second[name].dtype)),
        key=lambda name: rank[kind_of(first[name])],
    )
    for chosen in [[name] for name in names] + [names[:count] for count in range(2, len(names) + 1)]:
        one, other = labels(first, chosen), labels(second, chosen)
        if one.is_unique and other.is_unique and (not len(one) or not len(other) or one.isin(other).mean() >= 0.3):
            return chosen
    return []


def labels(frame: Any, names: list[str]) -> Any:
    """The rows by their key columns, as normalised text: a date and its text give the same label."""
    parts = [frame[name].map(_label).astype(object) for name in names]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + ", " + part
    return joined.astype(object)


def told(frame: Any, names: list[str]) -> list[str]:
    """The rows by their key columns, as text for the user."""
    return [", ".join(map(shown, values)) for values in zip(*(frame[name] for name in names), strict=True)]


def _label(value: Any) -> str:
    if is_number(value):
        return f"{float(value):.15g}"
    if (is_time(value) or isinstance(value, str)) and re.match(r"\d{4}-\d\d", str(value)):
        when = moment(value)
        return str(value) if when is None else str(when).removesuffix(" 00:00:00")
    return shown(value)


def differing(one: Any, other: Any) -> Any:
    """A boolean mask: the rows in which two columns of the same length differ."""
    if kind_of(one) == "number" and kind_of(other) == "number":
        left = np.asarray(pd.to_numeric(one), dtype="float64")
        right = np.asarray(pd.to_numeric(other), dtype="float64")
        close = np.isclose(left, right, rtol=1e-9, atol=max(1e-12, tolerance(left, right)), equal_nan=True)
        return ~close
    return np.asarray([not same(a, b) for a, b in zip(one, other, strict=True)], dtype=bool)
