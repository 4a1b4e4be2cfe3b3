"""A worker that takes a request late: the kept process, which gets the request at once, may have ended by then."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator

import pytest

from autocoder_jupyter.errors import SandboxCrash
from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.host.exchange import ProcessStreams, Route
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, TestSpec, Worker
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.sandbox.sandboxes import program

LATE = 0.3
"""Seconds until the worker gets an envelope: enough for its kept process to do everything."""

DOUBLE = Program(
    "def run(x):\n    return 2 * x\n", (InputSpec(name="x", type="int"),), (OutputSpec(name="y", type="int"),)
)
HEAD = "import os\nfrom solution import run\ndef test_a(): assert run(1) == 2\n"


@pytest.fixture
def late(worker: Worker) -> Iterator[None]:
    """Hold back each envelope, as a machine does that is too busy to run the worker."""
    assert isinstance(worker, ChannelWorker)
    send = ProcessStreams._send

    def held_back(streams: ProcessStreams, outgoing: deque[memoryview], route: Route) -> None:
        if streams is worker._streams and route.link is None:
            envelope = b"".join(outgoing)
            outgoing.clear()
            threading.Timer(LATE, os.write, [route.sink, envelope]).start()
        else:
            send(streams, outgoing, route)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessStreams, "_send", held_back)
        yield


@pytest.mark.usefixtures("late")
def test_the_reports_of_tests_that_end_before_count(worker: Worker, callee: Worker) -> None:
    tests = f"{HEAD}def test_b(): assert run(2) == 4\n"
    run = worker.test(DOUBLE, TestSpec(tests, ["test_a", "test_b"]), callee=callee)
    assert [one.outcome for one in run.outcomes] == ["passed", "passed"] and run.exit_code == 0, run.output


@pytest.mark.usefixtures("late")
def test_the_reports_before_a_crash_count(worker: Worker, callee: Worker) -> None:
    tests = f"{HEAD}def test_b(): os._exit(7)\n"
    run = worker.test(DOUBLE, TestSpec(tests, ["test_a", "test_b"]), callee=callee)
    assert [one.outcome for one in run.outcomes] == ["passed", "missing"]
    assert run.exit_code == 7 and "exit code 7" in run.output


@pytest.mark.usefixtures("late")
def test_tests_that_load_no_function_end_with_its_error(worker: Worker, callee: Worker) -> None:
    unloadable = Program("import nowhere_at_all\n", DOUBLE.inputs, DOUBLE.outputs)
    run = worker.test(unloadable, TestSpec(HEAD, ["test_a"]), callee=callee)
    assert run.missing_module == "nowhere_at_all"


@pytest.mark.usefixtures("late")
def test_a_call_whose_process_ended_is_made_once_more_in_a_fresh_one(worker: Worker) -> None:
    body = """
        import builtins
        builtins.n = getattr(builtins, 'n', 0) + 1
        if builtins.n == 2 or text == 'end':
            os._exit(5)
        return str(builtins.n)
    """
    counts = program(body, {"text": "str"})
    assert worker.call(counts, {"text": ""}, CallSpec(reuse=True)).values["said"] == "1"
    assert worker.call(counts, {"text": ""}, CallSpec(reuse=True)).values["said"] == "1"
    with pytest.raises(SandboxCrash, match="exit code 5"):
        worker.call(counts, {"text": "end"}, CallSpec(reuse=True))


@pytest.mark.usefixtures("late")
def test_what_a_process_answered_before_it_ended_counts(worker: Worker) -> None:
    body = """
        values.append(1)
        threading.Timer(0.2, os._exit, [6]).start()
        return ''
    """
    assert worker.call(program(body, {"values": "list"}), {"values": []}, CallSpec(watch_inputs=True)).mutated == (
        "values",
    )
