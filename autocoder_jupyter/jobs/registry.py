"""The jobs of this process, one current job for each name: a newer job replaces and cancels the older one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from autocoder_jupyter.jobs.job import GenerationJob
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.jobs.code_job import CodeJob, CodeRequest
    from autocoder_jupyter.run.code_run import CodeRun

    AnyJob = GenerationJob | CodeJob

_lock = threading.Lock()
_jobs: dict[str, AnyJob] = {}


def submit(
    request: Request,
    config: AgentConfig,
    *,
    journal_root: Path,
    tracker: RunTracker[FunctionRun] | None = None,
    draft: Draft | None = None,
) -> GenerationJob:
    """Start a generation and return at once. A running job of the same name is cancelled."""
    with _lock:
        older = _jobs.pop(request.name, None)
        before = older if isinstance(older, GenerationJob) else None
        job = GenerationJob(request, config, journal_root=journal_root, tracker=tracker, draft=draft, older=before)
        _jobs[request.name] = job
    _start(job, older)
    return job


def submit_code(request: CodeRequest, *, journal_root: Path, tracker: RunTracker[CodeRun] | None = None) -> CodeJob:
    """Start a run of code mode and return at once. A running job of the same name is cancelled."""
    from autocoder_jupyter.jobs.code_job import CodeJob

    job = CodeJob(request, journal_root=journal_root, tracker=tracker)
    with _lock:
        older = _jobs.pop(request.name, None)
        _jobs[request.name] = job
    _start(job, older)
    return job


def _start(job: AnyJob, older: AnyJob | None) -> None:
    if older is not None:
        older.cancel(f"A newer run of {job.name} took over.")
    job.start()


def prepare(model: str) -> None:
    """Import the modules that the first question to a model needs. Blocks for seconds; later calls return at once."""
    from autocoder_jupyter.models import process

    process.prepare(model)


def current(name: str) -> AnyJob | None:
    """The newest job of a name, running or ended."""
    with _lock:
        return _jobs.get(name)


def forget(name: str) -> None:
    """Forget a name; a running job of it is cancelled."""
    with _lock:
        job = _jobs.pop(name, None)
    if job is not None:
        job.cancel()


def complete(name: str, notify: Callable[[], object]) -> None:
    """Begin to complete the evidence of the function of that name; see `GenerationJob.complete`."""
    job = current(name)
    if isinstance(job, GenerationJob):
        job.complete(notify)


def all_jobs() -> tuple[AnyJob, ...]:
    """The newest job of every name, in the order in which they were submitted."""
    with _lock:
        return tuple(_jobs.values())
