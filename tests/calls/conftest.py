from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.calls import runtime as runtime_module
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.errors import EngineGone
from autocoder_jupyter.sandbox.protocol import (
    CallOutcome,
    CallSpec,
    Environment,
    EnvironmentSpec,
    Probe,
    Program,
    WorkerSpec,
)
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report


class StandInWorker:
    """Runs a program in the test's own process. `tests/sandbox` tests real workers."""

    def __init__(self, pool: StandInPool) -> None:
        self.id = f"worker-{len(pool.workers)}"
        self.pool = pool
        self.killed = threading.Event()
        self.alive = True

    def call(self, program: Program, arguments: Mapping[str, Any], spec: CallSpec) -> CallOutcome:
        self.pool.calls.append((program, spec))
        if self.pool.faults:
            raise self.pool.faults.pop(0)
        namespace: dict[str, Any] = {"killed": self.killed, "started": self.pool.started, "env": program.env_vars}
        exec(program.code, namespace)
        returned = namespace[program.function](**arguments)
        if self.killed.is_set():
            raise EngineGone("The worker was killed.")
        values = (returned,) if len(program.outputs) == 1 else returned
        names = [output.name for output in program.outputs]
        return CallOutcome(dict(zip(names, values, strict=True)), {}, (), "", "", 0.0)

    def kill(self) -> None:
        self.alive = False
        self.killed.set()


class StandInPool:
    def __init__(self) -> None:
        self.workers: list[StandInWorker] = []
        self.leases: list[WorkerSpec] = []
        self.asked: list[bool] = []
        self.calls: list[tuple[Program, CallSpec]] = []
        self.faults: list[Exception] = []
        self.started = threading.Event()

    @contextmanager
    def lease(self, spec: WorkerSpec, *, asked: bool) -> Iterator[StandInWorker]:
        self.leases.append(spec)
        self.asked.append(asked)
        worker = StandInWorker(self)
        self.workers.append(worker)
        yield worker


class StandInSandbox:
    name = "local"

    def __init__(self) -> None:
        self.built: list[EnvironmentSpec] = []

    def probe(self) -> Probe:
        return Probe("local", True)

    def examine(self, environment: Environment) -> str:
        return ""

    def build(self, spec: EnvironmentSpec, **_: object) -> Environment:
        self.built.append(spec)
        return Environment("key", "somewhere", spec.lock, spec.python_version)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StandInPool:
    pool = StandInPool()
    runtime = runtime_module.Runtime(StandInSandbox(), pool)  # type: ignore[arg-type]
    monkeypatch.setattr(runtime_module, "_found", lambda choice, image_config, minimum: runtime)
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path / "cache"))
    return pool


ONE_NUMBER = (OutputSpec(name="value", type="float"),)


def make_report(
    code: str,
    inputs: tuple[InputSpec, ...] = (),
    outputs: tuple[OutputSpec, ...] = ONE_NUMBER,
    **more: Any,
) -> Report:
    fields: dict[str, Any] = {
        "name": "growth",
        "run_id": "abc",
        "prompt": "what is asked",
        "success": True,
        "solution": CodeSolution(code=code),
        "declared_inputs": inputs,
        "declared_outputs": outputs,
        "python_version": (3, 11),
        "lock": (f"pandas==3.0.1 --hash=sha256:{'0' * 64}",),
    }
    return Report(**{**fields, **more})


def make_function(
    code: str,
    inputs: tuple[InputSpec, ...] = (),
    outputs: tuple[OutputSpec, ...] = ONE_NUMBER,
    samples: Mapping[str, Any] | None = None,
    root: Path = Path(".autocode"),
    **more: Any,
) -> Function:
    return Function.of(make_report(code, inputs, outputs, **more), samples or {}, root)


@pytest.fixture
def report() -> Callable[..., Report]:
    return make_report


@pytest.fixture
def function() -> Callable[..., Function]:
    return make_function
