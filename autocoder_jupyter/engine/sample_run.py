"""Runs the function on the real sample: it must return its types, not change its inputs, and be deterministic."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.diagnose import told_by_program
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.equality import equal
from autocoder_jupyter.errors import (
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    SolutionError,
    WrongType,
)
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import CallOutcome, CallSpec, Program
from autocoder_jupyter.types import CheckOutcome, TestFailure

PROGRAM_FAILURES = (SolutionError, WrongType, SandboxTimeout, OutOfMemory, SandboxCrash, OutputRefused)
"""Errors that count as failures of the program, not of the sandbox."""

ON_SAMPLE = "runs on the sample"
UNTOUCHED = "leaves its inputs untouched"
AGREES = "two runs agree, the last one a plain run()"


@dataclass(frozen=True)
class SampleRun:
    """A run of the function on the real sample.

    Args:
        checks: the checks and their outcomes.
        values: the outputs, if it ran.
        digests: content hashes of the outputs.
        worker: id of the worker where it ran.
        error: the error, if it did not run.
    """

    checks: tuple[CheckOutcome, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    worker: str = ""
    error: SandboxError | None = None

    def failures(self, redaction: Redaction) -> tuple[TestFailure, ...]:
        """Failed checks as failures of the function, with redacted messages."""
        if self.error is not None:
            return (told_by_program(ON_SAMPLE, self.error, redaction),)
        return failures_of(self.checks)


async def run_on_sample(
    session: SandboxSession, program: Program, samples: Mapping[str, Any], redaction: Redaction
) -> SampleRun | None:
    """Run the function on the real sample.

    Returns:
        None if a required input has no sample.
    """
    if any(spec.required and spec.name not in samples for spec in program.inputs):
        return None
    try:
        outcome, worker = await session.work(
            lambda worker: (worker.call(program, _arguments(program, samples), CallSpec(watch_inputs=True)), worker.id)
        )
    except PROGRAM_FAILURES as error:
        return SampleRun((CheckOutcome(name=ON_SAMPLE, passed=False, message=redaction.error(error)),), error=error)
    changed = ", ".join(outcome.mutated)
    message = f"The function changes its input {changed} in place; it must work on a copy." if changed else ""
    checks = (
        CheckOutcome(name=ON_SAMPLE, passed=True),
        CheckOutcome(name=UNTOUCHED, passed=not changed, message=message),
    )
    return SampleRun(checks, outcome.values, outcome.digests, worker)


async def run_again(
    session: SandboxSession,
    program: Program,
    samples: Mapping[str, Any],
    first: SampleRun | None,
    redaction: Redaction,
    *,
    other_than: Collection[str],
) -> SampleRun | None:
    """Run the function once more as the user will, in a worker that has not run it, and compare the outputs.

    The call has the same options as `result.run()`, and comes after the tests. Two interpreters have different hash
    seeds and random numbers, so an output that depends on them, or on the order of a set, differs. Numbers may differ
    by the tolerance of `equality`, because sums on several cores do.

    Args:
        session: the sandbox session.
        program: the function.
        samples: its inputs.
        first: the run to compare with.
        redaction: redacts messages.
        other_than: ids of the workers that have run it already.
    """
    if first is None or first.error is not None:
        return first
    try:
        second = await session.work(
            lambda worker: worker.call(program, _arguments(program, samples)),
            other_than=other_than,
            unlike=[first.worker],
        )
    except PROGRAM_FAILURES as error:
        message = f"The second run on the same input failed: {redaction.error(error)}"
    else:
        differing = ", ".join(await call_blocking(lambda: _differing(first, second)))
        message = (
            f"The output {differing} differs between two runs on the same input; nothing may hang on chance, "
            "on the clock or on the order of a set."
            if differing
            else ""
        )
    agrees = CheckOutcome(name=AGREES, passed=not message, message=message)
    return replace(first, checks=(*first.checks, agrees))


def _differing(first: SampleRun, second: CallOutcome) -> list[str]:
    """The outputs that differ. Equal digests save the comparison."""
    other = [name for name, digest in first.digests.items() if second.digests.get(name) != digest]
    return [name for name in other if not equal(first.values[name], second.values.get(name))]


def _arguments(program: Program, samples: Mapping[str, Any]) -> dict[str, Any]:
    return {spec.name: samples[spec.name] for spec in program.inputs if spec.name in samples}


def failures_of(checks: Sequence[CheckOutcome]) -> tuple[TestFailure, ...]:
    """Failed checks as failures of the function."""
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
