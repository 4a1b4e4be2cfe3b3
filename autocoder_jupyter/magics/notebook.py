"""The notebook as the magics see it: the shell, its settings, the jobs that it started, and finding them by name."""

from __future__ import annotations

import dataclasses
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.errors import InvalidRequest, working_folder
from autocoder_jupyter.magics.settings import AutocodeTraits, Settings, resolve, suggestion
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view.markup import Html, html_output

if TYPE_CHECKING:
    from autocoder_jupyter.display.live import LiveCard, View
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.jobs.code_job import CodeJob, CodeRequest
    from autocoder_jupyter.jobs.job import SilenceAnswer
    from autocoder_jupyter.request import AgentConfig, Request
    from autocoder_jupyter.run.code_run import CodeRun
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.run.tracker import RunTracker
    from autocoder_jupyter.types import PlanQuestion
    from autocoder_jupyter.versions import Version, Versions


# State that the JupyterLab extension adds; without the extension the defaults stay


@dataclass
class FrontEnd:
    """Set by `autocoder_jupyter.lab`, which may import this package; this package does not import it.

    Args:
        settings: the checked values of JupyterLab's settings page, by the setting's name.
        views: they receive every state of every job, in addition to the card.
        has_page: whether a page with the extension is connected, which can render the extension's mime types.
        await_settings: processes settings that a page has sent, before a cell reads them; returns soon.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    views: list[View[Any]] = field(default_factory=list)
    has_page: Callable[[], bool] = lambda: False
    await_settings: Callable[[], None] = lambda: None


# Jobs and the notebook

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
    def done(self) -> bool: ...

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

    def cancel(self) -> None: ...

    def approve(self, question: str = "") -> bool:
        """Approve what it waits for, if it is `question`."""
        ...

    def decline(self, question: str = "") -> bool:
        """Decline what it waits for, if it is `question`."""
        ...

    def answer_silence(self, answer: SilenceAnswer) -> bool:
        """Say what to do about a model that says nothing; False if there is none."""
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
        """The newest job of a name, running or ended."""
        ...

    def forget(self, name: str) -> None: ...

    def complete(self, name: str, notify: Callable[[], object]) -> None:
        """Begin to complete the evidence of a function in spare time, if the time has cut it."""
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
        earlier: what other cells have launched under this name, if it has not been replaced.
    """

    job: NotebookJob
    card: LiveCard[Any]
    cell_id: str | None = None
    started: float = field(default_factory=time.time)
    earlier: list[Launch] = field(default_factory=list)


@dataclass(frozen=True)
class Notebook:
    """The shell, the settings, and the jobs that were started here.

    Args:
        traits: the `%config` object.
        given_jobs: used instead of `autocoder_jupyter.jobs`.
        launched: the newest job that was started here, by name.
        prepared: set when `prepare` was called.
        shown_notices: keys of messages that were shown in full; the next time they are shortened to one line.
        edits: code and tests that the user edited in a page, by the function's name, until they are tested.
        own_tests: the user's own tests, by the function's name, then by cell.
    """

    shell: Any
    traits: AutocodeTraits
    given_jobs: Jobs | None = None
    launched: dict[str, Launch] = field(default_factory=dict)
    front_end: FrontEnd = field(default_factory=FrontEnd)
    prepared: threading.Event = field(default_factory=threading.Event)
    shown_notices: set[str] = field(default_factory=set)
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)
    own_tests: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def jobs(self) -> Jobs:
        """The module that runs the jobs."""
        room: Any = self.given_jobs or importlib.import_module("autocoder_jupyter.jobs")
        return room  # type: ignore[no-any-return]

    @property
    def namespace(self) -> dict[str, Any]:
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

    def print_hints(self, hints: Iterable[str]) -> None:
        """Print the hints that this kernel has not printed yet, without keys: they quote what was typed."""
        for hint in hints:
            if hint not in self.shown_notices:
                from autocoder_jupyter.redaction.masking import Masker

                self.shown_notices.add(hint)
                print(visible(Masker().mask(hint, secrets_only=True)))

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


# Jobs, results and versions by the name that the user typed


def find_job(notebook: Notebook, name: str) -> NotebookJob:
    """The newest job of a name.

    Raises:
        InvalidRequest: this kernel has no job of that name.
    """
    job = notebook.jobs.current(name)
    if job is None:
        raise _unknown(name, "job", (known.name for known in notebook.jobs.all_jobs()))
    return job


def find_waiting(notebook: Notebook, name: str) -> tuple[NotebookJob, tuple[str, ...]]:
    """The newest job of a name, and the packages that it waits for.

    Raises:
        InvalidRequest: there is no such job, or it does not wait for an approval.
    """
    job = find_job(notebook, name)
    packages = tuple(job.pending_approval or ())
    if not packages:
        raise InvalidRequest(f"{name} is not waiting for approval; it is {job.state.replace('_', ' ')}.")
    return job, packages


def find_result(notebook: Notebook, name: str) -> Any:
    """The variable of that name, else the result of its newest job, else the report of its last run on disk.

    Raises:
        InvalidRequest: there is none.
    """
    value = notebook.namespace.get(name)
    if is_ours(value):
        return value
    job = notebook.jobs.current(name)
    if job is not None:
        return job.result
    versions = versions_of(notebook, name)
    if (counting := versions.last_good()) is not None or (recorded := versions.all()):
        return counting.report if counting is not None else recorded[-1].report
    if versions.interrupted():
        raise InvalidRequest(
            f"{name} was interrupted before it was finished.", hint=f"%autocode retry {name} continues it."
        )
    root = notebook.journal_root
    on_disk = filter(is_input_name, Folder(root.parent).names(root.name))
    bound = (known for known, held in notebook.namespace.items() if is_ours(held) and not known.startswith("_"))
    raise _unknown(name, "result", (*bound, *on_disk))


def is_answer(notebook: Notebook, name: str) -> bool:
    """Whether a name belongs to an answer of `--mode tools`: by its newest job, its variable, or the record."""
    job = notebook.jobs.current(name)
    if job is not None:
        return is_code_result(job.result)
    if is_ours(notebook.namespace.get(name)):
        return is_code_result(notebook.namespace[name])
    from autocoder_jupyter.jobs.code_job import load_record

    return name.isidentifier() and load_record(notebook.journal_root, name) is not None


def find_callable(notebook: Notebook, name: str) -> Any:
    """Like `find_result`, but a result that can be called and exported.

    Raises:
        InvalidRequest: there is none, or only a report.
    """
    result = find_result(notebook, name)
    if not is_result(result):
        raise InvalidRequest(
            f"{name!r} exists only in the journal.",
            hint=f'Run its cell, or write {name} = autocoder_jupyter.load("{name}").',
        )
    return result


def versions_of(notebook: Notebook, name: str) -> Versions:
    from autocoder_jupyter.versions import Versions

    return Versions(notebook.journal_root, name)


def last_run(notebook: Notebook, name: str) -> str:
    """The id of the newest run, finished or not; "" if there is none."""
    versions = versions_of(notebook, name)
    interrupted = versions.interrupted()
    finished = [version.id for version in versions.all()]
    return (interrupted or finished or [""])[-1]


def is_running_elsewhere(notebook: Notebook, name: str, run: str) -> bool:
    """Whether another kernel of this machine is working on an unfinished run."""
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.versions.request_lock import is_held, lock_of

    return is_held(lock_of(cache_folder(), notebook.journal_root, name, run.partition("-")[0]))


def find_version(notebook: Notebook, name: str, word: str) -> Version:
    """A recorded version, by its number or by the beginning of its id."""
    versions = versions_of(notebook, name)
    found = versions.numbered(word)
    if found is None:
        known = len(versions.all())
        if not known:
            find_result(notebook, name)
        recorded = f"Versions 1 to {known}" if known > 1 else "Version 1" if known else "None"
        raise InvalidRequest(
            f"There is no version {word!r} of {name}.",
            hint=f"{recorded} recorded: %autocode history {name}.",
        )
    return found


def _unknown(name: str, what: str, known: Iterable[str]) -> InvalidRequest:
    return InvalidRequest(f"There is no {what} named {name!r}.", hint=suggestion(name, sorted(set(known))))
