"""More tests, for changes of the function that no test noticed.

The model gets, for each of them, the smallest input on which the change matters: not the code, and no answer of it. A
test that it adds must pass on the verified function, or it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Messages
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.kept_tests import joined, without_tests
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.engine.second_opinion.counterexample import is_complete
from autocoder_jupyter.engine.second_opinion.rehearsal import asserts
from autocoder_jupyter.engine.second_opinion.sides import AT_ONCE, Answer, Side, TrialEnded, answers_of_both
from autocoder_jupyter.engine.second_opinion.smallest import Differs, simplified, smallest
from autocoder_jupyter.engine.second_opinion.telling import may_be_told
from autocoder_jupyter.engine.second_opinion.trial import Smallest, SmallInput
from autocoder_jupyter.engine.second_opinion.variations import Tables
from autocoder_jupyter.engine.strength.mutation import NUMBER, MutationTrial, TriedMutant
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.sandbox.protocol import TestSpec, Worker
from autocoder_jupyter.types import TestOutcome

MOST = 5
"""The maximum number of inputs in the question."""

TRIALS = 80
"""The maximum number of runs for one smallest input."""

SEARCH_SECONDS = 10.0
"""Wall-clock seconds for all inputs."""

PARTS, ROWS = 20, 12
"""How many small parts of the sample are looked at, and how many rows the tables of one may have together, so that it
can be worked out by hand."""

_INSTRUCTIONS = """\
You add tests to those of one Python function, `run`, which somebody else wrote and you do not see. The tests under
<tests_that_stay> are there already and do not change. They let small slips pass: each <input> is a small input on which
a function with such a slip returns something else.

For each input, find the sentence of the request or the assumption of the plan that decides what must come out, work
that out by hand, row by row, and write one test: it calls `run` with the input, or with a clearer one that the same
sentence decides, and asserts what the sentence decides and nothing else. Its docstring is that sentence. Where no
sentence decides, write no test: a wrong expectation does more harm than a missing one.

Answer with the new tests alone, in one ```python block. They are put below the tests that stay, in the same module: use
their imports and helper functions where they fit, and no name that is defined there."""


@dataclass(frozen=True)
class MoreTests:
    """The suite with the tests that were added.

    Args:
        suite: the suite.
        added: ids of new tests that pass on the function.
        dropped: the sentences of those whose assertion fails on it. They were left out.
        broken: the sentences of those that end with another error, and were left out too.
    """

    suite: TestSuite
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    broken: tuple[str, ...]


def survivor_messages(brief: Brief, kept: str, inputs: Sequence[str]) -> Messages:
    """The question. It must never contain the solution."""
    shown = (block("input", source) for source in inputs)
    return brief.question(block("tests_that_stay", kept.strip()), *shown, _INSTRUCTIONS)


async def ask_for_tests(state: GenerationState, trial: MutationTrial) -> MoreTests | None:
    """Ask for tests of the changes that no test noticed; None if there is nothing that may be asked.

    Args:
        state: has the verified function and its tests.
        trial: the changes that were tried.

    Raises:
        UnusableAnswer: the answer has no tests that can stand below the others.
        AutocodeError: the model gave no answer, or the sandbox was lost.
    """
    setup, suite = state.setup, state.suite
    if suite is None:
        return None
    found = await setup.session.work_with_two(lambda tester, callee: smallest_inputs(trial, tester, callee))
    told = [small.source for small in found if is_complete(small, state.brief.plan) and may_be_told(setup, small)]
    if not told:
        return None
    kept = suite.blind or suite
    source = await setup.talk.code("tests", survivor_messages(state.brief, kept.source, told))
    try:
        wider = joined(kept.source, source)
    except (SyntaxError, ValueError) as error:
        raise UnusableAnswer(f"The tests that were added cannot stand below the others: {error}.") from None
    new = [test for test in wider.ids if test not in kept.ids]
    sentences = {test: wider.sentences[test] or test for test in new}
    outcomes = await _outcomes(state, wider, new)
    failing: dict[str, bool] = {}
    for one in (outcome for outcome in outcomes if outcome.outcome != "passed"):
        test = one.id.partition("[")[0]  # of one that is run several times
        failing[test] = failing.get(test, False) or asserts(one)
    if failing:
        wider = joined(without_tests(wider.source, failing), "")
    whole = wider if suite.blind is None else replace(suite, blind=wider)
    return MoreTests(
        whole,
        tuple(test for test in new if test not in failing),
        tuple(sentences[test] for test, is_wrong in failing.items() if is_wrong),
        tuple(sentences[test] for test, is_wrong in failing.items() if not is_wrong),
    )


async def _outcomes(state: GenerationState, suite: TestSuite, new: Sequence[str]) -> Sequence[TestOutcome]:
    """The outcomes of the new tests on the verified function."""
    if not new:
        return ()
    program, spec = state.program(), TestSpec(suite.source, new)
    run = await state.setup.session.work_with_two(lambda tester, callee: tester.test(program, spec, callee=callee))
    return run.outcomes


def smallest_inputs(trial: MutationTrial, tester: Worker, callee: Worker) -> list[SmallInput]:
    """A few rows on which many changes matter, then the smallest inputs on which those matter that no test noticed.

    Each input is given once. The few rows come first, because a function that is wrong in another way than its changes
    is seldom right on them. Blocks.
    """
    deadline, found = time.monotonic() + SEARCH_SECONDS, dict[str, SmallInput]()
    ours = Side("the function", callee, trial.program, trial.known)
    changes = [one for one in trial.found if not one.with_rows]
    parts = _parts(trial, ours, changes, deadline)
    few = _few_rows(trial, parts)
    if few is not None:
        found[few.source] = few
    for number, tried in enumerate(changes):
        if tried.noticed_by:
            continue
        if len(found) == MOST or time.monotonic() >= deadline or not (tester.alive and callee.alive):
            break
        other = Side("a changed function", tester, replace(trial.program, code=tried.mutant.code))
        tables = min((part.tables for part in parts if number in part.matter), key=_rows, default=tried.tables)
        small = _smallest(trial, tables, partial(_differ, trial, ours, other, deadline), deadline)
        if small is not None:
            found.setdefault(small.source, small)
    return list(found.values())


@dataclass(frozen=True)
class _TriedPart:
    """A small part of the sample, and the numbers of the changes that matter on it."""

    tables: Tables
    matter: frozenset[int]


def _parts(trial: MutationTrial, ours: Side, changes: Sequence[TriedMutant], deadline: float) -> list[_TriedPart]:
    """Small parts of the sample, until all changes matter on one, or as far as the time allows."""
    found = list[_TriedPart]()
    if not changes:
        return found
    few = [part for part in trial.varied.parts[:PARTS] if _rows(part) <= ROWS]
    inputs = [(part, {**trial.others, **part}) for part in few]
    numbers = range(len(changes))
    changed = trial.alternatives(ours.worker, [one.mutant for one in changes])
    at_once = max(1, AT_ONCE // len(changes))
    with suppress(TrialEnded):
        ours.get_ready((one for _, one in inputs), deadline)
        for start in range(0, len(inputs), at_once):
            asked = [(part, one, [{**one, NUMBER: n} for n in numbers]) for part, one in inputs[start:][:at_once]]
            changed.get_ready((call for *_, calls in asked for call in calls), deadline)
            for part, one, calls in asked:
                right = ours.on(one, deadline, reuse=True, kept=True)
                others = [changed.on(call, deadline, reuse=True, kept=True) for call in calls]
                matter = frozenset(n for n in numbers if _are_different(trial, right, others[n]))
                found.append(_TriedPart(part, matter))
                if len(matter) == len(changes):
                    return found
    return found


def _few_rows(trial: MutationTrial, parts: Sequence[_TriedPart]) -> SmallInput | None:
    """The part on which the most changes matter; None if none matters on one."""
    for part in sorted(parts, key=lambda part: -len(part.matter)):
        small = SmallInput.of(Smallest("", part.tables), {**trial.others, **trial.varied.tables})
        if part.matter and small is not None:
            return small
    return None


def _rows(tables: Tables) -> int:
    return sum(map(len, tables.values()))


def _smallest(trial: MutationTrial, tables: Tables, differs: Differs, deadline: float) -> SmallInput | None:
    def has_time() -> bool:
        return time.monotonic() < deadline

    tables = smallest(tables, differs, TRIALS, has_time)
    tables = simplified(tables, differs, has_time)
    return SmallInput.of(Smallest("", tables), {**trial.others, **trial.varied.tables})


def _differ(trial: MutationTrial, ours: Side, other: Side, deadline: float, tables: Mapping[str, Any]) -> bool:
    inputs = {**trial.others, **tables}
    try:
        answers = answers_of_both(ours, other, inputs, deadline, reuse=True)
    except TrialEnded:
        return False
    return _are_different(trial, *answers)


def _are_different(trial: MutationTrial, one: Answer, other: Answer) -> bool:
    return not one.error and not other.error and trial.differ(one.values, other.values)
