"""Run a cell `%%autocode NAME …`: start a job, bind the name to the pending result, show a card, and perhaps wait."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.agent.databases import with_databases
from autocoder_jupyter.agent.rules import offered_rule, usable_rules, with_rules
from autocoder_jupyter.concurrency.awaited import Awaited, Wait, print_obstacles
from autocoder_jupyter.concurrency.background import POLL_SECONDS, start_thread
from autocoder_jupyter.display.live import LiveCard, View
from autocoder_jupyter.errors import AutocodeError, GenerationFailed, InvalidRequest
from autocoder_jupyter.magics.command import CellCommand, parse_cell
from autocoder_jupyter.magics.contracts import with_contracts
from autocoder_jupyter.magics.examples import require_fit
from autocoder_jupyter.magics.help import full_help, help_text
from autocoder_jupyter.magics.no_data import require_data, require_frames
from autocoder_jupyter.magics.notebook import Launch, Notebook, NotebookJob, is_ours, is_result, versions_of
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.permissions import notice
from autocoder_jupyter.magics.progress import TerminalProgress, ask_at_prompt, error_says_all
from autocoder_jupyter.magics.references import collect_helpers, defined_before, hints, without_rows
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.magics.versions import given_fields, refined_request
from autocoder_jupyter.request import AgentConfig, Backend, Request
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import headline, with_answers
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.settings.config import without_effect as settings_without_effect
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import join

if TYPE_CHECKING:
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.result import CodeGenEvalResult


# Waiting in a cell: an interrupt (■) ends the waiting, a second one cancels the job


@dataclass(frozen=True)
class FailureWords:
    """The text of a failure.

    Args:
        hint: the next step, if there is an attempt to look at; `{name}` is replaced by the name.
    """

    what: str
    hint: str


NO_FUNCTION = FailureWords("could not be built", "%autocode show {name} shows the best attempt.")
NO_ANSWER = FailureWords("has no answer", "%autocode show {name} shows what its code did.")

SECOND_CHANCE = 2.0
"""Seconds after a first interrupt in which a second one cancels the job."""

LAST_UPDATE_SECONDS = 3.0
"""Seconds to wait until the card shows the end of a job."""


def wait_in_cell(
    launch: Launch,
    *,
    progress: Callable[[], None] = lambda: None,
    ending: FailureWords = NO_FUNCTION,
    asks: bool = False,
) -> bool:
    """Wait until the job ends. A first interrupt ends the waiting, a second one soon after cancels the job."""
    try:
        _until_done(launch, progress, asks=asks)
    except KeyboardInterrupt:
        if not _cancelled_by_second(launch):
            return False
    launch.card.wait(LAST_UPDATE_SECONDS)
    progress()
    _raise_if_failed(launch, ending)
    return True


def _until_done(
    launch: Launch, progress: Callable[[], None], limit: float | None = None, *, asks: bool = False
) -> None:
    deadline = None if limit is None else time.monotonic() + limit
    job = launch.job
    # The card above shows the progress.
    # `progress` asks the questions of the plan.
    wait = Wait(Awaited(job.name, str, "", lambda: "" if asks or job.pending_questions else job.obstacle()))
    with print_obstacles(wait) as print_obstacle:
        while not job.done and (deadline is None or time.monotonic() < deadline):
            progress()
            print_obstacle()
            launch.card.wait(POLL_SECONDS)


def _cancelled_by_second(launch: Launch) -> bool:
    name = launch.job.name
    print(f"{name} continues in the background. Interrupt again now to cancel it.")
    try:
        _until_done(launch, lambda: None, SECOND_CHANCE)
    except KeyboardInterrupt:
        launch.job.cancel()
        _until_done(launch, lambda: None, LAST_UPDATE_SECONDS)
        return True
    if launch.job.done:
        return True
    print(f"{name}.wait() waits for it, %autocode cancel {name} cancels it.")
    return False


def _raise_if_failed(launch: Launch, ending: FailureWords) -> None:
    launch.job.result.wait()
    name, state = launch.job.name, launch.job.state
    if state in ("failed", "over_budget"):
        what = "went over its budget" if state == "over_budget" else ending.what
        shown = launch.card.state
        has_code = bool(shown.blocks if isinstance(shown, CodeRun) else shown.solution)
        hint = ending.hint.format(name=name) if has_code else ""
        raise GenerationFailed(f"{name} {what}.", why=shown.reason, hint=hint)


# A started job: its name, its card and its buttons


def waits(notebook: Notebook, settings: Settings) -> bool:
    """Whether the cell waits: as `wait` is set; by default in a terminal and in a run without a user."""
    if settings.origins["wait"] != "default":
        return bool(settings["wait"])
    return notebook.is_headless or notebook.is_terminal


def show_job(
    notebook: Notebook,
    job: NotebookJob,
    card: LiveCard[Any],
    *,
    notices: tuple[str, ...] = (),
) -> Launch:
    """Bind the name of a job to its result and show its card."""
    notebook.namespace[job.name] = job.result
    started, before = Launch(job, card, notebook.cell_id), notebook.launched.get(job.name)
    notebook.launched[job.name] = started
    if before is not None and is_result(job.result) and not notebook.is_terminal:
        _follow_replacement(before, started)
    for view in _views(notebook, started):
        card.add_view(view)
    card.start()
    if is_result(job.result):
        _follow_splits(started)
        if not (notebook.is_headless or notebook.is_terminal):  # what is recorded there is always the same
            _complete_evidence(notebook, started)
    if notebook.is_terminal:  # printed before the cell waits, because the card comes at the end
        print("\n".join(notices), end="\n" * bool(notices))
    return started


def _follow_replacement(before: Launch, started: Launch) -> None:
    """Say on the cards of earlier functions what becomes of the later cell, and that it has replaced them if so."""
    named = [launch for launch in (*before.earlier, before) if is_result(launch.job.result)]
    # A cell that runs again has another output now.
    started.earlier.extend(one for one in named if one.cell_id is None or one.cell_id != started.cell_id)
    name, wish = started.job.name, getattr(started.card.state, "refinement", "")

    def tell(did: str, ended: str = "", *, replaced: bool = False) -> None:
        what = f"refined {name}{ended}: {wish}" if wish else f"made {name} anew{ended}."
        for launch in started.earlier:
            launch.card.add(**{"replaced" if replaced else "later": f"A later cell {did} {what}"})

    def ended() -> None:
        if is_good := started.job.result.report.success:
            tell("has", replaced=True)
        else:
            tell("has not", f" ({headline(started.job.tracker.run).lower()})")
        started.earlier[:] = [] if is_good else [one for one in started.earlier if one.card.state.is_ready]
        started.card.add(has_before=started.card.state.has_before or bool(started.earlier))

    started.job.result.on_done(lambda: start_thread(ended, "autocode-replaced"))


def _follow_splits(started: Launch) -> None:
    """Show on the card what is known of how the function may be split; also what an earlier kernel found out."""
    result, card = started.job.result, started.card

    def show() -> None:
        card.add(splits=result.known_splits)

    def ended() -> None:
        show()
        if started.job.tracker.run.is_kept:
            result.recall_split()

    result.on_split(show)
    # The thread that ends a job must not wait, and the report can be read only when that has gone on.
    result.on_done(lambda: start_thread(ended, "autocode-split"))


def _complete_evidence(notebook: Notebook, started: Launch) -> None:
    """Complete what the time has cut when the kernel has nothing else to do, and show it on the card."""
    job, card = started.job, started.card

    def show() -> None:
        report = job.result.report
        card.add(evidence=report.evidence, second_opinion=report.second_opinion)

    complete = partial(notebook.jobs.complete, job.name, show)
    job.result.on_done(lambda: start_thread(complete, "autocode-complete"))


def wait_for(
    notebook: Notebook,
    started: Launch,
    print_progress: Callable[[], None],
    ask: Callable[[], None],
    ending: FailureWords = NO_FUNCTION,
    *,
    asks_consent: bool = False,
) -> None:
    """Wait in the cell until a job has ended. Without a user, what waits for consent is declined."""

    def decline() -> None:
        if started.job.pending_approval is not None:
            started.job.decline()  # no user can be asked

    def print_and_ask() -> None:
        if notebook.is_terminal:
            print_progress()
        ask()

    progress = decline if notebook.is_headless else print_and_ask
    try:
        wait_in_cell(started, progress=progress, ending=ending, asks=asks_consent)
    except AutocodeError as error:
        # The log of a run without a user has no card, only the error.
        if notebook.is_headless or (notebook.is_terminal and error_says_all(started.card.state)):
            raise
        raise error.below_its_card() from None


def _views(notebook: Notebook, started: Launch) -> Iterator[View[Any]]:
    """The views of a job: those of a page, the card, and the buttons if a user can click them. None in a terminal."""
    if notebook.is_terminal:
        return
    yield from notebook.front_end.views
    from autocoder_jupyter.display.live import NotebookView

    has_page = notebook.front_end.has_page
    yield NotebookView(started.card.state, started.started, has_page)
    if notebook.is_headless:
        return
    from autocoder_jupyter.display.controls import Controls

    with contextlib.suppress(ImportError):  # without ipywidgets there are no buttons; %autocode cancel works
        yield Controls(started.job, started.card.state, for_page=has_page())


# Cells


def run_cell(notebook: Notebook, line: str, body: str) -> None:
    command = parse_cell(line, body)
    if command.help:
        print(full_help() if command.help == "all" else help_text())
        return
    notebook.print_hints(command.hints)
    notebook.front_end.await_settings()
    settings = notebook.settings(command.settings)
    if command.mode == "tools":
        _run_code(notebook, command, settings)
        return
    request = _with_house_rules(build_request(command, notebook), notebook, settings)
    require_fit(request)
    config = settings.agent_config()
    to_notice = _notices_of(command, request, notebook, config)
    if settings["dry_run"]:
        show_preview(notebook, request, config, to_notice)
        return
    refuse_to_shadow(notebook.namespace, command.name, replace=settings["replace"])
    meant = require_data(notebook, command, request)
    if meant is not command:
        command, request = meant, _with_house_rules(build_request(meant, notebook), notebook, settings)
        require_fit(request)
        to_notice = _notices_of(command, request, notebook, config)
    if notebook.is_headless:
        config = dataclasses.replace(config, ask=False)  # no user can answer
    offered = filter(None, [offered_rule(command.name, command.prompt) if command.refine else ""])
    to_notice = (*to_notice, *offered, *notice(notebook, settings))
    launch(notebook, request, config, waits=waits(notebook, settings), notices=to_notice)


def _notices_of(command: CellCommand, request: Request, notebook: Notebook, config: AgentConfig) -> tuple[str, ...]:
    """Sentences about the cell that are not errors."""
    is_new = not (command.refine or versions_of(notebook, command.name).folders())
    return (
        *hints(command, notebook.namespace),
        *(defined_before(command, notebook.namespace, request.samples) if is_new else ()),
        *without_rows(request.samples),
        *without_effect(command.settings, config.backend),
    )


def without_effect(given: Iterable[str], backend: Backend) -> tuple[str, ...]:
    """A sentence for each option of a cell that has no effect with its backend."""
    idle = settings_without_effect(backend)
    return tuple(
        f"{option.flags[0]} has no effect here: it is only for --backend {idle[option.field]}."
        for option in map(SETTINGS.__getitem__, given)
        if option.field in idle
    )


def _run_code(notebook: Notebook, command: CellCommand, settings: Settings) -> None:
    """Run a cell with `--mode tools`."""
    from autocoder_jupyter.agent.generation import require_names
    from autocoder_jupyter.magics.codemode.cell import build_code_request, launch_code, preview_code

    request = build_code_request(command, notebook, settings)
    if settings["dry_run"]:
        require_names(request.config)
        show_unsent(notebook, preview_code(request), _hints_beside(request.frames, command, notebook))
        return
    refuse_to_shadow(notebook.namespace, command.name, replace=settings["replace"])
    meant = require_frames(notebook, command, request)
    if meant is not command:
        command, request = meant, build_code_request(meant, notebook, settings)
    to_notice = _hints_beside(request.frames, command, notebook)
    launch_code(notebook, request, settings, (*to_notice, *notice(notebook, settings)))


def _hints_beside(frames: Mapping[str, Any], command: CellCommand, notebook: Notebook) -> tuple[str, ...]:
    return hints(command, {name: value for name, value in notebook.namespace.items() if name not in frames})


def build_request(command: CellCommand, notebook: Notebook) -> Request:
    """The request of a cell. The data are captured as they are now."""
    if command.refine:
        return refined_request(command, notebook)
    from autocoder_jupyter.data.renames import renamed_samples

    given = given_fields(command, notebook)
    given["samples"] = renamed_samples(given["samples"], command.renames)
    given["helpers"] = collect_helpers(command, notebook.namespace)
    request = with_databases(Request(command.name, command.prompt, **given))
    return with_contracts(request, command, notebook.namespace)


def _with_house_rules(request: Request, notebook: Notebook, settings: Settings) -> Request:
    """The request with the rules of the notebook's folder that may be used."""
    return with_rules(request, usable_rules(notebook.journal_root.parent, locked=settings["locked"]))


def ask(notebook: Notebook, result: CodeGenEvalResult, question: str, inputs: Mapping[str, Any]) -> CodeGenEvalResult:
    """Start a job that answers a question about a result, and show its card below the running cell."""
    from autocoder_jupyter.agent.arguments import build_request as from_arguments
    from autocoder_jupyter.agent.asking import question_about, shared_as

    settings = notebook.settings()
    request = _with_house_rules(from_arguments(**question_about(result, question, inputs)), notebook, settings)
    hint = "The answer would have this name. Rename your variable, or ask in other words."
    refuse_to_shadow(notebook.namespace, request.name, replace=False, hint=hint)
    config = shared_as(result, settings.agent_config())
    config = dataclasses.replace(config, ask=False) if notebook.is_headless else config
    launch(notebook, request, config, waits=waits(notebook, settings), notices=notice(notebook, settings))
    answered: CodeGenEvalResult = notebook.namespace[request.name]
    return answered


def refuse_to_shadow(
    namespace: Mapping[str, Any], name: str, *, replace: bool, hint: str = "Choose another name, or add --replace."
) -> None:
    """Refuse a name that is already another variable of the notebook."""
    if replace or name not in namespace or is_ours(namespace[name]):
        return
    kind = type(namespace[name]).__name__
    raise InvalidRequest(
        f"{name!r} is already a variable of the notebook ({kind}).",
        hint=hint,
    )


def launch(
    notebook: Notebook,
    request: Request,
    config: AgentConfig,
    *,
    waits: bool,
    notices: tuple[str, ...] = (),
    draft: Draft | None = None,
) -> None:
    """Start a job, bind its name to the pending result at once, and show its card with the notices."""
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
        tracker,
        complete=lambda last: dataclasses.replace(with_answers(last), sent=read_sent(root, request.name, job.run_id)),
    )
    job = notebook.jobs.submit(request, config, journal_root=root, tracker=tracker, draft=draft)
    started = show_job(notebook, job, card, notices=notices)
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
    from autocoder_jupyter.agent.generation import require_names

    require_names(config)
    show_unsent(notebook, engine.preview(request, config), notices)


def show_unsent(notebook: Notebook, text: str, notices: tuple[str, ...] = ()) -> None:
    """Show a text that would be sent to the model, below the notices."""
    lines = ("Nothing was sent.", *notices)
    notebook.show(join(markup.text_lines(lines), markup.code(text)), f"{markup.lines(lines)}\n\n{markup.plain(text)}")
