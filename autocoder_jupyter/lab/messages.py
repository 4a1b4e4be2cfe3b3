"""Messages from the kernel to a page. `labextension/src/link/tokens.ts` and `messages.ts` define them in TypeScript.

A test compares both. Messages from a page have no type here, because they are untrusted until `link` has checked them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, cast

from autocoder_jupyter.display import actions as display_actions
from autocoder_jupyter.display.live import Shown, document_of, step
from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.notebook import Launch, Notebook, is_code_result, is_ours
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import question_key, run_of
from autocoder_jupyter.run.record import AsksFor, Phase
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.view.as_text import MOST_CHARACTERS, PageDocument, page_document

if TYPE_CHECKING:
    from autocoder_jupyter.magics.references import Variable
    from autocoder_jupyter.types import Report


class JobMessage(PageDocument):
    """One job, or a result in the namespace without a job: its document, what it asks, what can be done, what it cost.

    `question` identifies what it `asks`. `cost` is None if it is not known, and 0 if nothing was spent. The fields from
    `started` on are mostly empty for a result that no cell of this kernel started.
    """

    name: str
    phase: Phase
    asks: str
    question: str
    cost: float | None
    progress: float
    step: str
    actions: list[str]
    buttons: dict[str, str]
    started: float
    seconds: float
    cell_id: str | None
    limit: str
    limit_value: float | None
    limit_next: float | None


class Welcome(TypedDict):
    """The answer to a page's hello."""

    kind: Literal["welcome"]
    client: str
    protocol: int
    version: str
    vocabulary: Vocabulary


class SettingValue(TypedDict):
    """The value of a setting, and where it was set."""

    value: Any
    origin: str


class TakenSettings(TypedDict):
    """The effective settings after a page sent its own, and an error message for each refused one.

    If another source has an error, such as a broken pyproject.toml, `settings` is empty and `error` has the message.
    """

    settings: dict[str, SettingValue]
    refused: dict[str, str]
    error: NotRequired[str]


class SettingsMessage(TakenSettings):
    """The same, as a message."""

    kind: Literal["settings"]


class JobsMessage(TypedDict):
    """All jobs and results."""

    kind: Literal["jobs"]
    jobs: list[JobMessage]


class NotebookData(TypedDict):
    """The variables that a request can refer to, and the types of the others by name."""

    variables: list[Variable]
    others: dict[str, str]


class Data(NotebookData):
    """The same, as a message."""

    kind: Literal["data"]


class CellProblem(TypedDict):
    """A problem of a cell that is being written; places are as in `magics/problems.CellPlace`."""

    severity: Literal["error", "warning", "info"]
    what: str
    hint: str
    instead: str
    area: Literal["command", "quote", "word", "request"]
    word: int
    start: int
    end: int | None


class CheckedPart(TypedDict):
    """A row of `%autocode setup check`, as texts; the others are as in `magics/doctor.DoctorRow`."""

    name: str
    state: str
    more: str
    level: int
    used: bool
    bad: bool


class OfferedModels(TypedDict):
    """Models that can be asked now, and why, as in `run/events.ModelOffer`."""

    text: str
    models: list[str]
    api_base: str


class ReadyModels(TypedDict):
    """All of them; the model that is set, with its address; and the system's keyring in words, if there is one."""

    offers: list[OfferedModels]
    model: str
    api_base: str
    keyring: str


class RequestOutcome(TypedDict):
    """The outcome of a request: a value if it is `ok`, otherwise an error message for the user."""

    ok: bool
    value: NotRequired[str | None]
    error: NotRequired[str]


class ReplyMessage(RequestOutcome):
    """The same, as a message; `id` is the request's."""

    kind: Literal["reply"]
    id: str


Message = Welcome | SettingsMessage | JobsMessage | Data | ReplyMessage


# Jobs, and other results in the namespace

MOST_HELD = 200
"""Maximum number of results without a job; only a loop creates more."""

ROWS = ("Note", "Reason", "Warnings", "Verified", "Call")
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
    limit = getattr(launch.job.config, state.limit) if display_actions.limit_flag(state) else None
    seconds = state.seconds if state.finished else time.time() - launch.started
    return {
        **_message(name, state, launch.started, max(seconds, 0.0)),
        "cell_id": launch.cell_id,
        "limit": state.limit,
        "limit_value": limit,
        "limit_next": None if limit is None else display_actions.raised_limit(state, limit),
    }


def _of_result(name: str, result: Any) -> JobMessage:
    if not result.is_usable:
        is_waiting = result.state.startswith("waiting")
        phase: Phase = "waiting" if is_waiting else "running"
        state: Shown = CodeRun(name, phase=phase) if is_code_result(result) else FunctionRun(name, phase=phase)
        job = _message(name, state)
        job["actions"].remove("cancel")  # only the job of a cell can be cancelled by its name
        del job["buttons"]["cancel"]
        return job
    if is_code_result(result):
        from autocoder_jupyter.magics.codemode.cell import state_of

        state = state_of(result)
        return _message(name, state, seconds=state.seconds)
    report: Report = result.report
    state = replace(
        run_of(report, result.state, cast("AsksFor", result.asks_for)), name=name, splits=result.known_splits
    )
    return _message(name, state, report.started.timestamp() if report.started else 0.0, report.seconds)


def _message(name: str, state: Shown, started: float = 0.0, seconds: float = 0.0) -> JobMessage:
    """The message about a result that no cell of this kernel started."""
    return {
        **page_document(document_of(state), ROWS),
        "name": visible_block(name),
        "phase": state.phase,
        "asks": visible_block(state.asks)[:MOST_CHARACTERS],
        "question": state.question or (question_key(state) if isinstance(state, FunctionRun) else ""),
        "cost": state.usage.cost,
        "progress": round(state.progress, 3),
        "step": step(state),
        "actions": list(display_actions.possible(state)),
        "buttons": display_actions.buttons(state),
        "started": started,
        "seconds": round(seconds, 3),
        "cell_id": None,
        "limit": "",
        "limit_value": None,
        "limit_next": None,
    }


# Options, types and subcommands, for highlighting and completion in the editor of a page


class OptionWords(TypedDict):
    """An option of `%%autocode`; in TypeScript `IOption`, and the next two are `ISubcommand` and `IVocabulary`.

    A `former` spelling is read, and not offered.
    """

    name: str
    flags: list[str]
    takes_value: bool
    choices: list[str]
    placeholder: str
    help: str
    repeatable: bool
    former: bool


class SubcommandWords(TypedDict):
    """A subcommand of `%autocode`."""

    name: str
    usage: str
    help: str
    takes_name: bool
    flags: list[str]


class Vocabulary(TypedDict):
    """All options, types, subcommands and settings."""

    options: list[OptionWords]
    types: list[str]
    input_types: list[str]
    subcommands: list[SubcommandWords]
    settings: list[str]
    page: list[str]


def vocabulary() -> Vocabulary:
    """Options, types, subcommands and settings, as JSON.

    Names of models are not included: the kernel completes them from the installed litellm.
    """
    from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES

    return {
        "options": [_option(option) for option in OPTIONS if option.flags],
        "types": list(TYPE_NAMES),
        "input_types": list(INPUT_TYPE_NAMES),
        "subcommands": [_subcommand(command) for command in SUBCOMMANDS.values()],
        "settings": list(SETTINGS),
        "page": [record.name for record in RECORDS.values() if record.page],
    }


def _option(option: Option) -> OptionWords:
    return {
        "name": option.name,
        "flags": list(option.flags),
        "takes_value": option.takes_value,
        "choices": list(option.written_choices),
        "placeholder": option.placeholder,
        "help": option.help,
        "repeatable": option.repeatable,
        "former": not option.is_current,
    }


def _subcommand(command: Subcommand) -> SubcommandWords:
    return {
        "name": command.name,
        "usage": command.usage,
        "help": command.help,
        "takes_name": command.takes_name,
        "flags": [flag for option in command.options for flag in option.flags],
    }
