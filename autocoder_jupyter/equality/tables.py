"""Tables: which columns and rows of two belong together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from autocoder_jupyter.equality.scalars import kind_of, moment

_MOST_UNMATCHED = 50
"""Columns that are matched by their content; each is compared with all others."""

_ALIKE = 0.3
"""The part of the rows that keys of two tables must have in common at least."""

_STR_BITS = 10_000
"""Python refuses to write longer integers in decimal."""

Labelled = tuple[str, int]
"""The text of a column's name, and its number among the columns of that name."""


def has_own_index(table: Any) -> bool:
    """Whether the index is more than row numbers."""
    index = table.index
    return index.nlevels > 1 or index.name is not None or not pd.api.types.is_integer_dtype(index.dtype)


def columns_by_label(frame: Any) -> dict[Labelled, int]:
    """The positions of the columns. A name may be there twice."""
    seen: Counter[str] = Counter()
    places = {}
    for position, name in enumerate(frame.columns.tolist()):
        text = label(name)
        places[text, seen[text]] = position
        seen[text] += 1
    return places


def label(value: Any) -> str:
    """A value as text that is equal for equal values.

    Labels of others are looked up by it. The hash of a text cannot be predicted, that of a number or tuple can.
    """
    if isinstance(value, tuple | list):
        return f"({', '.join(map(label, value))})"
    kind = kind_of(value)
    if kind == "number":
        return f"{kind} {_number(value)}"
    return f"{kind} {value}" if kind != "missing" else kind


def _number(value: Any) -> str:
    try:
        if value == int(value):
            whole = int(value)
            return str(whole) if whole.bit_length() < _STR_BITS else hex(whole)
        return f"{float(value):.15g}"
    except (TypeError, ValueError, OverflowError):
        return str(value)


def flat(table: Any, name: str) -> Any:
    """A DataFrame or Series as a DataFrame with its index as ordinary columns, and different texts as their names."""
    frame = table.to_frame(name if table.name is None else table.name) if isinstance(table, pd.Series) else table
    frame = frame.set_axis(_unique([str(column) for column in frame.columns.tolist()]), axis=1)
    if has_own_index(table):
        levels = [f"level_{at}" if each is None else str(each) for at, each in enumerate(frame.index.names)]
        levels = ["index"] if levels == ["level_0"] else levels
        frame = pd.concat([frame.index.to_frame(index=False), frame.reset_index(drop=True)], axis=1)
        frame = frame.set_axis(_unique([*levels, *frame.columns[len(levels) :]]), axis=1)
    return frame.reset_index(drop=True)


def _unique(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def matched_columns(first: Any, second: Any, differ: Callable[[Any, Any], bool]) -> dict[str, str]:
    """The columns of the first frame with their counterparts in the second: matched by name, then by content.

    Of the remaining columns, two match if each is the only one of its kind in its frame.

    Args:
        first: a flat frame.
        second: another one.
        differ: whether two columns of the same length differ.
    """
    pairs = {name: name for name in first.columns if name in set(second.columns)}
    letters = {name: re.sub(r"[\W_]", "", name.casefold()) for name in (*first.columns, *second.columns)}
    words = {name: _words(name) for name in letters}
    _pair_the_only_ones(pairs, first, second, lambda one, other: letters[one] == letters[other])
    _pair_the_only_ones(pairs, first, second, lambda one, other: bool(words[one] & words[other]))
    if len(first) == len(second) and len(first) and max(first.shape[1], second.shape[1]) - len(pairs) < _MOST_UNMATCHED:
        _pair_the_only_ones(pairs, first, second, lambda one, other: not differ(first[one], second[other]))
    kinds = [{name: column_kind(frame[name]) for name in frame.columns} for frame in (first, second)]
    _pair_the_only_ones(pairs, first, second, lambda one, other: kinds[0][one] == kinds[1][other])
    return {name: pairs[name] for name in first.columns if name in pairs}


def _pair_the_only_ones(pairs: dict[str, str], first: Any, second: Any, alike: Callable[[str, str], bool]) -> None:
    left = [name for name in first.columns if name not in pairs]
    taken = set(pairs.values())
    right = [name for name in second.columns if name not in taken]
    fitting = {one: [other for other in right if alike(one, other)] for one in left}
    rivals = Counter(other for others in fitting.values() for other in others)
    pairs.update({one: others[0] for one, others in fitting.items() if len(others) == 1 and rivals[others[0]] == 1})


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[\W_]+", name.casefold()) if len(word) > 2}


def column_kind(column: Any) -> str:
    """`number`, `truth`, `time` or `text`."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return "truth"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "number"
    return "time" if pd.api.types.is_datetime64_any_dtype(column.dtype) else "text"


def key_columns(first: Any, second: Any) -> tuple[list[str], list[str], list[str]]:
    """The fewest columns that identify a row in both frames; never columns of measured numbers.

    Returns:
        The columns, and the rows of each frame by them, as in `_labels`. Without such columns all are empty.
    """
    rank = {"time": 0, "text": 1, "truth": 3, "number": 2}
    floats = pd.api.types.is_float_dtype
    names = [name for name in first.columns if not floats(first[name].dtype) and not floats(second[name].dtype)]
    names.sort(key=lambda name: rank[column_kind(first[name])])
    labels = {name: (_labels(first[name]), _labels(second[name])) for name in names}
    for name in names:
        if _identify(*labels[name]):
            return [name], *labels[name]
    joined = labels[names[0]] if names else ([], [])
    for count, name in enumerate(names[1:], 2):
        joined = _joined(joined[0], labels[name][0]), _joined(joined[1], labels[name][1])
        if _identify(*joined):
            return names[:count], *joined
    return [], [], []


def _identify(one: Sequence[str], other: Sequence[str]) -> bool:
    left, right = set(one), set(other)
    if len(left) != len(one) or len(right) != len(other):
        return False
    return not left or not right or len(left & right) >= _ALIKE * len(left)


def _joined(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return [f"{a}\0{b}" for a, b in zip(one, other, strict=True)]


def _labels(column: Any) -> list[str]:
    """The values as text: a date and its text give the same label, and so do `3` and `3.0`."""
    return [_label(value) for value in column]


def _label(value: Any) -> str:
    kind = kind_of(value)
    if kind == "number":
        return _number(value)
    if kind in ("time", "text") and re.match(r"\d{4}-\d\d", str(value)):
        when = moment(value)
        return str(value if when is None else when)
    return "\0" if kind == "missing" else str(value)
