"""Variations of a sample: the same columns, other rows. The seed is fixed, so they are reproducible.

A variation keeps what is true of every row of the sample: which columns are never missing or never repeat, and the
order of its rows. One that does not keep it is *outside*: a difference on it is shown, but is not evidence against the
function. Its name begins with `BEYOND` if later data may well be so, and otherwise with "if".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence import beyond
from autocoder_jupyter.engine.evidence.enlarged import SEED, enlarged
from autocoder_jupyter.engine.evidence.table_rows import as_frame, columns_of, like_table, taken, width
from autocoder_jupyter.engine.evidence.units import Units
from autocoder_jupyter.types.evidence import BEYOND

ROWS = 1000
"""The maximum number of rows of a table from which variations are made."""

GROUPS = 3
"""The maximum number of columns for which a variation with only one group is made."""

TABLES = 4
"""The maximum number of tables that are varied, the largest first."""

_MANY = 8
"""From this many rows on, it is not by chance that whole numbers never repeat, or are in order."""

_FEW = 2

_PAIRED, _COMPLETE = 8, 1.5
"""Columns of which two may identify a row together, and how many times as many pairs there may be as rows."""

_EXAMINED = 50_000
"""Rows of a large table in which units are looked for."""

_MIXED = 400
"""Rows of a table whose columns are mixed."""

Tables = dict[str, Any]

T = TypeVar("T")


@dataclass(frozen=True)
class Variation:
    """One variation.

    Args:
        name: what it is, such as "with half of the rows".
        general: the same without the name of a column; "" if `name` has none.
        has_new_texts: whether it has synthetic texts. A function may read them, such as the lines of a log, and rightly
            refuse those, so an error there is not evidence.
        pieces: for a split, the numbers of the pieces in which its rows are compared; None for all divisions.
    """

    name: str
    tables: Tables
    general: str = ""
    has_new_texts: bool = False
    pieces: Any = None

    @property
    def is_outside(self) -> bool:
        """Whether it has rows that the sample never has."""
        return is_outside(self.name)


def is_outside(name: str) -> bool:
    """Whether the variation with this name has rows that the sample never has."""
    return name.startswith(("if ", BEYOND))


@dataclass(frozen=True)
class Profile:
    """What is true of every row of a table. Columns are positions.

    Args:
        keys: columns that never repeat. Measured numbers are none, because they differ by chance.
        is_ordered: whether the rows are sorted by a column of times or ids.
        has_twins: whether a row is there twice, except for measured numbers.
        pair: two columns that identify a row together, such as month and currency, if most of their pairs occur.
    """

    keys: frozenset[int]
    gaps: frozenset[int]
    is_ordered: bool
    has_duplicates: bool
    pair: frozenset[int] = frozenset()

    @classmethod
    def of(cls, table: Any) -> Profile:
        """The profile of a whole table."""
        columns = list(enumerate(columns_of(table)))
        keys = frozenset(place for place, column in columns if _is_key(column))
        gaps = frozenset(place for place, column in columns if column.isna().any())
        is_ordered = any(is_sorted(column) for _, column in columns)
        return cls(keys, gaps, is_ordered, not keys and _has_duplicates(table), frozenset() if keys else _pair(columns))


def _pair(columns: list[tuple[int, Any]]) -> frozenset[int]:
    """Two columns that identify a row. In a table of few rows many do by chance, so nearly all pairs must occur."""
    rows = len(columns[0][1]) if columns else 0
    try:
        counts = [
            (place, column, int(column.nunique()))
            for place, column in columns[:_PAIRED]
            if column.dtype.kind != "f" and not column.isna().any()
        ]
        for (one, left, first), (other, right, second) in combinations(counts, 2):
            is_grid = min(first, second) > 1 and rows >= _MANY and rows <= first * second <= _COMPLETE * rows
            if is_grid and not pd.DataFrame({0: left, 1: right}).duplicated().any():
                return frozenset({one, other})
    except TypeError:  # lists and dicts
        pass
    return frozenset()


def variations(tables: Mapping[str, Any]) -> Iterator[Variation]:
    """The variations, those inside of the profile first. None is like the sample or like one before."""
    base = trimmed_tables(tables)
    names = sorted((name for name, table in base.items() if len(table)), key=lambda name: -len(base[name]))[:TABLES]
    made = [
        variation
        for name in names
        for variation in _Varied(base, name, Profile.of(tables[name]), is_only=len(base) == 1).all()
    ]
    seen = [base]
    for variation in sorted(made, key=lambda variation: variation.is_outside):
        if not any(_are_equal(variation.tables, tables) for tables in seen):
            seen.append(variation.tables)
            yield variation


class _Varied:
    """Varies one table.

    Args:
        is_only: whether there is no other table; its name is then left out.
    """

    def __init__(self, base: Tables, name: str, profile: Profile, *, is_only: bool) -> None:
        self._base, self._name, self._profile = base, name, profile
        self._table = base[name]
        self._units = Units.of(self._table)
        self._count = self._units.count
        self._of = "" if is_only else f" of {name}"
        self._in = "" if is_only else f" in {name}"
        self._random = np.random.default_rng(SEED)

    def all(self) -> Iterator[Variation]:
        """All variations of the table."""
        count, of = self._count, self._of
        yield from self._shuffled()
        if count > 1:
            yield self._with_units(f"with half of the rows{of}", self._some((count + 1) // 2))
        if count > _FEW:
            two = "two rows" if self._units.are_rows else "two groups of rows"
            yield self._with_units(f"with {two}{of}", self._some(_FEW))
        if count > 4:
            name = f"{BEYOND if self._units.is_stretch else ''}with a stretch{of} left out"
            yield self._with_units(name, np.r_[0 : 2 * count // 5, 3 * count // 5 : count])
        yield from self._doubled()
        yield from self._with_gaps()
        yield from self._alike()
        yield from self._groups()
        yield from self._unmatched()

    def _with(self, name: str, table: Any, general: str = "") -> Variation:
        return Variation(name, {**self._base, self._name: table}, general)

    def _with_rows(self, name: str, positions: Any, general: str = "") -> Variation:
        return Variation(name, with_rows(self._base, self._name, positions), general)

    def _some(self, number: int) -> Any:
        """Some of the units, in their order."""
        chosen = np.sort(self._random.permutation(self._count)[:number])
        return np.arange(number) + min(chosen[0], self._count - number) if self._units.is_stretch else chosen

    def _with_units(self, name: str, chosen: Any) -> Variation:
        return self._with_rows(name, self._units.rows(chosen))

    def _shuffled(self) -> Iterator[Variation]:
        order = self._random.permutation(self._count)
        order = self._units.rows(order) if self._units.can_be_moved else self._random.permutation(len(self._table))
        name = f"if the rows{self._of} came in another order" if self._profile.is_ordered else ""
        yield self._with_rows(name or f"with shuffled rows{self._of}", order)

    def _doubled(self) -> Iterator[Variation]:
        count, head = len(self._table), self._units.head
        repeated = head + self._random.permutation(count - head)[: max(1, count // 5)]
        rows = np.sort(np.concatenate([np.arange(count), repeated]))
        if self._profile.keys:
            yield self._with(f"{BEYOND}with a key{self._of} that comes twice", self._with_keys_twice(rows))
            return
        is_usual = self._profile.has_duplicates and self._units.are_rows
        name = f"with doubled rows{self._of}" if is_usual else f"{BEYOND}with a row{self._of} that comes twice"
        yield self._with_rows(name, rows)

    def _with_keys_twice(self, rows: Any) -> Any:
        """The table with some keys twice; the second row of each has the other values of the row before."""
        frame = as_frame(taken(self._table, rows))
        others = np.where(np.r_[False, rows[1:] == rows[:-1]], np.maximum(rows - 1, 0), rows)
        for place in range(frame.shape[1]):
            if place not in self._profile.keys:
                values = as_frame(self._table).iloc[:, place].iloc[others]
                frame.isetitem(place, values.set_axis(frame.index))
        return like_table(self._table, frame)

    def _with_gaps(self) -> Iterator[Variation]:
        """More missing values where some are missing, and then in the other columns, whole numbers among them."""
        gaps = [place for place in range(width(self._table)) if place in self._profile.gaps]
        others = [place for place in range(width(self._table)) if place not in self._profile.gaps]
        for places, name in (
            (gaps, f"with more missing values{self._in}"),
            (others, f"{BEYOND}with missing values{self._in}"),
        ):
            kept = self._units.head
            places = [place for place in places if place not in self._units.columns or is_outside(name)]
            table = _with_holes(self._table, places, self._random, may_change=is_outside(name), head=kept)
            if table is not None:
                yield self._with(name, table)

    def _alike(self) -> Iterator[Variation]:
        """All values alike, except for keys: nothing varies, and all ranks are tied."""
        keys, head = self._profile.keys | self._profile.pair | self._units.columns, self._units.head
        places = [place for place in range(width(self._table)) if place not in keys]
        frame = as_frame(self._table)
        for place in places:
            column = frame.iloc[:, place]
            present = head + np.flatnonzero(column.iloc[head:].notna().to_numpy())
            if len(present):
                rows = np.r_[np.arange(head), np.full(len(column) - head, present[0])]
                frame.isetitem(place, column.iloc[rows].set_axis(column.index))
        if self._count > 1 and places:
            yield self._with(f"with all values{self._in} alike", like_table(self._table, frame))

    def _groups(self) -> Iterator[Variation]:
        for column, value in _groups(self._table.iloc[self._units.head :]):
            has_value = (self._table[column] == value).to_numpy(dtype=bool, na_value=False, copy=True)
            has_value[: self._units.head] = True
            rows = np.flatnonzero(has_value)
            if len(rows) > 1 and self._units.keeps(has_value):  # one row of a column that never repeats says nothing
                yield self._with_rows(f"with one {column} only{self._in}", rows, f"with one group only{self._in}")

    def _unmatched(self) -> Iterator[Variation]:
        """Rows of this table that have no match in another one, which has a column of the same name."""
        for other in self._base:
            shared = _shared_column(self._table, self._base[other]) if other != self._name else None
            if shared is None:
                continue
            here, there = self._table[shared], self._base[other][shared]
            values = here.drop_duplicates()
            gone = values.iloc[: max(1, len(values) // 2)]
            rows = np.flatnonzero(~there.isin(gone).to_numpy())
            always = bool(here.isin(there).all())
            name = f"if rows of {self._name} had no match in {other}" if always else f"with fewer matches in {other}"
            yield Variation(name, {**self._base, other: taken(self._base[other], rows)})


def split_variations(tables: Mapping[str, Any], name: str, rows: int) -> Iterator[Variation]:
    """Further variations of one table, for a function that is compared on the whole and on pieces."""
    base = trimmed_tables(tables)
    table, random = base[name], np.random.default_rng(SEED)
    count = len(table)
    if not count:
        return

    def of(label: str, varied: Any) -> Variation:
        return Variation(label, {**base, name: varied})

    for few in (9, 17):
        yield of(f"with {few} rows", taken(table, np.sort(random.integers(0, count, few))))
    if (far := _far_outside(table, lambda column: random.permutation(count)[: max(1, count // 10)])) is not None:
        yield of("if values were far outside", far)
    for places, label in ((slice(0, None, 2), "a stretch"), (slice(1, None, 2), "another stretch")):
        stretch = np.arange(count // 3, count // 3 + max(1, count // 6))
        holes = _with_holes(table, list(range(width(table)))[places], random, may_change=True, rows=stretch)
        if holes is not None:
            yield of(f"if values were missing in {label}", holes)
    yield of("if values stood in other rows", _mixed(table, random))
    similar = enlarged(table, rows, is_similar=True)
    yield of(f"with {rows:,} rows", similar)
    if (far := _far_outside(similar, _largest)) is not None:  # by more standard deviations than a small table can have
        yield of(f"with {rows:,} rows, one far outside", far)
    many = enlarged(table, rows)
    yield of(f"if there were {rows:,} rows with other values", many)
    yield of(f"if there were {rows:,} rows, the last one first", taken(many, np.arange(len(many))[::-1]))
    yield of(f"if there were {rows:,} rows with other words", enlarged(table, rows, has_other_words=True))


def emptied(table: Any, rows: Any) -> Any:
    """The table with missing values in these rows, in the columns that can have them; None if there are none."""
    return _with_holes(table, list(range(width(table))), None, may_change=True, rows=rows)


def zeroed(table: Any, rows: Any) -> Any:
    """The table with 0 in place of the numbers in these rows, and False in place of truth values; None without both."""
    frame, changed = as_frame(table), False
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].copy()
        if column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.SparseDtype):  # which cannot be assigned to
            column.iloc[rows] = column.dtype.type(0)
            frame.isetitem(place, column)
            changed = True
    return like_table(table, frame) if changed else None


def _mixed(table: Any, random: Any) -> Any:
    """A table whose columns have nothing to do with each other, so that no column stands for another one."""
    frame = as_frame(taken(table, random.integers(0, len(table), _MIXED)))
    for place in range(1, frame.shape[1]):
        column = frame.iloc[:, place]
        frame.isetitem(place, column.iloc[random.permutation(_MIXED)].set_axis(column.index))
    return like_table(table, frame)


def _largest(column: Any) -> Any:
    """The place of the largest number."""
    return np.nanargmax(np.abs(column.to_numpy(dtype="float64", na_value=np.nan)), keepdims=True)


def _far_outside(table: Any, rows_of: Callable[[Any], Any]) -> Any:
    """The table with numbers that are a thousand times as large in some rows, every second one negative.

    None if it has no numbers.
    """
    frame, changed = as_frame(table), False
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].copy()
        if column.dtype not in ("int64", "float64", "Int64", "Float64"):
            continue
        if column.isna().all():
            continue
        rows = rows_of(column)
        values = column.iloc[rows] * 1000 * np.where(np.arange(len(rows)) % 2, -1, 1)
        column.iloc[rows] = values.astype(column.dtype).array
        frame.isetitem(place, column)
        changed = True
    return like_table(table, frame) if changed else None


def with_rows(base: Tables, name: str, positions: Any, followers: Mapping[str, Any] | None = None) -> Tables:
    """Some rows of one table. If every row of another table has its match in this one, that stays so.

    `followers` are what `_followers` gives, if that is known.
    """
    part = taken(base[name], positions)
    matched = _followers(base, name) if followers is None else followers
    others = {
        other: taken(base[other], np.flatnonzero(base[other][shared].isin(part[shared]).to_numpy()))
        for other, shared in matched.items()
    }
    return {**base, **others, name: part}


def _followers(base: Tables, name: str) -> dict[str, Any]:
    """The other tables of which every row has its match in this one, with the column by which it has."""
    shared = {other: _shared_column(base[name], table) for other, table in base.items() if other != name}
    return {
        other: column
        for other, column in shared.items()
        if column is not None and base[other][column].isin(base[name][column]).all()
    }


def main_table(tables: Mapping[str, Any]) -> str:
    """The name of the largest table; "" if there is none."""
    return max(tables, key=lambda name: len(tables[name]), default="")


def trimmed_tables(tables: Mapping[str, Any]) -> Tables:
    """The tables, each with at most `ROWS` rows. Of the smaller ones, rows that match rows of the largest are kept."""
    main = main_table(tables)
    base = {main: trimmed(tables[main])} if main else {}
    for name, table in tables.items():
        shared = _shared_column(table, base[main]) if name != main and len(table) > ROWS else None
        kept = table if shared is None else taken(table, np.flatnonzero(table[shared].isin(base[main][shared])))
        base.setdefault(name, trimmed(kept))
    return {name: base[name] for name in tables}


def trimmed(table: Any) -> Any:
    """A table with at most `ROWS` rows, evenly spaced. What belongs together stays together."""
    if len(table) <= ROWS:
        return table
    units = Units.of(table.iloc[:_EXAMINED])
    if units.is_plain:
        return taken(table, np.unique(np.linspace(0, len(table) - 1, ROWS).astype(int)))
    return taken(table, units.evenly(ROWS))


def _is_key(column: Any) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fcb" or len(column) < (_MANY if kind in "iu" else 2):
        return False
    try:
        return bool(column.is_unique)
    except TypeError:
        return False  # lists and dicts


def is_sorted(column: Any) -> bool:
    """Whether the values of a column are in an order that is none by chance."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fcb" or len(column) < (3 if kind == "M" else _MANY):
        return False
    try:
        strictly = kind == "M" or column.is_unique
        return bool(strictly and (column.is_monotonic_increasing or column.is_monotonic_decreasing))
    except TypeError:
        return False  # values that have no order


def _has_duplicates(table: Any) -> bool:
    frame = as_frame(table)
    places = [at for at, dtype in enumerate(frame.dtypes) if getattr(dtype, "kind", "O") not in "fc"]
    try:
        return bool((frame.iloc[:, places] if places else frame).duplicated().any())
    except TypeError:
        return False  # lists and dicts


def _with_holes(
    table: Any, places: list[int], random: Any, *, may_change: bool, rows: Any = None, head: int = 0
) -> Any:
    """The table with a tenth of the values missing in some columns; None if no dtype allows it. A head stays."""
    frame, changed = as_frame(table), False
    for place in places:
        column = frame.iloc[:, place].copy()
        count = len(column) - head
        gaps = head + random.permutation(count)[: max(1, count // 10)] if rows is None else rows
        dtype = column.dtype
        if dtype.kind in "iu" and not pd.api.types.is_extension_array_dtype(dtype) and may_change:
            column = column.astype("float64")
            dtype = column.dtype
        if dtype.kind in "iub" and not pd.api.types.is_extension_array_dtype(dtype):
            continue  # this dtype has no missing values, and must not change
        try:
            column.iloc[gaps] = None
        except (TypeError, ValueError):
            continue  # neither has this one, such as intervals of whole numbers
        if column.dtype == dtype:
            frame.isetitem(place, column)
            changed = True
    return like_table(table, frame) if changed else None


def _groups(table: Any) -> Iterator[tuple[Any, Any]]:
    """Columns with few distinct values, each with its most common value."""
    if isinstance(table, pd.Series):
        return
    found = 0
    for column in table.columns:
        values = table[column]
        if not isinstance(values, pd.Series) or values.dtype.kind in "fcmM" or values.map(_is_nested).any():
            continue
        counts = values.value_counts(dropna=True)
        if 2 <= len(counts[counts > 0]) <= 50 and found < GROUPS:
            found += 1
            yield column, counts.index[0]


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict | set | tuple | np.ndarray)


def _shared_column(one: Any, other: Any) -> Any:
    """The first column that two tables have in common, with comparable values; None if there is none."""
    if isinstance(one, pd.Series) or isinstance(other, pd.Series):
        return None
    for name in one.columns:
        if name in other.columns and all(map(_can_be_joined, (one[name], other[name]))):
            return name
    return None


def _can_be_joined(column: Any) -> bool:
    return (
        isinstance(column, pd.Series) and column.dtype.kind not in "fc" and not column.iloc[:ROWS].map(_is_nested).any()
    )


def _are_equal(one: Tables, other: Tables) -> bool:
    try:
        return all(one[name].equals(other[name]) for name in one)
    except (TypeError, ValueError):
        return False  # nested values


# Small parts of a sample, and a sample several times as large

LEAST_PART_ROWS, MOST_PART_ROWS = 3, 20
"""The numbers of rows of a small part."""

LEAST_TIMES = 3
"""How many times as large a large sample is, at least."""

ENLARGED_ROWS = 20_000
"""The maximum number of rows of an enlarged table."""


@dataclass
class VariedSample:
    """A sample with its variations and small parts. They are made once, for all who run a function on them.

    Args:
        tables: the tables of the sample, by input name.
        count: the number of small parts.
    """

    tables: Mapping[str, Any]
    count: int = 0
    _made: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def trimmed(self) -> Tables:
        """The tables, each with at most `ROWS` rows."""
        return self._once("trimmed", lambda: trimmed_tables(self.tables))

    @property
    def variations(self) -> tuple[Variation, ...]:
        """The variations, those inside of the profile first."""
        return self._once("variations", lambda: tuple(variations(self.tables)))

    @property
    def parts(self) -> tuple[Tables, ...]:
        """Its small parts, `count` of them."""
        return self._once("parts", lambda: tuple(small_parts(self.tables, self.count)))

    def beyond(self, *, by_place: bool) -> tuple[Variation, ...]:
        """Variations beyond the profile, of a few rows; see `beyond.beyond`."""
        base = self.trimmed

        def make() -> tuple[Variation, ...]:
            units = {name: Units.of(table) for name, table in base.items()}
            few = few_rows(base, units)
            return tuple(Variation(*one) for one in beyond.beyond(few, units, by_place=by_place))

        return self._once(f"beyond, {by_place}", make)

    def larger(self, more_than: int) -> Variation | None:
        """The sample with its largest table several times as large; None if that cannot be made."""
        return self._once(f"larger, {more_than}", lambda: larger(self.tables, more_than))

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made


def few_rows(base: Tables, units: Mapping[str, Units]) -> Tables:
    """At most `beyond.ROWS` rows of the largest table, with the rows of other tables that match them."""
    name = main_table(base)
    if not name or len(base[name]) <= beyond.ROWS:
        return base
    return with_rows(base, name, units[name].evenly(beyond.ROWS))


def small_parts(tables: Mapping[str, Any], count: int) -> Iterator[Tables]:
    """Random rows of the largest table, in their order, with the rows of other tables that match them.

    What belongs together stays together, and of a sequence a part is a stretch.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    rows = len(base[name]) if name else 0
    if rows <= LEAST_PART_ROWS:
        return
    random, units, followers = np.random.default_rng(SEED), Units.of(base[name]), _followers(base, name)
    for _ in range(count):
        size = int(random.integers(LEAST_PART_ROWS, min(MOST_PART_ROWS, rows - 1) + 1))
        number = -(-size * units.count // rows)
        if units.is_stretch:
            chosen = int(random.integers(0, units.count - number + 1)) + np.arange(number)
        else:
            chosen = np.sort(random.choice(units.count, number, replace=False))
        yield with_rows(base, name, units.rows(chosen), followers)


def larger(tables: Mapping[str, Any], more_than: int = 0) -> Variation | None:
    """The sample with its largest table several times as large; None if that cannot be made.

    The times of the rows that are added are later, and their keys are new, so that they are rows as the sample could
    have.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    table = base[name] if name else None
    if not isinstance(table, pd.DataFrame) or table.empty or not isinstance(table.index, pd.RangeIndex):
        return None
    times = max(LEAST_TIMES, min(more_than + 1, ENLARGED_ROWS) // len(table) + 1)
    profile = Profile.of(tables[name])
    others = {
        column for other, one in base.items() if other != name and isinstance(one, pd.DataFrame) for column in one
    }
    units = Units.of(table)
    moved = {place for place, dtype in enumerate(table.dtypes) if dtype.kind == "M"} | profile.keys | units.groups
    whole = enlarged(taken(table, np.arange(units.head, len(table))), times * (len(table) - units.head), moved)
    if units.head:
        whole = pd.concat([table.iloc[: units.head], whole], ignore_index=True)
    if not whole.dtypes.equals(table.dtypes):
        return None
    is_new = profile.has_duplicates or any(
        not whole.iloc[len(table) :, at].isin(table.iloc[:, at]).all() for at in moved
    )
    is_new = is_new and not any(table.columns[place] in others for place in profile.keys | units.groups)
    is_new = is_new and (not units.is_stretch or Units.of(whole).is_stretch)
    what = "with many times as many rows" if times > LEAST_TIMES else "with three times as many rows"
    of = "" if len(base) == 1 else f" of {name}"
    words = f"{what}{of}" if is_new else f"if all rows{of} came {times} times"
    return Variation(words, {**base, name: whole}, has_new_texts=any(table.dtypes.iloc[at].kind == "O" for at in moved))
