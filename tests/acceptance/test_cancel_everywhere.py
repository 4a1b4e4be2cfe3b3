"""A job can be cancelled at any point: it ends, leaves nothing running, and its name can be used again.

There is one case for each thing that a job can be waiting for: the data, one answer, two answers at once, a build, a
program, and an answer after a program has run. All stages wait in one of these ways.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from autocoder_jupyter import jobs
from autocoder_jupyter.calls import runtime as runtime_module
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.engine.sandbox_session import limits_of
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.jobs.job import GenerationJob
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import Event, StageStarted
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.host import pool as pool_module
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.local import forks
from autocoder_jupyter.sandbox.protocol import WorkerSpec
from autocoder_jupyter.types import ImageConfig, OutputSpec
from tests.acceptance.leftovers import await_end, children, eventually, worker_roots
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced, sales
from tests.sandbox.sandboxes import base_spec, open_sandbox
from tests.scripted_model import Answer, ScriptedModel, by_marker

PATIENCE = 60.0

ENDLESS = CODE.replace("    return", "    while True:\n        pass\n    return")
WRONG = CODE.replace('sales["price"] * sales["quantity"]', 'sales["price"]')
DIAGNOSIS = json.dumps({"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "logic"}]})


class Stage:
    """A scripted model, the jobs that ask it, and all events of these jobs."""

    def __init__(self, root: Path, sandbox: str) -> None:
        self._root = root
        self._sandbox = sandbox
        self._heard: list[Event] = []
        self._news = threading.Condition()
        self._of_others = set(worker_roots())  # idle workers of other tests in this process
        self.release = threading.Event()
        self.says: dict[str, str | Answer] = {"plan": PLAN, "code": fenced(CODE), "tests": fenced(TESTS)}
        says = {MARKERS[stage]: self._script_of(stage) for stage in MARKERS}
        self.model = ScriptedModel(by_marker(says))

    def _script_of(self, stage: str) -> Callable[[dict[str, Any]], str | Answer]:
        return lambda request: self.says[stage]

    def hold(self, *stages: str) -> None:
        """From now on, these questions get no answer."""
        for stage in stages:
            self.says[stage] = Answer("…", hold=self.release)

    def submit(self, prompt: str = "Total revenue of @sales.", samples: Any = None, **settings: Any) -> GenerationJob:
        config = AgentConfig(**{"max_iterations": 3, "sandbox": self._sandbox, **self.model.settings, **settings})
        request = Request(
            name="growth",
            prompt=prompt,
            samples={"sales": sales()} if samples is None else samples,
            outputs=(OutputSpec(name="total", type="float"),),
        )
        tracker = RunTracker(FunctionRun("growth"), self._hear)
        return jobs.submit(request, config, journal_root=self._root, tracker=tracker)

    def _hear(self, event: Event) -> None:
        with self._news:
            self._heard.append(event)
            self._news.notify_all()

    def wait_for(self, holds: Callable[[Event], bool], times: int = 1) -> None:
        """Wait until this number of events of a kind has arrived."""
        with self._news:
            assert self._news.wait_for(lambda: sum(map(holds, self._heard)) >= times, 60), self._heard

    @property
    def workers(self) -> list[int | str]:
        """The living workers that were started in this test."""
        return [root for root in worker_roots() if root not in self._of_others]

    @property
    def pool(self) -> Pool:
        return runtime_for(self._sandbox, ImageConfig()).pool  # type: ignore[arg-type]


def make_stage(sandbox: str, root: Path, others: set[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """`others` are children of this process that other tests have started."""
    monkeypatch.setattr(runtime_module, "_runtimes", {})
    monkeypatch.setattr(pool_module, "_shared", {})
    stage = Stage(root / ".autocode", sandbox)
    before = {process.pid for process in _started(others)}

    def new() -> list[psutil.Process]:
        return [process for process in _started(others) if process.pid not in before]

    with stage.model:
        yield stage
        if job := jobs.current("growth"):
            job.cancel()
        jobs.forget("growth")  # otherwise the next function would have a successful earlier version
        stage.release.set()
    stage.pool.close()
    eventually(lambda: not stage.workers, lambda: stage.workers)
    await_end(new())  # a loading process stays for three seconds
    eventually(lambda: not new(), lambda: [process.cmdline() for process in new()])


def _children() -> set[int]:
    return {process.pid for process in children(os.getpid(), recursive=False)}


def _started(others: set[int]) -> list[psutil.Process]:
    """The children of this process without `others`, and their descendants.

    The descendants of `others` do not count: an idle worker that another test has left forks when it rests.
    """
    started = [process for process in children(os.getpid(), recursive=False) if process.pid not in others]
    return [*started, *(below for process in started for below in children(process.pid))]


@pytest.fixture(scope="module")
def loading_processes() -> Iterator[set[int]]:
    """The loading processes for tests that cancel after workers were started, kept by two workers that do nothing.

    Gives the children of this process that it had before.
    """
    sandbox, config = open_sandbox("local"), AgentConfig()
    environment, network = sandbox.build(base_spec("local")), not config.block_network
    others = _children()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forks, "_slots", {})  # so that no worker of another test is forked from them
        one = sandbox.start(WorkerSpec(environment, limits_of(config), network=network))
        other = sandbox.start(WorkerSpec(environment, limits_of(config), network=network), unlike=[one.id])
        assert one.responds() and other.responds()  # each has forked its next child by then
        yield others
        for worker in (one, other):
            worker.kill()
        await_end(_started(others))
    assert _started(others) == []


@pytest.fixture
def stage(loading_processes: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """With the local sandbox. At the end no process of a worker may be left, and no loading process may be new."""
    yield from make_stage("local", tmp_path, loading_processes, monkeypatch)


@pytest.fixture
def no_loading_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """New loading processes are started, for tests that cancel while the first workers start. None may be left."""
    monkeypatch.setattr(forks, "_slots", {})


@pytest.fixture
def any_stage(
    request: pytest.FixtureRequest, sandbox_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """With each sandbox; for tests that cancel something inside of a sandbox."""
    others = request.getfixturevalue("loading_processes") if sandbox_name == "local" else _children()
    yield from make_stage(sandbox_name, tmp_path, others, monkeypatch)


def cancelled(job: GenerationJob) -> None:
    """Cancel the job, and check that it ends with the right message."""
    job.cancel()
    with pytest.raises(Cancelled, match="growth was cancelled"):
        job.result.wait(PATIENCE)
    assert (job.state, job.result.state, job.result.success) == ("cancelled", "cancelled", False)
    with pytest.raises(Cancelled):
        job.result.run()


def only_idle_workers_are_left(stage: Stage) -> None:
    """Idle workers may stay; workers that ran something of the job may not."""
    eventually(
        lambda: len(stage.workers) == sum(idle.worker.alive for idle in stage.pool._idle),
        lambda: (stage.workers, stage.pool._idle),
    )


def the_name_is_free_again(stage: Stage) -> None:
    stage.says |= {"plan": PLAN, "code": fenced(CODE), "tests": fenced(TESTS)}
    again = stage.submit("Total revenue of @sales, once more.", effort="quick")
    assert again.result.wait(60).success, again.result.error
    assert again.result.run() == 140.0  # 10*1 + 20*2 + 30*3
    assert jobs.current("growth") is again


def starts(stage: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, StageStarted) and event.stage == stage


@pytest.mark.local_sandbox
def test_while_the_data_is_read(stage: Stage) -> None:
    large = pd.DataFrame({"price": range(400_000), "quantity": [{"n": number} for number in range(400_000)]})
    job = stage.submit(samples={"sales": large})
    eventually(lambda: _is_somewhere_in("prepare"), lambda: "the data is not being read")
    cancelled(job)
    assert stage.model.requests == []
    the_name_is_free_again(stage)


def _is_somewhere_in(function: str) -> bool:
    for frame in sys._current_frames().values():
        while frame is not None:
            if frame.f_code.co_name == function:
                return True
            frame = frame.f_back  # type: ignore[assignment]
    return False


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("no_loading_processes")
def test_while_the_model_plans(stage: Stage) -> None:
    stage.hold("plan")
    job = stage.submit()
    stage.model.wait_for_requests(1)
    cancelled(job)
    stage.model.wait_for_hang_ups(1, PATIENCE)
    only_idle_workers_are_left(stage)
    the_name_is_free_again(stage)


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("no_loading_processes")
def test_while_code_and_tests_are_written_side_by_side(stage: Stage) -> None:
    stage.hold("code", "tests")
    job = stage.submit()
    stage.model.wait_for_requests(2)
    cancelled(job)
    stage.model.wait_for_hang_ups(2, PATIENCE)
    only_idle_workers_are_left(stage)
    the_name_is_free_again(stage)


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("no_loading_processes")
def test_while_an_environment_is_built(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent_index, monkeypatch.context() as environ:
        for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
            environ.setenv(variable, f"http://127.0.0.1:{silent_index.getsockname()[1]}/simple")
        job = stage.submit()
        silent_index.settimeout(60)
        asked, _ = silent_index.accept()
        assert _resolvers()
        cancelled(job)
        eventually(lambda: not _resolvers(), _resolvers)
        only_idle_workers_are_left(stage)
        asked.close()
    the_name_is_free_again(stage)  # packages of another index make another environment


def _resolvers() -> list[str]:
    """Names of the uv processes that this process started."""
    return [name for process in children(os.getpid()) if (name := _name(process)) == "uv"]


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:  # ended meanwhile
        return ""


def test_while_the_tests_run(any_stage: Stage) -> None:
    any_stage.says["code"] = fenced(ENDLESS)
    job = any_stage.submit()
    any_stage.wait_for(starts("run"))
    time.sleep(1)  # a looping program prints nothing
    cancelled(job)
    only_idle_workers_are_left(any_stage)
    the_name_is_free_again(any_stage)


@pytest.mark.local_sandbox
def test_while_the_model_mends(stage: Stage) -> None:
    stage.says |= {"code": fenced(WRONG), "diagnose": DIAGNOSIS}
    stage.hold("fix_code")
    job = stage.submit()
    stage.model.wait_for_requests(4)
    cancelled(job)
    stage.model.wait_for_hang_ups(1, PATIENCE)
    only_idle_workers_are_left(stage)
    the_name_is_free_again(stage)


@pytest.mark.local_sandbox
def test_a_newer_run_takes_over_from_one_that_runs_in_the_sandbox(stage: Stage) -> None:
    stage.says["code"] = fenced(ENDLESS)
    older = stage.submit()
    stage.wait_for(starts("run"))
    time.sleep(1)
    the_name_is_free_again(stage)
    with pytest.raises(Cancelled, match="A newer run of growth took over"):
        older.result.wait(PATIENCE)
    only_idle_workers_are_left(stage)
