from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from autocoder_jupyter.sandbox.host.bundle import LOADER
from autocoder_jupyter.sandbox.host.channel import ChannelWorker, connect
from autocoder_jupyter.sandbox.host.exchange import ExitReason
from autocoder_jupyter.sandbox.protocol import Program, WorkerLimits
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.forked import ForkedProcess, fork_piped
from tests.sandbox.sandboxes import allow_for_emulation


class PlainProcess:
    """NOT a sandbox: a worker in an ordinary subprocess, to test the code inside and the channel to it.

    Only for sources that a test itself wrote. It is forked from a process that has imported the libraries, unless
    another command is given.
    """

    popen: subprocess.Popen[bytes] | ForkedProcess

    def __init__(self, folder: Path, command: list[str] | None = None) -> None:
        self.told: ExitReason | None = None
        self.at_work = True
        env = {"PATH": os.environ["PATH"], "TMPDIR": str(folder)}
        if command is None:
            self.popen = fork_piped(LOADER, folder, env)
        else:
            pipe = subprocess.PIPE
            self.popen = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=env, cwd=folder)
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
        code = self.popen.wait(60)
        if self.told is not None:
            return self.told
        return ExitReason(signal=-code) if code < 0 else ExitReason(exit_code=code)


@pytest.fixture(scope="session", autouse=True)
def emulation() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        allow_for_emulation(patch.setattr)
        yield


@pytest.fixture(scope="session")
def plain_process() -> type[PlainProcess]:
    return PlainProcess


class StartPlain:
    """Starts workers without a sandbox, and ends them together."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._workers: list[ChannelWorker] = []

    def __call__(
        self, limits: WorkerLimits | None = None, *, network: bool = False, address_space: int | None = None
    ) -> ChannelWorker:
        process = PlainProcess(self._folders.mktemp("worker"))
        worker = connect(process, limits or WorkerLimits(seconds=30), network=network, address_space=address_space)
        self._workers.append(worker)
        return worker

    def end(self) -> None:
        for worker in self._workers:
            worker.kill()


@pytest.fixture(scope="module")
def start_plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartPlain]:
    """Starts workers without a sandbox, and ends them with the module."""
    start = StartPlain(tmp_path_factory)
    yield start
    start.end()


class SharedWorkers:
    """Living workers by name; each takes a second to start."""

    def __init__(self, start: StartPlain) -> None:
        self._start = start
        self._workers: dict[str, ChannelWorker] = {}

    def __getitem__(self, name: str) -> ChannelWorker:
        if name not in self._workers or not self._workers[name].alive:
            self._workers[name] = self._start()
        return self._workers[name]


@pytest.fixture(scope="session")
def shared_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedWorkers]:
    start = StartPlain(tmp_path_factory)
    yield SharedWorkers(start)
    start.end()


@pytest.fixture
def worker(shared_workers: SharedWorkers) -> ChannelWorker:
    """A living worker without a sandbox, shared by all tests."""
    return shared_workers["worker"]


@pytest.fixture
def callee(shared_workers: SharedWorkers) -> ChannelWorker:
    """Another one, in which tests that run in the first call the function."""
    return shared_workers["callee"]


class MakeProgram(Protocol):
    def __call__(self, code: str, inputs: str = "", outputs: str = "result: int", **env_vars: str) -> Program: ...


@pytest.fixture(scope="session")
def program() -> MakeProgram:
    """Makes a program from its source and `name: type` strings."""

    def make(code: str, inputs: str = "", outputs: str = "result: int", **env_vars: str) -> Program:
        return Program(
            code=code,
            inputs=tuple(_input(text) for text in inputs.split(",") if text.strip()),
            outputs=tuple(_output(text) for text in outputs.split(",") if text.strip()),
            env_vars=env_vars,
        )

    return make


def _input(text: str) -> InputSpec:
    name, kind = _split(text)
    return InputSpec.model_validate({"name": name, "type": kind.removesuffix("?"), "required": not kind.endswith("?")})


def _output(text: str) -> OutputSpec:
    name, kind = _split(text)
    return OutputSpec.model_validate({"name": name, "type": kind})


def _split(text: str) -> tuple[str, str]:
    name, _, kind = text.partition(":")
    return name.strip(), kind.strip()
