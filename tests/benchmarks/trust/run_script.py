"""Runs tasks through the real loop and the real sandbox, and says what each layer made of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from autocoder_jupyter.engine.evidence.comparison import SMALL_PART
from autocoder_jupyter.engine.evidence.examiner import NO_TEST_COVERS
from autocoder_jupyter.run.events import Event, EvidenceGathered
from autocoder_jupyter.types import Report
from autocoder_jupyter.types.evidence import BEYOND
from tests.benchmarks.trust.task import Change, Task
from tests.benchmarks.trust.words import words
from tests.runner import Runner

Tests = Literal["types", "weak", "derived", "strong"]
"""How good the tests are: of types alone; one careless test; the same, and those that are worked out when the loop asks
for more; all of a careful tester. The first two testers work out nothing when they are asked for more."""

LAYERS = (
    "tests",
    "run",
    "outputs",
    "losses",
    "further",
    "relations",
    "depends",
    "second",
    "parts",
    "larger",
    MARKED := "beyond",
    CHANGES := "changes",
)
"""What can speak against a function: a test that fails; the run on the sample; an output that says nothing; a loss of
which nothing speaks; a further test that fails; a change of the data that matters; a dependence on the clock, chance or
the process; the second solution on the sample and its variations, on small parts, and on the sample several times as
large; and on data beyond the profile, which is a mark and no doubt. The last one speaks of the tests and not of the
function: they notice too few changes, there is none to notice, or a condition takes a branch that no test covers."""

OUTSIDE = "if "
"""The start of the words for a variation that the data do not allow. A difference there is no evidence."""

LARGER = "times as many rows"
"""In the words for the sample several times as large."""


@dataclass(frozen=True)
class Outcome:
    """What one generation made of a function.

    Args:
        accepted: whether it counts as a success.
        seen_by: the layers that found something against it.
        readings: the other readings that are shown.
        tokens: of all questions.
        seconds: of the generation, with a model that answers at once.
        after: the seconds of it after the tests had passed.
        error: why it has no result; "" if it has one.
    """

    accepted: bool
    seen_by: frozenset[str]
    readings: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    after: float = 0.0
    error: str = ""

    @property
    def is_plainly_green(self) -> bool:
        """Whether it is accepted, and nothing is said against it."""
        return self.accepted and not self.seen_by

    @property
    def is_said(self) -> bool:
        """Whether something is said against the function, be it only of data beyond the profile of the sample."""
        return self.is_doubted or MARKED in self.seen_by

    @property
    def is_doubted(self) -> bool:
        """Whether something is said against the function itself, and not only of its tests."""
        return not self.accepted or bool(self.seen_by - {CHANGES, MARKED})


@dataclass(frozen=True)
class ScriptedRun:
    """One generation to run.

    Args:
        task: the task.
        code: the function that the model writes.
        tests: how good its tests are.
        second: the second solution; None if there is none.
        reading: how the second solution reads the request, if otherwise.
        settings: further settings.
    """

    task: Task
    code: Change
    tests: Tests = "weak"
    second: Change | None = None
    reading: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)


async def run_script(produced: ScriptedRun, root: Path) -> Outcome:
    """Run one generation, with one attempt: nothing that a layer finds is mended.

    Args:
        produced: what the model says.
        root: a new folder for the journal.
    """
    task, gathered = produced.task, list[float]()

    def hear(event: Event) -> None:
        if isinstance(event, EvidenceGathered):
            gathered.append(time.monotonic())

    strong = {**task.weak, **task.strong}
    tests = {"types": task.tests_of_types, "weak": task.weak, "derived": task.weak, "strong": strong}[produced.tests]
    derives = produced.tests in ("derived", "strong")
    generated = await Runner(root, "local").generate(
        words(task, produced.code, tests, produced.second, produced.reading, derives=derives),
        prompt=task.request,
        samples=task.sample(),
        outputs=(task.output,),
        settings={
            "second_opinion": "off" if produced.second is None else "on",
            "effort": "normal",
            "cache": "disable",
            "max_iterations": 1,
            **produced.settings,
        },
        hear=hear,
    )
    return outcome(generated.report, time.monotonic() - gathered[0] if gathered else 0.0)


def outcome(report: Report, after: float) -> Outcome:
    """What a report says, and the seconds after its tests had passed."""
    opinion = report.second_opinion
    return Outcome(
        accepted=report.success,
        seen_by=frozenset(layers(report)),
        readings=tuple(reading.line for reading in opinion.readings) if opinion else (),
        tokens=report.total_input_tokens + report.total_output_tokens,
        seconds=report.seconds,
        after=after,
        error=report.error or "",
    )


def layers(report: Report) -> set[str]:
    """The layers that found something against the function of a report."""
    evidence, opinion = report.evidence, report.second_opinion
    strength = evidence.strength
    broken = strength.broken if strength is not None else ()
    untested = any(NO_TEST_COVERS in one.said for one in broken)
    agrees = opinion is not None and opinion.state == "agree"
    everywhere = opinion.differs_on if opinion is not None else ()
    differs_on = [on for on in everywhere if not on.startswith((OUTSIDE, BEYOND))]
    found = {
        "tests": any(test.outcome != "passed" for test in evidence.tests),
        "run": any(not check.passed for check in evidence.checks),
        "outputs": bool(evidence.remarks),
        "losses": any(loss.asks for loss in evidence.losses),
        "further": strength is not None and bool(strength.dropped),
        CHANGES: strength is not None and (strength.is_weak or untested or not (strength.changes or agrees)),
        "relations": any(NO_TEST_COVERS not in one.said for one in broken),
        "depends": strength is not None and any(one.differs for one in strength.dependences),
        "second": any(on != SMALL_PART and LARGER not in on for on in differs_on),
        "parts": SMALL_PART in differs_on,
        "larger": any(LARGER in on for on in differs_on),
        MARKED: any(on.startswith(BEYOND) for on in everywhere),
    }
    return {layer for layer, spoke in found.items() if spoke}
