"""A worker in a container with a memory limit: it ends before the container is full, and before the notebook does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.local import control_groups, limits, process_tree, trial
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.sandbox import _start_trial
from tests.sandbox.local.test_confinement import MUST_HOLD

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the local sandbox is Linux's")

MIB = 2**20
GROUP_FILES = {
    1: ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_"),
    2: ("memory.max", "memory.current", "memory.stat", ""),
}
NO_LIMIT = {1: str(0x7FFFFFFFFFFFF000), 2: "max"}


@pytest.fixture(params=GROUP_FILES, ids=lambda version: f"version {version}")
def version(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The version of the container's control group; `describe` writes its files."""
    monkeypatch.setattr(control_groups, "_GROUPS", tmp_path)
    (tmp_path / "memory").mkdir()
    made: int = request.param
    return made


def describe(folder: Path, version: int, limit: str, used: int, cache: int) -> None:
    """Write the files of a control group."""
    *files, prefix = GROUP_FILES[version]
    statistics = f"anon 1\n{prefix}active_file {cache // 2}\n{prefix}inactive_file {cache // 2}\n"
    for file, text in zip(files, (limit, str(used), statistics), strict=True):
        (folder / file).write_text(text, "ascii")


@pytest.mark.parametrize(
    ("limit", "used", "cache", "worker", "told"),
    [
        (1024, 1000, 0, 300, True),
        (1024, 1000, 600, 300, False),  # most of it is file cache, which the kernel can free
        (1024, 1000, 0, 100, False),  # the notebook itself uses it
        (1024, 800, 0, 300, False),
        (8192, 7900, 0, 300, False),
        (8192, 7950, 0, 300, True),
    ],
    ids=["full", "cache", "small worker", "room", "room in a large one", "full large one"],
)
def test_a_worker_that_fills_its_container_is_noticed(
    tmp_path: Path, version: int, limit: int, used: int, cache: int, worker: int, told: bool
) -> None:
    describe(tmp_path, version, str(limit * MIB), used * MIB, cache * MIB)
    found = control_groups.memory_exceeded_by(lambda most: worker * MIB > most)
    assert found == (limit * MIB if told else None)


def test_doctor_names_the_limit_of_a_container(tmp_path: Path, version: int) -> None:
    describe(tmp_path, version, str(1024 * MIB), 0, 0)
    assert "1024 MiB" in trial.TierTrial(TIERS[0]).probe().details["limits"]


@pytest.mark.parametrize(
    ("own", "told"),
    [("/job", True), ("/job/step", True), ("/other", False), ("/../job", False), ("", False)],
    ids=["its own", "one around it", "another", "one outside of what is mounted", "none"],
)
def test_the_limit_of_every_group_around_the_notebook_counts(
    tmp_path: Path, version: int, own: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "_OWN", tmp_path / "own")
    (tmp_path / "own").write_text(f"5:pids:/elsewhere\n{'4:memory' if version == 1 else '0:'}:{own}\n")
    describe(tmp_path, version, NO_LIMIT[version], 2**40, 0)
    place = tmp_path / "memory" if version == 1 else tmp_path
    for path in ("job", "job/step", "other"):
        (place / path).mkdir()
    limit, used, statistics = (Path(file).name for file in GROUP_FILES[version][:3])
    for file, text in {limit: str(1024 * MIB), used: str(1000 * MIB), statistics: ""}.items():
        (place / "job" / file).write_text(text)
    assert control_groups.memory_exceeded_by(lambda _: True) == (1024 * MIB if told else None)
    assert control_groups.memory_limit() == (1024 * MIB if told else None)


def test_without_a_limit_nothing_is_exceeded(tmp_path: Path, version: int) -> None:
    describe(tmp_path, version, NO_LIMIT[version], 2**40, 0)
    assert control_groups.memory_exceeded_by(lambda _: True) is None
    assert "MiB" not in trial.TierTrial(TIERS[0]).probe().details["limits"]


def test_without_control_groups_nothing_is_exceeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "_GROUPS", tmp_path / "missing")
    assert control_groups.memory_exceeded_by(lambda _: True) is None


def test_a_tree_that_fills_its_container_is_ended_for_memory(tmp_path: Path, version: int) -> None:
    body = "held = b'x' * (100 << 20)\nprint('ready', flush=True)\ninput()"
    program = subprocess.Popen([sys.executable, "-c", body], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout and program.stdout.readline() == b"ready\n"
    bounds = limits.WorkerBounds(2**31, 2**30, str(tmp_path))
    describe(tmp_path, version, str(512 * MIB), 300 * MIB, 0)
    assert limits.broken_limit(bounds, program.pid, with_disk=False) is None
    describe(tmp_path, version, str(512 * MIB), 500 * MIB, 0)
    ending = limits.broken_limit(bounds, program.pid, with_disk=False)
    program.communicate(b"\n")
    assert ending is not None and ending.limit == "memory"
    assert "container around the notebook has 512 MiB" in ending.text


@pytest.mark.local_sandbox
# Namespaces alone do not confine root.
@pytest.mark.parametrize("tier", [tier for tier in TIERS if tier.landlock or os.geteuid()], ids=lambda tier: tier.name)
def test_the_kernel_would_kill_a_worker_before_the_notebook(tier: ConfinementTier) -> None:
    if refusal := trial._beforehand(tier, kernel_features.landlock_version()) or trial._refusal(_start_trial, tier):
        assert tier.name not in MUST_HOLD, refusal
        pytest.skip(refusal)
    process = _start_trial(tier, ["-I", "-S", "-B", "-c", "import time; print('ready', flush=True); time.sleep(600)"])
    try:
        os.read(process.data.fileno(), 4096)
        (worker,) = process_tree.descendants(process.supervisor.pid)
        assert int(Path(f"/proc/{worker}/oom_score_adj").read_text("ascii")) == 1000
    finally:
        process.kill()
