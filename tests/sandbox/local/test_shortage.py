"""The local sandbox when the system refuses a process or a file for a moment: the error, and what stays open."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local import forks, trial
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from autocoder_jupyter.sandbox.protocol import Environment, Probe, WorkerLimits, WorkerSpec

pytestmark = pytest.mark.local_sandbox


def open_descriptors() -> dict[int, str]:
    """The open files of this process, by their descriptors."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found[int(entry.name)] = str(entry.readlink())
    return found


@contextmanager
def room_for(further: int) -> Iterator[None]:
    """Let this process open only so many further descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    try:
        with socket.socket() as lowest:
            held.append(os.dup(lowest.fileno()))
        # The limit is on the highest number; whatever is free below it must be taken.
        while (highest := os.dup(held[0])) < max(open_descriptors()) - 1:
            held.append(highest)
        held.append(highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1 + further, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)


@pytest.fixture(scope="module")
def own_process() -> Iterator[ProcessPoolExecutor]:
    """A process where nothing else opens or closes files, as the threads of earlier tests do in this one."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        yield process


@dataclass(frozen=True)
class Refusal:
    """What a refused start told, and the open files before it and after it."""

    text: str
    why: str
    hint: str
    before: dict[int, str]
    after: dict[int, str]


def refused_starts(environment: Environment, numbers: Sequence[int]) -> list[Refusal | None]:
    """Start a worker where only so many further files may be opened, for each number; None if it was not refused."""
    LocalSandbox().start(WorkerSpec(environment, WorkerLimits())).kill()  # so that everything is imported
    end_loading_processes()
    return [_refused_start(environment, further) for further in numbers]


def _refused_start(environment: Environment, further: int) -> Refusal | None:
    before = open_descriptors()
    try:
        with room_for(further):
            LocalSandbox().start(WorkerSpec(environment, WorkerLimits())).kill()
    except SandboxUnavailable as error:
        told = error
    else:
        return None
    finally:
        end_loading_processes()
    return Refusal(str(told), told.why or "", told.hint, before, open_descriptors())


def end_loading_processes() -> None:
    for slot in itertools.chain(*forks._slots.values()):
        if slot.process is not None:
            slot.process.kill()
    forks._slots.clear()
    while any(thread.name == "autocode-supervisor" for thread in threading.enumerate()):
        time.sleep(0.01)  # it closes the link when the process has ended


def refused_trial() -> tuple[Probe, Probe]:
    """The result of a trial where it cannot open the files that it needs, and of the next one, where it can."""
    trial._answer = None
    with room_for(3):
        refused = LocalSandbox().probe()
    return refused, LocalSandbox().probe()


def test_a_worker_that_the_system_refuses_is_told_and_leaves_no_descriptor(
    environment: Environment, own_process: ProcessPoolExecutor
) -> None:
    for further, refusal in enumerate(own_process.submit(refused_starts, environment, range(1, 10)).result(), 1):
        assert refusal is not None, further
        assert "cannot start a worker now" in refusal.text, further
        assert "Too many open files" in refusal.why, further
        assert "ulimit -a" in refusal.hint, further
        assert refusal.after == refusal.before, further


def test_a_trial_that_the_system_refuses_for_now_is_repeated(own_process: ProcessPoolExecutor) -> None:
    refused, repeated = own_process.submit(refused_trial).result()
    assert not refused.available
    assert "Too many open files" in refused.reason
    assert repeated.available
