"""Data drawn anew: resamples of rows or of whole groups, and data whose outcome says nothing about the other columns.

All of them have the columns, dtypes and categories of the data, and their rows in the same order. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.enlarged import renewed_column
from autocoder_jupyter.engine.evidence.table_rows import as_frame, like_table
from autocoder_jupyter.engine.evidence.units import Units
from autocoder_jupyter.engine.evidence.variations import main_table
from autocoder_jupyter.equality.tables import is_numbered
from autocoder_jupyter.types.interface import Conclusion

SEED = 20260411

FEWEST = 10
"""Rows, or groups, from which on a resample says something. Of fewer groups, rows are drawn within each."""

FEWEST_IN_GROUP = 5
"""Rows that each of a few groups, and each entry of a ranking, must have on average: one that is missing in a resample
was not beaten."""

_MANY_PAIRS = 20
_ARRANGED_BY = 4

Tables = dict[str, Any]
Drawn = Literal["rows", "groups", "rows of each group"]


class CannotBeDrawn(Exception):
    """The data cannot be drawn anew. The text says why, without a full stop."""


@dataclass(frozen=True)
class Draws:
    """What can be drawn from some tables. One of them is drawn, and the others stay as they are.

    Args:
        conclusion: what the function concludes, with the groups that are in fact used.
        frame: the drawn table.
        head: its rows at the top that are no data.
        outcome: the place of the outcome; None if none is named.
        groups: for each row below the head the number of its group; None if rows are drawn.
        renamed: the place of the column that tells the copies of a group apart; None if there is none.
    """

    conclusion: Conclusion
    tables: Mapping[str, Any]
    name: str
    frame: Any
    head: int
    drawn: Drawn
    outcome: int | None = None
    groups: Any = None
    renamed: int | None = None

    @classmethod
    def of(cls, conclusion: Conclusion, tables: Mapping[str, Any], entries: Sequence[str] = ()) -> Draws:
        """What can be drawn for a conclusion; `entries` are those of a ranking, or the label of a verdict.

        Raises:
            CannotBeDrawn: there is no such column, or there are too few rows.
        """
        name = _table_of(conclusion, tables)
        frame, natural = as_frame(tables[name]), Units.of(tables[name])
        names = [str(label) for label in frame.columns]
        places = [_place(names, group, name) for group in conclusion.groups]
        outcome = _place(names, conclusion.outcome, name) if conclusion.outcome else None
        data = frame.iloc[natural.head :]
        if not places and natural.groups and natural.count >= _MANY_PAIRS:
            places, groups = sorted(natural.groups), natural.of_rows
            conclusion = conclusion.model_copy(update={"groups": tuple(names[place] for place in places)})
        else:
            groups = _numbered(data, places)
        drawn: Drawn = "rows"
        if groups is not None and (count := int(groups.max(initial=-1)) + 1) > 1:
            is_ranked = len(places) == 1 and set(entries) <= set(data.iloc[:, places[0]].astype(str)) != set()
            drawn = "rows of each group" if count < FEWEST or (entries and is_ranked) else "groups"
            if drawn == "rows of each group" and len(data) < FEWEST_IN_GROUP * count:
                raise CannotBeDrawn(f"too few to resample: {len(data):,} rows in {count:,} groups")
        if drawn == "rows":
            groups = None
        found = cls(conclusion, tables, name, frame, natural.head, drawn, outcome, groups)
        found._require_enough(entries)
        return found if drawn != "groups" else found._with_names_of_copies(places)

    def _require_enough(self, entries: Sequence[str]) -> None:
        rows = len(self.frame) - self.head
        units = self.groups if self.drawn == "groups" else np.arange(rows)
        if (count := len(np.unique(units))) < FEWEST:
            raise CannotBeDrawn(f"too few to resample: {count:,} {'groups' if self.drawn == 'groups' else 'rows'}")
        if not entries or self.drawn == "rows of each group":
            return
        data = self.frame.iloc[self.head :]
        texts = (data.iloc[:, place].astype(str) for place, dtype in enumerate(data.dtypes) if dtype.kind not in "fc")
        keys = [one.to_numpy() for one in texts if set(entries) <= set(one)]
        per_entry = (
            min(len(np.unique(units[keys[0] == entry])) for entry in entries[:2]) if keys else count / len(entries)
        )
        if per_entry < FEWEST_IN_GROUP:
            raise CannotBeDrawn("too few to resample: an entry has fewer than five rows of its own")

    def _with_names_of_copies(self, places: Sequence[int]) -> Draws:
        """A group that is drawn twice is two groups, if its name joins no other table."""
        if len(places) != 1 or len(self.groups) != len(self.frame):
            return self
        column, name = self.frame.iloc[:, places[0]], str(self.frame.columns[places[0]])
        elsewhere = (str(one) for key, table in self.tables.items() if key != self.name for one in as_frame(table))
        has_no_others = column.dtype.kind in "fM" or column.isna().any()
        if column.dtype.kind in "iu" and column.dtype.itemsize < 8:
            has_no_others = True  # others may not fit
        if has_no_others or isinstance(column.dtype, pd.CategoricalDtype) or name in elsewhere:
            return self
        return replace(self, renamed=places[0])

    # Resamples

    def resampled(self, number: int) -> Tables:
        """The tables with a resample of the drawn one."""
        random, rows = np.random.default_rng([SEED, number]), len(self.frame) - self.head
        if self.drawn == "groups":
            count = int(self.groups.max()) + 1
            times = np.bincount(random.integers(count, size=count), minlength=count)[self.groups]
        elif self.drawn == "rows of each group":
            by_group = np.argsort(self.groups, kind="stable")
            sizes = np.bincount(self.groups)
            own = np.repeat(sizes, sizes)  # for each row how many its group has
            first = np.repeat(np.cumsum(sizes) - sizes, sizes)
            times = np.bincount(by_group[first + random.integers(own)], minlength=rows)
        else:
            times = np.bincount(random.integers(rows, size=rows), minlength=rows)
        positions = np.repeat(np.arange(rows), times)
        copies = np.arange(len(positions)) - np.repeat(np.cumsum(times) - times, times)
        if self.drawn == "groups" and bool((np.diff(self.groups) >= 0).all()):  # the rows of each stay together
            order = np.lexsort((positions, copies, self.groups[positions]))
            positions, copies = positions[order], copies[order]
        frame = self.frame.iloc[np.r_[np.arange(self.head), positions + self.head]]
        if self.renamed is not None:
            frame = frame.copy()
            column = frame.iloc[:, self.renamed]
            renewed = renewed_column(column.reset_index(drop=True), copies)
            if renewed is not None and renewed.dtype == column.dtype:
                frame.isetitem(self.renamed, renewed.array)
        return self._with(frame.reset_index(drop=True) if is_numbered(self.tables[self.name]) else frame)

    def _with(self, frame: Any) -> Tables:
        return {**self.tables, self.name: like_table(self.tables[self.name], frame)}

    # Shuffled data

    @cached_property
    def _below(self) -> Any:
        """The outcome, without the head."""
        return _hashable(self.frame.iloc[self.head :, self.outcome])

    def shuffled(self, number: int, *, freely: bool = False) -> Tables:
        """The tables with the outcome permuted among the rows that have one.

        Whole groups change their outcomes with each other, and of a few groups the rows within each; `freely` takes no
        account of groups.
        """
        random, column = np.random.default_rng([SEED, 1, number]), self._below
        present = np.flatnonzero(column.notna().to_numpy())
        groups = None if self.groups is None or freely else self.groups[present]
        if groups is None:
            sources = random.permutation(len(present))
        elif self.drawn == "rows of each group":
            sources = np.empty(len(present), dtype="int64")
            sources[np.argsort(groups, kind="stable")] = np.lexsort((random.random(len(present)), groups))
        else:
            sources = _between(groups, pd.factorize(column.iloc[present])[0], random)
        return self._with_outcome_of(present, present[sources])

    def _with_outcome_of(self, rows: Any, sources: Any) -> Tables:
        """The tables in which some rows have the outcome of others."""
        positions = np.arange(len(self.frame))
        positions[rows + self.head] = sources + self.head
        return self._with_outcome(self.frame.iloc[:, self.outcome].array.take(positions))

    def _with_outcome(self, values: Any) -> Tables:
        frame = self.frame.copy()
        frame.isetitem(self.outcome, values)
        return self._with(frame)

    # Other values of the outcome

    def constant(self) -> Tables | None:
        """The tables with the same outcome in all rows, its mean or the most frequent one; None if there is none."""
        column = self._below.dropna()
        if not len(column):
            return None
        if column.dtype.kind in "iuf":
            mean = float(column.astype("float64").mean())
            return self._changed(lambda old: old * 0 + (round(mean) if column.dtype.kind in "iu" else mean))
        first = int(np.flatnonzero((self._below == column.mode().iloc[0]).fillna(False).to_numpy(dtype=bool))[0])
        present = np.flatnonzero(self._below.notna().to_numpy())
        return self._with_outcome_of(present, np.full(len(present), first))

    def mirrored(self) -> Tables | None:
        """The tables with large outcomes in place of small ones, and small in place of large."""
        column = self._below
        if column.dtype.kind in "iuf":
            return self._changed(lambda old: old.max() - old + old.min())
        present = np.flatnonzero(column.notna().to_numpy())
        numbers, values = pd.factorize(column.iloc[present])
        ranks = np.argsort(np.argsort(values.astype(str)))
        other = np.argsort(ranks)[len(ranks) - 1 - ranks]  # the value that each value becomes
        firsts = np.unique(numbers, return_index=True)[1]
        return self._with_outcome_of(present, present[firsts[other[numbers]]])

    def otherwise(self) -> Iterator[Tables]:
        """Tables with quite other outcomes, and with the present ones sorted by other columns."""
        if self._below.dtype.kind in "iuf":
            signed = () if self._below.dtype.kind == "u" else (-1,)
            changed = (self._changed(lambda old, by=by: old * by) for by in (*signed, 0, 1000))
            yield from (one for one in changed if one is not None)
        column = self._below
        present = np.flatnonzero(column.notna().to_numpy())
        upwards = np.argsort(_ranks(column.iloc[present]), kind="stable")
        others = [place for place in range(self.frame.shape[1]) if place != self.outcome]
        keys = [_ranks(self.frame.iloc[self.head :, place].iloc[present]) for place in others]
        keys = [key for key in keys if len(np.unique(key)) > 1]
        few_first = sorted(keys, key=lambda key: len(np.unique(key)))[:_ARRANGED_BY]
        for key in (*few_first, np.arange(len(present))):
            for sources in (upwards, upwards[::-1]):
                rows = np.argsort(key, kind="stable")
                yield self._with_outcome_of(present[rows], present[sources])

    def _changed(self, change: Any) -> Tables | None:
        if self.head:
            return None
        column = self._below
        try:
            new = change(column).astype(column.dtype)
        except (TypeError, ValueError, OverflowError):  # a small dtype
            return None
        return self._with_outcome(new.array)


def _table_of(conclusion: Conclusion, tables: Mapping[str, Any]) -> str:
    """The table with the outcome, the groups, or the most rows."""
    wanted = {conclusion.outcome, *conclusion.groups} - {""}
    fitting = {name: one for name, one in tables.items() if wanted <= set(map(str, as_frame(one).columns))}
    if not tables:
        raise CannotBeDrawn("no input is a table")
    if not fitting:
        raise CannotBeDrawn(f"no table has {' and '.join(sorted(wanted))}")
    return main_table(fitting)


def _place(names: Sequence[str], name: str, table: str) -> int:
    if names.count(name) != 1:
        raise CannotBeDrawn(f"{table} has several columns {name}")
    return names.index(name)


def _numbered(data: Any, places: Sequence[int]) -> Any:
    """The number of each row's group, in the order of first rows; a row without a group is one of its own."""
    if not places:
        return None
    columns = [pd.factorize(_hashable(data.iloc[:, place]))[0] for place in places]
    is_alone = np.any([column < 0 for column in columns], axis=0)
    alone = np.where(is_alone, np.arange(len(data)), -1)
    return pd.MultiIndex.from_arrays([*columns, alone]).factorize()[0]


def _hashable(column: Any) -> Any:
    if column.dtype != object:
        return column
    try:
        pd.factorize(column)
    except TypeError:  # lists and dicts
        return column.map(repr, na_action="ignore")
    return column


def _ranks(column: Any) -> Any:
    """Numbers in the order of the values; of values without an order, in that of their texts."""
    if column.dtype.kind in "iufM" and not column.isna().any():
        return pd.factorize(column, sort=True)[0]
    return pd.factorize(column.astype(str), sort=True)[0]


def _between(groups: Any, values: Any, random: Any) -> Any:
    """For each row the row whose outcome it gets, so that the outcomes of a group stay together."""
    _, firsts, groups = np.unique(groups, return_index=True, return_inverse=True)
    order = random.permutation(len(firsts))
    if bool((values == values[firsts][groups]).all()):  # one outcome for each group
        return firsts[order][groups]
    sources = np.empty(len(groups), dtype="int64")
    sources[np.argsort(groups, kind="stable")] = np.argsort(order[groups], kind="stable")
    return sources
