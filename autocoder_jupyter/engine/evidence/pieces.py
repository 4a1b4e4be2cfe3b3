"""Pieces of a table: how it is divided, and whether the answers for the pieces together are that for the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.code_numbers import MOST_ROWS
from autocoder_jupyter.engine.evidence.variations import Profile, Variation, split_variations, trimmed, variations
from autocoder_jupyter.equality import Leniency, compare
from autocoder_jupyter.equality.tables import flat, has_own_index
from autocoder_jupyter.untrusted.visible import visible

_TYPES = Leniency(types=True)
"""A column of whole numbers in one piece may have fractions in another."""

_DIGITS = 9


def below(answers: Sequence[Any]) -> Any:
    """Tables one below the other. Row numbers are made new; an index of the function is kept."""
    filled = [answer for answer in answers if len(answer)] or list(answers[:1])
    if all(has_own_index(answer) for answer in filled):
        return pd.concat(filled)
    return pd.concat(filled, ignore_index=True)


def deviation(whole: Any, parts: Sequence[Any]) -> str:
    """How the columns of a part deviate from those of the whole, as a sentence; "" if none does.

    They must be the same, in the same order, also in a part without rows.
    """
    for part in parts:
        if isinstance(whole, pd.DataFrame) and list(part.columns) != list(whole.columns):
            own, others = set(map(str, whole.columns)), set(map(str, part.columns))
            if own == others:
                return "the columns come in another order"
            missing = sorted(own - others) or sorted(others - own)
            return f"{'no' if own - others else 'a new'} column {visible(missing[0])[:60]} in a piece"
        if len(part) and len(whole) and has_own_index(part) != has_own_index(whole):
            return "a piece has another index"
    return ""


def difference(whole: Any, together: Any, *, in_order: bool) -> str:
    """How two answers differ, as a few words without values; "" if they are the same."""
    if len(whole) != len(together):
        return f"{_rows(len(whole))}, {len(together):,} in pieces"
    if not in_order and not whole.equals(together):
        whole, together = _sorted(whole), _sorted(together)
    found = compare(whole, together, _TYPES)
    if found.verdict == "equal":
        return ""
    if not found.differences:
        return "values that cannot be compared"
    first = found.differences[0]
    where = f"{first.path[0].name}: " if first.path else ""
    wrong = first.count if first.what == "cells" else 0
    what = f"{wrong:,} other {'value' if wrong == 1 else 'values'} in pieces" if wrong else "another result in pieces"
    return visible(f"{where}{what}")[:200]


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _sorted(table: Any) -> Any:
    """A flat table whose rows have an order that depends only on their values."""
    frame = flat(table, "values")
    keys = [_sort_key(frame.iloc[:, place]) for place in range(frame.shape[1])]
    exact = [key for key, is_measured in keys if not is_measured]
    measured = [key for key, is_measured in keys if is_measured]
    if not keys:
        return frame
    return frame.iloc[np.lexsort([*reversed(measured), *reversed(exact)])].reset_index(drop=True)


def _sort_key(column: Any) -> tuple[Any, bool]:
    """Numbers by which a column is sorted, and whether it is measured. Measured numbers are rounded: sums in another
    order differ in the last digits.
    """
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        values = column.to_numpy(dtype="float64", na_value=np.nan)
        with np.errstate(all="ignore"):
            size = np.where((values == 0) | ~np.isfinite(values), 1.0, 10.0 ** np.floor(np.log10(np.abs(values))))
            return np.round(values / size, _DIGITS - 1) * size, True
    if kind in "iu" and not column.isna().any():
        return column.to_numpy(), False
    if isinstance(column.dtype, pd.StringDtype):
        texts = column.to_numpy(dtype=object, na_value=str(column.dtype.na_value))
    else:
        texts = np.array([_text(value) for value in column], dtype=object)
    gaps = column.isna().to_numpy()
    texts[gaps] = [f"\0{text}" for text in texts[gaps]]  # the text "nan" is none
    return pd.factorize(texts, sort=True)[0], False


def _text(value: Any) -> str:
    if isinstance(value, float) and value == value and value == int(value):
        return str(int(value))
    return str(value)


# Divisions of a table
#
# Pieces are positions of rows. Within a piece, the rows keep their order.

ALONE = 4
"""Groups that are a piece alone; the others are one more piece."""

FIVES = 6
"""Pieces of five rows; the other rows are one more piece."""

PIECES_SMALL = 2000
"""Rows of a table that is divided in every way. A larger one is only divided in two, and in pieces of many sizes: a
function may do something else for more than 5,000 rows, so some pieces must be smaller than any such number.
"""


@dataclass(frozen=True)
class Division:
    """A table in pieces.

    Args:
        name: what the pieces are, such as "two halves".
        pieces: the positions of the rows of each.
        in_order: whether the pieces, one after the other, have the rows in their order.
    """

    name: str
    pieces: tuple[Any, ...]
    in_order: bool = True


def by_rows(count: int) -> Iterator[Division]:
    """Divisions of a table with this number of rows, whatever is in them."""
    rows = np.arange(count)
    if count < 2:
        return
    if count > PIECES_SMALL:
        sizes = _halving(count)
        yield Division("pieces of many sizes", tuple(rows[sizes == size] for size in pd.unique(sizes)))
        return
    yield Division("two halves", (rows[: count // 2], rows[count // 2 :]))
    yield Division("one row and the others", (rows[:1], rows[1:]))
    if count > 2:
        yield Division("all others and the last row", (rows[:-1], rows[-1:]))
        yield Division("mixed thirds", tuple(rows[start::3] for start in range(3)), in_order=False)
    if count > 5:
        fives = [rows[start : start + 5] for start in range(0, min(count, 5 * FIVES), 5)]
        rest = rows[5 * FIVES :]
        yield Division("pieces of five rows", (*fives, *([rest] if len(rest) else [])))


def by_groups(table: Any, keys: Sequence[str]) -> Iterator[Division]:
    """Divisions in which all rows with the same keys are in one piece. None if there is only one group.

    Rows with missing keys are in a piece with others, because an engine puts them there.
    """
    groups, count, missing = numbered(table, keys)
    if count < 2:
        return
    groups = np.where(missing, 0, groups)
    yield _divided("two sets of groups", groups % 2)
    if len(table) > PIECES_SMALL:
        yield _divided("sets of groups of many sizes", _halving(count)[groups])
        return
    yield _divided("the first and the other groups", groups >= count // 2)
    yield _divided("groups alone", np.minimum(groups, ALONE))


def by_numbers(table: Any, pieces: Any, keys: Sequence[str]) -> Iterator[Division]:
    """The division that the numbers of the pieces say; a group is in that of its first row."""
    pieces = np.asarray(pieces)
    if keys:
        groups, count, missing = numbered(table, keys)
        if count < 2:
            return
        firsts = np.zeros(count, dtype=pieces.dtype)
        firsts[groups[~missing][::-1]] = pieces[~missing][::-1]
        pieces = np.where(missing, firsts[0], firsts[groups])
    if len(found := pd.unique(pieces)) > 1:
        in_order = bool((np.diff(pieces) >= 0).all())
        yield Division("each in its piece", tuple(np.flatnonzero(pieces == one) for one in found), in_order)


def _halving(count: int) -> Any:
    """For each of so many positions the number of its piece; a piece is about half as large as the one before."""
    return np.floor(np.log2(count - np.arange(count))).astype("int64")


def numbered(table: Any, keys: Sequence[str]) -> tuple[Any, int, Any]:
    """The number of each row's group, in the order of their first rows; how many there are; and a mask of the rows
    whose keys are missing, which are in no group.
    """
    missing = table[list(keys)].isna().any(axis=1).to_numpy()
    present = table.loc[~missing, list(keys)]
    groups = np.zeros(len(table), dtype="int64")
    if len(present):
        groups[~missing] = present.groupby(list(keys), sort=False, observed=True).ngroup().to_numpy()
    return groups, int(groups[~missing].max()) + 1 if len(present) else 0, missing


def _divided(name: str, piece: Any) -> Division:
    numbers = pd.unique(np.asarray(piece))
    return Division(name, tuple(np.flatnonzero(piece == number) for number in numbers), in_order=False)


# Tables that are compared

MOST_TIED = 12
"""Columns in which values are made equal."""


def compared_tables(tables: Mapping[str, Any], name: str, rows: int) -> Iterator[Variation]:
    """The sample, then its variations, then the large ones."""
    whole = {**tables, name: tables[name].iloc[:MOST_ROWS]}
    yield Variation("", whole)
    later = []
    for variation in split_variations(tables, name, rows):
        if len(variation.tables[name]) < rows:
            yield variation
        else:
            later.append(variation)
    yield from variations(tables)
    yield from later


def tied(table: Any) -> Iterator[Any]:
    """The same rows with equal values in one column, and in all columns but one, so that a sort does not decide.

    *The largest three orders* depend on the order of the rows if a fourth is as large. Columns that identify rows stay.
    """
    base, profile = trimmed(table), Profile.of(table)
    if not isinstance(base, pd.DataFrame):
        return
    places = [place for place in range(base.shape[1]) if place not in profile.keys | profile.pair][:MOST_TIED]
    for place in places:
        yield _alike(base, [place])
        if len(places) > 2:
            yield _alike(base, [other for other in places if other != place])


def _alike(table: Any, places: Iterable[int]) -> Any:
    """The table with the most frequent value everywhere in these columns."""
    frame = table.copy()
    for place in places:
        column = frame.iloc[:, place]
        try:
            number = int(np.argmax(column.map(column.value_counts()).fillna(0).to_numpy(dtype=float)))
        except (TypeError, ValueError):  # lists and dicts
            number = 0
        frame.isetitem(place, column.iloc[np.full(len(column), number)].set_axis(column.index))
    return frame
