"""Run a cell with `--mode tools`: build the request, start a job, and bind the name to the pending result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import CodeRequest, agent_of
from autocoder_jupyter.magics.codemode.consent import ask_consent_at_prompt
from autocoder_jupyter.magics.codemode.continuation import earlier_of, passed_before, require_passed
from autocoder_jupyter.magics.codemode.outcome import completed
from autocoder_jupyter.magics.codemode.settings import agent_settings
from autocoder_jupyter.magics.codemode.tools import find_tools
from autocoder_jupyter.magics.launching import show_job, wait_for, waits
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.magics.progress import TerminalProgress
from autocoder_jupyter.magics.references import collect_samples, kind_of
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.magics.waiting import NO_ANSWER
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.tracker import RunTracker

if TYPE_CHECKING:
    from autocoder_jupyter.magics.command import CellCommand


def build_code_request(command: CellCommand, notebook: Notebook, settings: Settings) -> CodeRequest:
    """The request of a cell for code mode. The frames are captured as they are now.

    Raises:
        InvalidRequest: a tool, a frame or the conversation does not exist or cannot be used.
    """
    earlier = earlier_of(notebook, command.continues)
    before = passed_before(notebook, earlier)
    given = find_tools(command.tools, notebook.namespace)
    callables = {**before.tools, **before.functions, **given}
    request = CodeRequest(
        name=command.name,
        message=command.prompt,
        tools={alias: value for alias, value in callables.items() if not is_result(value)},
        functions={
            alias: value.with_options(sandbox_minimum=settings.sandbox_minimum)
            for alias, value in callables.items()
            if is_result(value)
        },
        frames={**before.frames, **_frames(command, notebook.namespace)},
        settings=agent_settings(settings),
        config=settings.agent_config(),
        conversation=before.conversation or command.name,
        earlier=earlier,
        attended=not notebook.is_headless,
    )
    _refuse_one_name_for_two(request)
    require_passed(request)
    return request


def launch_code(notebook: Notebook, request: CodeRequest, settings: Settings, notices: tuple[str, ...] = ()) -> None:
    """Start a run, bind its name to the pending result at once, and show its card with the notices.

    Raises:
        InvalidRequest: code mode cannot use a part of the request.
        GenerationFailed, Cancelled: the cell waited, and the run failed or was cancelled.
    """
    tracker = RunTracker(
        CodeRun(
            request.name,
            request.settings.get("max_cost"),
            notice=() if notebook.is_terminal else notices,
            continues=request.earlier.name if request.earlier else "",
        )
    )
    card = LiveCard(tracker, complete=lambda last: completed(last, job, notebook.journal_root))
    job = notebook.jobs.submit_code(request, journal_root=notebook.journal_root, tracker=tracker)
    started = show_job(notebook, job, card, notices=notices)
    if waits(notebook, settings):
        wait_for(
            notebook,
            started,
            TerminalProgress(card, has_prompt=True),
            lambda: ask_consent_at_prompt(job),
            NO_ANSWER,
            asks_consent=True,
        )


def preview_code(request: CodeRequest) -> str:
    """The text of the first question to the model, after the conversation so far."""
    before = "" if request.earlier is None else f"[the messages of {request.earlier.name}]\n\n"
    agent = agent_of(request)
    asked = "\n\n".join(filter(None, (request.message, agent.described(request.frames))))
    return f"[system]\n{agent.system_prompt}\n\n{before}[user]\n{asked}"


def retried(request: CodeRequest) -> CodeRequest:
    """The same request, with new answers of the model."""
    return dataclasses.replace(request, settings={**request.settings, "cache": "override"})


def _frames(command: CellCommand, namespace: Mapping[str, Any]) -> dict[str, Any]:
    samples = collect_samples(command, namespace, may_sample=False)
    for name, value in samples.items():
        if kind_of(value) not in ("DataFrame", "Series"):
            raise InvalidRequest(
                f"{name} cannot be passed: with --mode tools, only pandas DataFrames and Series can.",
                hint="Read it into a DataFrame first, or pass a tool that reads it.",
            )
    return samples


def _refuse_one_name_for_two(request: CodeRequest) -> None:
    for name in request.frames:
        if name in request.tools or name in request.functions:
            raise InvalidRequest(f"{name} is both a tool and a frame.", hint=f"Rename the tool: --tool {name}_=…")
