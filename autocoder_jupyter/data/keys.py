"""Find relations between tables: parts of one table, and pairs of key and reference columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pandas as pd

from autocoder_jupyter.data.cells import label_literal
from autocoder_jupyter.data.sample import sample_rows

_SAMPLED_VALUES = 2_000
_SCANNED_ROWS = 1_000_000
_MAX_PAIRS = 12
_MIN_SHARE = 0.5
"""Minimum share of values that must be found in a column that is not a key. For a key every share is reported."""

_SAME_COLUMNS = 0.8
"""Tables with this share of common columns are parts of one table."""

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
    """

    table: str
    column: str
    to_table: str
    to_column: str
    share: float
    back: float
    same_dtype: bool
    to_unique: bool


def fold(name: object) -> str:
    """A normalized name: case, blanks, underscores and hyphens are ignored."""
    return re.sub(r"[\s_\-]+", "", str(name)).casefold()


def find_parts(frames: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, ...], ...]:
    """Tables with the same columns, such as one per year. They are parts of one table, and are not joined."""
    columns = {name: {fold(label) for label in frame.columns[:200]} for name, frame in frames.items()}
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


def find_links(frames: Mapping[str, pd.DataFrame]) -> tuple[KeyLink, ...]:
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
    return tuple(links.values())


def _candidates(frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, int, str, int]]:
    """Positions of columns whose names suggest a relation (`customer_id`, and `id` of `customers`)."""
    found = []
    folded = {
        name: {fold(label): place for place, label in reversed(list(enumerate(frame.columns[:200])))}
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


def _compare(left: str, values: pd.Series[Any], right: str, keys: pd.Series[Any]) -> KeyLink | None:
    try:
        if not (_can_be_key(values) and _can_be_key(keys)):
            return None
        scanned = keys.iloc[:_SCANNED_ROWS].dropna()
        if values.isna().all() or len(scanned) == 0:
            return None
        share, same_dtype = _share_found(values, keys, True), True
        if share == 0 and _is_text(values) != _is_text(keys):
            share, same_dtype = _share_found(values, keys, False), False
        to_unique = bool(scanned.is_unique)
        if share < _MIN_SHARE and not (to_unique and fold(values.name) == fold(keys.name)):
            return None
        columns = label_literal(values.name), label_literal(keys.name)
        back = _share_found(keys, values, same_dtype)
        return KeyLink(left, columns[0], right, columns[1], share, back, same_dtype, to_unique)
    except Exception:
        # Cells that cannot be compared are not keys.
        return None


def _share_found(values: pd.Series[Any], keys: pd.Series[Any], same_dtype: bool) -> float:
    """The share of different sampled values that are among the keys; compared as text if dtypes differ."""
    looked = sample_rows(values.dropna().drop_duplicates().to_frame(), _SAMPLED_VALUES).iloc[:, 0]
    scanned = keys.iloc[:_SCANNED_ROWS].dropna()
    if same_dtype:
        return float(looked.isin(scanned).mean())
    return float(looked.astype(str).isin(set(scanned.astype(str))).mean())


def _can_be_key(column: pd.Series[Any]) -> bool:
    """Whether it is text, whole numbers or times. Measured numbers match by accident, truth values always."""
    return not (pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def _is_text(column: pd.Series[Any]) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
