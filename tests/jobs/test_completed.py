"""What the time has cut is completed in the background: the result, its notification and the record have it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.concurrency import background, spare_time
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.spare_time import SPARE_TIME
from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.jobs import GenerationJob, complete, submit
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.result.recorded import last_good
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.versions.request_lock import hold_lock, lock_of
from tests.engine.test_mutation import BOUND, FILTERED, orders, script
from tests.runner import MARKERS
from tests.scripted_model import ScriptedModel, by_marker

pytestmark = pytest.mark.local_sandbox

EXAMINER = "autocoder_jupyter.engine.evidence.examiner"


def allow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    efforts = {name: replace(effort, seconds=seconds * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr(f"{EXAMINER}.EFFORTS", efforts)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(
        by_marker({MARKERS[stage]: answers for stage, answers in script(FILTERED, BOUND).items()})
    ) as it:
        yield it


@pytest.fixture
def cut(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> GenerationJob:
    """A generation whose trial of the tests the time has cut."""
    monkeypatch.setattr(spare_time, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    allow(monkeypatch, 1e-5)
    settings: dict[str, Any] = {"effort": "normal", "second_opinion": "off", "sandbox": "local", **model.settings}
    request = Request(
        "growth", "Total of @sales.", {"sales": orders()}, outputs=(OutputSpec(name="total", type="float"),)
    )
    job = submit(request, AgentConfig(**settings), journal_root=tmp_path / ".autocode")
    job.result.wait(300)
    assert job.result.success and job.result.report.is_cut, job.result.error
    allow(monkeypatch, 300.0)
    return job


def test_it_is_completed_without_a_model_and_the_next_day_has_it(
    cut: GenerationJob, model: ScriptedModel, tmp_path: Path
) -> None:
    asked, before, completed = len(model.requests), cut.result.report, threading.Event()
    complete("growth", completed.set)
    assert completed.wait(300)
    report = cut.result.report
    strength = report.evidence.strength
    assert strength is not None and strength.changes and not strength.cut and not strength.ended
    assert len(model.requests) == asked and report.usage == before.usage and report.timeline == before.timeline
    assert cut.result.run(orders()) == 5 * (20.0 * 2 + 30.0 * 3 + 7.0 * 5)
    recorded = last_good(tmp_path / ".autocode", "growth", cut.result.options)
    assert recorded is not None and recorded.report.evidence.strength == strength


def test_it_ends_when_the_function_runs_and_a_newer_generation_ends_it_for_good(
    cut: GenerationJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended, completed = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    async def for_ever(*_: object) -> None:
        begun.release()
        try:
            await asyncio.sleep(1000)
        finally:
            ended.release()

    monkeypatch.setattr("autocoder_jupyter.jobs.job.completed_report", for_ever)
    cut.complete(completed.set)
    assert begun.acquire(timeout=60)
    cut.result.run(orders())
    assert ended.acquire(timeout=60) and begun.acquire(timeout=60)
    newer = submit(cut.request, cut.config, journal_root=cut.result.journal_root)
    assert ended.acquire(timeout=60)
    newer.result.wait(300)
    with SPARE_TIME.in_use():
        pass
    assert newer.result.success and not begun.acquire(timeout=2.0) and not completed.is_set()


def test_a_cell_of_another_kernel_does_not_wait_for_it(cut: GenerationJob, monkeypatch: pytest.MonkeyPatch) -> None:
    held = list[bool]()

    async def examined(setup: GenerationSetup, _: object) -> None:
        lock = lock_of(cache_folder(), setup.services.journal.root, "growth", setup.prepared.key.id)
        async with asyncio.timeout(1), hold_lock(lock, lambda _: None):
            held.append(True)

    monkeypatch.setattr("autocoder_jupyter.engine.loop._generate", examined)
    background.submit(cut._complete(cut.result.report, lambda: None)).result(60)
    assert held == [True]
