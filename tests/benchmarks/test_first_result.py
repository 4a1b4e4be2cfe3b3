"""The time from a cell to the verdict in a new kernel: the cell was only run, or it was typed in this kernel.

Each kernel starts as a person's, in a process that has imported nothing.
Everything is real except the model, which answers at once. So this is the waiting time without the model. While a user
types a cell, the kernel has time to import what the first question needs (`Notebook.prepare`).

    python -m pytest tests/benchmarks/test_first_result.py --benchmark-only --benchmark-group-by=group
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_kernel_latency import SETUP, environment
from tests.lab.page import Page
from tests.magics.kernel import Kernel
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.scripted_model import ScriptedModel, always, by_marker

pytestmark = [pytest.mark.local_sandbox, pytest.mark.benchmark(group="first result of a kernel")]

ROUNDS = 3
CELL = '%%autocode growth --wait -o "total: float"\nTotal revenue of @sales.'
IS_PREPARED = "import threading; print(all(t.name != 'autocode-prepare' for t in threading.enumerate()))"


@pytest.fixture
def fresh_kernels(tmp_path: Path) -> Iterator[Any]:
    """Makes kernels with a page that has sent hello; the previous kernel ends."""
    answers = {"plan": PLAN, "code": fenced(CODE), "tests": fenced(TESTS)}
    script = by_marker({MARKERS[stage]: always(said) for stage, said in answers.items()})
    with ScriptedModel(script) as model:
        (tmp_path / "pyproject.toml").write_text("")
        open_now: list[tuple[Kernel, Page]] = []

        def end() -> None:
            while open_now:
                kernel, page = open_now.pop()
                page.close()
                kernel.__exit__(None, None, None)

        def begin() -> tuple[Kernel, Page]:
            end()
            kernel = Kernel(tmp_path, environment(model), cold=True).__enter__()
            page = Page(kernel)
            open_now.append((kernel, page))
            kernel.run(SETUP)
            page.wait_for_open()
            page.hello()
            page.set()  # as JupyterLab does; a cell waits for it
            return kernel, page

        yield begin
        end()


def first_result(kernel: Kernel) -> None:
    assert kernel.run(CELL).status == "ok"


def test_baseline_the_cell_is_just_run(benchmark: Any, fresh_kernels: Any) -> None:
    benchmark.pedantic(first_result, setup=lambda: ((fresh_kernels()[0],), {}), rounds=ROUNDS, warmup_rounds=1)


def test_the_cell_was_written_in_this_kernel(benchmark: Any, fresh_kernels: Any) -> None:
    def setup() -> tuple[tuple[Kernel], dict[str, Any]]:
        kernel, page = fresh_kernels()
        page.say({"kind": "prepare"})
        time.sleep(0.5)
        while kernel.run(IS_PREPARED).text != "True\n":
            time.sleep(0.2)
        return (kernel,), {}

    benchmark.pedantic(first_result, setup=setup, rounds=ROUNDS, warmup_rounds=1)
