"""Run a cell `%%autocode NAME …`: parse it, start a job, and bind the name to the pending result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.live import LiveCard, View
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand, parse_cell
from autocoder_jupyter.magics.contracts import with_contracts
from autocoder_jupyter.magics.examples import require_fit
from autocoder_jupyter.magics.help import help_text
from autocoder_jupyter.magics.launching import show_job, wait_for, waits
from autocoder_jupyter.magics.no_data import require_data, require_frames
from autocoder_jupyter.magics.notebook import Notebook, is_ours
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.permissions import notice
from autocoder_jupyter.magics.progress import TerminalProgress
from autocoder_jupyter.magics.questions import ask_at_prompt
from autocoder_jupyter.magics.references import hints, without_rows
from autocoder_jupyter.magics.refinement import refined_request
from autocoder_jupyter.magics.request_fields import given_fields
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.request import AgentConfig, Backend, Request
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.settings.config import without_effect as settings_without_effect
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import join

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft


def run_cell(notebook: Notebook, line: str, body: str) -> None:
    """Run a cell.

    Raises:
        AutocodeError: the cell is not valid, or the cell waited and the generation failed.
    """
    command = parse_cell(line, body)
    if command.help:
        print(help_text())
        return
    notebook.front_end.say_settings()
    settings = notebook.settings(command.settings)
    if command.mode == "tools":
        _run_code(notebook, command, settings)
        return
    request = build_request(command, notebook)
    require_fit(request)
    config = settings.agent_config()
    to_know = _to_know(command, request, notebook, config)
    if settings["dry_run"]:
        show_preview(notebook, request, config, to_know)
        return
    refuse_to_shadow(notebook.namespace, command.name, replace=settings["replace"])
    meant = require_data(notebook, command, request)
    if meant is not command:
        command, request = meant, build_request(meant, notebook)
        require_fit(request)
        to_know = _to_know(command, request, notebook, config)
    if notebook.is_headless:
        config = dataclasses.replace(config, ask=False)  # no user can answer
    launch(notebook, request, config, waits=waits(notebook, settings), notices=(*to_know, *notice(notebook, settings)))


def _to_know(command: CellCommand, request: Request, notebook: Notebook, config: AgentConfig) -> tuple[str, ...]:
    """Sentences about the cell that are no errors."""
    return (
        *hints(command, notebook.namespace),
        *without_rows(request.samples),
        *without_effect(command.settings, config.backend),
    )


def without_effect(given: Iterable[str], backend: Backend) -> tuple[str, ...]:
    """A sentence for each option of a cell that has no effect with its backend.

    Args:
        given: names of the options.
        backend: the cell's.
    """
    idle = settings_without_effect(backend)
    return tuple(
        f"{option.flags[0]} has no effect here: it is only for --backend {idle[option.field]}."
        for option in map(SETTINGS.__getitem__, given)
        if option.field in idle
    )


def _run_code(notebook: Notebook, command: CellCommand, settings: Settings) -> None:
    """Run a cell with `--mode tools`."""
    from autocoder_jupyter.magics.codemode.cell import build_code_request, launch_code, preview_code

    request = build_code_request(command, notebook, settings)
    if settings["dry_run"]:
        show_unsent(notebook, preview_code(request), _hints_beside(request.frames, command, notebook))
        return
    refuse_to_shadow(notebook.namespace, command.name, replace=settings["replace"])
    meant = require_frames(notebook, command, request)
    if meant is not command:
        command, request = meant, build_code_request(meant, notebook, settings)
    to_know = _hints_beside(request.frames, command, notebook)
    launch_code(notebook, request, settings, (*to_know, *notice(notebook, settings)))


def _hints_beside(frames: Mapping[str, Any], command: CellCommand, notebook: Notebook) -> tuple[str, ...]:
    return hints(command, {name: value for name, value in notebook.namespace.items() if name not in frames})


def build_request(command: CellCommand, notebook: Notebook) -> Request:
    """The request of a cell. The data are captured as they are now."""
    if command.refine:
        return refined_request(command, notebook)
    from autocoder_jupyter.data.renames import renamed_samples

    given = given_fields(command, notebook)
    given["samples"] = renamed_samples(given["samples"], command.renames)
    request = Request(command.name, command.prompt, **given)
    return with_contracts(request, command, notebook.namespace)


def refuse_to_shadow(namespace: Mapping[str, Any], name: str, *, replace: bool) -> None:
    """Refuse a name that is already another variable of the notebook.

    Raises:
        InvalidRequest: the name is taken.
    """
    if replace or name not in namespace or is_ours(namespace[name]):
        return
    kind = type(namespace[name]).__name__
    raise InvalidRequest(
        f"{name!r} is already a variable of the notebook ({kind}).",
        hint="Choose another name, or add --replace.",
    )


def launch(
    notebook: Notebook,
    request: Request,
    config: AgentConfig,
    *,
    waits: bool,
    notices: tuple[str, ...] = (),
    draft: Draft | None = None,
    views: tuple[View[FunctionRun], ...] | None = None,
) -> None:
    """Start a job, bind its name to the pending result at once, and show its card with the notices.

    Args:
        notebook: the notebook of the cell.
        request: what to generate.
        config: the settings.
        waits: whether the cell waits until the job has ended.
        notices: messages to the user, shown above the card.
        draft: code and tests to start from, instead of the recorded ones.
        views: show the card here instead of in the output of the cell.

    Raises:
        GenerationFailed, Cancelled: the cell waited, and the job failed or was cancelled.
    """
    root = notebook.journal_root
    refinement = request.wishes[-1] if request.wishes and draft is None else ""
    backend = "" if config.backend == AgentConfig.backend else config.backend
    tracker = RunTracker(
        FunctionRun(
            request.name,
            config.max_cost,
            notice=() if notebook.is_terminal else notices,
            refinement=refinement,
            backend=backend,
        )
    )
    card = LiveCard(
        tracker, complete=lambda last: dataclasses.replace(last, sent=read_sent(root, request.name, job.run_id))
    )
    job = notebook.jobs.submit(request, config, journal_root=root, tracker=tracker, draft=draft)
    started = show_job(notebook, job, card, notices=notices, views=views)
    if waits:
        wait_for(notebook, started, TerminalProgress(card), lambda: ask_at_prompt(job))


def read_sent(journal_root: Path, name: str, run_id: str) -> str:
    """What a run sent to the model about the data: a line of facts, then the text. Empty if nothing was sent."""
    from autocoder_jupyter.engine.journal import sent_record

    sent = sent_record(journal_root, name, run_id)
    if not sent:
        return ""
    facts = [
        f"{key.replace('_', ' ')}: {len(value) if key == 'requests' else value or 'nothing'}"
        for key, value in sent.items()
        if key != "text"
    ]
    return f"{' · '.join(facts)}\n\n{sent.get('text', '')}"


def show_preview(notebook: Notebook, request: Request, config: AgentConfig, notices: tuple[str, ...] = ()) -> None:
    """Show the exact text that would be sent to the model, below the notices. Nothing is sent."""
    from autocoder_jupyter import engine

    show_unsent(notebook, engine.preview(request, config), notices)


def show_unsent(notebook: Notebook, text: str, notices: tuple[str, ...] = ()) -> None:
    """Show a text that would be sent to the model, below the notices."""
    lines = ("Nothing was sent.", *notices)
    notebook.show(join(markup.text_lines(lines), markup.code(text)), f"{markup.lines(lines)}\n\n{markup.plain(text)}")
