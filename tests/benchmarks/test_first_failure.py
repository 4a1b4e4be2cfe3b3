"""The time from a cell to the first error in a new kernel: a missing key, a stopped Ollama, a misspelled provider.

Each kernel starts as a person's, in a process that has imported nothing.

The target is one second. The baseline is the import of litellm in a new kernel, which these errors no longer need.

    python -m pytest tests/benchmarks/test_first_failure.py --benchmark-only --benchmark-group-by=group
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_kernel_latency import SETUP
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.local_sandbox, pytest.mark.benchmark(group="first failure of a kernel")]

ROUNDS = 3
CELL = '%%autocode growth --wait -o "total: float"\nTotal revenue of @sales.'
FAILURES = {
    "a missing key": ({"AUTOCODE_MODEL": "openai/gpt-4.1", "OPENAI_API_KEY": ""}, "OPENAI_API_KEY is not set"),
    "a stopped Ollama": (
        {"AUTOCODE_MODEL": "ollama/qwen3-coder", "OLLAMA_API_BASE": "http://127.0.0.1:9"},
        "ollama serve",
    ),
    "an unknown provider": ({"AUTOCODE_MODEL": "opnai/gpt-4.1"}, "openai/gpt-4.1"),
}


@pytest.fixture
def fresh_kernel(tmp_path: Path) -> Iterator[Any]:
    """Makes a kernel with a frame and the extension; the previous kernel ends."""
    (tmp_path / "pyproject.toml").write_text("")
    open_now: list[Kernel] = []

    def end() -> None:
        while open_now:
            open_now.pop().__exit__(None, None, None)

    def begin(env: dict[str, str]) -> Kernel:
        end()
        kernel = Kernel(
            tmp_path, {"AUTOCODE_SANDBOX": "local", "AUTOCODE_CACHE": "disable", **env}, cold=True
        ).__enter__()
        open_now.append(kernel)
        kernel.run(SETUP)
        return kernel

    yield begin
    end()


def test_baseline_litellm_is_imported(benchmark: Any, fresh_kernel: Any) -> None:
    def load(kernel: Kernel) -> None:
        assert (
            kernel.run("import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'; import litellm").status == "ok"
        )

    benchmark.pedantic(load, setup=lambda: ((fresh_kernel({}),), {}), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.parametrize("failure", FAILURES)
def test_it_is_said(benchmark: Any, fresh_kernel: Any, failure: str) -> None:
    env, words = FAILURES[failure]

    def fail(kernel: Kernel) -> None:
        assert words in kernel.run(CELL).error

    benchmark.pedantic(fail, setup=lambda: ((fresh_kernel(env),), {}), rounds=ROUNDS, warmup_rounds=1)
