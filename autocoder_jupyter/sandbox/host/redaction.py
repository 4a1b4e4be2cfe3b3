"""Redact the values of secrets in the output and the errors of a program, which may print or raise them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autocoder_jupyter.errors import AutocodeError, SandboxError
from autocoder_jupyter.redaction.messages import redact, without_secrets
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.protocol import (
    PLAIN_CALL,
    Callee,
    CallOutcome,
    CallSpec,
    CommandOutcome,
    Program,
    TestRun,
    TestSpec,
    Worker,
)
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.types import TestOutcome


class RedactingWorker:
    """A `Worker` whose texts have no secrets: output, errors and reports. The values of outputs are not redacted.

    So its texts may be written to the journal and sent to the model.

    Args:
        secrets: the values to redact, by the name of their environment variable.
    """

    def __init__(self, worker: Worker, secrets: Mapping[str, str]) -> None:
        self.id = worker.id
        self.cores = worker.cores
        self._worker = worker
        self._secrets = secrets

    @property
    def processor_seconds(self) -> float:
        """See `Worker`."""
        return self._worker.processor_seconds

    def call(self, program: Program, arguments: Mapping[str, Any], spec: CallSpec = PLAIN_CALL) -> CallOutcome:
        """See `Worker.call`."""
        with self._redacting_errors():
            return self._of_call(self._worker.call(program, arguments, spec))

    def batch(
        self,
        program: Program,
        calls: Sequence[Packed],
        seconds: float,
        *,
        seed: int | None = None,
        partly: bool = False,
        processor_seconds: float | None = None,
    ) -> Sequence[CallOutcome | SandboxError]:
        """See `Worker.batch`."""
        with self._redacting_errors():
            found = self._worker.batch(
                program, calls, seconds, seed=seed, partly=partly, processor_seconds=processor_seconds
            )
        for each in found:
            if isinstance(each, SandboxError):
                redact(each, self._secrets)
        return [each if isinstance(each, SandboxError) else self._of_call(each) for each in found]

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        """See `Worker.answer`. The answer is not redacted: it goes to tests, and `test` redacts their texts."""
        return self._worker.answer(program, packed, spec)

    def test(self, program: Program, tests: TestSpec, *, callee: Callee | None) -> TestRun:
        """See `Worker.test`."""
        with self._redacting_errors():
            run = self._worker.test(program, self._redacting(tests), callee=callee)
        return dataclasses.replace(
            run,
            outcomes=tuple(self._outcome(outcome, "message") for outcome in run.outcomes),
            output=self._redacted(run.output),
            collection_error=self._redacted(run.collection_error),
        )

    def command(self, command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
        """See `Worker.command`."""
        with self._redacting_errors():
            outcome = self._worker.command(command, files, seconds=seconds)
        return dataclasses.replace(outcome, output=self._redacted(outcome.output))

    def kill(self) -> None:
        """See `Worker.kill`."""
        self._worker.kill()

    @property
    def alive(self) -> bool:
        """See `Worker.alive`."""
        return self._worker.alive

    def responds(self) -> bool:
        """See `Worker.responds`."""
        return self._worker.responds()

    def rest(self) -> None:
        """See `Worker.rest`."""
        self._worker.rest()

    def _redacting(self, tests: TestSpec) -> TestSpec:
        # The id of a reported case has its parameters. The ids in the run are those of the source and have no secrets.
        on_report = tests.on_report
        report = on_report and (lambda case: on_report(self._outcome(case, "id", "message")))
        return dataclasses.replace(tests, on_report=report)

    def _of_call(self, outcome: CallOutcome) -> CallOutcome:
        return dataclasses.replace(
            outcome, stdout=self._redacted(outcome.stdout), stderr=self._redacted(outcome.stderr)
        )

    def _redacted(self, text: str) -> str:
        return without_secrets(text, self._secrets)

    def _outcome(self, outcome: TestOutcome, *fields: str) -> TestOutcome:
        return outcome.model_copy(update={field: self._redacted(getattr(outcome, field)) for field in fields})

    @contextmanager
    def _redacting_errors(self) -> Iterator[None]:
        try:
            yield
        except AutocodeError as error:
            redact(error, self._secrets)
            raise
