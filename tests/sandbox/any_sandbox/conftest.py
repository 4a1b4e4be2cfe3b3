"""Each test runs once in every sandbox that works on this machine. Workers are shared, unless a test may end one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.local import forks, trial
from autocoder_jupyter.sandbox.local.confinement.process import tier_named
from autocoder_jupyter.sandbox.protocol import Environment, Sandbox, Worker, WorkerLimits, WorkerSpec
from tests.sandbox.sandboxes import EACH, SECONDS, base_environment, open_sandbox

if only := os.environ.get("AUTOCODE_TEST_TIER"):  # run the suites on a weaker tier than the strongest one
    trial.TIERS = (tier_named(only),)  # type: ignore[attr-defined]

LIMITS = WorkerLimits(
    cpu=1.0, memory=600 * 2**20, seconds=SECONDS, processes=48, disk=48 * 2**20, output_bytes=64 * 2**20
)


@pytest.fixture(scope="module", autouse=True)
def libraries_stay_loaded() -> Iterator[None]:
    """The process that local workers are forked from stays for a minute, not for seconds.

    Many tests end their worker. On a busy machine, the next one would often have to load the libraries again.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forks, "IDLE_SECONDS", max(forks.IDLE_SECONDS, 60.0))
        yield


@pytest.fixture(scope="session", params=EACH)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return open_sandbox(request.param)


@pytest.fixture(scope="session")
def environment(sandbox: Sandbox) -> Environment:
    return base_environment(sandbox)


@pytest.fixture(scope="session")
def pool(sandbox: Sandbox) -> Iterator[Pool]:
    pool = Pool(sandbox)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def limits() -> WorkerLimits:
    return LIMITS


@pytest.fixture
def worker(pool: Pool, environment: Environment, limits: WorkerLimits) -> Iterator[Worker]:
    """A worker. It is new only if the previous test ended it."""
    with pool.lease(WorkerSpec(environment, limits)) as leased:
        yield leased


@pytest.fixture
def callee(pool: Pool, environment: Environment, limits: WorkerLimits, worker: Worker) -> Iterator[Worker]:
    """Another worker, in which tests that run in `worker` call the function."""
    with pool.lease(WorkerSpec(environment, limits), other_than=[worker.id]) as leased:
        yield leased
