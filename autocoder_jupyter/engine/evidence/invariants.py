"""Relations: changes of the data after which the result must be the same. They need no second solution.

Where the rows of the sample are sorted by something else than an id, or the request speaks of an order, the order of
the rows may count; it is not tried there, unless the plan says that it does not count. A plan may also say that rows,
or groups of rows, have separate answers: then those of the parts of a table, together, are that of the table. Or it
says that a repeated sample has the same answer, as for means and shares: then each row of the largest table comes twice
in its place, so that nothing of the order changes.

They are tried on the sample and on small parts of it, which keep its profile. One with ties may depend on their order,
which the sample does not, so an order is tried on the sample alone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.added_tests import free_number, is_complete, objections
from autocoder_jupyter.engine.evidence.comparison import SolutionComparison, compared_outputs
from autocoder_jupyter.engine.evidence.enlarged import SEED
from autocoder_jupyter.engine.evidence.pieces import by_groups, by_rows
from autocoder_jupyter.engine.evidence.second_writer import ColumnNames
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput, may_be_sent, simplified, smallest
from autocoder_jupyter.engine.evidence.solution_worker import Answer, KnownAnswers, SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.split import SplitCheck
from autocoder_jupyter.engine.evidence.table_rows import taken
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import Tables, VariedSample, is_sorted, main_table
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.tests import with_tests
from autocoder_jupyter.equality.tables import is_numbered
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import OutputSpec, TestFailure
from autocoder_jupyter.types.evidence import ZONE
from autocoder_jupyter.types.interface import ORDERLESS, TWICE, DeclaredSplit, demand

ORDER = "another order of the rows"
COLUMN = "a further column"
INDEX = "another index"
REPEATED = "each row twice"

APART = "an answer for each part of the rows"

PARTS = 6
"""The number of small parts."""

SEARCH_SECONDS = 3.0
"""Processor time for one smallest input."""

TRIALS = 60
"""The maximum number of runs for one smallest input."""

NEW = "autocode_note"
"""The name of the further column."""

_ID = re.compile(r"(?:^|[\W_])(?:id|nr|no|num|number|key)$|(?-i:[a-z]I[dD])$", re.IGNORECASE)
"""Names of columns that number their rows. An order by them means nothing."""

_ZONES = ("Asia/Tokyo", "America/New_York")
_SPEAKS_OF_ORDER = re.compile(
    r"\b(order|orders by|first|last|previous|next|prior|consecutive|running|cumulative|rolling|moving|streaks?|lag|lead"
    r"|row number|top|ties?|sequence|successive|as they (?:are|come))\b",
    re.IGNORECASE,
)

Change = Callable[[Any], Any]

FirstDifference = Callable[[TimeLimit, Mapping[str, Any]], str | None]
"""The first output that differs on tables, tried within a limit; see `_first_difference`."""


@dataclass(frozen=True)
class TriedInvariant:
    """An invariant that was tried.

    Args:
        where: the output that differs; "" if the invariant holds.
        tables: the smallest input that was found on which it differs.
        split: into which parts the rows were split; None if they were not.
        only: the name of the table that was changed; "" if all were.
        is_of_plan: whether only the plan demands it.
    """

    name: str
    where: str = ""
    tables: Tables | None = None
    split: DeclaredSplit | None = None
    only: str = ""
    is_of_plan: bool = False

    @property
    def words(self) -> str:
        """The change of the data, in a few words."""
        if self.split is not None:
            return f"{self.name} ({self.split.words})"
        return f"{self.name} in {self.only}" if self.only else self.name


def order_may_count(text: str) -> bool:
    """Whether a request, or the plan of it, speaks of an order."""
    return bool(_SPEAKS_OF_ORDER.search(text))


class _Refused(Exception):
    """The function raised an error, so there is nothing to compare."""


def invariants(tables: Mapping[str, Any], *, with_order: bool, holds: Sequence[str] = ()) -> list[str]:
    """The names of the changes that can be made of some table."""
    frames = [table for table in tables.values() if isinstance(table, pd.DataFrame) and len(table)]
    found: list[str] = []
    is_free = ORDERLESS in holds or (with_order and not any(map(_is_in_order, frames)))
    if frames and is_free:
        found.append(ORDER)
    if frames:
        found.append(COLUMN)
    if any(isinstance(frame.index, pd.RangeIndex) for frame in frames):
        found.append(INDEX)
    if any(isinstance(dtype, pd.DatetimeTZDtype) for frame in frames for dtype in frame.dtypes):
        found.append(ZONE)
    if TWICE in holds and any(map(len, tables.values())):
        found.append(REPEATED)
    return found


def splits(tables: Mapping[str, Any], holds: Sequence[str]) -> Iterator[DeclaredSplit]:
    """The ways to split the largest table that must hold, as far as it has their keys."""
    name = main_table(tables)
    table = tables[name] if name else None
    if not isinstance(table, pd.DataFrame):
        return
    for text in holds:
        try:
            kind, keys = demand(text)
        except InvalidRequest:  # the order, or what somebody else wrote into a record
            continue
        if kind != "merge" and all(list(table.columns).count(key) == 1 for key in keys):
            yield DeclaredSplit(input=name, kind=kind, keys=keys)


def try_invariants(
    side: SolutionWorker,
    varied: VariedSample,
    others: Mapping[str, Any],
    limit: TimeLimit,
    *,
    with_order: bool,
    holds: Sequence[str] = (),
) -> Iterator[TriedInvariant]:
    """Try the invariants. Blocks."""
    base, parts = varied.trimmed, varied.parts[:PARTS]
    plain, known = side, KnownAnswers()
    outputs = tuple(spec.model_copy(update={"columns": ()}) for spec in side.program.outputs)
    # A further column may be passed on.
    side = replace(side, program=replace(side.program, outputs=outputs), known=known)
    changes = invariants(base, with_order=with_order, holds=holds)
    freely = invariants(base, with_order=with_order)
    largest = {REPEATED: main_table(base)}
    found = [TriedInvariant(name, only=largest.get(name, ""), is_of_plan=name not in freely) for name in changes]
    found += [TriedInvariant(APART, split=split, is_of_plan=True) for split in splits(base, holds)]
    for tables in (base, *parts) if changes else ():
        inputs = {**others, **tables}
        answer = partial(plain.on, inputs, limit, reuse=tables is not base, kept=True)
        try:
            known.of(inputs, True, limit, answer)
        except SolutionStopped:
            return
    for one in found:
        try:
            where, few = _check(one, side, others), _check(one, side, others, divisions=1)
            small = () if one.name in (ORDER, ZONE) else parts
            tried = _tried(one, where, [(where, base), *((few, part) for part in small)], limit)
        except SolutionStopped:
            return
        if tried is not None:
            yield tried


def is_broken_by(side: SolutionWorker, one: TriedInvariant, others: Mapping[str, Any], limit: TimeLimit) -> bool:
    """Whether another function breaks an invariant too, on the smallest input. Blocks."""
    return one.tables is not None and bool(_check(one, side, others)(limit, one.tables))


def _check(
    one: TriedInvariant, side: SolutionWorker, others: Mapping[str, Any], divisions: int | None = None
) -> FirstDifference:
    """The function that finds the first output that differs. `divisions` limits the divisions of a table."""
    if one.split is not None:
        return partial(_first_difference_apart, side, one.split, others, divisions)
    return partial(_first_difference, side, one, others)


def _tried(
    one: TriedInvariant, where: FirstDifference, asked: Sequence[tuple[FirstDifference, Tables]], limit: TimeLimit
) -> TriedInvariant | None:
    """An invariant with the output that differs and the smallest input; None if nothing was compared."""
    compared = False
    for ask, tables in asked:
        output = ask(limit, tables)
        if output:
            return replace(one, where=output, tables=searched(tables, lambda given, within: bool(where(within, given))))
        compared = compared or output is not None
    return one if compared else None


def _first_difference_apart(
    side: SolutionWorker,
    split: DeclaredSplit,
    others: Mapping[str, Any],
    divisions: int | None,
    limit: TimeLimit,
    tables: Mapping[str, Any],
) -> str | None:
    """The first output that differs if parts of the rows have separate answers; see `_first_difference`."""

    def ask(_program: Program, inputs: Mapping[str, Any], limit: TimeLimit) -> Answer:
        answer = side.on(inputs, limit, reuse=True)
        if answer.error:
            raise _Refused
        return answer

    compared = None
    for spec in side.program.outputs:
        if spec.type not in ("DataFrame", "Series"):
            continue
        check = SplitCheck(ask, side.program, spec.name, {**others, **tables}, split.input, in_order=False)
        try:
            problem = check.on(tables, split, limit, divisions)
        except _Refused:
            return None
        if problem:
            return spec.name
        compared = problem if compared is None else compared
    return compared


def _first_difference(
    side: SolutionWorker, one: TriedInvariant, others: Mapping[str, Any], limit: TimeLimit, tables: Mapping[str, Any]
) -> str | None:
    """The first output that differs; "" if none does, None if nothing was compared."""
    change = _CHANGES[one.name]
    changed = {name: change(table) if one.only in ("", name) else table for name, table in tables.items()}
    answers = [side.on({**others, **given}, limit, reuse=True, kept=given is tables) for given in (tables, changed)]
    if answers[0].error:
        return None
    names = [spec.name for spec in side.program.outputs if KINDS[spec.whole].is_compared]
    if answers[1].error:
        if change is _repeated:  # a key that comes twice may be refused
            return None
        return names[0] if names else None
    same = _without_order if change is _shuffled else _without_new if change is _with_column else _without_numbers
    with limit.counting():
        before, after = ({name: same(answer.values[name]) for name in names} for answer in answers)
        after = {name: _with_columns_of(before[name], value) for name, value in after.items()}
        found = compared_outputs(before, after, [(name, name) for name in names])
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


def searched(base: Tables, shows: Callable[[Tables, TimeLimit], bool]) -> Tables:
    """The smallest input that is found in a few seconds and still shows something."""
    limit = TimeLimit(SEARCH_SECONDS)

    def has_time() -> bool:
        return not limit.is_over

    def differs(tables: Tables) -> bool:
        try:
            return shows(tables, limit)
        except SolutionStopped:
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


def _repeated(table: Any) -> Any:
    return taken(table, repeated_positions(table))


def repeated_positions(table: Any) -> list[int]:
    """The rows of a table, each twice."""
    return [int(place) for place in np.repeat(np.arange(len(table)), 2)]


_CHANGES: Mapping[str, Change] = {
    ORDER: _shuffled,
    COLUMN: _with_column,
    INDEX: _with_index,
    ZONE: _in_zone,
    REPEATED: _repeated,
}


# Tests of invariants that do not hold
#
# The function is changed for one only if the second solution passes it, and no other test speaks against the second
# solution: what is right for the request, such as the first of tied rows, then holds for both.

PREFIX = "test_relation_"

_TEST = '''\
def {name}():
    """The result must be the same with {invariant}."""
    import pandas as pd
    from solution import run

    def told(outputs):
        value = outputs[{place}] if isinstance(outputs, tuple) else outputs
        if isinstance(value, (pd.DataFrame, pd.Series)):
            numbered = value.index.dtype.kind == "i" and value.index.name is None
            table = value.to_frame() if isinstance(value, pd.Series) else value
            table = table if numbered else table.reset_index()
            value = list(table.drop(columns={new!r}, errors="ignore").itertuples(index=False))
        elif isinstance(value, dict):
            value = list(value.items())
        entries = value if isinstance(value, list) else [value]
        texts = [text(entry) for entry in entries]
        return {returned}

    def text(value):
        if isinstance(value, (list, tuple)):
            return [text(entry) for entry in value]
        return f"{{value:.9g}}" if isinstance(value, float) else str(value)

{given}
    before = told(run({arguments}))
{changed}
'''

_OF_PARTS = """\
whole = {table}
for parts in {divisions}:
    together = []
    for rows in parts:
        {table} = whole.iloc[rows].reset_index(drop=True)
        together += told(run({arguments}))
    assert sorted(together, key=str) == before
"""


async def doubt(
    state: GenerationState, tried: Sequence[TriedInvariant], comparison: SolutionComparison, matched: ColumnNames
) -> TestFailure | None:
    """The failure of the function, if the second solution shows that an invariant must hold. Its test is added then."""
    suite, plan = state.suite, state.brief.plan
    for one in tried:
        small = SmallInput.of(one.tables, comparison.given) if one.where and one.tables else None
        if suite is None or small is None or one.name not in (ORDER, COLUMN, INDEX, REPEATED, APART):
            continue
        if not is_complete(small, plan) or not may_be_sent(state.setup, small):
            continue
        name = f"{PREFIX}{free_number(suite, PREFIX)}"
        wider = with_tests(suite, as_test(name, one, small, plan.outputs))
        if await objections(state.setup.session, comparison, matched, wider, name):
            continue
        state.set_suite(wider)
        problem = f"The result must be the same with {one.words}, and {one.where} is another one"
        return TestFailure(
            test_name=name,
            error_message=f"{problem} ({name}).",
            expected_behavior=f"For\n{small.source}\nthe same result with {one.words}.",
            actual_behavior=f"{one.where} differs.",
            root_cause=f"The function depends on what is no part of the question: {one.words}.",
            suggested_fix="Find what reads it, and let it depend on the values of the rows alone.",
            error_type="logic",
        )
    return None


def as_test(name: str, tried: TriedInvariant, small: SmallInput, outputs: Sequence[OutputSpec]) -> str:
    """The test as text. It can stand in any module."""
    entries = f"[entry for entry in texts if {NEW!r} not in entry]"
    return _TEST.format(
        name=name,
        invariant=tried.words,
        place=[spec.name for spec in outputs].index(tried.where),
        new=NEW,
        returned=f"sorted({entries}, key=str)" if tried.name in (ORDER, APART) else entries,
        given=textwrap.indent(small.source, "    "),
        arguments=(arguments := ", ".join(f"{name}={name}" for name in small.tables)),
        changed=textwrap.indent(_changed(tried, small.tables, arguments), "    "),
    )


def _changed(tried: TriedInvariant, tables: Mapping[str, Any], arguments: str) -> str:
    """What is compared with the result before."""
    if tried.split is None:
        return "\n".join([*_changes(tried, tables), f"assert told(run({arguments})) == before"])
    table, keys = tables[tried.split.input], tried.split.keys
    ways = by_groups(table, keys) if keys else by_rows(len(table))
    divisions = [[[int(row) for row in part] for part in way.pieces] for way in ways]
    return _OF_PARTS.format(table=tried.split.input, divisions=divisions, arguments=arguments).rstrip()


def _changes(tried: TriedInvariant, tables: Mapping[str, Any]) -> list[str]:
    """The change of each table, as source."""
    if tried.name == ORDER:
        return [_rows_of(name, table, shuffled_positions(table)) for name, table in tables.items()]
    if tried.name == REPEATED:
        return [_rows_of(tried.only, tables[tried.only], repeated_positions(tables[tried.only]))]
    if tried.name == COLUMN:
        frames = [name for name, table in tables.items() if getattr(table, "ndim", 1) > 1 and NEW not in table]
        return [f"{name} = {name}.assign({NEW}='x')" for name in frames]
    return [f"{name} = {name}.set_axis(range(1000, 1000 + len({name})), axis=0)" for name in tables]


def _rows_of(name: str, table: Any, positions: Sequence[int]) -> str:
    numbered = ".reset_index(drop=True)" if is_numbered(table) else ""
    return f"{name} = {name}.iloc[{positions}]{numbered}"
