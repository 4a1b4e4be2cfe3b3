"""How long reading an answer of ten megabytes blocks the other threads of the notebook.

The figure is the longest pause of another thread, in processor time of the reading thread. The baseline, in the same
run, is the parser of the standard library with a list of the same size, which blocks all other threads.

    python -m pytest tests/benchmarks/test_bench_freezes.py --benchmark-only
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import WorkerLimits, WorkerSpec
from tests.readers.watch import Watch
from tests.sandbox.any_sandbox.test_freezes import ANSWERS, returning
from tests.sandbox.sandboxes import base_spec, open_sandbox

pytestmark = [pytest.mark.local_sandbox, pytest.mark.benchmark(group="longest pause of other threads")]

ROUNDS = 3


@pytest.fixture(scope="module")
def pool() -> Any:
    with contextlib.closing(Pool(open_sandbox("local"))) as pool:
        yield pool


def report(benchmark: Any, paused: list[float]) -> None:
    """Replace the durations of the rounds by the pauses in them."""
    benchmark.extra_info["longest_pauses_ms"] = [round(1000 * each, 1) for each in paused]
    benchmark.stats.stats.data = list(paused)


def test_baseline_the_parser_of_the_standard_library(benchmark: Any) -> None:
    text = json.dumps(list(range(1_200_000)))
    paused: list[float] = []

    def read() -> None:
        with Watch() as watch:
            json.loads(text)
        paused.append(watch.longest)

    benchmark.pedantic(read, rounds=ROUNDS)
    report(benchmark, paused)


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer(benchmark: Any, pool: Pool, answer: str) -> None:
    environment = pool.sandbox.build(base_spec("local"))
    paused: list[float] = []

    def read() -> None:
        with (
            pool.lease(WorkerSpec(environment, WorkerLimits(memory=600 * 2**20))) as worker,
            Watch() as watch,
            contextlib.suppress(SandboxError),
        ):
            worker.call(returning(answer), {})
        paused.append(watch.longest)

    benchmark.pedantic(read, rounds=ROUNDS)
    report(benchmark, paused)
