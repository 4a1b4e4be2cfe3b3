from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Sandbox, Worker, WorkerLimits, WorkerSpec
from tests.in_process import IN_PROCESS
from tests.runner import Runner


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """A sandbox in this process; the embedded one for a test marked `real_sandbox`."""
    return choose("local") if request.node.get_closest_marker("real_sandbox") else IN_PROCESS


@pytest.fixture
def runner(sandbox: Sandbox, tmp_path: Path) -> Runner:
    return Runner(tmp_path / ".autocode", sandbox)


@pytest.fixture
def worker(sandbox: Sandbox) -> Iterator[Worker]:
    """A worker with the base packages."""
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    with shared_pool(sandbox).lease(spec) as one:
        yield one
