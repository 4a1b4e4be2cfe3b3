"""Ways to divide a table into pieces, as positions of rows. Within a piece, the rows keep their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

ALONE = 4
"""Groups that are a piece alone; the others are one more piece."""

FIVES = 6
"""Pieces of five rows; the other rows are one more piece."""

SMALL = 2000
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
    if count > SMALL:
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
    if len(table) > SMALL:
        yield _divided("sets of groups of many sizes", _halving(count)[groups])
        return
    yield _divided("the first and the other groups", groups >= count // 2)
    yield _divided("groups alone", np.minimum(groups, ALONE))


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
