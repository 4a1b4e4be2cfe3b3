"""The output of a worker contains no secret, whatever the program does with it."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import SolutionError
from autocoder_jupyter.redaction.secrets import redact, without_secrets
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program, TestRun, TestSpec, Worker
from autocoder_jupyter.types import OutputSpec, TestOutcome

SECRETS = {"TOKEN": "correct-horse", "LONG_TOKEN": "correct-horse-battery", "EMPTY": ""}
PROGRAM = Program("", (), (OutputSpec(name="x", type="int"),))
CASE = TestOutcome(id="test_x[correct-horse]", outcome="failed", message="got correct-horse-battery")
TOLD = TestOutcome(id="test_x", outcome="failed", message="test_x[correct-horse]: got correct-horse-battery")


class TalkativeWorker(Worker):
    id, alive = "w", True

    def call(self, *_: Any, **__: Any) -> CallOutcome:
        return CallOutcome({"x": 1}, {}, (), "out correct-horse", "err correct-horse", 0.0)

    def test(self, program: Program, tests: TestSpec, **_: Any) -> TestRun:
        if tests.on_report is not None:
            tests.on_report(CASE)
        return TestRun((TOLD,), 1, "output correct-horse", "collecting correct-horse", "", 0.0)

    def kill(self) -> None:
        self.alive = False

    def unasked(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    answer = command = responds = unasked


class FailingWorker(TalkativeWorker):
    def call(self, *_: Any, **__: Any) -> CallOutcome:
        raise SolutionError("ValueError: correct-horse", traceback="line 1: correct-horse", stderr="correct-horse")


def test_the_longest_secret_is_taken_out_first() -> None:
    assert without_secrets("a correct-horse-battery, correct-horse", SECRETS) == "a <LONG_TOKEN>, <TOKEN>"


def test_a_call_says_no_secret() -> None:
    outcome = RedactingWorker(TalkativeWorker(), SECRETS).call(PROGRAM, {})
    assert (outcome.values, outcome.stdout, outcome.stderr) == ({"x": 1}, "out <TOKEN>", "err <TOKEN>")


def test_a_test_run_says_no_secret_neither_at_once_nor_at_its_end() -> None:
    heard: list[TestOutcome] = []
    run = RedactingWorker(TalkativeWorker(), SECRETS).test(
        PROGRAM, TestSpec("", (), on_report=heard.append), callee=None
    )
    assert [(case.id, case.message) for case in heard] == [("test_x[<TOKEN>]", "got <LONG_TOKEN>")]
    assert run.outcomes == (TOLD.model_copy(update={"message": "test_x[<TOKEN>]: got <LONG_TOKEN>"}),)
    assert (run.output, run.collection_error) == ("output <TOKEN>", "collecting <TOKEN>")
    assert (
        RedactingWorker(TalkativeWorker(), SECRETS).test(PROGRAM, TestSpec("", ()), callee=None).outcomes
        == run.outcomes
    )


def test_an_error_says_no_secret_in_any_of_its_parts() -> None:
    with pytest.raises(SolutionError) as raised:
        RedactingWorker(FailingWorker(), SECRETS).call(PROGRAM, {})
    assert "correct-horse" not in repr(vars(raised.value)) + repr(raised.value.args) + str(raised.value)
    error = SolutionError("nothing to hide")
    redact(error, SECRETS)
    assert error.args[0] == "nothing to hide"


def test_a_discreet_worker_is_its_worker_otherwise() -> None:
    inner = TalkativeWorker()
    worker = RedactingWorker(inner, SECRETS)
    assert (worker.id, worker.alive) == ("w", True)
    worker.kill()
    assert not worker.alive and not inner.alive
