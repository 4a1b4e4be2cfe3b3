"""The user's own checks: expressions over inputs and outputs that must be true on the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.errors import was_killed
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import PLAIN_CALL, CallSpec, Program, Worker
from autocoder_jupyter.types import INPUT_TYPE_NAMES, CheckOutcome, InputSpec, OutputSpec, TypeName

_KEPT, _TOLD = 2_000, 500
"""Characters of a check's message: those that leave the sandbox to be masked, and those that are shown."""


async def run_checks(
    session: SandboxSession,
    checks: Sequence[str],
    program: Program,
    samples: Mapping[str, Any],
    values: Mapping[str, Any],
    redaction: Redaction,
) -> tuple[CheckOutcome, ...]:
    """Evaluate the user's expressions over inputs and outputs, in the sandbox, because outputs are not trusted.

    A name that is both an input and an output means the output. The model will see the messages; `redaction` decides
    what they may contain.
    """
    if not checks:
        return ()
    return await session.work(lambda worker: checked(worker, checks, program, samples, values, redaction))


def checked(
    worker: Worker,
    checks: Sequence[str],
    program: Program,
    samples: Mapping[str, Any],
    values: Mapping[str, Any],
    redaction: Redaction,
    call: CallSpec = PLAIN_CALL,
) -> tuple[CheckOutcome, ...]:
    """The same in a worker. Blocks."""
    known: dict[str, tuple[TypeName, Any]] = {}
    specs: tuple[InputSpec | OutputSpec, ...] = (*program.inputs, *program.outputs)
    for spec in specs:
        value = {**samples, **values}.get(spec.name)
        if value is None and isinstance(spec, InputSpec) and spec.default is not None:
            value = spec.default_value()
        if spec.type in INPUT_TYPE_NAMES and spec.name.isidentifier() and value is not None:
            known[spec.name] = (spec.type, value)
    checker = Program(
        code=program_text("checker", EXPRESSIONS=list(checks), SHOW_VALUES=redaction.shows_values, LONGEST=_KEPT),
        inputs=tuple(InputSpec(name=name, type=kind) for name, (kind, _) in known.items()),
        outputs=(OutputSpec(name="outcomes", type="list"),),
    )
    arguments = {name: value for name, (_, value) in known.items()}
    try:
        outcome = worker.call(checker, arguments, call)
    except PROGRAM_FAILURES as error:
        if was_killed(error):
            raise
        return tuple(CheckOutcome(name=check, passed=False, message=redaction.error(error)) for check in checks)
    return tuple(
        CheckOutcome(name=check, passed=bool(told["passed"]), message=_message(told, redaction))
        for check, told in zip(checks, outcome.values["outcomes"], strict=True)
    )


def _message(told: Mapping[str, Any], redaction: Redaction) -> str:
    if told["passed"]:
        return ""
    if not redaction.shows_values:
        return "it is not true, or cannot be evaluated"
    return redaction.words(str(told["message"]), _TOLD)
