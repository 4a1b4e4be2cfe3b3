"""The output of a worker contains no secret, whatever the program does with it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

import pytest

from autocoder_jupyter.errors import SolutionError
from autocoder_jupyter.redaction.messages import redact, without_secrets
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program, TestRun, TestSpec, Worker
from autocoder_jupyter.types import OutputSpec, TestOutcome

SECRETS = {"TOKEN": "correct-horse", "LONG_TOKEN": "correct-horse-battery", "EMPTY": ""}
PROGRAM = Program("", (), (OutputSpec(name="x", type="int"),))
CASE = TestOutcome(id="test_x[correct-horse]", outcome="failed", message="got correct-horse-battery")
TOLD = TestOutcome(id="test_x", outcome="failed", message="test_x[correct-horse]: got correct-horse-battery")


class TalkativeWorker(Worker):
    id, cores, alive, processor_seconds = "w", (), True, 0.0

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

    answer = batch = command = responds = rest = unasked


class FailingWorker(TalkativeWorker):
    def call(self, *_: Any, **__: Any) -> CallOutcome:
        raise SolutionError("ValueError: correct-horse", traceback="line 1: correct-horse", stderr="correct-horse")


def test_the_longest_secret_is_taken_out_first() -> None:
    assert without_secrets("a correct-horse-battery, correct-horse", SECRETS) == "a <LONG_TOKEN>, <TOKEN>"


KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhki\nG9w0+AQEF/AASCBKcw\n-----END KEY-----\n"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "".join(f"{number:03}" for number in range(200))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (KEY, "E   ValueError: " + KEY.replace("\n", "\nE   ")),
        (KEY, "  | ValueError: " + KEY.replace("\n", "\n    | ")),
        (KEY, repr(KEY.splitlines())),
        (KEY, KEY.replace("\n", "\r\n")),
        (KEY, f"https://example.com/?key={quote_plus(KEY)}"),
        ("correct-horse\n", "ValueError: correct-horse"),
        ('correct "horse" battery', json.dumps({"a": 'correct "horse" battery'})),
        ("correct/horse+battery=", "https://example.com/?key=correct%2Fhorse%2Bbattery%3D"),
        ("correct/horse+battery=", "https://example.com/correct/horse%2Bbattery%3D/"),
        ("correct-hörse-battery", json.dumps(["correct-hörse-battery"])),
        (JWT, f"AssertionError: assert '{JWT[:115]}...{JWT[-115:]}' == ''"),
        (JWT, f"0  {JWT[:47]}..."),
        (JWT, f"{JWT[:40]}…(+581)"),
    ],
)
def test_a_secret_is_taken_out_however_libraries_write_it(value: str, written: str) -> None:
    told = without_secrets(written, {"TOKEN": value})
    assert "<TOKEN>" in told
    assert not [word for word in ("MIIE", "G9w0", "horse", "h\\u00f6rse", "eyJ", JWT[-20:]) if word in told]


def test_a_part_of_a_secret_that_nobody_shortened_stays() -> None:
    assert without_secrets("/srv/data/sales.csv ...", {"FOLDER": "/srv/data/2026"}) == "/srv/data/sales.csv ..."
    assert without_secrets("1 { }", {"INDENT": "   1", "JSON": "{\n}"}) == "1 { }"


def test_a_call_says_no_secret() -> None:
    outcome = RedactingWorker(TalkativeWorker(), SECRETS).call(PROGRAM, {})
    assert (outcome.values, outcome.stdout, outcome.stderr) == ({"x": 1}, "out <TOKEN>", "err <TOKEN>")


def test_a_test_run_says_no_secret_neither_at_once_nor_at_its_end() -> None:
    heard: list[TestOutcome] = []
    tests = TestSpec("", (), on_report=heard.append)
    run = RedactingWorker(TalkativeWorker(), SECRETS).test(PROGRAM, tests, callee=None)
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
