"""The figures of all generations that were run, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from tests.benchmarks.trust.run_script import CHANGES, LAYERS, MARKED, Outcome, ScriptedRun, Tests
from tests.benchmarks.trust.task import Task

Kind = Literal["right", "wrong", "pair", "against", "other", "cheat", "shared", "later"]


FAULTY: frozenset[Kind] = frozenset({"wrong", "cheat", "shared", "later"})
"""The kinds of generations whose function is not right."""


@dataclass(frozen=True)
class Row:
    """A generation to run, and what it is for.

    Args:
        family: of the task.
        kind: `right`: a right function alone; `wrong`: a wrong one; `pair`: two right ones; `against`: a right one and
            a wrong second solution; `other`: a right one and another reading of the request; `cheat`: one that tries
            to look right where it is tested; `shared`: a wrong one, whose mistake the second solution makes too;
            `later`: one that is right on the sample and not on other data, beside a right second solution.
        label: of the solution.
        run_script: the generation.
    """

    family: str
    kind: Kind
    label: str
    run_script: ScriptedRun

    @property
    def task(self) -> Task:
        """Its task."""
        return self.run_script.task

    @property
    def setting(self) -> tuple[Tests, bool]:
        """How good the tests are, and whether there is a second opinion."""
        return self.run_script.tests, self.run_script.second is not None


SETTINGS: Sequence[tuple[Tests, bool]] = (
    ("types", False),
    ("weak", False),
    ("derived", False),
    ("strong", False),
    ("types", True),
    ("weak", True),
    ("strong", True),
)

CHEATED: Sequence[tuple[Tests, bool]] = (("weak", False), ("weak", True), ("strong", True))
"""The settings of functions that cheat."""


def rows_of(family: str, task: Task) -> Iterator[Row]:
    """All generations of a task."""
    for label, right in (("right", task.right), ("same", task.same)):
        for tests in get_args(Tests):
            yield Row(family, "right", label, ScriptedRun(task, right, tests))
    yield Row(family, "pair", "right, same", ScriptedRun(task, task.right, "strong", task.same))
    yield Row(family, "pair", "same, right", ScriptedRun(task, task.same, "strong", task.right))
    for wrong in list(task.wrong.values())[:1]:
        yield Row(family, "against", "right, wrong", ScriptedRun(task, task.right, "strong", wrong))
    for line, change in task.other.items():
        yield Row(family, "other", line, ScriptedRun(task, task.right, "strong", change, line))
    for label in task.shared:
        yield Row(family, "shared", label, ScriptedRun(task, task.wrong[label], "weak", task.wrong[label]))
    for label, change in task.later.items():
        yield Row(family, "later", label, ScriptedRun(task, change, "weak", task.same))
    for label, change in task.cheats.items():
        for tests, with_second in CHEATED:
            yield Row(family, "cheat", label, ScriptedRun(task, change, tests, task.same if with_second else None))
    for label, change in task.wrong.items():
        for tests, with_second in SETTINGS:
            yield Row(family, "wrong", label, ScriptedRun(task, change, tests, task.same if with_second else None))


def settles(row: Row, done: Iterable[tuple[Row, Outcome]]) -> Outcome | None:
    """The outcome that is known without playing: a test that fails alone fails beside a second opinion too."""
    for earlier, outcome in done:
        same = (earlier.task.name, earlier.label, earlier.kind) == (row.task.name, row.label, row.kind)
        if row.kind == "wrong" and same and earlier.setting == (row.setting[0], False) and row.setting[1]:
            return None if outcome.accepted else outcome
    return None


def table(done: Sequence[tuple[Row, Outcome]]) -> str:
    """The figures, and the names of all that did not come out as it should."""
    lines = [f"{len({row.task.name for row, _ in done})} tasks, {len(done)} generations", ""]
    lines += [*_accepted(done), "", *_seen(done), "", *_costs(done)]
    if left := [*_missed(done)]:
        lines += ["", *left]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({round(100 * part / whole)} %)" if whole else "")


def _of(done: Sequence[tuple[Row, Outcome]], kind: Kind) -> list[tuple[Row, Outcome]]:
    return [(row, outcome) for row, outcome in done if row.kind == kind]


def _accepted(done: Sequence[tuple[Row, Outcome]]) -> Iterator[str]:
    right = [outcome for row, outcome in done if row.kind not in FAULTY]
    yield f"right functions accepted         {_share(sum(outcome.accepted for outcome in right), len(right))}"
    for kind, words, count in (
        ("against", "kept beside a wrong second      ", lambda outcome: outcome.accepted),
        ("later", "wrong on later data, and said   ", lambda outcome: outcome.is_said),
        ("other", "another reading is shown        ", lambda outcome: "second" in outcome.seen_by or outcome.readings),
    ):
        found = [outcome for row, outcome in done if row.kind == kind]
        if found:
            yield f"{words} {_share(sum(bool(count(outcome)) for outcome in found), len(found))}"


def _seen(done: Sequence[tuple[Row, Outcome]]) -> Iterator[str]:
    """What each layer says of the wrong functions, and of right ones, alone and beside another right one.

    `doubted`: something is said against the function, which is a false alarm for a right one; `marked`: or its tests
    leave out changes.
    """
    yield f"{'seen by':34}{''.join(f'{layer:>10}' for layer in LAYERS)}  doubted / marked"
    for kind in ("wrong", "right", "pair", "cheat", "shared", "later"):
        for setting in SETTINGS:
            found = [outcome for row, outcome in _of(done, kind) if row.setting == setting]
            if found:
                tests, with_second = setting
                words = f"{kind}, {tests} tests, second {'on' if with_second else 'off'}"
                doubted = _share(sum(one.is_doubted for one in found), len(found))
                by_layer = "".join(f"{sum(layer in outcome.seen_by for outcome in found):>10}" for layer in LAYERS)
                marked = _share(sum(not one.is_plainly_green for one in found), len(found))
                yield f"{words:34}{by_layer}  {doubted} / {marked}"


def _costs(done: Sequence[tuple[Row, Outcome]]) -> Iterator[str]:
    for words, with_second in (("second off", False), ("second on", True)):
        found = [
            outcome
            for row, outcome in done
            if row.kind in ("right", "pair") and row.setting == ("strong", with_second) and outcome.accepted
        ]
        if found:
            tokens = round(median(outcome.tokens for outcome in found))
            whole, after = (_spread([getattr(one, name) for one in found]) for name in ("seconds", "after"))
            yield f"right, {words:12} {tokens:,} tokens, {whole}; after the tests had passed {after}"


def _spread(seconds: Sequence[float]) -> str:
    last = sorted(seconds)[min(len(seconds) - 1, int(0.9 * len(seconds)))]
    return f"{median(seconds):.1f} s (9 of 10 within {last:.1f} s)"


def _missed(done: Sequence[tuple[Row, Outcome]]) -> Iterator[str]:
    for row, outcome in done:
        tests, with_second = row.setting
        where = f"{row.family} / {row.task.name} / {row.label}"
        if (
            row.kind == "wrong"
            and outcome.is_plainly_green
            and row.setting in (("types", False), ("weak", False), ("derived", False), ("strong", True))
        ):
            yield f"green and wrong ({tests} tests, second {'on' if with_second else 'off'}): {where}"
        elif row.kind == "shared" and not outcome.is_doubted:
            yield f"a shared mistake that is not said: {where}"
        elif row.kind == "later" and not outcome.is_said:
            yield f"wrong on later data, and not said: {where}"
        elif row.kind == "cheat" and outcome.is_plainly_green:
            yield f"a cheat that is green ({tests} tests, second {'on' if with_second else 'off'}): {where}"
        elif row.kind not in FAULTY and not outcome.accepted:
            yield f"right and refused: {where}: {outcome.error or sorted(outcome.seen_by)}"
        elif row.kind in ("right", "pair") and outcome.is_doubted:
            yield f"false alarm of {', '.join(sorted(outcome.seen_by - {CHANGES, MARKED}))}: {where}"
        elif row.kind in ("right", "pair") and row.setting[0] == "strong" and CHANGES in outcome.seen_by:
            yield f"right, and its careful tests leave out changes: {where}"
        elif row.kind == "other" and not (outcome.readings or "second" in outcome.seen_by):
            yield f"another reading is not shown: {where}"
