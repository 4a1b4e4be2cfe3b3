"""The second run on the sample is like a call of the user: after the tests, in a worker where it has not run before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from autocoder_jupyter.engine.sample_run import AGREES, SampleRun, run_again
from autocoder_jupyter.errors import SolutionError
from autocoder_jupyter.sandbox.protocol import PLAIN_CALL, CallOutcome, CallSpec, Program
from autocoder_jupyter.types import InputSpec, OutputSpec

PROGRAM = Program("", (InputSpec(name="x", type="int"),), (OutputSpec(name="y", type="int"),))
FIRST = SampleRun((), {"y": 0.3}, {"y": "digest"}, "first")


class Words:
    """A redaction that changes nothing."""

    def error(self, error: Exception) -> str:
        return str(error)


class ScriptedSession:
    """Gives out one worker that answers with a value and its digest, and records how it was requested."""

    def __init__(self, digest: str, value: object = 0.4) -> None:
        self.digest = digest
        self.value = value
        self.asked: list[Any] = []

    async def work(
        self, job: Callable[[Any], Any], *, other_than: Collection[str] = (), unlike: Collection[str] = ()
    ) -> Any:
        self.unlike = list(unlike)
        self.asked.append(set(other_than))
        return job(self)

    def call(self, program: Program, arguments: dict[str, Any], spec: CallSpec = PLAIN_CALL) -> CallOutcome:
        self.asked.append((program, arguments, spec))
        if self.digest == "error":
            raise SolutionError("the sky fell")
        return CallOutcome({"y": self.value}, {"y": self.digest}, (), "", "", 0.0)


@pytest.mark.parametrize(
    ("digest", "words"), [("digest", ""), ("other", "y differs between two runs"), ("error", "the sky fell")]
)
async def test_the_last_run_is_a_plain_call_in_a_worker_that_has_not_run_the_function(digest: str, words: str) -> None:
    session = ScriptedSession(digest)
    run = await run_again(session, PROGRAM, {"x": 3}, FIRST, Words(), other_than={"first", "callee"})  # type: ignore[arg-type]
    assert session.asked == [{"first", "callee"}, (PROGRAM, {"x": 3}, PLAIN_CALL)]
    assert session.unlike == [FIRST.worker]  # with another hash seed, so that the order of a set differs
    assert run is not None
    (check,) = run.checks
    assert (check.name, check.passed) == (AGREES, not words)
    assert words in check.message


async def test_numbers_that_differ_by_rounding_only_do_not_hang_on_chance() -> None:
    run = await run_again(ScriptedSession("other", 0.1 + 0.2), PROGRAM, {"x": 3}, FIRST, Words(), other_than=())  # type: ignore[arg-type]
    assert run is not None and run.checks[0].passed


async def test_what_did_not_run_once_is_not_run_again() -> None:
    session = ScriptedSession("digest")
    failed = SampleRun((), error=SolutionError("no"))
    assert await run_again(session, PROGRAM, {}, failed, Words(), other_than=()) is failed  # type: ignore[arg-type]
    assert not session.asked
