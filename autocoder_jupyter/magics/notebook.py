"""The notebook as the magics see it: the shell, its settings, and the jobs that it started."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.errors import InvalidRequest, working_folder
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.options import FLAGS
from autocoder_jupyter.magics.settings import AutocodeTraits, Settings, resolve
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.view.markup import Html, html_output

if TYPE_CHECKING:
    from autocoder_jupyter.display.live import LiveCard, View
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.jobs.code_job import CodeJob, CodeRequest
    from autocoder_jupyter.request import AgentConfig, Request
    from autocoder_jupyter.run.code_run import CodeRun
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.run.tracker import RunTracker
    from autocoder_jupyter.types import PlanQuestion


# State that the JupyterLab extension adds to a notebook. Without the extension the defaults stay.


@dataclass
class FrontEnd:
    """Set by `autocoder_jupyter.lab`, which may import this package; this package does not import it.

    Args:
        settings: the checked values of JupyterLab's settings page, by the setting's name.
        views: they receive every state of every job, in addition to the card.
        has_page: whether a page with the extension is connected, which can render the extension's mime types.
        say_settings: processes settings that a page has sent, before a cell reads them; returns soon.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    views: list[View[Any]] = field(default_factory=list)
    has_page: Callable[[], bool] = lambda: False
    say_settings: Callable[[], None] = lambda: None


# What the docstring of this file says.


_log = redacting_logger(__name__)

RESULT_TYPE = ("autocoder_jupyter.result.handle", "CodeGenEvalResult")
"""Module and name of the type that a cell binds. It is checked by name, so that its module need not be imported."""

CODE_RESULT_TYPE = ("autocoder_jupyter.jobs.code_job", "CodeModeResult")
"""The same for a cell with `--mode tools`."""


class NotebookJob(Protocol):
    """A generation or a run of code mode, running or ended.

    `request` is a `Request` or a `CodeRequest`, `result` a `CodeGenEvalResult` or a `CodeModeResult`.
    """

    request: Any
    config: AgentConfig
    result: Any
    tracker: RunTracker[Any]

    @property
    def name(self) -> str:
        """The name that the cell binds."""
        ...

    @property
    def run_id(self) -> str:
        """The name of its folder in the journal; "" until the folder exists."""
        ...

    @property
    def state(self) -> str:
        """`running`, `waiting for approval`, `waiting for answers`, `ready`, `failed`, `cancelled` or `over_budget`."""
        ...

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        ...

    @property
    def pending_approval(self) -> tuple[str, ...] | None:
        """The packages, or the tool call, whose approval it waits for."""
        ...

    @property
    def pending_questions(self) -> tuple[PlanQuestion, ...] | None:
        """The questions of its plan to the user."""
        ...

    def answer(self, answers: Sequence[str]) -> bool:
        """Answer these questions, with one answer for each."""
        ...

    def obstacle(self) -> str:
        """What the job waits for and only the user can provide; "" if it waits for nothing."""
        ...

    def cancel(self) -> None:
        """Cancel it."""
        ...

    def approve(self, question: str = "") -> bool:
        """Approve what it waits for, if it is `question`."""
        ...

    def decline(self, question: str = "") -> bool:
        """Decline what it waits for, if it is `question`."""
        ...


class Jobs(Protocol):
    """Starts and finds jobs; `autocoder_jupyter.jobs` implements it."""

    def submit(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal_root: Path,
        tracker: RunTracker[FunctionRun] | None = None,
        draft: Draft | None = None,
    ) -> NotebookJob:
        """Start a generation, from a draft if one is given. An older job of the same name is cancelled."""
        ...

    def submit_code(
        self, request: CodeRequest, *, journal_root: Path, tracker: RunTracker[CodeRun] | None = None
    ) -> CodeJob:
        """Start a run of code mode. An older job of the same name is cancelled."""
        ...

    def prepare(self, model: str) -> None:
        """Import the packages that the first question to a model needs. Takes seconds."""
        ...

    def current(self, name: str) -> NotebookJob | None:
        """The newest job of a name."""
        ...

    def forget(self, name: str) -> None:
        """Forget the jobs of a name."""
        ...

    def all_jobs(self) -> Sequence[NotebookJob]:
        """All jobs of this kernel."""
        ...


@dataclass(frozen=True)
class Launch:
    """A job that a cell started, and its card.

    Args:
        cell_id: the id of the cell, if the front end sends it.
        started: seconds since 1970.
    """

    job: NotebookJob
    card: LiveCard[Any]
    cell_id: str | None = None
    started: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Notebook:
    """The shell, the settings, and the jobs that were started here.

    Args:
        traits: the `%config` object.
        given_jobs: used instead of `autocoder_jupyter.jobs`.
        launched: the newest job that was started here, by name.
        prepared: set when `prepare` was called.
        shown_notices: keys of messages that were shown in full; the next time they are shortened to one line.
        own_tests: the user's own tests, by the function's name, then by cell.
    """

    shell: Any
    traits: AutocodeTraits
    given_jobs: Jobs | None = None
    launched: dict[str, Launch] = field(default_factory=dict)
    front_end: FrontEnd = field(default_factory=FrontEnd)
    prepared: threading.Event = field(default_factory=threading.Event)
    shown_notices: set[str] = field(default_factory=set)
    own_tests: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def jobs(self) -> Jobs:
        """The module that runs the jobs."""
        room: Any = self.given_jobs or importlib.import_module("autocoder_jupyter.jobs")
        return room  # type: ignore[no-any-return]

    @property
    def namespace(self) -> dict[str, Any]:
        """The variables of the notebook."""
        namespace: dict[str, Any] = self.shell.user_ns
        return namespace

    @property
    def journal_root(self) -> Path:
        """`.autocode` beside the notebook."""
        return working_folder() / ".autocode"

    @property
    def is_terminal(self) -> bool:
        """Whether this is a plain IPython, without a kernel."""
        return getattr(self.shell, "kernel", None) is None

    @property
    def is_headless(self) -> bool:
        """Whether it runs without a user: nbclient, papermill and nbconvert do not allow input."""
        return not self.is_terminal and not getattr(self.shell.kernel, "_allow_stdin", True)

    @property
    def cell_id(self) -> str | None:
        """The id of the running cell, if the front end sends it. JupyterLab and VS Code do."""
        ask = getattr(self.shell, "get_parent", None)
        parent: Mapping[str, Any] = (ask() if ask else None) or {}
        found = (parent.get("metadata") or {}).get("cellId")
        return found if isinstance(found, str) else None

    def own_tests_of(self, name: str) -> str:
        """All own tests of a function as one module; "" if there are none."""
        return "\n\n\n".join(source.strip("\n") for source in self.own_tests.get(name, {}).values())

    def prepare(self) -> None:
        """Start to import what the first generation needs, in a separate thread. Returns at once.

        Called when the user begins to write a cell. Writing takes longer than the imports, so the first generation
        does not wait for them.
        """
        if not self.prepared.is_set():
            self.prepared.set()
            start_thread(self._prepare, "autocode-prepare")

    def _prepare(self) -> None:
        try:
            self.jobs.prepare(self.settings()["model"])
        except Exception:  # the cell will report the error when it runs
            _log.info("nothing could be prepared", exc_info=True)

    def settings(self, flags: Mapping[str, Any] | None = None) -> Settings:
        """The effective settings of a cell with these flags."""
        return resolve(flags or {}, self.traits.given(), working_folder(), os.environ, self.front_end.settings)

    def config_again(self, job: NotebookJob) -> AgentConfig:
        """The configuration of a job, to run it again. It also includes the sandbox minimum that is set now."""
        demanded = job.config.sandbox_minimum.narrowed_by(self.settings().sandbox_minimum)
        return dataclasses.replace(job.config, sandbox_minimum=demanded)

    def show(self, html: Html, text: str) -> None:
        """Show static content in the output of the running cell."""
        if self.is_terminal:
            print(text)
            return
        self.shell.display_pub.publish(html_output(html, text))


def is_result(value: object) -> bool:
    """Whether a value is the result of a cell that generates a function."""
    return _is_a(value, RESULT_TYPE)


def is_code_result(value: object) -> bool:
    """Whether a value is the result of a cell with `--mode tools`."""
    return _is_a(value, CODE_RESULT_TYPE)


def is_ours(value: object) -> bool:
    """Whether a value is the result of a cell of either kind."""
    return is_result(value) or is_code_result(value)


def _is_a(value: object, named: tuple[str, str]) -> bool:
    return any((kind.__module__, kind.__qualname__) == named for kind in type(value).__mro__)


# Completion in the kernel, for every front end: options, their values, `@frames`, subcommands and names.
#
# A front end shows the type beside each word. IPython's protocol has no other field, so the type also contains the size
# and the columns of a table.


_DECLARED_TYPE = re.compile(r"""(?P<flag>-o|--output|-i|--input)[\s=]+["'][^"':]*:\s*(?P<fragment>\w*)$""")
_VALUE = re.compile(r"(?:^|\s)(?P<flag>--?[A-Za-z][\w-]*)(?:\s+|=)(?:\w+=)?(?P<fragment>[^\s\"'=]*)$")
_FLAG = re.compile(r"(?:^|\s)(?P<fragment>--?[\w-]*)$")
_REFERENCE = re.compile(r"(?<![\w@])@(?P<fragment>\w*)$")
_OPTION_LINE = re.compile(r"\s*--?[A-Za-z]*")

Offer = tuple[str, str]
"""A completion, and its type."""

MOST_OFFERS = 200


class Completion:
    """The completer of one notebook; `matcher` goes into `Completer.custom_matchers`."""

    def __init__(self, notebook: Notebook) -> None:
        def autocode_matcher(context: CompletionContext) -> SimpleMatcherResult:
            return _result(*complete(context.full_text, context.cursor_line, context.text_until_cursor, notebook))

        mark: Any = context_matcher()
        self.matcher: Any = mark(autocode_matcher)


def complete(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    """The completions at the cursor."""
    if text.startswith("%%autocode"):
        return _in_cell(text, row, before, notebook)
    if before.startswith("%autocode "):
        return _in_line(before.removeprefix("%autocode "), notebook)
    return "", []


def _in_cell(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    notebook.prepare()
    lines = text.split("\n")
    if not all(_OPTION_LINE.match(line) and line.strip() for line in lines[1 : row + 1]):
        return _reference(before, notebook)
    typed = _DECLARED_TYPE.search(before)
    if typed:
        return _among(typed["fragment"], _all(_types(typed["flag"]), "type"))
    value = _VALUE.search(before)
    if value and value["flag"] in FLAGS and FLAGS[value["flag"]].takes_value:
        return _among(value["fragment"], _values(value["flag"], value["fragment"], notebook))
    flag = _FLAG.search(before)
    if flag and (row > 0 or " " in before):
        written = set(re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", "\n".join(lines[: row + 1])))
        return _among(flag["fragment"], _all(_flags(written - {flag["fragment"]}), "option"))
    return _reference(before, notebook)


def _in_line(before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    command_name, blank, rest = before.partition(" ")
    if not blank:
        return _among(command_name, _all(SUBCOMMANDS, "subcommand"))
    command = SUBCOMMANDS.get(command_name)
    if command is None:
        return "", []
    fragment = re.split(r"\s", rest)[-1]
    if fragment.startswith("-"):
        return _among(fragment, _all((flag for option in command.options for flag in option.flags), "option"))
    if command.takes_name and " " not in rest.lstrip():
        return _among(fragment, _names(notebook))
    return "", []


def _reference(before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    found = _REFERENCE.search(before)
    return _among(found["fragment"], _data(notebook)) if found else ("", [])


def _among(fragment: str, offers: Iterable[Offer]) -> tuple[str, list[Offer]]:
    return fragment, [offer for offer in offers if offer[0].startswith(fragment)][:MOST_OFFERS]


def _all(words: Iterable[str], kind: str) -> list[Offer]:
    return [(word, kind) for word in words]


def _types(flag: str) -> tuple[str, ...]:
    from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES

    return TYPE_NAMES if flag in ("-o", "--output") else INPUT_TYPE_NAMES


def _values(flag: str, fragment: str, notebook: Notebook) -> Iterable[Offer]:
    option = FLAGS[flag]
    if option.name == "sample":
        return _data(notebook)
    if option.name in ("schema", "contract"):
        from autocoder_jupyter.magics.contracts import schema_names

        return _all((f"@{name}" for name in schema_names(notebook.namespace)), "schema")
    if option.name == "model":
        return _models(fragment, notebook)
    if option.name == "tool":
        from autocoder_jupyter.magics.codemode.cell import tool_names

        return _all(tool_names(notebook.namespace), "function")
    if option.name == "continue":
        from autocoder_jupyter.magics.codemode.cell import conversations

        return _all(conversations(notebook), "conversation")
    return _all(option.choices, "value")


def _models(fragment: str, notebook: Notebook) -> Iterator[Offer]:
    """The configured model and all providers; after `PROVIDER/` the models of the provider."""
    from autocoder_jupyter.models.catalogue import known_models, known_providers

    with contextlib.suppress(InvalidRequest):  # the cell reports a broken pyproject.toml
        yield notebook.settings()["model"], "model"
    provider, slash, _ = fragment.partition("/")
    if slash:
        yield from _all(known_models(provider), "model")
    else:
        yield from _all((f"{provider}/" for provider in known_providers()), "provider")


def _flags(written: set[str]) -> list[str]:
    spent = {FLAGS[flag].name for flag in written if flag in FLAGS and not FLAGS[flag].repeatable}
    return [flag for flag, option in FLAGS.items() if option.name not in spent]


def _data(notebook: Notebook) -> list[Offer]:
    from autocoder_jupyter.magics.references import describe, hint

    return [(variable["name"], hint(variable)) for variable in describe(notebook.namespace)]


def _names(notebook: Notebook) -> list[Offer]:
    bound = [name for name, value in notebook.namespace.items() if not name.startswith("_") and is_ours(value)]
    states = {name: launch.job.state for name, launch in notebook.launched.items()}
    states |= {name: notebook.namespace[name].state for name in bound}
    return [(name, f"result, {state.replace('_', ' ')}") for name, state in states.items()]


def _result(fragment: str, offers: list[Offer]) -> SimpleMatcherResult:
    return SimpleMatcherResult(
        completions=[SimpleCompletion(text=word, type=kind) for word, kind in offers],
        matched_fragment=fragment,
        suppress=bool(offers),
        ordered=True,
    )
