"""Tests run as soon as they are written; the run of all tests takes the calls that they made, each once."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from autocoder_jupyter.engine.early_tests import EarlyCalls, EarlyTests, whole_statements
from autocoder_jupyter.engine.stub_check import CAN_FAIL, StubRuns
from autocoder_jupyter.engine.tests import without_tests
from autocoder_jupyter.errors import SandboxTimeout
from autocoder_jupyter.run.events import EvidenceGathered, TestReported
from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, TestRun, TestSpec
from autocoder_jupyter.sandbox.worker.entries import Packed
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Answer

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

PROGRAM = Program("", (), ())


async def generated(
    runner: Runner, tests: str, until: threading.Event, *, after: str, then: str = "", **request: Any
) -> Generated:
    """A generation whose model stops after this part of the tests until the event is set.

    If it is asked for tests again, it answers with `then`.
    """
    said = fenced(tests)
    answer = Answer(said, piece=10, hold=until, hold_after=said.index(after) + len(after))
    return await runner.generate({"plan": [PLAN], "code": [fenced(CODE)], "tests": [answer, fenced(then)]}, **request)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The arguments of each call that tests made in the sandbox."""
    calls, answer = list[bytes](), ChannelWorker.answer

    def counted(worker: ChannelWorker, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        calls.append(b"".join(map(bytes, packed.pieces)))
        return answer(worker, program, packed, spec)

    monkeypatch.setattr(ChannelWorker, "answer", counted)
    return calls


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For each process of tests of the function "function", and "began later" if tests came when it had started."""
    found, test = list[str](), ChannelWorker.test

    def counted(worker: ChannelWorker, program: Program, tests: TestSpec, *, callee: Any) -> TestRun:
        load = tests.load

        def told() -> TestSpec:
            assert load is not None
            given = load()  # or nothing runs
            if callee is not None:
                found.extend(["function", "began later"])
            return given

        if load is None and callee is not None:
            found.append("function")
        return test(worker, program, replace(tests, load=load and told), callee=callee)

    monkeypatch.setattr(ChannelWorker, "test", counted)
    return found


@pytest.fixture
def on_stubs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The tests of each run on stubs."""
    runs, run = list[tuple[str, ...]](), StubRuns._run

    async def counted(self: StubRuns, program: Any, source: str, tests: Any) -> Any:
        runs.append(tuple(tests))
        return await run(self, program, source, tests)

    monkeypatch.setattr(StubRuns, "_run", counted)
    return runs


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a test that is written has run, on the function and on stubs."""
    ended, passing = threading.Event(), StubRuns.passing

    async def told(self: StubRuns, *args: Any) -> Any:
        try:
            return await passing(self, *args)
        finally:
            ended.set()

    monkeypatch.setattr(StubRuns, "passing", told)
    return ended


async def test_a_test_runs_while_the_next_one_is_written_and_makes_its_calls_once(
    runner: Runner, made: list[bytes], on_stubs: list[tuple[str, ...]], ran: threading.Event
) -> None:
    produced = await generated(runner, TESTS, ran, after="def test_empty():\n")
    assert produced.report.success, produced.error
    assert len(made) == len(set(made)) == 2
    assert on_stubs == [("test_sum",), ("test_empty",)]
    reported = [event.outcome.id for event in produced.of(TestReported)]
    assert reported == ["test_sum", "test_empty"], "what ran ahead is not told, the run of all tests is"


async def test_the_run_that_counts_takes_the_process_that_waits(
    runner: Runner, processes: list[str], ran: threading.Event
) -> None:
    produced = await generated(runner, TESTS, ran, after="def test_empty():\n")
    assert produced.report.success, produced.error
    assert processes.count("function") == processes.count("began later") == 2, "one ahead, and the one that counts"


async def test_user_tests_run_before_the_others_in_a_process_of_their_own(
    runner: Runner, processes: list[str], ran: threading.Event
) -> None:
    own = "def test_mine():\n    assert growth(pd.DataFrame({'price': [3.0], 'quantity': [2]})) == 6.0\n"
    produced = await generated(runner, TESTS, ran, after="def test_empty():\n", own_tests=own)
    assert produced.report.success, produced.error
    assert processes.count("function") == 3 and processes.count("began later") == 1


@pytest.mark.parametrize("settings", [{}, {"skip_tests": True}], ids=["tests", "no tests"])
async def test_no_process_waits_after_the_end(runner: Runner, settings: dict[str, Any]) -> None:
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}, settings=settings
    )
    assert produced.report.success, produced.error
    waits = [thread for thread in threading.enumerate() if thread.name == "autocode-call"]
    for thread in waits:
        await asyncio.to_thread(thread.join, 60)
    assert not any(thread.is_alive() for thread in waits)


async def test_a_process_that_ended_while_it_waited_is_replaced(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, ran: threading.Event
) -> None:
    test = ChannelWorker.test

    def ends(worker: ChannelWorker, program: Program, tests: TestSpec, *, callee: Any) -> TestRun:
        if tests.load is not None:
            return TestRun((), 1, "It ended before it waited.", "", "", 0.0)
        return test(worker, program, tests, callee=callee)

    monkeypatch.setattr(ChannelWorker, "test", ends)
    produced = await generated(runner, TESTS, ran, after="def test_empty():\n")
    assert produced.report.success, produced.error
    assert [event.outcome.id for event in produced.of(TestReported)] == ["test_sum", "test_empty"]


async def test_a_call_that_is_made_twice_runs_twice(runner: Runner, made: list[bytes], ran: threading.Event) -> None:
    again = "    assert run(sales=sales) == 8.0"
    produced = await generated(runner, TESTS.replace("# 2*1 + 3*2", f"\n{again}"), ran, after="def test_empty():\n")
    assert produced.report.success, produced.error
    assert len(made) == 3 and len(set(made)) == 2


async def test_a_test_that_never_ends_ahead_delays_nothing(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, made: list[bytes]
) -> None:
    begun, job = threading.Event(), EarlyTests._job

    def endless(self: EarlyTests, program: Any, worker: Any, callee: Any, wait: Any) -> Any:
        wait()
        begun.set()
        while worker.alive:
            threading.Event().wait(0.02)
        return job(self, program, worker, callee, wait)

    monkeypatch.setattr(EarlyTests, "_job", endless)
    produced = await generated(runner, TESTS, begun, after="def test_empty():\n")
    assert produced.report.success, produced.error


async def test_tests_that_call_one_that_ran_ahead_are_found_out_if_they_cannot_fail(
    runner: Runner, ran: threading.Event
) -> None:
    tests = without_tests(TESTS, ["test_sum"]) + "\n\n\ndef test_all():\n    test_empty()"
    produced = await generated(runner, tests, ran, after="def test_all():\n", then=TESTS)
    assert produced.report.success and produced.report.attempts == 2
    first = produced.of(EvidenceGathered)[0]
    assert [check.name for check in first.evidence.checks if not check.passed] == [CAN_FAIL]


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("```python\nimport a\n", ""),
        ("```python\nimport a\nx", "import a"),
        ("Here:\n```python\nimport a\n\n\ndef test():\n    b(\n)\nx = 1\n```\nAnd:\n```\ny = 2\nz", "y = 2"),
        ("```python\nimport a\n@b\ndef test():\n    1\n", "import a"),
        ('```python\nt = """\nsome\ntext\n"""\nu = 1\n', 't = """\nsome\ntext\n"""'),
        ("```python\ndef test():\n    1\n\n# more\n", ""),
        ("```python\nx = 1\ny = 2\n```", ""),
        ("no code", ""),
    ],
)
def test_statements_to_which_something_can_be_added_are_left(written: str, whole: str) -> None:
    assert whole_statements(written).strip() == whole


@dataclass
class Calls:
    """A worker that counts calls."""

    error: Exception | None = None
    made: int = 0
    alive: bool = field(default=True)

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        self.made += 1
        if self.error is not None:
            raise self.error
        return CallAnswer({"kind": "result"}, memoryview(b"." * packed.size), "", "", "")


def packed(text: bytes) -> Packed:
    return Packed([{"name": "x", "size": len(text)}], [memoryview(text)], len(text))


def test_an_answer_is_taken_once_and_only_for_the_same_call() -> None:
    calls, early, late = EarlyCalls(), Calls(), Calls()
    first = calls.making(early).answer(PROGRAM, packed(b"a"), CallSpec())
    taking = calls.taking(late)
    assert taking.answer(PROGRAM, packed(b"b"), CallSpec()) is not first and late.made == 1
    assert taking.answer(Program("x", (), ()), packed(b"a"), CallSpec()) is not first and late.made == 2
    assert taking.answer(PROGRAM, packed(b"a"), CallSpec()) is first and late.made == 2
    assert taking.answer(PROGRAM, packed(b"a"), CallSpec()) is not first and late.made == 3


def test_a_call_that_failed_or_has_a_large_answer_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, late = EarlyCalls(), Calls()
    with pytest.raises(SandboxTimeout):
        calls.making(Calls(SandboxTimeout("It took too long."))).answer(PROGRAM, packed(b"a"), CallSpec())
    calls.taking(late).answer(PROGRAM, packed(b"a"), CallSpec())
    monkeypatch.setattr("autocoder_jupyter.engine.early_tests.MOST_BYTES", 3)
    calls.making(Calls()).answer(PROGRAM, packed(b"long"), CallSpec())
    calls.taking(late).answer(PROGRAM, packed(b"long"), CallSpec())
    assert late.made == 2
