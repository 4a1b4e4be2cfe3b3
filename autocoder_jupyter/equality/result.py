"""The result of a comparison: the differences, and what was not compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Verdict = Literal["equal", "different", "not compared"]


class PathStep(NamedTuple):
    """One step to a part of a value. The name of an index is that of its level."""

    kind: Literal["column", "index", "key", "entry", "file"]
    name: Any


Path = tuple[PathStep, ...]


@dataclass(frozen=True)
class ValueDifference:
    """One place where two values differ.

    Args:
        path: the steps to it; empty for the value itself.
        what: `value`: two single values; `type`: their types; `dtype`: those of a column; `length`: the number of rows
            or entries; `cells`: values of a column or list; `columns` or `keys`: one side has others; `rows`: one side
            has others; `order`: that of the columns; `content`: that of a file or picture.
        one, other: the values there; for `dtype` the dtypes.
        wrong: for `cells`, a mask of those that differ.
        only_one, only_other: for `columns` and `keys` the names, for `rows` the values of `keys`, that one side has.
        keys: the columns by which rows were matched.
        rows: for `cells`, the values of `keys` of each row.
    """

    path: Path
    what: Literal["value", "type", "dtype", "length", "cells", "columns", "keys", "rows", "order", "content"]
    one: Any
    other: Any
    wrong: Any = None
    only_one: tuple[Any, ...] = ()
    only_other: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    rows: Any = None

    @property
    def count(self) -> int:
        """The number of values that differ."""
        return 1 if self.wrong is None else int(self.wrong.sum())


@dataclass(frozen=True)
class NotCompared:
    """A part that was not compared, and why."""

    path: Path
    why: str


@dataclass(frozen=True)
class Comparison:
    """The result.

    Args:
        differences: the first ones.
        more: the number of values that differ besides.
        not_compared: the first parts that were not compared.
        compared: the number of values that were compared. Columns that only identify a row are not counted, unless the
            table has no others.
    """

    differences: tuple[ValueDifference, ...]
    more: int
    not_compared: tuple[NotCompared, ...]
    compared: int

    @property
    def verdict(self) -> Verdict:
        """`equal` only if a value was compared, or if there was nothing else to compare, as with two empty lists."""
        if self.differences:
            return "different"
        return "equal" if self.compared or not self.not_compared else "not compared"
