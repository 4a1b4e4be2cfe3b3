"""The function on the real sample: it runs, keeps its types, leaves its inputs alone, and says the same twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autocoder_jupyter.discretion.words import Discretion
from autocoder_jupyter.engine.diagnose import told_by_program
from autocoder_jupyter.engine.workbench import Workbench
from autocoder_jupyter.errors import (
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    SolutionError,
    WrongType,
)
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program, Worker
from autocoder_jupyter.types import CheckOutcome, TestFailure

PROGRAM_FAILURES = (SolutionError, WrongType, SandboxTimeout, OutOfMemory, SandboxCrash, OutputRefused)
"""What counts as the program's own failure, and not as the sandbox's."""

ON_SAMPLE = "runs on the sample"
UNTOUCHED = "leaves its inputs untouched"
AGREES = "two runs agree"


@dataclass(frozen=True)
class SampleRun:
    """The function on the real sample.

    Args:
        checks: what was looked at, and how it went.
        values: the outputs, when it ran.
        digests: content hashes of the outputs.
        worker: id of the worker where it ran.
        error: what it raised, when it did not run.
    """

    checks: tuple[CheckOutcome, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    worker: str = ""
    error: SandboxError | None = None

    def failures(self, discretion: Discretion) -> tuple[TestFailure, ...]:
        """What does not hold, as the function's faults; with values of the data in their words only on leave."""
        if self.error is not None:
            return (told_by_program(ON_SAMPLE, self.error, discretion),)
        return failures_of(self.checks)


async def run_on_sample(
    bench: Workbench, program: Program, samples: Mapping[str, Any], discretion: Discretion
) -> SampleRun | None:
    """Run the function on the real sample.

    Returns:
        None when a required input has no sample, so that there is nothing to run on.
    """
    if any(spec.required and spec.name not in samples for spec in program.inputs):
        return None
    try:
        outcome, worker = await bench.work(lambda worker: (_call(worker, program, samples, seed=1), worker.id))
    except PROGRAM_FAILURES as error:
        return SampleRun((CheckOutcome(name=ON_SAMPLE, passed=False, message=discretion.error(error)),), error=error)
    changed = ", ".join(outcome.mutated)
    message = f"The function changes its input {changed} in place; it must work on a copy." if changed else ""
    checks = (
        CheckOutcome(name=ON_SAMPLE, passed=True),
        CheckOutcome(name=UNTOUCHED, passed=not changed, message=message),
    )
    return SampleRun(checks, outcome.values, outcome.digests, worker)


async def run_again(
    bench: Workbench, program: Program, samples: Mapping[str, Any], first: SampleRun | None, discretion: Discretion
) -> SampleRun | None:
    """Run it a second time, in another interpreter and with another seed, and compare.

    Two interpreters differ in the hash seed too, so an answer that hangs on the order of a set shows.
    `discretion` decides what may be told of it.
    """
    if first is None or first.error is not None:
        return first
    try:
        second = await bench.work(lambda worker: _call(worker, program, samples, seed=2), other_than=first.worker)
    except PROGRAM_FAILURES as error:
        message = f"The second run on the same input failed: {discretion.error(error)}"
    else:
        differing = ", ".join(name for name, digest in first.digests.items() if second.digests.get(name) != digest)
        message = (
            f"The output {differing} differs between two runs on the same input; nothing may hang on chance, "
            "on the clock or on the order of a set."
            if differing
            else ""
        )
    agrees = CheckOutcome(name=AGREES, passed=not message, message=message)
    return replace(first, checks=(*first.checks, agrees))


def _call(worker: Worker, program: Program, samples: Mapping[str, Any], *, seed: int) -> CallOutcome:
    arguments = {spec.name: samples[spec.name] for spec in program.inputs if spec.name in samples}
    return worker.call(program, arguments, seed=seed, watch_inputs=True)


def failures_of(checks: Sequence[CheckOutcome]) -> tuple[TestFailure, ...]:
    """Failed checks as faults of the function."""
    return tuple(
        TestFailure(
            test_name=check.name,
            error_message=check.message,
            expected_behavior=f"This holds: {check.name}",
            error_type="logic",
        )
        for check in checks
        if not check.passed
    )
