"""Which rows of the sample a function used: one more run of an instrumented copy, and what its numbers mean.

The copy runs beside the function whose answer counts. What it notes is made by untrusted code, so it must agree with
what is known: the copy has the same outputs, the tables have the rows of the sample, and each step follows from the one
before it. Otherwise nothing is said. Code that means to deceive can still make up numbers that agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.evidence.assumed_rows import rows_left_out
from autocoder_jupyter.engine.evidence.losses import losses
from autocoder_jupyter.engine.evidence.row_steps import InstrumentedCode, Place, instrumented
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.equality import equal
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import Loss, OutputSpec, RowStep, RowsUsed

FOUND = "autocode_rows"
"""The output that has the notes."""

MOST_ROWS = 2**53
MOST_STEPS = 2_000

INPUT, READ, FILTER, KEYS, GROUP, JOIN, CONCAT, GROW, UNKNOWN = range(9)
"""Kinds of steps, as in `programs.row_counts`."""

_RUNS_CODE = frozenset(("apply", "agg", "aggregate", "pipe", "filter", "transform", "map"))
"""Methods whose functions see parts of a table."""

_JOIN_NUMBERS = 7


@dataclass(frozen=True)
class FollowedRun:
    """What a run of the instrumented copy showed. `is_cut` says whether the time was up."""

    rows: RowsUsed | None = None
    losses: tuple[Loss, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class Spoken:
    """What was said about the function: the texts of the request and the assumptions of the plan.

    Args:
        may_show: masks a text with values of the data; None if they must not be kept.
    """

    request: Sequence[str]
    assumptions: Sequence[str] = ()
    may_show: Callable[[str], str] | None = None


def rows_used(
    worker: Worker, program: Program, inputs: Mapping[str, Any], values: Mapping[str, Any], limit: TimeLimit
) -> RowsUsed | None:
    """Which rows of `inputs` were used; None if that is not known. The outputs must be `values`. Blocks.

    Raises:
        SolutionStopped: the time was up.
    """
    return followed(worker, program, inputs, values, limit).rows


def followed(
    worker: Worker,
    program: Program,
    inputs: Mapping[str, Any],
    values: Mapping[str, Any],
    limit: TimeLimit,
    spoken: Spoken | None = None,
) -> FollowedRun:
    """Which rows of `inputs` were used and, if it is given what was `spoken`, what was lost. Blocks.

    Raises:
        SolutionStopped: the time was up.
    """
    code = instrumented(program.code)
    if code is None:
        return FollowedRun()
    side = SolutionWorker("the function", worker, _instrumented(program, code, with_losses=spoken is not None))
    answer = side.on(inputs, limit)
    if answer.error:
        return FollowedRun()
    with limit.counting():
        compared = [spec.name for spec in program.outputs if KINDS[spec.whole].is_compared]
        if not all(equal(values[name], answer.values[name]) for name in compared):
            return FollowedRun()
        tables, noted = (
            {spec.name: inputs[spec.name] for spec in program.inputs if spec.name in inputs},
            answer.values[FOUND],
        )
        notes = Notes.of(noted, code.places, tables, [values.get(spec.name) for spec in program.outputs])
        found = notes.used([spec.name for spec in program.outputs]) if notes is not None else None
        if spoken is None:
            return FollowedRun(found)
        if found is not None and not found.output and spoken.assumptions:
            assumed = rows_left_out(spoken.assumptions, found.steps, inputs)
            found = found.model_copy(update={"assumptions": assumed})
        said = spoken.request, spoken.assumptions, tables, spoken.may_show
        return FollowedRun(found, losses(noted.get("losses"), code.places, program.code, *said))


def _instrumented(program: Program, code: InstrumentedCode, *, with_losses: bool) -> Program:
    more = program_text("loss_notes").replace("from __future__ import annotations\n", "") if with_losses else ""
    text = program_text(
        "row_counts",
        CODE=code.code,
        TABLES=[spec.name for spec in program.inputs],
        OUTPUTS=len(program.outputs),
        DEFAULTS={spec.name: spec.default for spec in program.inputs if not spec.required},
        LABELS={number: list(place.labels) for number, place in enumerate(code.places) if any(place.labels)},
        CONVERTED=dict(code.converted),
        SKIPS={
            number: [column for column, _ in place.skips] for number, place in enumerate(code.places) if place.skips
        },
    )
    return replace(program, code=f"{text}\n{more}", outputs=(*program.outputs, OutputSpec(name=FOUND, type="dict")))


@dataclass(frozen=True)
class _Step:
    kind: int
    place: int
    parents: tuple[int, ...]
    rows: int
    more: tuple[Any, ...]


class _Disagrees(Exception):
    """The notes do not agree with what is known, or with themselves."""


@dataclass(frozen=True)
class Notes:
    """The notes of one run.

    Args:
        names: the names of the inputs.
        outputs: for each output the step whose rows it has; -1 if that is not known.
        ends: steps whose rows were aggregated.
        counts: steps whose rows were counted.
        loose: places where rows of unknown tables were filtered.
        looped: steps whose rows a loop got.
        skipped: places of aggregations, a column of each, the step whose rows it got, and how many lack a value.
    """

    steps: Sequence[_Step]
    places: Sequence[Place]
    names: Sequence[str]
    outputs: Sequence[int]
    ends: frozenset[int]
    counts: frozenset[int]
    loose: frozenset[int]
    looped: frozenset[int]
    skipped: Sequence[Sequence[int]] = ()

    @classmethod
    def of(
        cls, found: Mapping[str, Any], places: Sequence[Place], tables: Mapping[str, Any], outputs: Sequence[Any]
    ) -> Notes | None:
        """The notes, if they agree with the sample and with the outputs of the function."""
        try:
            steps = _steps(found["steps"], places, tables)
            count = len(steps)
            known = _numbers(found["outputs"], -1, count)
            if len(known) != len(outputs):
                raise _Disagrees
            for step, value in zip(known, outputs, strict=True):
                if step >= 0 and (not isinstance(value, pd.DataFrame | pd.Series) or len(value) != steps[step].rows):
                    raise _Disagrees
            ends, counts, looped = (
                frozenset(_numbers(found[name], -1, count)) for name in ("ends", "counts", "looped")
            )
            loose = frozenset(_numbers(found["loose"], 0, len(places)))
            skipped = [_numbers(entry, 0, MOST_ROWS) for entry in found["skipped"]]
            for place, column, step, lacking in skipped:
                _numbers([place], 0, len(places))
                _numbers([step], 0, count)
                _numbers([column], 0, max(1, len(places[place].skips)))
                _numbers([lacking], 0, steps[step].rows + 1)
        except (_Disagrees, KeyError, TypeError, ValueError):
            return None
        return cls(steps, places, list(tables), known, ends, counts, loose, looped, skipped)

    def used(self, outputs: Sequence[str]) -> RowsUsed | None:
        """What they mean."""
        for name, step in zip(outputs, self.outputs, strict=True):
            if step < 0 or (path := self._path(step)) is None:
                continue
            paths = [self._path(one) if one >= 0 else None for one in self.outputs]
            ends = {self._rows_of(one) for one in paths if one is not None}
            ends |= {number for number in self._ended | self.counts | self.looped if self._is_of_rows(number)}
            groups = [self._place(one).method for one in path if self.steps[one].kind == GROUP]
            told = {number for one in paths for number in one or ()}
            is_known = not (self.loose and not _RUNS_CODE.isdisjoint(groups))
            is_known &= not groups or self._changes(path[0]) <= told  # other columns may be of other rows
            is_unclear = bool(self.loose) or any(
                one is None for one, of in zip(paths, self.outputs, strict=True) if of >= 0
            )
            others = is_unclear or ends != {self._rows_of(path)} or not self._changes(path[0]) <= set(path)
            return self._told(path, name if len(outputs) > 1 and others else "", is_known)
        return self._without_outputs()

    def _without_outputs(self) -> RowsUsed | None:
        """What they mean if no output has rows that are known: the rows that are left in the end."""
        starts = [number for number, step in enumerate(self.steps) if step.kind in (INPUT, READ)]
        if not starts:
            return None
        start = max(starts, key=lambda number: self.steps[number].rows)
        changes = self._changes(start)
        parents = {parent for number in changes for parent in self._row_parents(number)}
        leaf, *others = list(changes - parents) or [start]
        path = self._path(leaf)
        if path is None or others:  # rows that went several ways
            return None
        is_known = (
            leaf in self._ended | self.counts
            and (self._ended | self.counts).isdisjoint(path[:-1])
            and not self.loose
            and not any(number < 0 or self._is_of_rows(number) for number in self.looped)
        )
        return self._told(path, "", is_known)

    @property
    def _ended(self) -> frozenset[int]:
        """The steps whose rows were aggregated. Keys of which none is missing have all rows of the step before."""
        found = set[int]()
        for number in self.ends:
            if number >= 0:
                found.add(self.steps[number].parents[0] if self._is_whole(number) else number)
        return frozenset(found)

    def _changes(self, start: int) -> set[int]:
        """The steps after one that change its rows, before rows become groups."""
        reached, found = {start}, set[int]()
        for number, step in enumerate(self.steps):
            if step.kind == GROUP or not reached.intersection(self._row_parents(number)):
                continue
            if step.kind == KEYS:
                if number in self.ends and step.rows != self.steps[step.parents[0]].rows:
                    found.add(number)
                continue
            reached.add(number)
            found.add(number)
        return found

    def _rows_of(self, path: Sequence[int]) -> int:
        """The last step of a path that leaves rows out, before rows become groups."""
        rows = [number for number in path if self._is_of_rows(number)]
        return rows[-2] if len(rows) > 1 and self._is_whole(rows[-1]) else rows[-1]

    def _is_whole(self, number: int) -> bool:
        """Whether a step has the keys of all rows."""
        step = self.steps[number]
        return step.kind == KEYS and step.rows == self.steps[step.parents[0]].rows

    def _is_of_rows(self, number: int) -> bool:
        """Whether a step has rows, and not groups. Those of no step are rows."""
        reached = {number}
        for one in range(number, -1, -1):
            if one in reached:
                if self.steps[one].kind == GROUP:
                    return False
                reached.update(self.steps[one].parents)
        return True

    def _path(self, end: int) -> list[int] | None:
        """The steps that led to one, in their order; None if the same rows came in on several ways, or from nowhere."""
        wanted, path = [end], list[int]()
        for number in range(end, -1, -1):
            if number in wanted:
                if wanted.count(number) > 1:
                    return None
                parents = self._row_parents(number)
                if not parents and self.steps[number].kind not in (INPUT, READ):
                    return None
                path.append(number)
                wanted.extend(parents)
        return path[::-1]

    def _row_parents(self, number: int) -> tuple[int, ...]:
        """The steps whose rows become those of a step; of a join, the table that it keeps, or the left one."""
        step = self.steps[number]
        if step.kind != JOIN:
            return step.parents
        side = step.parents[self._kept_side(step)]
        return (side,) if side >= 0 else ()

    def _kept_side(self, step: _Step) -> int:
        """The table whose rows become those of a join: 0 for the left one, 1 for the right one."""
        left, matched, kept, right, other_matched, other_kept, _ = step.more
        if kept == matched and other_kept == other_matched:  # an inner join
            return int(step.rows > kept and step.rows == other_kept)
        return int(kept != left and other_kept == right)

    def _place(self, number: int) -> Place:
        return self.places[self.steps[number].place]

    def _name(self, number: int) -> str:
        """The name of the input whose rows a step has; "" if it is not one alone."""
        while number >= 0 and self.steps[number].kind not in (INPUT, READ):
            parents = self._row_parents(number)
            if len(parents) != 1:
                return ""
            number = parents[0]
        return self.names[self.steps[number].place] if number >= 0 and self.steps[number].kind == INPUT else ""

    # Words

    def _told(self, path: Sequence[int], output: str, is_known: bool) -> RowsUsed | None:
        starts = [number for number in path if self.steps[number].kind in (INPUT, READ)]
        groups = next((number for number in path if self.steps[number].kind == GROUP), None)
        rows = path if groups is None else path[: path.index(groups)]
        told = [one for number in rows for one in (*self._of_other_table(number), *self._words(number))]
        later = [one for number in path[len(rows) + 1 :] for one in self._words(number, of_groups=True)]
        is_known = is_known and not any(self.steps[number].kind == UNKNOWN for number in rows)
        changed = [number for number in rows if self.steps[number].kind not in (INPUT, READ)]
        if not is_known and not told:
            return None
        return RowsUsed(
            table=_and([name for number in starts if (name := self._name(number))]) if len(self.names) > 1 else "",
            before=sum(self.steps[number].rows for number in starts),
            used=self.steps[rows[-1]].rows,
            after_line=0 if is_known or not changed else self._place(changed[-1]).line,
            output=output,
            steps=(*told, *later, *(self._lacking(rows) if is_known else ())),
        )

    def _lacking(self, path: Sequence[int]) -> Iterator[RowStep]:
        """The rows that are used, but for a value that they lack."""
        said = set[str]()
        for place, number, step, count in self.skipped:
            skips = self.places[place].skips
            of = self.steps[step].parents[0] if self._is_whole(step) else step
            if not count or number >= len(skips) or self._rows_of(path) != of:
                continue
            column, method = skips[number]
            rows = f"{count:,} row{'' if count == 1 else 's'} without {column} do{'es' if count == 1 else ''}"
            reason = f"{rows} not count in the {method}"
            if reason not in said:
                said.add(reason)
                used = self.steps[path[-1]].rows
                yield RowStep(line=self.places[place].line, before=used, after=used, reason=reason)

    def _of_other_table(self, number: int) -> Iterator[RowStep]:
        """The steps of the table that is joined to that of a step."""
        step = self.steps[number]
        if step.kind == JOIN:
            side = self._kept_side(step)
            other = step.parents[1 - side]
            if other >= 0 and self._name(other) == self._name(step.parents[side]):
                return  # of rows of the same input it would not be clear which of them are meant
            path = self._path(other) if other >= 0 else None
            is_of_groups = False
            for one in path or ():
                is_of_groups = is_of_groups or self.steps[one].kind == GROUP
                yield from self._words(one, of_groups=is_of_groups)

    def _words(self, number: int, *, of_groups: bool = False) -> Iterator[RowStep]:
        step = self.steps[number]
        if step.kind in (INPUT, READ, CONCAT, GROUP):
            return
        place, parents = self._place(number), self._row_parents(number)
        before = sum(self.steps[parent].rows for parent in parents)
        table = self._name(number) if len(self.names) > 1 else ""
        plain = RowStep(line=place.line, table=table, before=before, after=step.rows, of_groups=of_groups)
        if step.kind in (FILTER, KEYS):
            yield from self._dropped(step, plain)
        elif step.kind == JOIN:
            yield from self._joined(number, plain)
        elif step.kind == GROW and step.rows == before:
            return
        elif step.kind == GROW:
            reason = f"{place.method} makes {before:,} rows into {step.rows:,}" if step.rows >= before else ""
            yield plain.model_copy(update={"reason": reason})
        else:
            yield plain

    def _dropped(self, step: _Step, plain: RowStep) -> Iterator[RowStep]:
        """One step for each reason."""
        left = plain.before
        by_value = all(self.places[entry[0]].by_value for entry in step.more or [(step.place,)])
        reasons = list(self._reasons(step)) if step.more else [(plain.before - plain.after, self._reason_of(step))]
        for count, reason in reasons:
            if count:
                update = {"before": left, "after": left - count, "reason": reason, "by_value": by_value}
                yield plain.model_copy(update=update)
                left -= count

    def _reason_of(self, step: _Step) -> str:
        place = self.places[step.place]
        return place.parts[0] if len(place.parts) == 1 else f"left out in line {place.line}"

    def _reasons(self, step: _Step) -> Iterator[tuple[int, str]]:
        for of, part, dropped, unreadable in step.more:
            reason = self.places[of].parts[part]
            if unreadable:
                column = reason.removeprefix("where ").removesuffix(" is missing")
                yield unreadable, f"with an unreadable {column}"
            yield dropped - unreadable, reason

    def _joined(self, number: int, plain: RowStep) -> Iterator[RowStep]:
        """What a join leaves out, multiplies and adds, and which rows of the other table match nothing."""
        step, place = self.steps[number], self._place(number)
        side = self._kept_side(step)
        (rows, matched, kept), (others, other_matched, other_kept) = (
            step.more[3 * one : 3 * one + 3] for one in (side, 1 - side)
        )
        ours, theirs = self._names_of(step, place, side)
        left = plain.before
        if rows > kept:
            reason = f"that match no row of {theirs}"
            by_value = place.by_value and self._is_by_value(step.parents[1 - side])
            update = {"before": left, "after": left - (rows - kept), "reason": reason, "by_value": by_value}
            yield plain.model_copy(update=update)
            left = kept
        added = other_kept - other_matched
        if added:
            reason = f"{added:,} of {others:,} rows of {theirs} are added, which match no row of {ours}"
            yield plain.model_copy(update={"before": left, "after": left + added, "reason": reason})
            left += added
        if step.rows > left:
            reason = f"{theirs} matches several times and makes {left:,} rows into {step.rows:,}"
            yield plain.model_copy(update={"before": left, "after": step.rows, "reason": reason})
        kept_plain = plain.model_copy(update={"before": step.rows, "after": step.rows})
        if rows == kept and matched < rows:
            words = f"{ours}: {rows - matched:,} of {rows:,} rows match no row of {theirs}"
            yield kept_plain.model_copy(update={"reason": words})
        if not added and other_matched < others:
            words = f"{theirs}: {others - other_matched:,} of {others:,} rows match no row of {ours}"
            yield kept_plain.model_copy(update={"reason": words})

    def _is_by_value(self, number: int) -> bool:
        """Whether a table lacks only rows whose own values decided."""
        path = self._path(number) if number >= 0 else None
        return path is not None and all(
            self.steps[one].kind in (INPUT, READ, GROUP) or self._place(one).by_value for one in path
        )

    def _names_of(self, step: _Step, place: Place, side: int) -> tuple[str, str]:
        written = (*place.tables, "", "")[:2]
        found = [self._name(parent) or name for parent, name in zip(step.parents, written, strict=True)]
        if found[0] == found[1]:
            found[1 - side] = written[1 - side] if written[0] != written[1] else ""
        return found[side] or "the table", found[1 - side] or "the other table"


# Reading


def _steps(found: Any, places: Sequence[Place], tables: Mapping[str, Any]) -> list[_Step]:
    """The steps, in which each follows from those before it."""
    if not isinstance(found, list) or len(found) > MOST_STEPS:
        raise _Disagrees
    steps = list[_Step]()
    names = list(tables)
    for kind, place, parents, rows, more in found:
        _numbers([kind], 0, UNKNOWN + 1)
        _numbers([rows], 0, MOST_ROWS)
        _numbers([place], 0, len(names) if kind == INPUT else len(places))
        _numbers(parents, -1, len(steps))
        step = _Step(kind, place, tuple(parents), rows, tuple(more))
        if kind == INPUT and len(tables[names[place]]) != rows:
            raise _Disagrees
        steps.append(_checked(step, [steps[parent].rows for parent in parents if parent >= 0], places))
    return steps


def _checked(step: _Step, before: Sequence[int], places: Sequence[Place]) -> _Step:
    """The step, if its numbers are possible."""
    more = step.more
    if step.kind in (INPUT, READ):
        is_possible = not step.parents
    elif step.kind in (FILTER, KEYS):
        counts = [_numbers(entry, 0, MOST_ROWS) for entry in more]
        for of, part, dropped, unreadable in counts:
            _numbers([of], 0, len(places))
            _numbers([part], 0, len(places[of].parts))
            _numbers([unreadable], 0, dropped + 1)
        gone = before[0] - step.rows if len(before) == len(step.parents) == 1 else -1
        is_possible = gone >= 0 and (not more or sum(entry[2] for entry in counts) == gone)
        step = replace(step, more=tuple(map(tuple, counts)))
    elif step.kind == JOIN:
        numbers = _numbers(list(more), 0, MOST_ROWS)
        sides = [(numbers[0:3], step.parents[0]), (numbers[3:6], step.parents[1])]
        is_possible = len(numbers) == _JOIN_NUMBERS and len(step.parents) == 2 and max(step.parents) >= 0
        is_possible &= all(rows >= kept >= matched for (rows, matched, kept), _ in sides)
        is_possible &= before == [side[0] for side, parent in sides if parent >= 0]
    elif step.kind == CONCAT:
        is_possible = len(before) == len(step.parents) and sum(before) == step.rows
    elif step.kind == UNKNOWN:
        is_possible = len(before) == len(step.parents)
    else:
        is_possible = len(before) == len(step.parents) == 1
    if not is_possible:
        raise _Disagrees
    return step


def _numbers(found: Any, least: int, end: int) -> list[int]:
    """A list of whole numbers from `least` to before `end`."""
    if not isinstance(found, list) or not all(type(one) is int and least <= one < end for one in found):
        raise _Disagrees
    return found


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
