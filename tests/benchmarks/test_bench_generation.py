"""The time of a generation without the model: from prompt to verified result, compared with one run of the tests alone.

The model is scripted and answers at once over real HTTP, so this measures our part: data context, client, journal,
environment, sandbox, tests, sample, verdict.

    python -m pytest tests/benchmarks/test_bench_generation.py --benchmark-only --benchmark-group-by=group
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.sandbox.host.pool import shared_pool
from autocoder_jupyter.sandbox.protocol import Program, TestSpec, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.runner import CODE, PLAN, TESTS, Runner, fenced
from tests.sandbox.sandboxes import EACH, base_spec, open_sandbox

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}


@pytest.mark.parametrize("name", EACH)
def test_prompt_to_verified_result_warm(benchmark: Any, tmp_path: Path, name: str) -> None:
    benchmark.group = f"generation, {name}"
    runner = Runner(tmp_path, open_sandbox(name).name)
    rounds = itertools.count()

    def generation() -> None:
        runner.root = tmp_path / str(next(rounds))  # its own journal, so that nothing is replayed
        assert background.run(runner.generate(SCRIPT)).report.success

    benchmark.pedantic(generation, rounds=10, warmup_rounds=2)


@pytest.mark.parametrize("name", EACH)
def test_baseline_one_run_of_the_tests_alone(benchmark: Any, name: str) -> None:
    benchmark.group = f"generation, {name}"
    sandbox = open_sandbox(name)
    program = Program(CODE, (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="total", type="float"),))
    environment, pool = sandbox.build(base_spec(name)), shared_pool(sandbox)
    with (
        pool.lease(WorkerSpec(environment, WorkerLimits())) as worker,
        pool.lease(WorkerSpec(environment, WorkerLimits())) as callee,
    ):
        run = benchmark.pedantic(
            lambda: worker.test(program, TestSpec(TESTS, ("test_sum", "test_empty")), callee=callee),
            rounds=10,
            warmup_rounds=2,
        )
    assert run.passed
