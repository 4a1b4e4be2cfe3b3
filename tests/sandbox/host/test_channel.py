from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import EngineGone, OutOfMemory, OutputRefused, SandboxCrash, SandboxTimeout
from autocoder_jupyter.sandbox.host.channel import ChannelWorker, connect
from autocoder_jupyter.sandbox.host.exchange import ExitReason
from autocoder_jupyter.sandbox.protocol import CallSpec, TestSpec, WorkerLimits
from tests.sandbox.conftest import MakeProgram, PlainProcess, StartPlain

ENDLESS = "def run():\n    while True: pass"


@pytest.mark.parametrize(
    "code",
    [
        ENDLESS,
        "import time\ndef run(): time.sleep(999)",
        "import signal, time\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\ndef run(): time.sleep(999)",
        "import re\ndef run(): re.match(r'(a+)+$', 'a' * 40 + 'b')",
    ],
)
def test_a_program_that_does_not_end_is_killed_at_its_deadline(
    start_plain: StartPlain, program: MakeProgram, code: Any
) -> None:
    worker = start_plain()
    with pytest.raises(SandboxTimeout, match=r"longer than 0\.5 s"):
        worker.call(program(code), {}, CallSpec(seconds=0.5))
    assert not worker.alive
    with pytest.raises(SandboxCrash, match="in an earlier call"):
        worker.call(program("def run(): return 1"), {})


def test_a_kill_from_another_thread_ends_a_call_at_once(start_plain: StartPlain, program: MakeProgram) -> None:
    worker = start_plain()
    timer = threading.Timer(0.3, worker.kill)
    timer.start()
    with pytest.raises(EngineGone, match="ended from outside"):
        worker.call(program(ENDLESS), {})
    worker.kill()
    assert not worker.alive


def test_calls_from_several_threads_wait_for_each_other(worker: ChannelWorker, program: MakeProgram) -> None:
    wanted = program("def run(x): return x", "x: int")
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(worker.call(wanted, {"x": n}).values["result"]))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == list(range(6))


@pytest.mark.parametrize(
    ("reason", "error", "words"),
    [
        (ExitReason(out_of_memory=True), OutOfMemory, "more memory"),
        (ExitReason(engine_gone=True, text="daemon restarted"), EngineGone, "daemon restarted"),
        (ExitReason(limit="disk"), SandboxCrash, "limit of disk"),
        (ExitReason(signal=9), SandboxCrash, "SIGKILL"),
    ],
)
def test_the_sandboxs_last_word_says_why_a_worker_is_no_more(
    plain_process: type[PlainProcess], tmp_path: Path, program: MakeProgram, reason: Any, error: Any, words: str
) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())
    process.told = reason
    ending = threading.Thread(target=kill_when_begun, args=(process, tmp_path))
    ending.start()
    with pytest.raises(error, match=words):
        worker.call(program("def run():\n    open('begun', 'w').close()\n    while True: pass"), {})
    ending.join(60)
    assert not worker.alive


def kill_when_begun(process: PlainProcess, folder: Path) -> None:
    """End a worker in `folder` while it runs a program, as a sandbox does."""
    until = time.monotonic() + 60
    while not list(folder.rglob("begun")) and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()


@pytest.mark.parametrize("reason", [ExitReason(signal=9), ExitReason(out_of_memory=True), ExitReason(limit="disk")])
def test_a_worker_that_died_between_two_programs_is_no_verdict_on_the_second(
    plain_process: type[PlainProcess], tmp_path: Path, program: MakeProgram, reason: Any
) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())
    process.told = reason
    process.kill()
    process.popen.wait(60)
    with pytest.raises(EngineGone, match="before the program started"):
        worker.test(program("def run(): return 1"), TestSpec("def test_a(): pass", ["test_a"]), callee=None)
    assert not worker.alive


def test_a_worker_that_died_while_it_was_idle_is_not_alive(plain_process: type[PlainProcess], tmp_path: Path) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())
    assert worker.alive
    process.kill()
    process.popen.wait(60)
    deadline = time.monotonic() + 30  # a process that is forked meanwhile has its pipes until it executes something
    while worker.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not worker.alive
    worker.kill()


def test_a_programs_time_begins_when_its_worker_takes_it(
    plain_process: type[PlainProcess], tmp_path: Path, program: MakeProgram
) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())
    os.kill(process.popen.pid, signal.SIGSTOP)
    threading.Timer(3.0, os.kill, (process.popen.pid, signal.SIGCONT)).start()
    assert worker.call(program("def run(): return 1"), {}, CallSpec(seconds=2.5)).values == {"result": 1}
    worker.kill()


def test_a_child_killed_for_memory_is_out_of_memory(
    plain_process: type[PlainProcess], tmp_path: Path, program: MakeProgram
) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())
    process.told = ExitReason(out_of_memory=True)
    with pytest.raises(OutOfMemory):
        worker.call(program("import os\ndef run(): os.kill(os.getpid(), 9)"), {})


def test_an_interpreter_without_the_packages_says_so(plain_process: type[PlainProcess], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.stderr.write('no module'); sys.exit(3)"]
    with pytest.raises(EngineGone, match="did not start"):
        connect(plain_process(tmp_path, command), WorkerLimits())


def test_a_worker_that_never_gets_ready_is_given_up(plain_process: type[PlainProcess], tmp_path: Path) -> None:
    process = plain_process(tmp_path, [sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(EngineGone, match=r"not ready after 0\.5 s"):
        connect(process, WorkerLimits(), seconds=0.5)
    assert process.popen.wait(60) != 0


def test_the_tree_ends_when_the_host_hangs_up(
    plain_process: type[PlainProcess], tmp_path: Path, program: MakeProgram
) -> None:
    process = plain_process(tmp_path)
    worker = connect(process, WorkerLimits())

    def call() -> None:
        with pytest.raises(SandboxCrash):
            worker.call(program(ENDLESS), {})

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.3)  # the call is running or about to start; it must end in both cases
    process.requests.close()
    assert process.popen.wait(60) is not None
    thread.join(60)


def _frame(header: object, payload: bytes = b"") -> str:
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    return repr(len(body).to_bytes(4, "big") + body + payload)


HOSTILE = {
    "garbage": repr(b"\x00\x00\x00\x08not json"),
    "huge header": repr(b"\xff\xff\xff\xff" + b"x" * 100),
    "empty header": repr(b"\x00\x00\x00\x00"),
    "not an object": _frame([1, 2]),
    "no kind": _frame({"payload": 0}),
    "unknown kind": _frame({"kind": "surprise", "payload": 0}),
    "negative payload": _frame({"kind": "result", "payload": -1}),
    "huge payload": _frame({"kind": "result", "payload": 2**60}),
    "payload that is no number": _frame({"kind": "result", "payload": "1"}),
    "deep nesting": _frame(b'{"kind":"result","payload":0,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "endless number": _frame(b'{"kind":"result","payload":' + b"9" * 10_000 + b"}"),
    "a duration beyond all floats": _frame(
        b'{"kind":"result","payload":0,"mutated":[],"outputs":[],"seconds":1' + b"0" * 400 + b"}"
    ),
    "no outputs": _frame({"kind": "result", "payload": 0, "seconds": 0, "mutated": []}),
    "other outputs": _frame(
        {
            "kind": "result",
            "payload": 0,
            "seconds": 0,
            "mutated": [],
            "outputs": [{"name": "z", "size": 0, "header": {}}],
        }
    ),
    "outputs beyond the payload": _frame(
        {
            "kind": "result",
            "payload": 0,
            "seconds": 0,
            "mutated": [],
            "outputs": [{"name": "result", "size": 99, "header": {"type": "int", "size": 99}}],
        }
    ),
    "another type": _frame(
        {
            "kind": "result",
            "payload": 1,
            "seconds": 0,
            "mutated": [],
            "outputs": [{"name": "result", "size": 1, "header": {"type": "str", "size": 1}}],
        },
        b"1",
    ),
    "two answers": _frame({"kind": "error", "error": "OutOfMemory", "payload": 0})[:-1]
    + _frame({"kind": "error", "error": "OutOfMemory", "payload": 0})[2:],
    "unknown error": _frame({"kind": "error", "error": "Cancelled", "payload": 0}),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_forged_answer_is_refused_and_ends_the_worker(worker: ChannelWorker, program: MakeProgram, name: Any) -> None:
    code = (
        "import gc, os, stat\n"
        "def run():\n"
        "    pipes = [fd for fd in range(3, 64) if _writable(fd)]\n"
        f"    for fd in pipes[:1]: os.write(fd, {HOSTILE[name]})\n"
        "    for fd in pipes[1:]: os.write(fd, b'.')\n"
        "    while True: pass\n"
        "def _writable(fd):\n"
        "    try: return os.write(fd, b'') == 0 and stat.S_ISFIFO(os.fstat(fd).st_mode)\n"
        "    except OSError: return False\n"
    )
    with pytest.raises(OutputRefused):
        worker.call(program(code), {}, CallSpec(seconds=20))
    assert not worker.alive


def test_a_frame_that_breaks_off_is_a_crash_of_the_program(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import os\n"
        "def run():\n"
        "    for fd in range(3, 64):\n"
        "        try: os.write(fd, b'\\0\\0\\0\\x40{')\n"
        "        except OSError: pass\n"
        "    os._exit(0)\n"
    )
    with pytest.raises((SandboxCrash, OutputRefused)):
        worker.call(program(code), {})


def test_what_a_program_writes_late_does_not_reach_the_next_call(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import os, threading\n"
        "def late():\n"
        "    while True:\n"
        "        for fd in range(3, 64):\n"
        "            try: os.write(fd, b'\\0\\0\\0\\2{}')\n"
        "            except OSError: pass\n"
        "def run():\n    threading.Timer(0.0, late).start()\n    return 1\n"
    )
    try:
        worker.call(program(code), {})
    except (OutputRefused, SandboxCrash):
        return  # it has damaged only its own answer
    assert worker.call(program("def run(): return 2"), {}).values == {"result": 2}
