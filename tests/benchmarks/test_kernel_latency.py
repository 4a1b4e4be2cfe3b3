"""The latency of a kernel during a job: the round trip of `1+1`, compared with an idle kernel, and its messages.

The job is real except for the model's text, which streams in small pieces over HTTP. Then the real local sandbox runs
tests and sample. When the job ends, the next one starts. A page of the lab extension listens all the time.

    python -m pytest tests/benchmarks/test_kernel_latency.py --benchmark-only --benchmark-group-by=group
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.page import Page
from tests.magics.kernel import Kernel
from tests.runner import CODE, MARKERS, PLAN, TESTS, fenced
from tests.scripted_model import Answer, ScriptedModel, always, by_marker

pytestmark = [pytest.mark.local_sandbox, pytest.mark.benchmark(group="round trip of 1+1")]

ROUNDS = 300
SETUP = "%load_ext autocoder_jupyter\nimport pandas as pd\nsales = pd.DataFrame({'price': [1.0], 'quantity': [1]})"
CELL = '%%autocode growth -o "total: float"\nTotal revenue of @sales.'
THINKS = "# a thought about the code, one of many\n" * 60

SPEEDS = {
    "300 tokens a second": Answer(f"{THINKS}{fenced(CODE)}", piece=12, pace=0.01),
    "as fast as it can": Answer(f"{THINKS * 20}{fenced(CODE)}", piece=12),
}


def environment(model: ScriptedModel) -> dict[str, str]:
    """The environment variables of a kernel whose jobs ask this model and find nothing in a cache."""
    return {
        "AUTOCODE_MODEL": "openai/scripted",
        "AUTOCODE_API_BASE": model.url,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_SECOND_OPINION": "off",
        "AUTOCODE_EFFORT": "quick",
        "AUTOCODE_CACHE": "disable",
    }


class Watched:
    """A kernel, and a page that has sent hello to it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.page = Page(kernel)
        self.started = 0
        kernel.run(SETUP)
        self.page.wait_for_open()
        self.page.hello()

    def keep_busy(self) -> None:
        """Keep a job running, at different stages in different rounds."""
        self.page.listen(0.02)
        jobs: list[Any] = next(iter(self.page.heard("jobs")[-1:]), {"jobs": []})["jobs"]
        if not jobs or jobs[-1]["phase"] == "ready":
            self.kernel.run(CELL)
            self.started += 1
            self.page.wait_for("jobs", lambda told: any(job["phase"] == "running" for job in told["jobs"]))

    def answer(self) -> None:
        """The measured operation."""
        assert self.kernel.run("1+1").displays == [{"text/plain": "2"}]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda request: Answer(status=400)) as model:
        yield model


@pytest.fixture
def watched(model: ScriptedModel, tmp_path: Path) -> Iterator[Watched]:
    (tmp_path / "pyproject.toml").write_text("")
    with Kernel(tmp_path, environment(model)) as kernel:
        watched = Watched(kernel)
        yield watched
        watched.page.close()


def note(benchmark: Any, watched: Watched) -> None:
    """Record the figures that are not in the benchmark's table."""
    times = sorted(benchmark.stats.stats.data)
    seconds = [message["header"]["date"].timestamp() for message in watched.page.traffic]
    sent = [m for m in watched.page.traffic if m["msg_type"] in ("comm_msg", "update_display_data")]
    benchmark.extra_info["p50_ms"] = round(statistics.median(times) * 1000, 2)
    benchmark.extra_info["p99_ms"] = round(times[int(len(times) * 0.99)] * 1000, 2)
    benchmark.extra_info["updates_a_second"] = round(len(sent) / max(seconds[-1] - seconds[0], 1.0), 1)
    benchmark.extra_info["jobs"] = watched.started


def test_baseline_idle(benchmark: Any, watched: Watched) -> None:
    benchmark.pedantic(watched.answer, setup=lambda: watched.page.listen(0.02), rounds=ROUNDS, warmup_rounds=10)
    note(benchmark, watched)


@pytest.mark.parametrize("speed", SPEEDS)
def test_while_a_job_runs(benchmark: Any, watched: Watched, model: ScriptedModel, speed: str) -> None:
    answers: dict[str, str | Answer] = {"plan": PLAN, "code": SPEEDS[speed], "tests": fenced(TESTS)}
    model._answer = by_marker({MARKERS[stage]: always(said) for stage, said in answers.items()})
    watched.kernel.run(f"{CELL}\nOnce before.\n")
    watched.kernel.run("growth.wait()")  # imports what the first job imports
    benchmark.pedantic(watched.answer, setup=watched.keep_busy, rounds=ROUNDS, warmup_rounds=10)
    note(benchmark, watched)
    assert watched.started >= 1
