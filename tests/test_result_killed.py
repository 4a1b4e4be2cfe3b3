"""Calls whose process is killed from outside, in the real sandboxes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import OutOfMemory, SandboxCrash
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, OutputSpec, Report
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
    monkeypatch.setattr("autocoder_jupyter.calls.call.remark", heard.append)
    return heard


def built(code: str, sandbox: str, root: Path) -> CodeGenEvalResult:
    solution, outputs = CodeSolution(code=code), (OutputSpec(name="value", type="int"),)
    report = Report(
        name="growth",
        run_id="a",
        prompt="…",
        success=True,
        solution=solution,
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
