from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.choice import choose
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Worker, WorkerLimits, WorkerSpec
from tests.runner import Runner


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    yield Runner(tmp_path / ".autocode", "local")


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker of the local sandbox with the base packages."""
    sandbox = choose("local")
    spec = WorkerSpec(sandbox.build(EnvironmentSpec((), sys.version_info[:2])), WorkerLimits())
    with shared_pool(sandbox).lease(spec) as one:
        yield one
