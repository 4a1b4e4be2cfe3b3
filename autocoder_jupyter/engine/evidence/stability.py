"""Whether the conclusion of a function is stable: what it says of resamples, and of data whose outcome is shuffled.

An alarm must be more than chance: a healthy conclusion would have such counts in one of a hundred runs at most. Where
shuffled data cannot speak against a conclusion, they do not: a total follows from the number of rows, and a mean of all
rows is the same in any order. So the outcome is also mirrored, made constant, and sorted by other columns.
"""

from __future__ import annotations

import builtins
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Literal

import pandas as pd

from autocoder_jupyter.engine.evidence.resamples import CannotBeDrawn, Draws, Tables
from autocoder_jupyter.engine.evidence.solution_worker import KnownAnswers, SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.equality import equal
from autocoder_jupyter.types.evidence import MOST_LABELS, TIME_IS_UP, LabelCount, Stability
from autocoder_jupyter.types.interface import Conclusion, ConclusionKind

RESAMPLES = 100
"""Resamples, and as many shuffled data, if there is time for them."""

FEWEST = 20
"""Results from which on they may be alarming."""

AT_ONCE, BYTES_AT_ONCE = 20, 2**25
"""Inputs that are made at once, and about how many bytes of them."""

_HEALTHY: Mapping[ConclusionKind, float] = {"verdict": 0.7, "ranking": 0.8, "effect": 0.9, "number": 0.8}
"""The share of resamples that agree with the data, from which on a conclusion is healthy. A test with a level of
significance often changes its verdict near that level, although it is right."""

_SHUFFLED_EFFECTS, _SHUFFLED_VERDICTS = 0.1, 0.2
"""The share of shuffled data with as large an effect, or with the same verdict, that may be chance."""

_CHANCE = 0.01
_ONE_SIDED = 0.97
_ENTRIES = 50
_ERRORS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))

_SIZE = re.compile(r"(?<![\w.])[-+]?\d[\d,]*+(?:\.\d++(?:\s?%)?|\s?%)(?![\w.]*\w)")

_SENTENCE = 300
"""Characters of a verdict in words."""

_P_VALUE = re.compile(r"(?:.*_)?p(?:_?val(?:ue)?)?", re.IGNORECASE)

_Result = float | str
Shown = Callable[[str], str]


def stability(
    side: SolutionWorker,
    conclusion: Conclusion,
    inputs: Mapping[str, Any],
    limit: TimeLimit,
    shown: Shown | None = None,
) -> Stability:
    """Whether a conclusion is stable. Blocks.

    Args:
        side: the function.
        conclusion: what it concludes.
        inputs: the values of all inputs.
        limit: of the processor time.
        shown: makes the form of a label that may be recorded; None if no value may be.

    Raises:
        SandboxError: the sandbox was lost for a reason outside of the program.
    """
    try:
        return _Trial(side, conclusion, inputs, limit).found(shown)
    except (CannotBeDrawn, SolutionStopped) as error:
        return Stability(conclusion=conclusion, why=str(error))


@dataclass
class _Results:
    """The results on some inputs, the errors of the others, and whether the whole output was that on the data."""

    given: list[_Result] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    is_same_output: bool = True

    @property
    def count(self) -> int:
        return len(self.given) + len(self.errors)


class _Trial:
    def __init__(
        self, side: SolutionWorker, conclusion: Conclusion, inputs: Mapping[str, Any], limit: TimeLimit
    ) -> None:
        self._side = side
        self._limit = limit
        self._stopped = ""
        self._kind: ConclusionKind = conclusion.kind
        self._output = conclusion.output
        answer = side.on(inputs, limit)
        if answer.error:
            raise CannotBeDrawn(f"the function raises an error on these data ({_error_name(answer.error)})")
        if not equal(answer.values[self._output], side.on(inputs, limit).values.get(self._output)):
            raise CannotBeDrawn("the function gives other results for the same data")
        self._value = answer.values[self._output]
        found = _result(self._kind, self._value)
        if found is None or (self._kind in ("effect", "number") and not found):
            raise CannotBeDrawn(f"{self._output} has no {self._kind} that could change")
        if isinstance(found, float) and 0 <= found <= 1 and _P_VALUE.fullmatch(self._output):
            raise CannotBeDrawn(f"{self._output} is a p-value, which is another one in each sample; name the effect")
        self._base = found
        tables = {name: one for name, one in inputs.items() if isinstance(one, pd.DataFrame | pd.Series)}
        self._others = {name: one for name, one in inputs.items() if name not in tables}
        # The name of one row, such as the last one, is missing in a third of the resamples.
        named = [self._value] if self._kind == "verdict" and isinstance(self._value, str) else []
        entries = _entries(self._value) if self._kind == "ranking" else named
        with limit.counting():
            self._draws = Draws.of(conclusion, tables, entries)
        size = int(self._draws.frame.memory_usage(index=False).sum()) or 1
        self._at_once = max(1, min(AT_ONCE, BYTES_AT_ONCE // size))

    def found(self, shown: Shown | None) -> Stability:
        """What was found."""
        draws, resampled, shuffled, freely = self._draws, _Results(), _Results(), False
        self._add(resampled, map(draws.resampled, range(FEWEST)))
        if draws.outcome is not None:
            self._add(shuffled, map(draws.shuffled, range(FEWEST)))
            if draws.groups is not None and shuffled.given and all(map(self._is_same, shuffled.given)):
                freely, shuffled = True, _Results()  # the groups change their outcomes, and the result cannot notice
                self._add(shuffled, (draws.shuffled(number, freely=True) for number in range(FEWEST)))
        needs, is_two_sided = self._needs(shuffled) if shuffled.given else ("", False)
        for number in range(FEWEST, RESAMPLES, self._at_once):
            numbers = range(number, min(number + self._at_once, RESAMPLES))
            self._add(resampled, map(draws.resampled, numbers))
            if draws.outcome is not None:
                self._add(shuffled, (draws.shuffled(one, freely=freely) for one in numbers))
        if not resampled.count:
            raise CannotBeDrawn(self._stopped or TIME_IS_UP)
        why = [self._stopped or TIME_IS_UP] if resampled.count < FEWEST else []
        if needs in _WHY:
            shuffled = _Results()
            why.append(_WHY[needs])
        if self._is_shifted(resampled.given):
            resampled = _Results()
            why.append("rows that come twice shift the result, so resamples say nothing")
        same, alike = sum(map(self._agrees, resampled.given)), sum(map(self._is_as_large, shuffled.given))
        record = Stability(
            conclusion=draws.conclusion,
            drawn=draws.drawn,
            within=draws.drawn == "rows of each group" and not freely,
            resamples=len(resampled.given),
            same=same,
            shuffled=len(shuffled.given),
            alike=alike,
            failed=len(resampled.errors) + len(shuffled.errors),
            error=_error_name(next(iter((*resampled.errors, *shuffled.errors)), "")),
            alarms=tuple(self._alarms(resampled, same, shuffled, alike, needs, is_two_sided)),
            why="; ".join(why),
        )
        return record if shown is None else self._with_results(record, resampled, shuffled, shown)

    def _add(self, results: _Results, many: Iterable[Tables]) -> None:
        """Run the function on some tables, as far as there is time."""
        many = iter(many)
        while not self._limit.is_over:
            with self._limit.counting():
                tables = list(islice(many, self._at_once))
            if not tables:
                return
            # With answers of its own, which are forgotten with the tables.
            side = replace(self._side, known=KnownAnswers())
            inputs = [{**self._others, **one} for one in tables]
            side.get_ready(inputs, self._limit)
            for one in inputs:
                try:
                    answer = side.on(one, self._limit, reuse=True, kept=True)
                except SolutionStopped as error:
                    self._stopped = str(error)
                    return
                value = answer.values.get(self._output)
                given = None if answer.error else _result(self._kind, value)
                results.is_same_output = results.is_same_output and equal(self._value, value)
                if given is None:
                    results.errors.append(answer.error)
                else:
                    results.given.append(given)

    def _needs(self, shuffled: _Results) -> tuple[str, bool]:
        """What of the outcome the result needs, and whether it is the same for a mirrored outcome."""
        draws = self._draws
        constant, mirrored = self._one(draws.constant()), self._one(draws.mirrored())
        is_two_sided = mirrored is not None and self._is_same(mirrored)
        if all(map(self._is_same, shuffled.given)):
            others = _Results()
            self._add(others, chain(filter(None, (draws.constant(), draws.mirrored())), draws.otherwise()))
            is_nothing = others.count > 0 and others.is_same_output and shuffled.is_same_output
            return ("nothing" if is_nothing and not self._limit.is_over else "values"), is_two_sided
        if constant is not None and self._is_near(constant):
            return "counts", is_two_sided
        return "arrangement", is_two_sided

    def _one(self, tables: Tables | None) -> _Result | None:
        results = _Results()
        self._add(results, (tables,) if tables is not None else ())
        return results.given[0] if results.given else None

    def _is_same(self, other: _Result) -> bool:
        if isinstance(self._base, str) or isinstance(other, str):
            return self._base == other
        return math.isclose(self._base, other, rel_tol=1e-9)

    def _agrees(self, other: _Result) -> bool:
        """Whether the result of a resample says the same as that of the data."""
        if isinstance(self._base, str) or isinstance(other, str):
            return self._base == other
        if self._kind == "effect":
            return self._base * other > 0
        return abs(other - self._base) <= abs(self._base) / 2

    def _is_as_large(self, other: _Result) -> bool:
        """Whether the result of shuffled data is as affirmative."""
        if isinstance(self._base, str) or isinstance(other, str):
            return self._base == other
        return math.copysign(1, self._base) * other >= abs(self._base) * (1 - 1e-9)

    def _is_near(self, other: _Result) -> bool:
        """Whether the result needs no more than the number of rows, as that of the constant outcome shows."""
        if isinstance(self._base, str) or isinstance(other, str):
            return self._base == other
        return math.copysign(1, self._base) * other >= abs(self._base) / 2

    def _is_shifted(self, results: Sequence[_Result]) -> bool:
        """Whether nearly all resamples lie on one side of the data, as the number of distinct values does."""
        base = self._base
        if isinstance(base, str) or len(results) < FEWEST:
            return False
        below = sum(not isinstance(one, str) and one < base * (1 - math.copysign(1e-9, base)) for one in results)
        above = sum(not isinstance(one, str) and one > base * (1 + math.copysign(1e-9, base)) for one in results)
        return max(below, above) >= _ONE_SIDED * len(results)

    def _alarms(
        self, resampled: _Results, same: int, shuffled: _Results, alike: int, needs: str, is_two_sided: bool
    ) -> Iterator[Literal["resampled", "shuffled", "outcome"]]:
        count, tried = len(resampled.given), len(shuffled.given)
        if count >= max(FEWEST, len(resampled.errors)) and at_most(same, count, _HEALTHY[self._kind]) < _CHANCE:
            yield "resampled"
        if tried < max(FEWEST, len(shuffled.errors)):
            return
        if needs == "nothing":
            yield "outcome"
        elif needs == "arrangement":
            is_verdict = self._kind == "verdict" and self._base == str(True) and is_two_sided
            share = _SHUFFLED_EFFECTS if self._kind == "effect" else _SHUFFLED_VERDICTS if is_verdict else 1.0
            if at_most(tried - alike, tried, 1 - share) < _CHANCE:
                yield "shuffled"

    def _with_results(self, record: Stability, resampled: _Results, shuffled: _Results, shown: Shown) -> Stability:
        """The record with what may be shown of the results."""
        if not isinstance(self._base, str):
            numbers = {"numbers": tuple(resampled.given), "shuffled_numbers": tuple(shuffled.given)}
            return record.model_copy(update={"result": f"{self._base:.4g}", **numbers})
        drawn, mixed = Counter(map(str, resampled.given)), Counter(map(str, shuffled.given))
        labels = [self._base, *(one for one, _ in (drawn + mixed).most_common() if one != self._base)][:MOST_LABELS]
        tallies = tuple(LabelCount(label=shown(one), resampled=drawn[one], shuffled=mixed[one]) for one in labels)
        return record.model_copy(update={"result": LabelCount(label=shown(self._base)).label, "tallies": tallies})


_WHY = {
    "counts": "a constant outcome gives this result too, so shuffled data say nothing",
    "values": "the result is the same in any order of the outcome, so shuffled data say nothing",
}


def at_most(count: int, of: int, share: float) -> float:
    """The chance of so few of some independent events, or of fewer, if each has this chance."""
    return sum(math.comb(of, one) * share**one * (1 - share) ** (of - one) for one in range(count + 1))


def _error_name(error: str) -> str:
    name = error.partition(":")[0]
    return name if name in _ERRORS else "an error of its own" if error else ""


def _result(kind: ConclusionKind, value: Any) -> _Result | None:
    """What an output says; None if it says nothing."""
    if kind in ("effect", "number"):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return number if math.isfinite(number) else None
    if kind == "ranking":
        return next(iter(_entries(value)), None)
    if value is None:
        return None
    text = str(value)
    # A size within a sentence, as in "B wins by 3.2 %", is another one in each sample.
    return text if len(text) > _SENTENCE or _SIZE.fullmatch(text) else _SIZE.sub("…", text)


def _entries(value: Any) -> Sequence[str]:
    """The entries of a ranking, the first one first."""
    if isinstance(value, pd.Series) and value.dtype.kind not in "iufc" and isinstance(value.index, pd.RangeIndex):
        value = value.to_frame()  # of names
    if isinstance(value, pd.DataFrame):
        named = [place for place, dtype in enumerate(value.dtypes) if dtype.kind not in "fc"]
        has_index = not isinstance(value.index, pd.RangeIndex)
        first = value.iloc[:_ENTRIES]
        return [str(one) for one in (first.index if has_index or not named else first.iloc[:, named[0]])]
    if isinstance(value, pd.Series):
        return [str(one) for one in value.index[:_ENTRIES]]
    if isinstance(value, dict):
        if all(isinstance(one, int | float) for one in value.values()):
            return [str(one) for one in sorted(value, key=lambda name: -value[name])[:_ENTRIES]]
        return [str(one) for one in value][:_ENTRIES]
    if isinstance(value, list | tuple):
        return [str(one) for one in value[:_ENTRIES]]
    return [str(value)] if value is not None else []
