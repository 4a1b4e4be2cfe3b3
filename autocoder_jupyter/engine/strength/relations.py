"""Changes of the data after which the result must be the same. They need no second solution, and no model.

Where the rows of the sample are sorted by something else than an id, or the request speaks of an order, the order of
the rows may count; it is not tried there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.places import compared_outputs
from autocoder_jupyter.engine.second_opinion.sides import Side, TrialEnded
from autocoder_jupyter.engine.second_opinion.smallest import simplified, smallest
from autocoder_jupyter.engine.second_opinion.variations import SEED, Tables, is_sorted, taken, trimmed_tables
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types.strength import ZONE

ORDER = "another order of the rows"
COLUMN = "a further column"
INDEX = "another index"

SEARCH_SECONDS = 3.0
"""Wall-clock seconds for one smallest input."""

TRIALS = 60
"""The maximum number of runs for one smallest input."""

NEW = "autocode_note"
"""The name of the further column."""

_ID = re.compile(r"(?:^|[\W_])(?:id|nr|no|num|number|key)$|(?-i:[a-z]I[dD])$", re.IGNORECASE)
"""Names of columns that number their rows. Sorted by them, rows are in no order that means something."""

_ZONES = ("Asia/Tokyo", "America/New_York")
_SPEAKS_OF_ORDER = re.compile(
    r"\b(order|orders by|first|last|previous|next|prior|consecutive|running|cumulative|rolling|moving|streaks?|lag|lead"
    r"|row number|top|ties?|sequence|successive|as they (?:are|come))\b",
    re.IGNORECASE,
)

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Broken:
    """A relation that was tried.

    Args:
        name: of the relation.
        where: the output that differs; "" if the relation holds.
        tables: the smallest input that was found on which it differs.
    """

    name: str
    where: str = ""
    tables: Tables | None = None


def order_may_count(text: str) -> bool:
    """Whether a request, or the plan of it, speaks of an order."""
    return bool(_SPEAKS_OF_ORDER.search(text))


def relations(tables: Mapping[str, Any], *, with_order: bool) -> dict[str, Change]:
    """The changes that can be made of some table, by name.

    Args:
        tables: the tables of the sample, by input name.
        with_order: whether the order of the rows may be changed.
    """
    frames = [table for table in tables.values() if isinstance(table, pd.DataFrame) and len(table)]
    found: dict[str, Change] = {}
    if with_order and frames and not any(map(_is_in_order, frames)):
        found[ORDER] = _shuffled
    if frames:
        found[COLUMN] = _with_column
    if any(isinstance(frame.index, pd.RangeIndex) for frame in frames):
        found[INDEX] = _with_index
    if any(isinstance(dtype, pd.DatetimeTZDtype) for frame in frames for dtype in frame.dtypes):
        found[ZONE] = _in_zone
    return found


def tried(
    side: Side, tables: Mapping[str, Any], others: Mapping[str, Any], deadline: float, *, with_order: bool
) -> Iterator[Broken]:
    """Try the relations on the sample. Blocks.

    Args:
        side: the verified function, in a worker.
        tables: the tables of the sample, by input name.
        others: the other inputs.
        deadline: on the monotonic clock.
        with_order: whether the order of the rows may be changed.
    """
    base = trimmed_tables(tables)
    outputs = tuple(spec.model_copy(update={"columns": ()}) for spec in side.program.outputs)
    side = replace(side, program=replace(side.program, outputs=outputs))  # a further column may be passed on
    for name, change in relations(tables, with_order=with_order).items():
        try:
            where = _where(side, change, others, deadline, base)
        except TrialEnded:
            return
        if where is None:
            continue
        shows = partial(_is_broken, side, change, others)
        yield Broken(name, where, searched(base, shows) if where else None)


def _is_broken(side: Side, change: Change, others: Mapping[str, Any], tables: Tables, until: float) -> bool:
    return bool(_where(side, change, others, until, tables))


def _where(
    side: Side, change: Change, others: Mapping[str, Any], deadline: float, tables: Mapping[str, Any]
) -> str | None:
    """The first output that differs; "" if none does, None if nothing was compared."""
    changed = {name: change(table) for name, table in tables.items()}
    answers = [side.on({**others, **one}, deadline, reuse=True) for one in (tables, changed)]
    if answers[0].error:
        return None
    names = [spec.name for spec in side.program.outputs if KINDS[spec.whole].is_compared]
    if answers[1].error:
        return names[0] if names else None
    same = _without_order if change is _shuffled else _without_new if change is _with_column else _without_numbers
    one, other = ({name: same(answer.values[name]) for name in names} for answer in answers)
    other = {name: _with_columns_of(one[name], value) for name, value in other.items()}
    found = compared_outputs(one, other, [(name, name) for name in names])
    if found.places:
        return found.places[0].where.partition(".")[0].partition("[")[0]
    return "" if found.outputs else None


def _is_in_order(frame: Any) -> bool:
    columns = ((name, frame.iloc[:, place]) for place, name in enumerate(frame.columns))
    return any(is_sorted(column) for name, column in columns if not _ID.search(str(name)))


def _without_new(value: Any) -> Any:
    """An output without its rows and entries about the further column, of a function of all columns."""
    if isinstance(value, dict):
        return {key: entry for key, entry in value.items() if key != NEW}
    if isinstance(value, list):
        return [entry for entry in value if not (isinstance(entry, str) and entry == NEW)]
    if not isinstance(value, pd.DataFrame | pd.Series):
        return value
    rows: Any = value.to_frame() if isinstance(value, pd.Series) else value
    named: Any = value.index.to_frame()
    is_new = [part.astype(object).eq(NEW).any(axis=1).to_numpy() for part in (rows, named)]
    return _without_numbers(taken(value, np.flatnonzero(~(is_new[0] | is_new[1]))))


def _with_columns_of(one: Any, other: Any) -> Any:
    """An output without the columns that only it has, because the function passes on those of its input."""
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        return other.loc[:, other.columns.isin(one.columns)]
    return other


def _without_numbers(value: Any) -> Any:
    """An output without an index that only numbers its rows."""
    if isinstance(value, pd.DataFrame | pd.Series) and value.index.dtype.kind == "i" and value.index.name is None:
        return value.reset_index(drop=True)
    return value


def _without_order(value: Any) -> Any:
    """An output in an order that does not depend on that of the input."""
    if isinstance(value, list):
        return sorted(value, key=_text)
    if not isinstance(value, pd.DataFrame | pd.Series):
        return value
    plain = _without_numbers(value)
    rows = plain.to_frame() if isinstance(plain, pd.Series) else plain
    if not isinstance(rows.index, pd.RangeIndex):
        rows = rows.reset_index(allow_duplicates=True)
    texts = [" ".join(map(_text, row)) for row in rows.itertuples(index=False)]
    return plain.iloc[sorted(range(len(texts)), key=texts.__getitem__)].pipe(_without_numbers)


def _text(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def searched(base: Tables, shows: Callable[[Tables, float], bool]) -> Tables:
    """The smallest input that is found in a few seconds and still shows something.

    Args:
        base: an input that shows it.
        shows: whether another one does, by a time on the monotonic clock. It may raise `TrialEnded`.
    """
    until = time.monotonic() + SEARCH_SECONDS

    def has_time() -> bool:
        return time.monotonic() < until

    def differs(tables: Tables) -> bool:
        try:
            return shows(tables, until)
        except TrialEnded:
            return False

    return simplified(smallest(base, differs, TRIALS, has_time), differs, has_time)


def _shuffled(table: Any) -> Any:
    return taken(table, shuffled_positions(table))


def shuffled_positions(table: Any) -> list[int]:
    """The rows of a table in another order."""
    return [int(place) for place in np.random.default_rng(SEED).permutation(len(table))]


def _with_column(table: Any) -> Any:
    if not isinstance(table, pd.DataFrame) or table.columns.nlevels > 1 or NEW in table:
        return table
    return table.assign(**{NEW: "x"})


def _with_index(table: Any) -> Any:
    if not isinstance(table.index, pd.RangeIndex):
        return table
    return table.set_axis(pd.RangeIndex(1000, 1000 + len(table), name=table.index.name), axis=0)


def _in_zone(table: Any) -> Any:
    if not isinstance(table, pd.DataFrame):
        return table
    frame = table.copy()
    for place, dtype in enumerate(table.dtypes):
        if isinstance(dtype, pd.DatetimeTZDtype):
            zone = next(zone for zone in _ZONES if str(dtype.tz) != zone)
            frame.isetitem(place, table.iloc[:, place].dt.tz_convert(zone))
    return frame
