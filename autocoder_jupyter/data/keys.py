"""Find relations between tables: parts of one table, and pairs of key and reference columns."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import Any

import pandas as pd

from autocoder_jupyter.data.sample import mentioned, sample_cells, sample_rows
from autocoder_jupyter.data.text_formats import label_literal

_SAMPLED_VALUES = 2_000
_SCANNED_ROWS = 1_000_000
_MAX_PAIRS = 12
_MIN_SHARE = 0.5
"""Minimum share of values that must be found in a column that is not a key. For a key every share is reported."""

_SAME_COLUMNS = 0.8
"""Tables with this share of common columns are parts of one table."""

_MIN_COMMON = 2
"""Minimum number of common values. A single one is chance, such as a header that was left in the body of both."""

_ALMOST_ALL = 0.9
_MIN_SHOWN = 3
"""Columns with unrelated names are a join if at least this share of the values, and so many, are found."""

_MOST_COLUMNS = 200
"""Columns of a table that are looked at."""

_MAX_KEYS, _MAX_REFERENCES = 6, 24
"""Columns of a table that are tried without related names."""

_KEY_ROWS, _PROBED = 200_000, 200
"""Rows of the table of such a key, and values of a column that are looked for before all are."""

_KEY_WORDS = ("id", "key", "code", "no", "nr", "number", "ref")
_UNNAMED = re.compile(r"unnamed:\d+(level\d+)?")

MOST_MISSING = 8
"""Keys without a match that are named. More of them are no oversight."""

_SHARED_COLUMNS = 3
"""Columns with the same name in both tables of a join that are compared."""

_OWN_NUMBER = ("id", "index", "key", "no", "nr", "pk", "rowid", "unnamed:0")
"""Names of row numbers. The same name in two tables is not a reference."""


@dataclass(frozen=True)
class KeyLink:
    """Values of `column` in `table` that are found in `to_column` of `to_table`.

    Args:
        share: the share of the examined different values that are found, 0 to 1.
        back: the share of the values of `to_column` that are found in `column`, 0 to 1.
        same_dtype: False if values are equal only as text, so that a join needs a conversion.
        to_unique: whether `to_column` has no repeated value, so that a join keeps the number of rows.
        alike: the share that would be found without blanks, case and leading zeros, if none is found as it is.
        missing: texts of `column` that are not found, the most frequent first.
        missing_back: texts of `to_column` that are not found in `column`.
        shared: further columns that both tables have, with the share of joined rows in which their values are equal.
    """

    table: str
    column: str
    to_table: str
    to_column: str
    share: float
    back: float
    same_dtype: bool
    to_unique: bool
    shared: tuple[tuple[str, float], ...] = ()
    alike: float = 0.0
    missing: tuple[str, ...] = ()
    missing_back: tuple[str, ...] = ()


def fold(name: object) -> str:
    """A normalized name: case, blanks, underscores and hyphens are ignored."""
    return re.sub(r"[\s_\-]+", "", str(name)).casefold()


def find_parts(frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, ...], ...]:
    """Tables with the same columns, such as one per year. They are parts of one table, and are not joined."""
    columns = {name: {fold(label) for label in frame.columns[:_MOST_COLUMNS]} for name, frame in frames.items()}
    groups: list[list[str]] = []
    for name, own in columns.items():
        alike = (group for group in groups if _are_alike(own, columns[group[0]]))
        if (group := next(alike, None)) is not None:
            group.append(name)
        else:
            groups.append([name])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _are_alike(one: set[str], other: set[str]) -> bool:
    return min(len(one), len(other)) > 2 and len(one & other) >= _SAME_COLUMNS * len(one | other)


def find_links(frames: Mapping[str, pd.DataFrame], request: str = "") -> tuple[KeyLink, ...]:
    """Likely joins between tables, from the reference to the key. Of parts of one table, only the first is used."""
    further = {name for group in find_parts(frames) for name in group[1:]}
    frames = {name: frame for name, frame in frames.items() if name not in further}
    links: dict[frozenset[tuple[str, str]], KeyLink] = {}
    for _, (left, left_place, right, right_place) in zip(range(_MAX_PAIRS), _candidates(frames), strict=False):
        link = _compare(left, frames[left].iloc[:, left_place], right, frames[right].iloc[:, right_place])
        if link is None:
            continue
        pair = frozenset({(left, link.column), (right, link.to_column)})
        known = links.get(pair)
        if known is None or (link.to_unique, link.share) > (known.to_unique, known.share):
            links[pair] = link
    for link in _by_values(frames, request, {end for pair in links for end in pair}):
        links.setdefault(frozenset({(link.table, link.column), (link.to_table, link.to_column)}), link)
    return tuple(replace(link, shared=_shared(link, frames)) for link in links.values())


def _by_values(frames: Mapping[str, pd.DataFrame], request: str, linked: set[tuple[str, str]]) -> Iterator[KeyLink]:
    """Joins that values show although the names differ, such as `buyer_id` and `user_id`."""
    words = re.sub(r"@\w+", " ", request)
    named = {name: set(mentioned(frame.columns, words)) for name, frame in frames.items()}
    columns = {name: [column for _, column in islice(frame.items(), _MOST_COLUMNS)] for name, frame in frames.items()}
    references = [(name, place) for name, frame in frames.items() for place in _references(frame, named[name])]
    some = functools.cache(lambda left, place: _some_values(columns[left][place]))
    for right in frames if len(frames) > 1 else ():
        for key in _keys(columns[right], named[right]):
            column = columns[right][key]
            known = pd.Index(column.dropna())
            for left, place in references:
                own = columns[left][place]
                if left == right or (left, label_literal(own.name)) in linked:
                    continue
                if not _may_refer(own, column, both_named=place in named[left] and key in named[right]):
                    continue
                if not _are_among(some(left, place), known):
                    continue
                link = _compare(left, own, right, column, common=_MIN_SHOWN)
                if link is not None and link.to_unique and link.share >= _ALMOST_ALL:
                    yield link


def _some_values(column: pd.Series[Any]) -> pd.Index[Any] | None:
    try:
        return pd.Index(sample_cells(column, _PROBED).dropna().unique()) if _can_be_key(column) else None
    except Exception:
        # Cells that cannot be hashed refer to nothing.
        return None


def _are_among(values: pd.Index[Any] | None, known: pd.Index[Any]) -> bool:
    try:
        return values is not None and len(values) > 0 and float((known.get_indexer(values) >= 0).mean()) >= _ALMOST_ALL
    except Exception:
        # Values that cannot be compared are not among them.
        return False


def _keys(columns: Sequence[pd.Series[Any]], named: set[int]) -> list[int]:
    """Positions of columns that identify a row; those that the request mentions come first."""
    places = [place for place, column in enumerate(columns) if _is_named(column.name)]
    places.sort(key=lambda place: place not in named)
    found = (place for place in places[: 4 * _MAX_KEYS] if _identifies(columns[place]))
    return [place for place, _ in zip(found, range(_MAX_KEYS), strict=False)]


def _identifies(column: pd.Series[Any]) -> bool:
    try:
        if not (_MIN_SHOWN <= len(column) <= _KEY_ROWS and _can_be_key(column)):
            return False
        return bool(sample_cells(column, _PROBED).is_unique and column.is_unique)
    except Exception:
        # Cells that cannot be hashed are not keys.
        return False


def _references(frame: pd.DataFrame, named: set[int]) -> list[int]:
    places = [place for place in range(min(frame.shape[1], _MOST_COLUMNS)) if _is_named(frame.columns[place])]
    return sorted(places, key=lambda place: place not in named)[:_MAX_REFERENCES]


def _may_refer(column: pd.Series[Any], key: pd.Series[Any], *, both_named: bool) -> bool:
    """Whether values that are those of a key may refer to it.

    Whole numbers match by accident: row numbers never count, and both names must be those of keys, or be mentioned.
    """
    if _is_text(column) != _is_text(key) or _is_text(key):
        return _is_text(column) and _is_text(key)
    if not pd.api.types.is_integer_dtype(key.dtype) or column.is_unique:
        return False
    words = [
        re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(label))) for label in (column.name, key.name)
    ]
    return both_named or all(found and found[-1].casefold() in _KEY_WORDS for found in words)


def _is_named(label: object) -> bool:
    return _UNNAMED.fullmatch(fold(label)) is None


def _shared(link: KeyLink, frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, float], ...]:
    """How far further columns with the same name agree on the joined rows."""
    left, right = frames[link.table], frames[link.to_table]
    if not (link.to_unique and link.same_dtype and link.share and left.columns.is_unique and right.columns.is_unique):
        return ()
    ends = link.column, link.to_column
    both = [
        label for label in left.columns[:_MOST_COLUMNS] if label in right.columns and label_literal(label) not in ends
    ]
    found = []
    try:
        here, there = (
            next(label for label in frame.columns if label_literal(label) == end)
            for frame, end in ((left, ends[0]), (right, ends[1]))
        )
        rows = sample_rows(left, _SAMPLED_VALUES)
        other = right.iloc[:_SCANNED_ROWS].dropna(subset=[there]).set_index(there)
        rows = rows[rows[here].isin(other.index)]
        for label in both[:_SHARED_COLUMNS]:
            if len(rows) and _is_named(label):
                theirs = rows[here].map(other[label])
                equal = (rows[label] == theirs) | (rows[label].isna() & theirs.isna())
                found.append((label_literal(label), float(equal.mean())))
    except Exception:
        # Cells that cannot be hashed or compared agree on nothing.
        return ()
    return tuple(found)


def _candidates(frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, int, str, int]]:
    """Positions of columns whose names suggest a relation (`customer_id`, and `id` of `customers`)."""
    found = []
    folded = {
        name: {
            fold(label): place
            for place, label in reversed(list(enumerate(frame.columns[:_MOST_COLUMNS])))
            if _is_named(label)
        }
        for name, frame in frames.items()
    }
    for left, right in permutations(frames, 2):
        singular = fold(right).removesuffix("s")
        for name, place in folded[left].items():
            other = folded[right].get(name) if name not in _OWN_NUMBER else None
            if other is None and name in (f"{singular}id", f"{singular}key", f"{singular}code", singular):
                other = next((folded[right][n] for n in ("id", "key", "code", "name") if n in folded[right]), None)
            if other is not None:
                found.append((left, place, right, other))
    return found


def _compare(
    left: str, values: pd.Series[Any], right: str, keys: pd.Series[Any], common: int = _MIN_COMMON
) -> KeyLink | None:
    try:
        if not (_can_be_key(values) and _can_be_key(keys)):
            return None
        scanned = keys.iloc[:_SCANNED_ROWS].dropna()
        if values.isna().all() or len(scanned) == 0:
            return None
        (share, found), same_dtype = _share_found(values, keys, True), True
        if share == 0 and _is_text(values) != _is_text(keys):
            (share, found), same_dtype = _share_found(values, keys, False), False
        if 0 < found < min(common, len(values), len(keys)):
            return None
        to_unique = bool(scanned.is_unique)
        if share < _MIN_SHARE and not (to_unique and fold(values.name) == fold(keys.name)):
            return None
        columns = label_literal(values.name), label_literal(keys.name)
        back, _ = _share_found(keys, values, same_dtype)
        missing = (_missing(values, keys), _missing(keys, values)) if share and same_dtype else ((), ())
        return KeyLink(
            left,
            columns[0],
            right,
            columns[1],
            share,
            back,
            same_dtype,
            to_unique,
            alike=_share_alike(values, keys) if not share else 0.0,
            missing=missing[0],
            missing_back=missing[1],
        )
    except Exception:
        # Cells that cannot be compared are not keys.
        return None


def _share_found(values: pd.Series[Any], keys: pd.Series[Any], same_dtype: bool) -> tuple[float, int]:
    """The share and number of different sampled values that are among the keys; compared as text if dtypes differ."""
    looked = sample_cells(values.dropna().drop_duplicates(), _SAMPLED_VALUES)
    scanned = keys.iloc[:_SCANNED_ROWS].dropna()
    found = looked.isin(scanned) if same_dtype else looked.astype(str).isin(set(scanned.astype(str)))
    return float(found.mean()), int(found.sum())


def _share_alike(values: pd.Series[Any], keys: pd.Series[Any]) -> float:
    """The share of texts that would be found without blanks, case and leading zeros."""
    if not (_is_text(values) and _is_text(keys)):
        return 0.0
    looked = sample_cells(values.dropna().drop_duplicates(), _SAMPLED_VALUES).map(_plain)
    return float(looked.isin(set(keys.iloc[:_SCANNED_ROWS].dropna().map(_plain))).mean())


def _plain(value: Any) -> str:
    return " ".join(str(value).split()).casefold().lstrip("0")


def _missing(values: pd.Series[Any], keys: pd.Series[Any]) -> tuple[str, ...]:
    """Texts that are not among the keys. Those of a table with very many rows are not looked for."""
    if not _is_text(values) or max(len(values), len(keys)) > _KEY_ROWS:
        return ()
    known = set(keys.dropna())
    counts = values.value_counts()
    missing = [str(text) for text, count in counts.items() if count and text not in known]
    return tuple(missing) if len(missing) <= MOST_MISSING else ()


def _can_be_key(column: pd.Series[Any]) -> bool:
    """Whether it is text, whole numbers or times. Measured numbers match by accident, truth values always."""
    return not (pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def _is_text(column: pd.Series[Any]) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
