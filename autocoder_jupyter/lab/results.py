"""Jobs and results as JSON for a page: those that a cell started, and other results in the namespace."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display import actions
from autocoder_jupyter.display.live import Shown, document_of, step
from autocoder_jupyter.lab.messages import JobMessage, JobRun, JobState
from autocoder_jupyter.magics.notebook import Launch, Notebook, is_code_result, is_ours
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun, Phase
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.view.as_text import MOST_CHARACTERS, page_document

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report

MOST_HELD = 200
"""Maximum number of results without a job; only a loop creates more."""

ROWS = ("Note", "Reason", "Warnings", "Verified", "Passed", "Call")
"""The rows of a card that a page gets."""


def listed(notebook: Notebook) -> list[JobMessage]:
    """All jobs and results, oldest first. Never waits."""
    launched = dict(notebook.launched)
    jobs = [_of_launch(name, launch) for name, launch in launched.items()]
    shown = {id(launch.job.result) for launch in launched.values()}
    held = [
        (name, value)
        for name, value in notebook.namespace.copy().items()
        if name not in launched and not name.startswith("_") and is_ours(value) and id(value) not in shown
    ]
    return jobs + [_of_result(name, value) for name, value in held[:MOST_HELD]]


def without_clock(jobs: list[JobMessage]) -> list[JobMessage]:
    """The jobs without the time of running ones, to compare two lists. A page has its own clock."""
    return [{**job, "seconds": 0.0} if job["phase"] in ("running", "waiting") else job for job in jobs]


def _of_launch(name: str, launch: Launch) -> JobMessage:
    state = launch.card.state
    limit = getattr(launch.job.config, state.limit) if actions.limit_flag(state) else None
    seconds = state.seconds if state.finished else time.time() - launch.started
    run: JobRun = {
        "started": launch.started,
        "seconds": round(max(seconds, 0.0), 3),
        "cell_id": launch.cell_id,
        "run_id": launch.job.run_id,
        "limit": state.limit,
        "limit_value": limit,
        "limit_next": None if limit is None else actions.raised_limit(state, limit),
    }
    return {**_of_state(name, state), **run}


def _of_result(name: str, result: Any) -> JobMessage:
    if not result.is_usable:
        is_waiting = result.state.startswith("waiting")
        phase: Phase = "waiting" if is_waiting else "running"
        state: Shown = CodeRun(name, phase=phase) if is_code_result(result) else FunctionRun(name, phase=phase)
        job: JobMessage = {**_of_state(name, state), **_no_run()}
        job["actions"].remove("cancel")  # only the job of a cell can be cancelled by its name
        del job["buttons"]["cancel"]
        return job
    if is_code_result(result):
        return _of_ended_answer(name, result)
    report: Report = result.report
    state = replace(run_of(report, result.state), name=name, splits=result.known_splits)
    run: JobRun = {
        **_no_run(),
        "started": report.started.timestamp() if report.started else 0.0,
        "seconds": round(report.seconds, 3),
        "run_id": report.run_id,
    }
    return {**_of_state(name, state), **run}


def _of_ended_answer(name: str, result: Any) -> JobMessage:
    from autocoder_jupyter.magics.codemode.outcome import state_of

    state = state_of(result)
    run: JobRun = {
        **_no_run(),
        "seconds": round(state.seconds, 3),
        "run_id": result.run_id,
    }
    return {**_of_state(name, state), **run}


def _no_run() -> JobRun:
    """The start of a result that no cell of this kernel started."""
    return {
        "started": 0.0,
        "seconds": 0.0,
        "cell_id": None,
        "run_id": "",
        "limit": "",
        "limit_value": None,
        "limit_next": None,
    }


def _of_state(name: str, state: Shown) -> JobState:
    shown = page_document(document_of(state), ROWS)
    return {
        **shown,
        "name": visible_block(name),
        "phase": state.phase,
        "asks": visible_block(state.asks)[:MOST_CHARACTERS],
        "question": state.question,
        "cost": state.usage.cost,
        "progress": round(state.progress, 3),
        "step": step(state),
        "actions": list(actions.possible(state)),
        "buttons": actions.buttons(state),
    }
