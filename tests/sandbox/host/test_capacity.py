"""How many cores may be used, and how much memory is free, also in a container with limits."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.host import capacity
from autocoder_jupyter.sandbox.local import control_groups


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(control_groups, "_GROUPS", tmp_path)
    monkeypatch.setattr(capacity, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(capacity, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    return tmp_path


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("250000 100000", 3), ("50000 100000", 1), ("?", 8), (None, 8)]
)
def test_a_quota_of_the_container_counts(container: Path, quota: str | None, cores: int) -> None:
    if quota is not None:
        (container / "cpu.max").write_text(quota)
    assert capacity.usable_cores() == cores


def test_what_the_container_has_left_counts_with_the_file_cache_that_can_be_freed(container: Path) -> None:
    (container / "meminfo").write_text("MemAvailable: 8000 kB\n")
    assert capacity.free_memory() == 8000 << 10
    (container / "memory.max").write_text("1000000")
    (container / "memory.current").write_text("900000")
    (container / "memory.stat").write_text("active_file 100\ninactive_file 50\n")
    assert capacity.free_memory() == 100_150


def test_memory_that_is_not_reported_is_no_limit(container: Path) -> None:
    assert capacity.free_memory() == math.inf
