from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd
import pytest

from autocoder_jupyter.errors import EngineGone, OutOfMemory, SandboxTimeout, SandboxUnavailable
from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.docker.container import Transport
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.protocol import (
    BuildWatch,
    CallSpec,
    Environment,
    EnvironmentSpec,
    Program,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.types import InputSpec, OutputSpec, TypeName

A_MOMENT = 30.0
"""Seconds that are enough on a busy machine, and far fewer than the program itself would need."""

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("no_container_left")]

LIMITS = WorkerLimits(memory=512 << 20, seconds=30)


def program(code: str, returns: TypeName = "DataFrame") -> Program:
    return Program(code, (InputSpec(name="df", type="DataFrame"),), (OutputSpec(name="out", type=returns),))


FRAME = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-02-01"], utc=True), "n": [1, 2]})
DOUBLE = program("def run(df):\n    return df.assign(n=df.n * 2)\n")
WAIT = program("import time\ndef run(df):\n    time.sleep(60)\n")


@pytest.fixture(scope="module", params=["sockets", "attach"])
def transport(request: pytest.FixtureRequest, engine: DockerEngine) -> Transport:
    if request.param == "sockets" and not engine.same_host:
        pytest.skip("the engine is not on this machine")
    return request.param


@pytest.fixture
def worker(transport: Transport, environment: Environment) -> Iterator[Worker]:
    """A new worker, which a test may end."""
    worker = DockerSandbox(transport=transport).start(WorkerSpec(environment, LIMITS))
    yield worker
    worker.kill()


@pytest.fixture(scope="module")
def lasting_worker(transport: Transport, environment: Environment) -> Iterator[Worker]:
    """A worker for all tests that do not end it."""
    worker = DockerSandbox(transport=transport).start(WorkerSpec(environment, LIMITS))
    yield worker
    worker.kill()


def test_the_probe_tells_what_was_found(image: str) -> None:
    sandbox = DockerSandbox()
    probe = sandbox.probe()
    assert probe.available and probe.name == "docker"
    assert {"engine", "address", "where", "transport", "base image", "python", "limits"} <= set(probe.details)
    assert sandbox.probe() is probe


def test_a_frame_goes_in_and_comes_back(lasting_worker: Worker) -> None:
    values = lasting_worker.call(DOUBLE, {"df": FRAME}).values
    pd.testing.assert_frame_equal(values["out"], FRAME.assign(n=[2, 4]))


def test_one_worker_serves_many_calls(lasting_worker: Worker) -> None:
    for _ in range(3):
        assert list(lasting_worker.call(DOUBLE, {"df": FRAME}).values["out"].n) == [2, 4]


def test_a_program_that_runs_too_long_is_killed(worker: Worker) -> None:
    began = time.monotonic()
    with pytest.raises(SandboxTimeout):
        worker.call(WAIT, {"df": FRAME}, CallSpec(seconds=1))
    assert time.monotonic() - began < A_MOMENT


def test_a_program_that_needs_too_much_memory_is_told_so(worker: Worker) -> None:
    hungry = program("import os\ndef run(df):\n    return len(bytearray(os.urandom(1 << 20)) * 2000)\n", "int")
    with pytest.raises(OutOfMemory):
        worker.call(hungry, {"df": FRAME})


def test_a_container_removed_in_the_middle_of_a_call_is_not_the_programs_fault(
    worker: Worker, engine: DockerEngine, containers_of: Callable[[int], list[str]]
) -> None:
    client = engine.client()
    (container,) = containers_of(os.getpid())
    removal = threading.Timer(0.5, lambda: client.remove_container(container, force=True))
    removal.start()
    began = time.monotonic()
    with pytest.raises(EngineGone):
        worker.call(WAIT, {"df": FRAME})
    assert time.monotonic() - began < A_MOMENT
    removal.join()
    client.close()
    assert not worker.alive


def test_an_image_that_was_deleted_is_said(image: str) -> None:
    gone = Environment("gone", "autocode-env:never-built", (), (3, 11))
    with pytest.raises(SandboxUnavailable, match="does not have the image"):
        DockerSandbox().start(WorkerSpec(gone, LIMITS))


def test_two_kernels_build_an_environment_once(environment: Environment, engine: DockerEngine) -> None:
    spec = EnvironmentSpec(packages=("iniconfig",), python_version=(3, 11), lock=(*environment.lock, "natsort==8.4.0"))
    client = engine.client()
    built: list[str] = []
    try:
        with ThreadPoolExecutor(2) as pool:
            builds = [pool.submit(DockerSandbox().build, spec, watch=BuildWatch(built.append)) for _ in range(2)]
            assert len({build.result() for build in builds}) == 1
        assert len([line for line in built if line.startswith("building ")]) == 1
    finally:
        client.remove_image(builds[0].result().location, force=True)
        client.close()


def test_an_image_that_was_removed_is_what_is_wrong_with_its_environment(environment: Environment) -> None:
    sandbox = DockerSandbox()
    assert sandbox.examine(environment) == ""
    assert sandbox.examine(replace(environment, location=f"{environment.location}-gone")) == "its image was removed"
