"""The processor time of a program: it is measured, and limits it; who waits for a processor has all his time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from autocoder_jupyter.errors import SandboxTimeout, SolutionError
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.protocol import CallOutcome, CallSpec, Program, TestSpec, Worker
from tests.sandbox.sandboxes import program

BURN = "import time\nuntil = time.process_time() + n / 10\nwhile time.process_time() < until: pass\nreturn n"
SLEEP = "import time\ntime.sleep(n)\nreturn n"
ENDLESS = "while True: pass"
LONG = 300.0


def burning(body: str = BURN) -> Program:
    return program(body, {"n": "int"}, {"value": "int"})


@pytest.fixture
def busy() -> Iterator[None]:
    """Processes that take most of the machine."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.mark.parametrize("reuse", [False, True])
def test_the_time_of_each_call_is_counted(worker: Worker, reuse: bool) -> None:
    for _ in range(2):
        before = worker.processor_seconds
        worker.call(burning(), {"n": 2}, CallSpec(reuse=reuse))
        assert 0.15 <= worker.processor_seconds - before < 2.0
    before = worker.processor_seconds
    with pytest.raises(SolutionError):
        worker.call(burning(BURN.replace("return n", "return n // 0")), {"n": 2}, CallSpec(reuse=reuse))
    assert 0.15 <= worker.processor_seconds - before < 2.0


def test_a_program_that_computes_too_long_is_stopped_long_before_the_clock(worker: Worker) -> None:
    with pytest.raises(SandboxTimeout, match=r"longer than 0\.3 s of processor time"):
        worker.call(burning(ENDLESS), {"n": 1}, CallSpec(seconds=LONG, processor_seconds=0.3))
    assert not worker.alive


def test_so_is_one_that_sleeps(worker: Worker) -> None:
    with pytest.raises(SandboxTimeout, match=r"longer than 1 s of processor time"):
        worker.call(burning(SLEEP), {"n": 200}, CallSpec(seconds=LONG, processor_seconds=1))


@pytest.mark.usefixtures("busy")
def test_one_that_waits_for_a_processor_is_not(worker: Worker) -> None:
    spec = CallSpec(seconds=LONG, processor_seconds=1.0)
    assert worker.call(burning(), {"n": 6}, spec).values["value"] == 6


def test_a_batch_begins_no_call_after_half_of_it_and_keeps_what_it_has(worker: Worker) -> None:
    made = burning()
    calls = [pack_arguments(made, {"n": 3}) for _ in range(5)]
    found = worker.batch(made, calls, LONG, processor_seconds=1.0, partly=True)
    assert 1 <= len(found) < 5 and all(isinstance(one, CallOutcome) for one in found)


def test_the_limit_of_tests_holds_for_a_call_in_them(worker: Worker, callee: Worker) -> None:
    tests = "from solution import run\n\ndef test_it():\n    assert run(n=1)\n"
    spec = TestSpec(tests, ["test_it"], seconds=LONG, processor_seconds=1.0)
    run = worker.test(burning(ENDLESS), spec, callee=callee)
    assert [outcome.outcome for outcome in run.outcomes] == ["missing"]
