"""Runs both solutions on variations of the sample, and compares their outputs in the notebook.

Each solution runs in its own worker (`solution_worker`). On the sample itself, the outputs of the function are those of
the run that was verified. What may be sent to a model comes from calls in workers that get only a small input: the
others saw the data, and a solution could put them into any text of its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, TypeVar

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, Field

from autocoder_jupyter.engine.evidence.beyond import finds_columns_by_place
from autocoder_jupyter.engine.evidence.code_numbers import largest_number
from autocoder_jupyter.engine.evidence.conditions import may_remember
from autocoder_jupyter.engine.evidence.drawn import OTHERWISE, drawn_tables
from autocoder_jupyter.engine.evidence.second_writer import (
    ColumnNames,
    SecondSolution,
    Unmatched,
    matched,
    matched_outputs,
    unmatched,
)
from autocoder_jupyter.engine.evidence.small_inputs import (
    TRIALS,
    SmallInput,
    simplified,
    smallest,
)
from autocoder_jupyter.engine.evidence.solution_worker import (
    AT_ONCE,
    KnownAnswers,
    SolutionStopped,
    SolutionWorker,
    answers_of_both,
    both,
)
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import ROWS, Tables, Variation, VariedSample
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.equality.comparison import Path, ValueDifference, compare
from autocoder_jupyter.equality.leniency import INDEPENDENT
from autocoder_jupyter.equality.scalars import is_missing, is_single, kind_of
from autocoder_jupyter.equality.tables import flat
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.kinds.values import Figure
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import Environment, Program, Worker
from autocoder_jupyter.types import Count, OutputSpec, TypeName
from autocoder_jupyter.view.numbers import in_full, rounded

# Places where two results differ

MOST_PLACES = 20
"""The maximum number of places in one comparison, and of values of a place."""

MOST_EXAMPLE_ROWS = 10_000
"""Rows that differ, among which an example with both values is looked for."""

MOST_DECIMALS = 6
"""A number with more decimals is not taken for a rounded one."""

LONGEST_VALUE = 80
"""Characters of a value that are shown."""

BOTH_EMPTY = "it is empty in both, so there was no value to compare"

SIDES = ("the function", "the second solution")


@dataclass(frozen=True)
class OutputPlace:
    """One place where two results differ.

    Args:
        where: `best_month`, `monthly.growth`, or `monthly` for its rows.
        first, second: the two results there, as text for the user.
        at: for a column, the row that is shown.
        count, of: `count` of `of` rows differ.
        both: whether both have a value there, in at least one row.
        ones, others: all values there, as JSON, in the order of the first; only for a small result.
        keys: for rows, the columns that identify them.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: int = 1
    of: int = 1
    both: bool = True
    ones: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass
class Compared:
    """The places that differ, the parts that were not compared, and the outputs of which something was compared."""

    places: list[OutputPlace] = field(default_factory=list)
    not_compared: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def compared_outputs(first: Mapping[str, Any], second: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> Compared:
    """Compare outputs."""
    all_found = Compared()
    for one, other in pairs:
        if _are_identical(first[one], second[other]):  # the usual case, in a tenth of the time
            all_found.outputs.append(one)
            continue
        if isinstance(first[one], Figure) and isinstance(second[other], Figure):
            _compare_figures(all_found, one, first[one], second[other])
            continue
        found = compare(first[one], second[other], INDEPENDENT, name=one, sides=SIDES)
        all_found.places.extend(_place(one, difference) for difference in found.differences)
        all_found.not_compared.extend((_where(one, note.path), note.why) for note in found.not_compared)
        all_found.outputs.extend([one] if found.compared or found.differences else [])
        if found.verdict == "equal" and not found.compared:
            all_found.not_compared.append((one, BOTH_EMPTY))
    del all_found.places[MOST_PLACES:]
    return all_found


def _compare_figures(all_found: Compared, name: str, one: Figure, other: Figure) -> None:
    """Compare what two figures show."""
    tables = drawn_tables(one, other)
    if tables is None and not (one.png and one.png == other.png):
        all_found.not_compared.append((name, OTHERWISE))
        return
    for mine, theirs in tables or ():
        found = compare(mine, theirs, INDEPENDENT, name=name, sides=SIDES)
        all_found.places.extend(_place(name, difference) for difference in found.differences)
    all_found.outputs.append(name)


def _are_identical(one: Any, other: Any) -> bool:
    """Whether two tables that are not empty are the same."""
    if type(one) is not type(other) or not isinstance(one, pd.DataFrame | pd.Series) or not one.size:
        return False
    return bool(one.equals(other))


def is_rounded_otherwise(place: OutputPlace) -> bool:
    """Whether two lists of rounded numbers differ by one unit of their last decimal at most.

    A number in the middle between two is rounded up by one way to compute it, and down by another. One number of a list
    may take what is left of a sum by rounding the others: it may differ by as much as they do together.
    """
    numbers = [value for value in (*place.ones, *place.others) if isinstance(value, float)]
    texts = [repr(number) for number in numbers]
    decimals = max((len(text.partition(".")[2].rstrip("0")) for text in texts), default=0)
    if not 1 <= decimals <= MOST_DECIMALS or any("e" in text for text in texts) or place.keys:
        return False
    unit = 1.001 * 10.0**-decimals
    pairs = [(one, other) for one, other in zip(place.ones, place.others, strict=False) if one != other]
    if len(place.ones) != len(place.others) or not all(_is_float(*pair) for pair in pairs):
        return False
    deviations = [one - other for one, other in pairs]
    far = [deviation for deviation in deviations if not abs(deviation) <= unit]
    return not far or (len(far) == 1 and abs(sum(deviations)) < unit / 2)


def _is_float(*values: Any) -> bool:
    return all(isinstance(value, float) for value in values)


def against_an_error(message: str, second: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> Compared:
    """The outputs of the second solution as differences, if the first fails."""
    places = [place for one, other in pairs for place in _results(one, second[other], message)]
    return Compared(places[:MOST_PLACES], outputs=[one for one, _ in pairs])


def _results(name: str, value: Any, message: str) -> Iterator[OutputPlace]:
    if is_single(value):
        yield OutputPlace(name, message, shown(value), others=(plain(value),))
    elif not isinstance(value, pd.DataFrame | pd.Series):
        yield OutputPlace(name, message, f"a {type(value).__name__}")
    elif len(value) > MOST_PLACES:
        yield OutputPlace(name, message, f"{len(value)} rows")
    else:
        frame = flat(value, name)
        for column in frame.columns:
            values = _few(frame[column])
            yield OutputPlace(f"{name}.{column}", message, ", ".join(map(str, values[:3])) or "no rows", others=values)


def _where(name: str, path: Path) -> str:
    return name + "".join(f"[{step.name + 1}]" if step.kind == "entry" else f".{step.name}" for step in path)


def _place(name: str, difference: ValueDifference) -> OutputPlace:
    where, one, other = _where(name, difference.path), difference.one, difference.other
    if difference.what == "rows":
        return _rows(where, difference)
    if difference.what == "cells":
        return _cells(where, difference)
    if difference.what == "length":
        unit = "rows" if isinstance(one, pd.DataFrame) else "entries"
        values = ((), ()) if unit == "rows" else (_few(one), _few(other))
        return OutputPlace(where, f"{len(one)} {unit}", f"{len(other)} {unit}", ones=values[0], others=values[1])
    if difference.what == "value":
        both = not is_missing(one) and not is_missing(other)
        return OutputPlace(where, shown(one), shown(other), both=both, ones=(plain(one),), others=(plain(other),))
    return OutputPlace(where, f"{len(difference.only_one)} other files", f"{len(difference.only_other)} other files")


def _rows(where: str, difference: ValueDifference) -> OutputPlace:
    """Rows that only one side has."""
    one, other, keys = difference.one, difference.other, difference.keys
    only_here, only_there = ([_row_text(row) for row in rows] for rows in (difference.only_one, difference.only_other))
    counts = f"{len(one)} rows", f"{len(other)} rows"
    if counts[0] == counts[1]:
        counts = f"{len(only_here)} other rows", f"{len(only_there)} other rows"
    at = f"{only_here[0]} only in the function" if only_here else f"{only_there[0]} only in the second solution"
    count = len(only_here) + len(only_there)
    few = max(len(one), len(other)) <= MOST_PLACES
    ones, others = (tuple(map(_row_text, _tuples(side, keys))) if few else () for side in (one, other))
    return OutputPlace(where, *counts, at, count, count, ones=ones, others=others, keys=keys)


def _cells(where: str, difference: ValueDifference) -> OutputPlace:
    one, other = (side if isinstance(side, pd.Series) else list(side) for side in (difference.one, difference.other))
    wrong = np.flatnonzero(difference.wrong)[:MOST_EXAMPLE_ROWS]
    values = [[side.iloc[at] if isinstance(side, pd.Series) else side[at] for at in wrong] for side in (one, other)]
    complete = [at for at, *both in zip(wrong, *values, strict=True) if not any(map(is_missing, both))]
    at = int(complete[0] if complete else wrong[0])  # a row where both have a value is a better example
    if not isinstance(one, pd.Series):
        row = f"entry {at + 1}"
    elif difference.keys:
        (named,) = _tuples(difference.rows.iloc[[at]], difference.keys)
        row = ", ".join(_named(key, value) for key, value in zip(difference.keys, named, strict=True))
    else:
        row = f"row {at + 1}"
    left, right = (shown(side.iloc[at] if isinstance(side, pd.Series) else side[at]) for side in (one, other))
    counts = difference.count, len(difference.wrong)
    return OutputPlace(where, left, right, row, *counts, bool(complete), _few(one), _few(other))


def _tuples(table: Any, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(table[name] for name in keys), strict=True)


def _named(key: str, value: Any) -> str:
    """The value of a key; a number alone would be taken for the number of a row."""
    return f"{key} {shown(value)}" if kind_of(value) == "number" else shown(value)


def _row_text(row: Iterable[Any]) -> str:
    return ", ".join(map(shown, row))


def _few(values: Any) -> tuple[Any, ...]:
    return tuple(map(plain, values)) if len(values) <= MOST_PLACES else ()


def shown(value: Any) -> str:
    """A value as one short line of text for the user."""
    if is_missing(value):
        return "nothing"
    if isinstance(value, float | np.floating):
        text = rounded(in_full(float(value)))
    elif kind_of(value) == "time":
        text = str(value).removesuffix(" 00:00:00")
    else:
        text = _text(value) or '""'
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with too many digits
        return hex(value)


def plain(value: Any) -> Any:
    """A value as JSON."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic) and kind_of(value) in ("number", "truth", "text"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else shown(value)


# Comparison on the sample and its variations

T = TypeVar("T")

SECONDS = 60.0
"""Processor time of both for the sample and its variations. A second opinion is not worth a longer wait."""

SEARCH_SECONDS = 40.0
"""Processor time of both for the search of a small input, and for the calls with it."""

TRIALS_ON_ALL = 60
"""The number of runs for the smallest input, if only the full sample shows a difference."""

MOST_DRAWN = 2
"""The number of variations, if both only draw."""

SIDE_BY_SIDE = "both could not be run side by side"
"""Why nothing was compared, if the comparison itself failed."""

RAISED = "an error"

SMALL_PART = "with a few of the rows"
"""The name of a small part in a difference."""

FEW_ROWS = "if there were a few rows only"
"""The same, if only one side has a value."""

LONGEST_TEXT = 200
"""Characters of a text about a difference."""

MOST_VALUES = 200
"""Values of one place."""

_LONGEST = 4_000
"""Characters of all values at one place."""


def _short(values: list[Any]) -> list[Any]:
    """The values; none if they are too long to be shown."""
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in values)
    return values if plain and len(values) <= MOST_VALUES and all(map(_is_short, values)) and _fit(values) else []


def _is_short(value: Any) -> bool:
    return (
        abs(value) < 10**100 if isinstance(value, int) else len(value) <= _LONGEST if isinstance(value, str) else True
    )


def _fit(values: list[Any]) -> bool:
    return len(repr(values)) <= _LONGEST


Text = Annotated[str, AfterValidator(lambda text: text[:LONGEST_TEXT])]
Values = Annotated[list[Any], AfterValidator(_short)]


class FoundPlace(BaseModel):
    """One place where they differ, for the user. The values come from untrusted code, so the texts are cut."""

    where: Text
    first: Text
    second: Text
    at: Text = ""
    count: Count = 1
    of: Count = 1


class OpenPlace(FoundPlace):
    """The same with all values there, as JSON; `keys` are the columns that name rows."""

    ones: Values = Field(default_factory=list)
    others: Values = Field(default_factory=list)
    keys: Values = Field(default_factory=list)


class Uncompared(BaseModel):
    """An output, or a part of one, that was not compared, and why."""

    where: Text
    why: Text


@dataclass(frozen=True)
class TriedVariation:
    """One variation of the sample, and what was found on it.

    Args:
        general: its name without the name of a column; "" if `name` has none.
        failed: which of the two raised an error, so that nothing was compared; "" if none did.
    """

    name: str
    general: str = ""
    differences: tuple[FoundPlace, ...] = ()
    failed: str = ""


@dataclass(frozen=True)
class Smallest:
    """A small input on which they differ, and the places.

    Args:
        variation: from which it was made; "" for the sample.
    """

    variation: str
    tables: Mapping[str, Any]
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparisonOutcome:
    """The outcome of a comparison.

    Args:
        failed: why nothing was compared; "" if something was.
        not_compared: outputs and parts of outputs without a counterpart.
        compared: the outputs of which values were compared on the sample.
        tried: the variations; all small parts are one of them.
        parts: the number of small parts on which values were compared.
        ended: why not all variations were tried; "" if they were.
        smallest: a small input on which they differ.
        unmatched: columns without a counterpart on either side. Then only the sample was compared, if that was wanted.
        matched: for columns of the second solution those of their counterparts, by output of the first.
    """

    failed: str = ""
    sample: tuple[FoundPlace, ...] = ()
    not_compared: tuple[Uncompared, ...] = ()
    compared: tuple[str, ...] = ()
    tried: tuple[TriedVariation, ...] = ()
    parts: int = 0
    ended: str = ""
    smallest: Smallest | None = None
    unmatched: Unmatched = field(default_factory=dict)
    matched: ColumnNames = field(default_factory=dict)


@dataclass(frozen=True)
class SolutionComparison:
    """The function and the second solution, to be compared.

    Args:
        verified: the outputs of the function on the sample, from the run that was verified.
        varied: the tables among the inputs of the function, with what is made from them.
        redaction: removes the values of secrets from the findings.
        known: the answers of the function and of the second solution that may be needed again.
        environment: that of the second solution; None for that of the function.
        names: for columns of the second solution those of their counterparts, by output.
        more_time: how many times as long it may take.
    """

    session: SandboxSession
    program: Program
    second: SecondSolution
    samples: Mapping[str, Any]
    verified: Mapping[str, Any]
    varied: VariedSample
    redaction: Redaction
    known: tuple[KnownAnswers, KnownAnswers]
    environment: Environment | None = None
    names: ColumnNames = field(default_factory=dict)
    more_time: int = 1

    @property
    def given(self) -> dict[str, Any]:
        """The sample, as far as it is an input of the function."""
        return {spec.name: self.samples[spec.name] for spec in self.program.inputs if spec.name in self.samples}

    async def run(self, *, stops_if_unmatched: bool = False) -> ComparisonOutcome:
        """Compare on the sample and its variations. Errors are in the outcome."""
        pairs, missing = self._pairs()
        if not pairs:
            return ComparisonOutcome(failed="no output can be compared", not_compared=tuple(missing))
        try:
            found = await self._work(
                lambda ours, theirs: self._comparer(ours, theirs, pairs).run(self.verified, stops_if_unmatched)
            )
        except Exception as error:  # values of untrusted code, and odd data, must not fail a verified function
            return ComparisonOutcome(failed=f"{SIDE_BY_SIDE}: {_why(error)}", not_compared=tuple(missing))
        return replace(found, not_compared=(*missing, *found.not_compared))

    async def run_once(self, small: SmallInput) -> list[OpenPlace]:
        """Where they differ on a small input, in workers that were never given data; [] if it cannot be run."""
        pairs, _ = self._pairs()
        try:
            return await self._work(
                lambda ours, theirs: self._comparer(ours, theirs, pairs).once(small.tables),
                without_data=small.tables.keys() >= self.given.keys(),  # other inputs are given as they are
            )
        except Exception:  # see `run`
            return []

    async def of_second(self, job: Callable[[SolutionWorker, Mapping[str, Any]], T]) -> T:
        """What a job finds about the second solution alone."""
        others = {name: value for name, value in self.given.items() if name not in self.varied.tables}
        return await self._work(
            lambda ours, theirs: job(SolutionWorker("the second solution", theirs, self.second_program), others)
        )

    @property
    def second_program(self) -> Program:
        return second_program(self.program, self.second)

    def _pairs(self) -> tuple[dict[str, str], list[Uncompared]]:
        """The outputs that can be compared, and notes on the others."""
        outputs = self.program.outputs
        pairs = matched_outputs(outputs, self.second.outputs)
        alone = [spec.name for spec in outputs if spec.name not in pairs]
        missing = [Uncompared(where=name, why="the second solution has no such output") for name in alone]
        types = {one: _type_of(outputs, one) for one in pairs}
        comparable = {
            one: other for one, other in pairs.items() if KINDS[types[one]].is_compared or types[one] == "Figure"
        }
        drawn = [name for name in pairs if name not in comparable]
        missing += [Uncompared(where=name, why="a folder") for name in drawn]
        return comparable, missing

    async def _work(self, job: Callable[[Worker, Worker], T], *, without_data: bool = False) -> T:
        return await self.session.work_with_two(job, second=self.environment, without_data=without_data)

    def _comparer(self, ours: Worker, theirs: Worker, pairs: Mapping[str, str]) -> Comparer:
        others = {name: value for name, value in self.given.items() if name not in self.varied.tables}
        first = SolutionWorker("the function", ours, self.program, self.known[0])
        second = SolutionWorker("the second solution", theirs, self.second_program, self.known[1])
        pairs_of = tuple(pairs.items())
        return Comparer(first, second, pairs_of, self.varied, others, self.redaction, self.names, self.more_time)


def second_program(program: Program, second: SecondSolution) -> Program:
    """The second solution, to be called as the function. Columns that were declared are not required of it: what it
    lacks is not compared.
    """
    outputs = tuple(spec.model_copy(update={"columns": ()}) for spec in second.outputs)
    return replace(program, code=second.code, outputs=outputs)


@dataclass
class Comparer:
    """Compares two solutions in their workers.

    Args:
        first, second: the function, and the second solution.
        pairs: (name in the first, name in the second) of outputs that belong together.
        varied: the tables among the inputs, with what is made from them.
        others: the other inputs. They do not vary.
        names: for columns of the second solution those of their counterparts, by output of the first.
    """

    first: SolutionWorker
    second: SolutionWorker
    pairs: Sequence[tuple[str, str]]
    varied: VariedSample
    others: Mapping[str, Any]
    redaction: Redaction
    names: ColumnNames = field(default_factory=dict)
    more_time: int = 1
    _differing: list[tuple[str, Tables, list[OutputPlace]]] = field(default_factory=list)

    def run(self, verified: Mapping[str, Any], stops_if_unmatched: bool = False) -> ComparisonOutcome:
        """Compare on the sample and its variations, and search for the smallest input on which they differ."""
        limit = TimeLimit(self.more_time * SECONDS)
        tables = self.varied.tables
        theirs = self.second.on({**self.others, **tables}, limit.part(SECONDS), kept=True)
        if theirs.error:
            return ComparisonOutcome(failed=f"the second solution raises {self._clean(theirs.error)}")
        named = self._named(theirs.values)
        if stops_if_unmatched and (alone := unmatched(verified, named, self.pairs)):
            return ComparisonOutcome(unmatched=alone)
        found = compared_outputs(verified, named, self.pairs)
        outcome = ComparisonOutcome(
            sample=self._for_user(found.places),
            not_compared=tuple(Uncompared(where=self._clean(w), why=self._clean(y)) for w, y in found.not_compared),
            compared=tuple(found.outputs),
            matched=matched(verified, theirs.values, self.pairs, self.names),
        )
        self._differing = [("", dict(tables), found.places)] if found.places else []
        tried: list[TriedVariation] = []
        parts, ended = 0, ""
        try:
            variations = self.varied.variations[: MOST_DRAWN if self._only_draw else None]
            self._get_ready([variation.tables for variation in variations], limit)
            for variation in variations:
                tried.extend(self._tried(variation, limit))
            if self.varied.count and not self._only_draw:
                parts = self._on_parts(tried, limit)
                more_than = largest_number(self.first.program.code, self.second.program.code)
                if (large := self.varied.larger(more_than)) is not None:
                    tried.extend(self._tried(large, limit))
                tried.extend(self._beyond(limit))
        except Exception as error:  # what was found stays
            ended = _why(error)
        return replace(outcome, tried=tuple(tried), parts=parts, ended=self._clean(ended), smallest=self._small())

    @property
    def _may_remember(self) -> bool:
        return any(may_remember(side.program.code) for side in (self.first, self.second))

    @property
    def _only_draw(self) -> bool:
        """Whether figures alone are compared: to draw one takes as long as many calls."""
        return all(_type_of(self.first.program.outputs, one) == "Figure" for one, _ in self.pairs)

    def once(self, tables: Mapping[str, Any]) -> list[OpenPlace]:
        """Where both differ on one small input, with all values there."""
        found = self._compared(tables, TimeLimit(SEARCH_SECONDS))
        return [] if isinstance(found, str) else [self._open(place) for place in found.places]

    def _tried(self, variation: Variation, limit: TimeLimit) -> tuple[TriedVariation, ...]:
        """What was found on a variation; () if its outputs have nothing that can be compared."""
        found = self._compared(variation.tables, limit, reuse=True, kept=True)
        # Not because of the calls that this process had before; outside, that is only worth the time if it may be so.
        if isinstance(found, str) or (found.places and (not variation.is_outside or self._may_remember)):
            with suppress(SolutionStopped):
                found = self._compared(variation.tables, limit, kept=True)
        if not isinstance(found, str) and variation.has_new_texts and any(map(_raised, found.places)):
            found = "the function refuses texts that were made up"
        if isinstance(found, str):
            return (TriedVariation(variation.name, variation.general, failed=found),)
        if not found.outputs:
            return ()
        if found.places and not variation.is_outside:
            self._differing.append((variation.name, variation.tables, found.places))
        return (TriedVariation(variation.name, variation.general, self._for_user(found.places)),)

    def _on_parts(self, tried: list[TriedVariation], limit: TimeLimit) -> int:
        """Compare on small parts, until one shows a difference. Returns the number of those with a compared value.

        They run in one process, because there are many of them. What they find is one entry of `tried`. In a part, a
        group can be without any value, which the sample may never have: a value that only one side has is shown, and is
        not evidence. Neither are rounded numbers that differ in the last decimal, if both solutions round.
        """
        compared, both_round = 0, all("round" in side.program.code for side in (self.first, self.second))
        for place, tables in enumerate(self.varied.parts):
            if place % AT_ONCE == 0:
                self._get_ready(self.varied.parts[place : place + AT_ONCE], limit)
            found = self._compared(tables, limit, reuse=True, kept=True)
            if isinstance(found, str) or not found.outputs:
                continue
            compared += 1
            if both_round:
                found.places[:] = [place for place in found.places if not is_rounded_otherwise(place)]
            name = SMALL_PART if any(place.both for place in found.places) else FEW_ROWS
            if found.places and name not in (one.name for one in tried):
                tried.append(TriedVariation(name, differences=self._for_user(found.places)))
            if found.places and name == SMALL_PART:
                self._differing.append((name, tables, found.places))
                break
        return compared

    def _beyond(self, limit: TimeLimit) -> Iterator[TriedVariation]:
        """What was found beyond the profile of the sample. Where the second solution fails, there is nothing to say."""
        by_place = any(finds_columns_by_place(side.program.code) for side in (self.first, self.second))
        varied = self.varied.beyond(by_place=by_place)
        self._get_ready([variation.tables for variation in varied], limit)
        for variation in varied:
            yield from (one for one in self._tried(variation, limit) if not one.failed)

    def _get_ready(self, many: Sequence[Tables], limit: TimeLimit) -> None:
        """Get the answers of both sides that are compared next."""
        inputs = [{**self.others, **tables} for tables in many]
        both(self.first, self.second, lambda side: side.get_ready(inputs, limit))

    def _compared(
        self, tables: Mapping[str, Any], limit: TimeLimit, *, reuse: bool = False, kept: bool = False
    ) -> Compared | str:
        """Compare on one input. If the second solution fails, there is nothing to compare, only its error."""
        inputs = {**self.others, **tables}
        ours, theirs = answers_of_both(self.first, self.second, inputs, limit, reuse=reuse, kept=kept)
        if theirs.error:
            return "both solutions fail there" if ours.error else "the second solution fails there"
        with limit.counting():
            if ours.error:
                return against_an_error(f"{RAISED} ({ours.error})", self._named(theirs.values), self.pairs)
            return compared_outputs(ours.values, self._named(theirs.values), self.pairs)

    def _named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs of the second solution with the names of columns that are known."""
        named = dict(values)
        for one, other in self.pairs:
            if one in self.names and isinstance(named[other], pd.DataFrame):
                named[other] = flat(named[other], one).rename(columns=dict(self.names[one]))
        return named

    def _small(self) -> Smallest | None:
        try:
            return self._smallest()
        except Exception:  # values that cannot be changed or compared
            return None

    def _smallest(self) -> Smallest | None:
        """The smallest input that was found in time and still shows the first of the differences."""
        if not self._differing or not self.varied.tables:
            return None
        name, tables, places = self._differing[0]
        wanted, limit = places[0], TimeLimit(SEARCH_SECONDS)

        def differs(candidate: Mapping[str, Any]) -> bool:
            nonlocal places
            try:
                found = self._compared(candidate, limit, reuse=True)
            except (SolutionStopped, SandboxError):
                return False  # the time is up: what was found stays
            if isinstance(found, str) or not any(_alike(place, wanted) for place in found.places):
                return False
            places = found.places
            return True

        def has_time() -> bool:
            return not limit.is_over

        candidates = [(label, varied) for label, varied, _ in self._differing]
        candidates = candidates if name else [(name, self.varied.trimmed), *candidates]
        name, tables = next((candidate for candidate in candidates if differs(candidate[1])), (name, tables))
        is_small = all(len(table) <= 2 * ROWS for table in tables.values())
        tables = smallest(tables, differs, TRIALS if is_small else TRIALS_ON_ALL, has_time)
        tables = simplified(tables, differs, has_time)
        return Smallest(name, tables, tuple(self._clean(place.where)[:LONGEST_TEXT] for place in places))

    def _for_user(self, places: Sequence[OutputPlace]) -> tuple[FoundPlace, ...]:
        """Differences as text for the user."""
        return tuple(FoundPlace.model_validate(self._found(place)) for place in places)

    def _open(self, place: OutputPlace) -> OpenPlace:
        lists = {"ones": list(place.ones), "others": list(place.others), "keys": list(place.keys)}
        return OpenPlace.model_validate(self._found(place) | self.redaction.found(lists))

    def _found(self, place: OutputPlace) -> dict[str, Any]:
        fields = {key: value for key, value in asdict(place).items() if key not in ("ones", "others", "keys", "both")}
        return dict(self.redaction.found(fields))

    def _clean(self, text: str) -> str:
        return str(self.redaction.found(text))[:LONGEST_TEXT]


def _raised(place: OutputPlace) -> bool:
    return place.first.startswith(RAISED)


def _alike(one: OutputPlace, other: OutputPlace) -> bool:
    """Whether two differences have the same place and kind: an error, a missing value, or two values."""
    raised = _raised(one), _raised(other)
    if all(raised):  # only a short table is described by its columns
        return one.where.partition(".")[0] == other.where.partition(".")[0]
    named = bool(one.keys) == bool(other.keys)  # rows without key columns are only counted
    return one.where == other.where and raised[0] == raised[1] and one.both == other.both and named


def _why(error: Exception) -> str:
    if isinstance(error, SolutionStopped):
        return str(error)
    return error.what if isinstance(error, SandboxError) else f"they cannot be compared ({type(error).__name__})"


def _type_of(outputs: Sequence[OutputSpec], name: str) -> TypeName:
    return next(spec.whole for spec in outputs if spec.name == name)
