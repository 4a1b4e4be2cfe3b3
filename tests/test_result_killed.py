"""Calls whose process is killed from outside, in the real sandboxes."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.calls.call import CallQueue
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import AutocodeError, OutOfMemory, SandboxCrash
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox.local.confinement.notices import status_of
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report
from tests.sandbox.sandboxes import EACH, open_sandbox

SLOW = """
import ctypes, time

def run():
    ctypes.CDLL(None).prctl(15, b"{comm}")  # the name that the test looks for
    time.sleep(2)
    return 7
"""


@pytest.fixture(params=EACH)
def sandbox(request: pytest.FixtureRequest) -> str:
    return open_sandbox(request.param).name


@pytest.fixture
def remarks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    heard: list[str] = []
    monkeypatch.setattr("autocoder_jupyter.calls.call.add_warning", heard.append)
    return heard


def built(code: str, sandbox: str, root: Path, *inputs: InputSpec) -> CodeGenEvalResult:
    solution, outputs = CodeSolution(code=code), (OutputSpec(name="value", type="int"),)
    report = Report(
        name="growth",
        run_id="a",
        prompt="…",
        success=True,
        solution=solution,
        declared_inputs=inputs,
        declared_outputs=outputs,
        sandbox=sandbox,
    )
    options = CallOptions(sandbox=sandbox)  # type: ignore[arg-type]
    return CodeGenEvalResult("growth", Pending.resolved(Resolution("ready", report)), options=options, root=root)


def named(comm: str) -> set[int]:
    """The processes of that name."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (place / "comm").read_text().strip() == comm:
                found.add(int(place.name))
    return found


@contextlib.contextmanager
def killer(comm: str, times: int) -> Iterator[list[int]]:
    """Kills processes that get that name from now on, so many times."""
    killed: list[int] = []
    earlier = named(comm)
    done = threading.Event()

    def work() -> None:
        while not done.is_set() and len(killed) < times:
            for process in named(comm) - earlier - {*killed}:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
            time.sleep(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


def test_a_call_that_was_killed_from_outside_is_repeated_and_says_so(
    sandbox: str, tmp_path: Path, remarks: list[str]
) -> None:
    comm = f"zz{os.getpid()}{sandbox}"[:15]
    slow = built(SLOW.format(comm=comm), sandbox, tmp_path)
    with killer(comm, 1) as killed:
        assert slow.run(retries=1) == 7
    assert len(killed) == 1
    assert remarks == ["The interpreter died of a kill (SIGKILL). No limit was exceeded, so the call was repeated."]
    with killer(comm, 2) as killed, pytest.raises(SandboxCrash, match="a kill"):
        slow.run(retries=1)
    assert len(killed) == 2


def test_a_program_over_its_limit_is_not_run_again(sandbox: str, tmp_path: Path, remarks: list[str]) -> None:
    hungry = built("def run():\n    kept = bytearray(4 * 2**30)\n    return len(kept)", sandbox, tmp_path)
    with pytest.raises(OutOfMemory):
        hungry.run(retries=3, resources={"memory": "512Mi"})
    assert remarks == []


DEADLY = """
import os, signal

def run(how: str) -> int:
    if how == "leaves":
        os._exit(3)
    if how != "lives":
        os.kill(os.getpid() if how == "kills itself" else os.getppid(), signal.SIGKILL)
    return 7
"""


def test_a_call_whose_worker_dies_gives_its_turn_to_the_next(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it kills the process from which all calls of its worker are forked."""
    queue = CallQueue(1, lambda: math.inf)
    monkeypatch.setattr("autocoder_jupyter.calls.call.shared_queue", lambda: queue)
    deadly = built(DEADLY, sandbox, tmp_path, InputSpec(name="how", type="str"))
    ways = ["lives", "kills itself", "lives", "kills its parent", "lives", "leaves", "lives"]

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(deadly.run.aio(how) for how in ways), return_exceptions=True)

    ended = asyncio.run(all_at_once())
    for how, value in zip(ways, ended, strict=True):
        assert value == 7 if how == "lives" else isinstance(value, AutocodeError), (how, value)
    assert not queue._running and not queue._waiting


@pytest.mark.local_sandbox
@pytest.mark.parametrize("many", [False, True])
def test_a_call_whose_supervisor_was_killed_is_repeated(tmp_path: Path, remarks: list[str], many: bool) -> None:
    growth = built(SLOW.replace("{comm}", comm := f"ac-s{os.getpid() % 10_000}{many:d}"), "local", tmp_path)
    earlier, done, killed = named(comm), threading.Event(), list[int]()

    def kill() -> None:
        while not done.wait(0.02):
            for pid in named(comm) - earlier:
                supervisor = pid
                while b"sandbox.local.supervisor" not in Path(f"/proc/{supervisor}/cmdline").read_bytes():
                    supervisor = int(status_of(supervisor, "PPid")[0])
                os.kill(supervisor, signal.SIGKILL)
                killed.append(supervisor)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        if many:
            assert list(growth.map([{}, {}], retries=1)) == [7, 7]
        else:
            assert growth.run(retries=1) == 7
    finally:
        done.set()
        thread.join()
    assert killed
