"""Tables: which values of columns differ, which columns and rows of two belong together, and what can be a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.leniency import ABSOLUTE, RELATIVE, Leniency
from autocoder_jupyter.equality.scalars import close, is_single, kind_of, moment, rounding

# Columns

STEP = 10_000
"""Rows that are compared in one step. Between steps, other threads of the notebook can run."""


def differing(one: Any, other: Any, leniency: Leniency, equal: Callable[[Any, Any, Leniency], bool]) -> Any:
    """A mask: the rows in which two Series of the same length differ. Dtypes are not compared."""
    mask = _mask(one, other, leniency, 0.0, equal)
    if leniency.rounding and is_numeric(one) and is_numeric(other) and mask.any():
        slack = rounding(*(_cells(column.iloc[:1000]) for column in (one, other)))
        return _mask(one, other, leniency, slack, equal) if slack else mask
    return mask


def _mask(one: Any, other: Any, leniency: Leniency, slack: float, equal: Any) -> Any:
    mask = np.zeros(len(one), dtype=bool)
    for start in range(0, len(one), STEP):
        rows = slice(start, start + STEP)
        mask[rows] = _differing(one.iloc[rows], other.iloc[rows], leniency, slack, equal)
    return mask


def _differing(one: Any, other: Any, leniency: Leniency, slack: float, equal: Any) -> Any:
    kinds = _kind(one), _kind(other)
    if kinds in (("i", "i"), ("u", "u")):
        dtype = "int64" if kinds[0] == "i" else "uint64"
        left, right = (np.asarray(column.to_numpy(dtype=dtype, na_value=0)) for column in (one, other))
        missing = one.isna().to_numpy(), other.isna().to_numpy()
        return (left != right) | (missing[0] != missing[1])
    if "f" in kinds and set(kinds) <= {"i", "u", "f"}:
        left, right = (np.asarray(column.to_numpy(dtype="float64", na_value=np.nan)) for column in (one, other))
        return ~close(left, right, slack)
    if kinds in (("M", "M"), ("m", "m"), ("str", "str")) and one.dtype == other.dtype:
        both = pd.array(one.array == other.array, dtype="boolean").to_numpy(dtype=bool, na_value=False)
        return ~(both | (one.isna().to_numpy() & other.isna().to_numpy()))
    if kinds == ("O", "O") and is_geometry(one) and is_geometry(other):
        return _differing_geometry(np.asarray(one.array), np.asarray(other.array), leniency)
    pairs = zip(_cells(one), _cells(other), strict=True)
    return np.fromiter((not _same_text(a, b) and not equal(a, b, leniency) for a, b in pairs), bool, len(one))


def _differing_geometry(one: Any, other: Any, leniency: Leniency) -> Any:
    """As for numbers; for a lenient comparison also the order of points and parts is ignored."""
    import shapely

    if leniency.types:
        one, other = shapely.normalize(one), shapely.normalize(other)
    bounds = np.nan_to_num(np.abs(shapely.bounds(other)), posinf=0.0)
    near = shapely.equals_exact(one, other, np.maximum(RELATIVE * bounds.max(axis=1, initial=0.0), ABSOLUTE))
    return ~(near | (shapely.is_missing(one) & shapely.is_missing(other)))


def _same_text(one: Any, other: Any) -> bool:
    return type(one) is str and type(other) is str and one == other


def _kind(column: Any) -> str:
    return "str" if isinstance(column.dtype, pd.StringDtype) else str(getattr(column.dtype, "kind", "O"))


def is_plain(dtype: Any) -> bool:
    """Whether it is a dtype of numbers, truth values, moments, durations or texts."""
    return isinstance(dtype, pd.StringDtype) or getattr(dtype, "kind", "O") in "biufMm"


def _cells(column: Any) -> list[Any]:
    return list(column.astype(object))


def is_geometry(column: Any) -> bool:
    """Whether it is a column of GeoPandas."""
    return type(column.dtype).__name__ == "GeometryDtype"


def is_numeric(column: Any) -> bool:
    """Whether its dtype is one of numbers; truth values are none."""
    return _kind(column) in ("i", "u", "f", "c")


# Tables

_MOST_UNMATCHED = 50
"""Columns that are matched by their content; each is compared with all others."""

_MOST_SORTED = 100_000
"""Texts of a column that are sorted. Other threads of the notebook wait meanwhile."""

_ALIKE = 0.3
"""The part of the rows that keys of two tables must have in common at least."""

_KEY = "key"
"""The name of the column for the keys of a mapping."""

_STR_BITS = 10_000
"""Python refuses to write longer integers in decimal."""

Labelled = tuple[str, int]
"""The text of a column's name, and its number among the columns of that name."""


def has_own_index(table: Any) -> bool:
    """Whether the index is more than row numbers."""
    index = table.index
    return index.nlevels > 1 or index.name is not None or not pd.api.types.is_integer_dtype(index.dtype)


def is_numbered(table: Any) -> bool:
    """Whether the index is a range without a name: numbers that are made anew for some of the rows."""
    return isinstance(table.index, pd.RangeIndex) and not has_own_index(table)


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


def as_tables(one: Any, other: Any, name: str) -> tuple[Any, Any] | None:
    """Two values of different forms as tables, if one of them is a table and the other one can be; else None."""
    if not any(isinstance(value, pd.DataFrame | pd.Series) for value in (one, other)):
        return None
    left, right = _as_table(one, other, name), _as_table(other, one, name)
    return None if left is None or right is None else (left, right)


def _as_table(value: Any, beside: Any, name: str) -> Any:
    if isinstance(value, pd.DataFrame | pd.Series):
        return value
    if isinstance(value, Mapping):
        return _table_of_mapping({str(key): part for key, part in value.items()}, value, beside, name)
    if isinstance(value, list | tuple | np.ndarray):
        parts = list(value)
        if all(map(is_single, parts)):
            return pd.DataFrame({name: parts})
        return _table_of_records(parts)
    return pd.DataFrame({name: [value]}) if is_single(value) and beside.size == 1 else None


def _table_of_mapping(by_text: Mapping[str, Any], value: Mapping[Any, Any], beside: Any, name: str) -> Any:
    """A row, if the keys are columns of the other table; a row for each key; or a column for each key."""
    parts = list(value.values())
    if all(map(is_single, parts)):
        columns = {str(column) for column in beside.columns.tolist()} if isinstance(beside, pd.DataFrame) else set()
        if len(beside) == 1 and columns & set(by_text):
            return pd.DataFrame([list(by_text.values())], columns=list(by_text))
        return pd.DataFrame({_KEY: list(value), name: parts})
    if parts and all(isinstance(part, list | tuple) and all(map(is_single, part)) for part in parts):
        return pd.DataFrame(by_text) if len({len(part) for part in parts}) == 1 else None
    rows = _table_of_records(parts)
    return None if rows is None else pd.concat([pd.DataFrame({_KEY: list(value)}), rows], axis=1)


def _table_of_records(parts: Sequence[Any]) -> Any:
    """A table of mappings that all have the same keys and single values; else None."""
    if not parts or not all(isinstance(part, Mapping) and part.keys() == parts[0].keys() for part in parts):
        return None
    if not all(is_single(entry) for part in parts for entry in part.values()):
        return None
    return pd.DataFrame({str(key): [part[key] for part in parts] for key in parts[0]})


def matched_columns(first: Any, second: Any, leniency: Leniency) -> dict[str, str]:
    """The columns of the first frame with their counterparts in the second: matched by name, then by their values.

    The rows may have another order. Of the remaining columns, two match if each is the only one of its kind in its
    frame.
    """
    contents: dict[tuple[int, str], Any] = {}

    def content(side: int, name: str) -> Any:
        if (side, name) not in contents:
            contents[side, name] = _content((first, second)[side][name])
        return contents[side, name]

    def alike(one: str, other: str) -> bool:
        return len(first) == len(second) > 0 and _same_content(content(0, one), content(1, other), leniency)

    pairs = matched_names(list(first.columns), list(second.columns), alike)
    if len(pairs) < min(first.shape[1], second.shape[1]):
        kinds = [{name: column_kind(frame[name]) for name in frame.columns} for frame in (first, second)]
        _pair_the_only_ones(pairs, kinds[0], kinds[1], lambda one, other: kinds[0][one] == kinds[1][other])
    return {name: pairs[name] for name in first.columns if name in pairs}


def matched_names(first: Collection[str], second: Collection[str], alike: Callable[[str, str], bool]) -> dict[str, str]:
    """The names of the first with their counterparts: matched exactly, by letters, by words, then by their values."""
    others = set(second)
    pairs = {name: name for name in first if name in others}
    if max(len(first), len(second)) - len(pairs) >= _MOST_UNMATCHED:
        return pairs
    letters = {name: re.sub(r"[\W_]", "", name.casefold()) for name in (*first, *second)}
    words = {name: _words(name) for name in letters}
    _pair_the_only_ones(pairs, first, second, lambda one, other: letters[one] == letters[other])
    _pair_the_only_ones(pairs, first, second, lambda one, other: bool(words[one] & words[other]))
    _pair_the_only_ones(pairs, first, second, alike)
    return pairs


def _content(column: Any) -> Any:
    """The values of a column in ascending order: an array of numbers, or a list of texts; None for too many texts."""
    if column_kind(column) == "number" and getattr(column.dtype, "kind", "O") in "iuf":
        return np.sort(column.to_numpy(dtype="float64", na_value=np.nan))
    return sorted(_labels(column)) if len(column) <= _MOST_SORTED else None


def _same_content(one: Any, other: Any, leniency: Leniency) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return isinstance(one, list) and isinstance(other, list) and one == other
    slack = rounding(one[:1000].tolist(), other[:1000].tolist()) if leniency.rounding else 0.0
    return bool(close(one, other, slack).all())


def _pair_the_only_ones(
    pairs: dict[str, str], first: Iterable[str], second: Iterable[str], alike: Callable[[str, str], bool]
) -> None:
    left = [name for name in first if name not in pairs]
    taken = set(pairs.values())
    right = [name for name in second if name not in taken]
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
    """The fewest columns that identify a row in both frames; never columns of measured numbers or geometries."""
    rank = {"time": 0, "text": 1, "truth": 3, "number": 2}
    names = [name for name in first.columns if not is_measured(first[name]) and not is_measured(second[name])]
    names.sort(key=lambda name: rank[column_kind(first[name])])
    labels: dict[str, tuple[list[str], list[str]]] = {}
    for name in names:
        labels[name] = _pair_of_labels(first[name], second[name])
        if _identify(*labels[name]):
            return [name], *labels[name]
    joined = labels[names[0]] if names else ([], [])
    for count, name in enumerate(names[1:], 2):
        joined = _joined(joined[0], labels[name][0]), _joined(joined[1], labels[name][1])
        if _identify(*joined):
            return names[:count], *joined
    return [], [], []


def is_measured(column: Any) -> bool:
    """Whether a column has numbers or geometries that are measured, and so never name a row."""
    return pd.api.types.is_float_dtype(column.dtype) or is_geometry(column)


def _identify(one: Sequence[str], other: Sequence[str]) -> bool:
    left, right = set(one), set(other)
    if len(left) != len(one) or len(right) != len(other):
        return False
    return not left or not right or len(left & right) >= _ALIKE * len(left)


def _joined(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return [f"{a}\0{b}" for a, b in zip(one, other, strict=True)]


def _pair_of_labels(one: Any, other: Any) -> tuple[list[str], list[str]]:
    """The labels of two columns. Two columns of times need no text of each time."""
    kinds = {getattr(column.dtype, "kind", "O") for column in (one, other)}
    if kinds == {"M"} and (getattr(one.dtype, "tz", None) is None) == (getattr(other.dtype, "tz", None) is None):
        try:
            left, right = (_instants(column) for column in (one, other))
        except (ValueError, OverflowError):  # a year that nanoseconds cannot hold
            return _labels(one), _labels(other)
        return left, right
    return _labels(one), _labels(other)


def _instants(column: Any) -> list[str]:
    return list(map(str, column.dt.as_unit("ns").to_numpy(dtype="datetime64[ns]").view("int64").tolist()))


def _labels(column: Any) -> list[str]:
    """The values as text: a date and its text give the same label, and so do `3` and `3.0`.

    The same values have the same label, so that of a frequent value is made once.
    """
    if getattr(column.dtype, "kind", "O") in "iu" and not column.isna().any():
        return list(map(str, column.tolist()))
    known: dict[str, str] = {}
    labels = []
    for value in column:
        if type(value) is not str:
            labels.append(_label(value))
        elif value[4:5] != "-":  # no date
            labels.append(value)
        else:
            if value not in known:
                known[value] = _label(value)
            labels.append(known[value])
    return labels


def _label(value: Any) -> str:
    kind = kind_of(value)
    if kind == "number":
        return _number(value)
    if kind in ("time", "text") and re.match(r"\d{4}-\d\d", str(value)):
        when = moment(value)
        return str(value if when is None else when)
    return "\0" if kind == "missing" else str(value)
