"""The local sandbox when the system refuses a process or a file for a moment: the error, and what stays open."""

from __future__ import annotations

import itertools
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local import loading
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
from autocoder_jupyter.sandbox.protocol import Environment, Limits

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


@pytest.mark.parametrize("further", range(1, 10))
def test_a_worker_that_the_system_refuses_is_told_and_leaves_no_descriptor(
    further: int, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = LocalSandbox()
    sandbox.start(environment, Limits()).kill()  # so that everything is imported
    monkeypatch.setattr(loading, "_slots", {})
    before = open_descriptors()
    with room_for(further), pytest.raises(SandboxUnavailable, match="cannot start a worker now") as told:
        sandbox.start(environment, Limits())
    assert "Too many open files" in (told.value.why or "")
    assert "ulimit -a" in told.value.hint
    for slot in itertools.chain(*loading._slots.values()):
        if slot.process is not None:
            slot.process.kill()
    assert open_descriptors() == before


@pytest.mark.usefixtures("forgetful_probe")
def test_a_trial_that_the_system_refuses_for_now_is_repeated() -> None:
    with room_for(3):
        refused = LocalSandbox().probe()
    assert not refused.available
    assert "Too many open files" in refused.reason
    assert LocalSandbox().probe().available
