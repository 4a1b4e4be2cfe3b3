"""How tables hang together: columns of two samples that look like a key and a reference to it."""

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

_OWN_NUMBER = ("id", "index", "key", "no", "nr", "pk", "rowid", "unnamed:0")
"""What each table calls the number of its own rows: the same name in two tables is no reference."""


@dataclass(frozen=True)
class Link:
    """Values of `column` in `table` that are found in `to_column` of `to_table`.

    Args:
        share: of the different values looked at, 0 to 1.
        same_dtype: False when values agree only as text, so that a join needs a conversion.
        to_unique: whether `to_column` has no repeated value, that is, a join keeps the number of rows.
    """

    table: str
    column: str
    to_table: str
    to_column: str
    share: float
    same_dtype: bool
    to_unique: bool


def fold(name: object) -> str:
    """A name as people confuse it: case, blanks, underscores and hyphens do not count."""
    return re.sub(r"[\s_\-]+", "", str(name)).casefold()


def find_links(frames: Mapping[str, pd.DataFrame]) -> tuple[Link, ...]:
    """Likely joins between tables, each in the direction from the reference to the key."""
    links: dict[frozenset[tuple[str, str]], Link] = {}
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
    """Places of columns whose names say that they belong together (`customer_id` and `id` of `customers`)."""
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


def _compare(left: str, values: pd.Series[Any], right: str, keys: pd.Series[Any]) -> Link | None:
    try:
        if not (_can_be_key(values) and _can_be_key(keys)):
            return None
        looked = sample_rows(values.dropna().drop_duplicates().to_frame(), _SAMPLED_VALUES).iloc[:, 0]
        scanned = keys.iloc[:_SCANNED_ROWS].dropna()
        if len(looked) == 0 or len(scanned) == 0:
            return None
        share, same_dtype = float(looked.isin(scanned).mean()), True
        if share == 0 and _is_text(values) != _is_text(keys):
            share, same_dtype = float(looked.astype(str).isin(set(scanned.astype(str))).mean()), False
        if share < _MIN_SHARE:
            return None
        columns = label_literal(values.name), label_literal(keys.name)
        return Link(left, columns[0], right, columns[1], share, same_dtype, bool(scanned.is_unique))
    except Exception:
        # Cells that cannot be compared are no keys.
        return None


def _can_be_key(column: pd.Series[Any]) -> bool:
    """Text, whole numbers and times; measured numbers agree by accident, truth values always."""
    return not (pd.api.types.is_float_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def _is_text(column: pd.Series[Any]) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype)
