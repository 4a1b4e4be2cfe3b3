from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.bundle import worker_command
from autocoder_jupyter.sandbox.channel import ChannelWorker, connect
from autocoder_jupyter.sandbox.process import ExitReason
from autocoder_jupyter.sandbox.protocol import Limits, Program
from autocoder_jupyter.types import InputSpec, OutputSpec


class PlainProcess:
    """NOT a sandbox: a worker in an ordinary subprocess, to test what runs inside and the channel to it.

    Only for sources that a test itself wrote.
    """

    def __init__(self, folder: Path, command: list[str] | None = None) -> None:
        self.told: ExitReason | None = None
        self.at_work = True
        self.popen = subprocess.Popen(
            command or worker_command(sys.executable),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
            cwd=folder,
        )
        assert self.popen.stdin and self.popen.stdout and self.popen.stderr
        self.requests = self.popen.stdin
        self.data = self.popen.stdout
        self.control = self.popen.stderr

    def watch(self, at_work: bool) -> None:
        self.at_work = at_work

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.popen.send_signal(signal.SIGKILL)

    def exit_reason(self) -> ExitReason:
        code = self.popen.wait(5)
        if self.told is not None:
            return self.told
        return ExitReason(signal=-code) if code < 0 else ExitReason(exit_code=code)


@pytest.fixture(scope="session")
def plain_process() -> type[PlainProcess]:
    return PlainProcess


@pytest.fixture(scope="module")
def start_plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ChannelWorker]]:
    """Starts workers that are not sandboxed, and ends them with the module."""
    workers: list[ChannelWorker] = []

    def start(limits: Limits | None = None, **options: object) -> ChannelWorker:
        process = PlainProcess(tmp_path_factory.mktemp("worker"))
        worker = connect(process, limits or Limits(seconds=30), **options)  # type: ignore[arg-type]
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.kill()


@pytest.fixture(scope="module")
def _workers() -> dict[str, ChannelWorker]:
    return {}


@pytest.fixture
def worker(_workers: dict[str, ChannelWorker], start_plain: Callable[..., ChannelWorker]) -> ChannelWorker:
    """A worker that is alive, shared by the module's tests; not sandboxed."""
    return _alive(_workers, "worker", start_plain)


@pytest.fixture
def callee(_workers: dict[str, ChannelWorker], start_plain: Callable[..., ChannelWorker]) -> ChannelWorker:
    """Another, in which a function is called by tests that run in the first."""
    return _alive(_workers, "callee", start_plain)


def _alive(workers: dict[str, ChannelWorker], name: str, start: Callable[..., ChannelWorker]) -> ChannelWorker:
    if name not in workers or not workers[name].alive:
        workers[name] = start()
    return workers[name]


@pytest.fixture(scope="session")
def program() -> Callable[..., Program]:
    """Makes a program from its source and `name: type` strings."""

    def make(code: str, inputs: str = "", outputs: str = "result: int", **env_vars: str) -> Program:
        return Program(
            code=code,
            inputs=tuple(_input(text) for text in inputs.split(",") if text.strip()),
            outputs=tuple(OutputSpec(name=n, type=t) for n, t in (_split(o) for o in outputs.split(",") if o.strip())),
            env_vars=env_vars,
        )

    return make


def _input(text: str) -> InputSpec:
    name, kind = _split(text)
    return InputSpec(name=name, type=kind.removesuffix("?"), required=not kind.endswith("?"))


def _split(text: str) -> tuple[str, str]:
    name, _, kind = text.partition(":")
    return name.strip(), kind.strip()
