"""Which failed starts are caused by too little memory, and the error then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import EngineGone, OutOfMemory, SandboxError, SandboxUnavailable
from autocoder_jupyter.sandbox.host import capacity
from autocoder_jupyter.sandbox.host.capacity import enough_for_spare, start_within
from autocoder_jupyter.sandbox.protocol import WorkerLimits

MEBIBYTE = 2**20


class Machine:
    """Starts workers that need this much memory, or starts none."""

    def __init__(self, needs: int, error: type[SandboxError] = OutOfMemory, *, in_call: bool = False) -> None:
        self.needs = needs * MEBIBYTE
        self.error = error
        self.in_call = in_call
        self.living = 0

    def start(self, limits: WorkerLimits) -> Any:
        if limits.memory < self.needs and not self.in_call:
            raise self.error("no")
        self.living += 1
        return _Worker(self, limits)


class _Worker:
    def __init__(self, machine: Machine, limits: WorkerLimits) -> None:
        self.limits = limits
        self._machine = machine

    def call(self, *_: Any) -> None:
        if self.limits.memory < self._machine.needs:
            raise EngineGone("gave way")

    def kill(self) -> None:
        self._machine.living -= 1


@pytest.mark.parametrize("in_call", [False, True], ids=["does not start", "cannot fork"])
def test_the_least_that_works_is_found_and_no_worker_of_the_search_is_left(in_call: bool) -> None:
    machine = Machine(needs=300, in_call=in_call)
    with pytest.raises(SandboxUnavailable, match="100 MiB of memory is too little") as error:
        start_within(machine.start, WorkerLimits(memory=100 * MEBIBYTE))
    assert "512 MiB is enough here: --memory 512Mi" in error.value.hint
    assert machine.living == 0


def test_what_is_called_enough_has_room_for_a_worker_that_needs_a_little_more() -> None:
    with pytest.raises(SandboxUnavailable) as error:
        start_within(Machine(needs=120).start, WorkerLimits(memory=20 * MEBIBYTE))
    assert "256 MiB is enough here" in error.value.hint


def test_a_failure_that_more_memory_does_not_cure_is_told_as_it_is() -> None:
    with pytest.raises(EngineGone, match="no"):
        start_within(Machine(needs=10**6, error=EngineGone).start, WorkerLimits(memory=100 * MEBIBYTE))


def test_with_plenty_of_memory_another_failure_is_not_looked_into() -> None:
    with pytest.raises(EngineGone):
        start_within(Machine(needs=600, error=EngineGone).start, WorkerLimits(memory=512 * MEBIBYTE))


def test_more_than_is_ever_tried_is_asked_for_without_a_number() -> None:
    with pytest.raises(SandboxUnavailable, match="3072 MiB of memory is too little") as error:
        start_within(Machine(needs=9000).start, WorkerLimits(memory=3072 * MEBIBYTE))
    assert error.value.hint == "Allow more with --memory."


def test_enough_memory_is_none_of_its_business() -> None:
    machine = Machine(needs=100)
    assert start_within(machine.start, WorkerLimits()).limits == WorkerLimits()  # type: ignore[attr-defined]
    assert machine.living == 1


@pytest.mark.parametrize(
    ("told", "enough"),
    [
        ("MemTotal: 8000000 kB\nMemFree: 10 kB\nMemAvailable: 1048576 kB\n", True),
        ("MemTotal: 8000000 kB\nMemFree: 10 kB\nMemAvailable: 1048575 kB\n", False),
        ("MemTotal: 8000000 kB\nMemFree: 8000000 kB\n", False),
        ("", False),
    ],
    ids=["enough", "one less", "not said", "nothing said"],
)
def test_a_spare_is_for_machines_with_memory_left(
    told: str, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "_MEMORY", tmp_path / "meminfo")
    assert not enough_for_spare()
    (tmp_path / "meminfo").write_text(told)
    assert enough_for_spare() == enough
