"""A kernel that dies during a job leaves no process behind, and the next kernel continues from the journal."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import autocoder_jupyter
from autocoder_jupyter.types import Exchange
from tests.acceptance.leftovers import alive, children, containers, eventually
from tests.magics.kernel import Kernel
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.scripted_model import Answer, ScriptedModel, by_marker

SLOW_ON_THE_SAMPLE = CODE.replace("import pandas", "import time\n\nimport pandas").replace(
    "    return", "    if len(sales) == 3:\n        time.sleep(3)\n    return"
)
DATA = "import pandas as pd; sales = pd.DataFrame({'price': [10.0, 20.0, 30.0], 'quantity': [1, 2, 3]})"
CELL = '%%autocode growth -o "total: float"\nTotal revenue of @sales.'
JUPYTERS_PATIENCE = 20.0
"""Seconds until Jupyter kills a kernel that does not end; after half of them it sends a signal. The default is 5."""

pytestmark = pytest.mark.slow


class MortalKernel(Kernel):
    """A kernel that can be restarted, and whose processes can be counted."""

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)  # type: ignore[union-attr]

    def die(self) -> None:
        """Kill the kernel with SIGKILL, and start a new one that is ready for cells."""
        self.client.stop_channels()
        self._manager.restart_kernel(now=True)
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def leave(self) -> int | None:
        """End the kernel as a restart does, but start no new one. Returns the exit code: 0 if no signal was needed."""
        process = self._manager.provisioner.process  # type: ignore[union-attr]
        self._manager.shutdown_wait_time = JUPYTERS_PATIENCE
        self._manager.shutdown_kernel(now=False, restart=True)
        return process.poll()


class KernelSetup:
    """A folder with a kernel, and the model that it asks."""

    def __init__(self, folder: Path, sandbox: str) -> None:
        self.folder = folder
        self.release = threading.Event()
        self.says: dict[str, str | Answer] = {"plan": PLAN, "code": fenced(CODE), "tests": fenced(TESTS)}
        self.model = ScriptedModel(by_marker({MARKERS[stage]: self._script_of(stage) for stage in self.says}))
        self._sandbox = sandbox

    def _script_of(self, stage: str) -> Callable[[dict[str, Any]], str | Answer]:
        return lambda request: self.says[stage]

    def kernel(self) -> MortalKernel:
        return MortalKernel(
            self.folder,
            {
                "AUTOCODE_MODEL": "openai/scripted",
                "AUTOCODE_API_BASE": self.model.url,
                "AUTOCODE_SANDBOX": self._sandbox,
                "AUTOCODE_MAX_ITERATIONS": "1",
                "AUTOCODE_EFFORT": "quick",
                "AUTOCODE_SECOND_OPINION": "off",  # it would ask questions too, which would be counted
                "PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1]),
            },
        )

    def journal(self) -> list[dict[str, Any]]:
        """All lines of the journal of the only run. Each must be readable."""
        (path,) = self.folder.glob(".autocode/growth/versions/*/journal.jsonl")
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def local_kernel(tmp_path: Path) -> Iterator[KernelSetup]:
    """With the local sandbox."""
    yield from make_setup("local", tmp_path)


@pytest.fixture
def any_kernel(sandbox_name: str, tmp_path: Path) -> Iterator[KernelSetup]:
    """With each sandbox."""
    yield from make_setup(sandbox_name, tmp_path)


def make_setup(sandbox: str, folder: Path) -> Iterator[KernelSetup]:
    (folder / "pyproject.toml").write_text("")  # so that no settings of a parent folder apply
    local_kernel = KernelSetup(folder, sandbox)
    with local_kernel.model:
        yield local_kernel
        local_kernel.release.set()


def begin(kernel: Kernel) -> None:
    assert kernel.run(f"%load_ext autocoder_jupyter\n{DATA}").status == "ok"
    cell = kernel.run(CELL)
    assert cell.status == "ok", cell.error


def family(kernel: MortalKernel) -> list[psutil.Process]:
    """All descendants of the kernel. After its death they can no longer be found by their parent."""
    return children(kernel.pid)


def assert_nothing_is_left(of: list[psutil.Process], kernel_pid: int) -> None:
    eventually(
        lambda: not any(map(alive, of)) and not containers(kernel_pid),
        lambda: ([process.cmdline() for process in of if alive(process)], containers(kernel_pid)),
        30,  # seconds: a worker notices the lost notebook only after it has imported the libraries
    )


def has_a_worker(kernel: MortalKernel) -> bool:
    return bool(family(kernel) or containers(kernel.pid))


def wait_for_the_sample_run(kernel: MortalKernel) -> None:
    """Wait until the tests have passed. The function then sleeps in its run on the sample."""
    kernel.run("import time\nfrom autocoder_jupyter import jobs")
    told = "len(jobs.current('growth').tracker.run.outcomes), growth.state"
    in_time = "end = time.monotonic() + 60\nwhile time.monotonic() < end and"
    kernel.run(f"{in_time} ({told}) != (2, 'running'):\n    time.sleep(0.02)")
    assert kernel.printed(told) == "2 running"
    assert has_a_worker(kernel)


@pytest.mark.local_sandbox
def test_killed_during_a_question_to_the_model(local_kernel: KernelSetup) -> None:
    local_kernel.says["code"] = Answer("…", hold=local_kernel.release)
    with local_kernel.kernel() as kernel:
        begin(kernel)
        local_kernel.model.wait_for_requests(2)
        # format, versions, tests, environment
        eventually(lambda: len(local_kernel.journal()) >= 4, local_kernel.journal, 30)
        eventually(lambda: has_a_worker(kernel), lambda: "no worker was started", 30)
        dead, processes = kernel.pid, family(kernel)

        kernel.die()

        assert_nothing_is_left(processes, dead)
        local_kernel.model.wait_for_hang_ups(1)
        recorded = local_kernel.journal()
        assert [Exchange.model_validate(entry["exchange"]).stage for entry in recorded if "exchange" in entry] == [
            "tests"
        ]
        local_kernel.says["code"] = fenced(CODE)
        begin(kernel)
        assert kernel.printed("growth.run()") == "140.0"
        assert len(local_kernel.model.requests) == 2 + 1  # only questions without an answer are asked again
        assert local_kernel.journal()[: len(recorded)] == recorded


def test_killed_while_generated_code_runs(any_kernel: KernelSetup) -> None:
    any_kernel.says["code"] = fenced(SLOW_ON_THE_SAMPLE)
    with any_kernel.kernel() as kernel:
        begin(kernel)
        wait_for_the_sample_run(kernel)
        dead, processes = kernel.pid, family(kernel)

        kernel.die()

        assert_nothing_is_left(processes, dead)
        recorded = any_kernel.journal()
        assert sum("exchange" in entry for entry in recorded) == 2
        begin(kernel)
        assert kernel.printed("growth.run()") == "140.0"
        assert len(any_kernel.model.requests) == 2  # nothing is asked again, everything is run again
        assert any_kernel.journal()[: len(recorded)] == recorded
        assert (next(any_kernel.folder.glob(".autocode/growth/versions/*")) / "report.json").exists()


@pytest.mark.local_sandbox
def test_restarted_gently_while_generated_code_runs(local_kernel: KernelSetup) -> None:
    local_kernel.says["code"] = fenced(SLOW_ON_THE_SAMPLE)
    with local_kernel.kernel() as kernel:
        begin(kernel)
        wait_for_the_sample_run(kernel)
        dead, processes = kernel.pid, family(kernel)
        assert kernel.leave() == 0
        assert_nothing_is_left(processes, dead)


@pytest.mark.local_sandbox
def test_restarted_gently_during_a_question_to_the_model(local_kernel: KernelSetup) -> None:
    local_kernel.says["plan"] = Answer("…", hold=local_kernel.release)
    with local_kernel.kernel() as kernel:
        begin(kernel)
        local_kernel.model.wait_for_requests(1)
        dead, processes = kernel.pid, family(kernel)
        assert kernel.leave() == 0
        assert_nothing_is_left(processes, dead)
        local_kernel.model.wait_for_hang_ups(1)
