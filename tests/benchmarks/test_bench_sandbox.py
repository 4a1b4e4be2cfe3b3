"""The cost of isolation: the start of a worker, and a call, compared with the same function in this process.

python -m pytest tests/benchmarks/test_bench_sandbox.py --benchmark-only --benchmark-group-by=group
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.local import process_tree, trial
from autocoder_jupyter.sandbox.local import sandbox as local
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.protocol import CallSpec, Environment, Program, Sandbox, Worker, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.sandbox.sandboxes import EACH, base_spec, open_sandbox

SOURCE = "def run(frame):\n    frame = frame.copy()\n    frame['total'] = frame['c0'] + frame['c1']\n    return frame\n"
PROGRAM = Program(SOURCE, (InputSpec(name="frame", type="DataFrame"),), (OutputSpec(name="frame", type="DataFrame"),))
LIMITS = WorkerLimits(cpu=1.0, memory=4 * 2**30)
SIZES = {"1k": 1_000, "100k": 100_000, "1M": 1_000_000}


def frame_of(rows: int) -> pd.DataFrame:
    """Ten columns: eight of floats, one of integers, one of dates."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"c{number}": random.random(rows) for number in range(8)}
    columns["id"] = np.arange(rows)
    columns["when"] = pd.date_range("2020-01-01", periods=rows, freq="s")
    return pd.DataFrame(columns)


@pytest.fixture(scope="module", params=EACH)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return open_sandbox(request.param)


@pytest.fixture(scope="module")
def environment(sandbox: Sandbox) -> Environment:
    return sandbox.build(base_spec(sandbox.name))


@pytest.fixture(scope="module")
def worker(sandbox: Sandbox, environment: Environment) -> Iterator[Worker]:
    worker = sandbox.start(WorkerSpec(environment, LIMITS))
    yield worker
    worker.kill()


@pytest.mark.benchmark(group="a known environment")
def test_build_a_known_environment(benchmark: Any, sandbox: Sandbox, environment: Environment) -> None:
    assert benchmark(sandbox.build, base_spec(sandbox.name)) == environment


@pytest.mark.benchmark(group="start of a worker")
def test_start_a_worker(benchmark: Any, sandbox: Sandbox, environment: Environment) -> None:
    """The first worker of a loading process does not count; `test_start_a_worker_that_loads_for_itself` measures it."""
    measure_starts(benchmark, sandbox, environment)


@pytest.mark.docker
@pytest.mark.benchmark(group="start of a worker")
@pytest.mark.parametrize("spare", [False, True], ids=["no spare", "a spare"])
def test_a_worker_of_docker_in_the_place_of_one_that_died(
    benchmark: Any, spare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a spare this is the baseline. With a spare, the time until the next spare is ready is not counted."""
    if not spare:
        monkeypatch.setattr(DockerSandbox, "affords_spare", lambda _: False)
    sandbox = open_sandbox("docker")
    environment = sandbox.build(base_spec("docker"))

    def die() -> None:
        with pool.lease(WorkerSpec(environment, LIMITS)) as worker:
            worker.kill()
        while any(thread.name == "autocode-spare" for thread in threading.enumerate()):
            time.sleep(0.01)

    def lend() -> None:
        with pool.lease(WorkerSpec(environment, LIMITS)) as worker:
            assert worker.alive

    with contextlib.closing(Pool(sandbox, quiet_seconds=0)) as pool:
        benchmark.pedantic(lend, setup=die, rounds=10)


@pytest.mark.local_sandbox
@pytest.mark.benchmark(group="start of a worker")
@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
def test_start_a_worker_of_a_tier(benchmark: Any, tier: ConfinementTier, monkeypatch: pytest.MonkeyPatch) -> None:
    measure_starts(benchmark, *held_by(tier, monkeypatch))


@pytest.mark.local_sandbox
@pytest.mark.benchmark(group="start of a worker")
@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
def test_start_a_worker_that_loads_for_itself(
    benchmark: Any, tier: ConfinementTier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The baseline: a worker that is not forked from a loading process."""
    sandbox, environment = held_by(tier, monkeypatch)
    monkeypatch.setattr(local, "_forked", lambda *_: None)
    measure_starts(benchmark, sandbox, environment)


@pytest.mark.local_sandbox
@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name)
def test_call_in_a_tier(benchmark: Any, tier: ConfinementTier, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark.group = "call 1k x 10"
    sandbox, environment = held_by(tier, monkeypatch)
    frame = frame_of(SIZES["1k"])
    worker = sandbox.start(WorkerSpec(environment, LIMITS))
    worker.call(PROGRAM, {"frame": frame})
    benchmark.pedantic(worker.call, (PROGRAM, {"frame": frame}), rounds=20)
    worker.kill()


def held_by(tier: ConfinementTier, monkeypatch: pytest.MonkeyPatch) -> tuple[Sandbox, Environment]:
    """The local sandbox with this tier only."""
    monkeypatch.setattr(trial, "_answer", None)
    monkeypatch.setattr(trial, "TIERS", (tier,))
    sandbox = open_sandbox("local")
    return sandbox, sandbox.build(base_spec("local"))


def measure_starts(benchmark: Any, sandbox: Sandbox, environment: Environment) -> None:
    workers = [sandbox.start(WorkerSpec(environment, LIMITS)) for _ in range(2)]
    benchmark.pedantic(lambda: workers.append(sandbox.start(WorkerSpec(environment, LIMITS))), rounds=5)
    for started in workers:
        started.kill()


@pytest.mark.parametrize("counted", ["who is there", "memory", "descriptors", "mappings and files"])
def test_a_look_of_the_supervisor(benchmark: Any, worker: Worker, counted: str) -> None:
    """During a program, memory is checked 20 times per second (never with a control group), everything else 5 times."""
    benchmark.group = "a look of the supervisor"
    process = getattr(worker, "_process")  # noqa: B009
    if not isinstance(process, LocalProcess):
        pytest.skip("a container engine counts by itself")
    tree = process_tree.descendants(process.supervisor.pid)
    folders = process_tree.views(tree)
    held = process_tree.descriptors(folders)
    parts: dict[str, Callable[[], object]] = {
        "who is there": lambda: process_tree.views(process_tree.descendants(process.supervisor.pid)),
        "memory": lambda: process_tree.memory(folders, LIMITS.memory),
        "descriptors": lambda: process_tree.descriptors(folders),
        "mappings and files": lambda: process_tree.disk(Path(process.folder), folders, held, 20_000),
    }
    benchmark.pedantic(parts[counted], rounds=100)


@pytest.mark.parametrize("size", SIZES)
def test_call_in_this_process(benchmark: Any, size: str) -> None:
    benchmark.group = f"call {size} x 10"
    scope: dict[str, Any] = {}
    exec(SOURCE, scope)
    benchmark(scope["run"], frame_of(SIZES[size]))


@pytest.mark.parametrize("reuse", [False, True], ids=["fresh", "reused"])
@pytest.mark.parametrize("size", SIZES)
def test_call_in_a_worker(benchmark: Any, worker: Worker, size: str, reuse: bool) -> None:
    benchmark.group = f"call {size} x 10"
    frame = frame_of(SIZES[size])
    worker.call(PROGRAM, {"frame": frame}, CallSpec(reuse=reuse))
    benchmark.pedantic(worker.call, (PROGRAM, {"frame": frame}), {"reuse": reuse}, rounds=20)
