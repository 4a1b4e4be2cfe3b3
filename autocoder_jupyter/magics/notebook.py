"""What the magics need of the place where they run."""

from __future__ import annotations

import dataclasses
import importlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autocoder_jupyter.magics.front_end import FrontEnd
from autocoder_jupyter.magics.settings import AutocodeTraits, Settings, resolve
from autocoder_jupyter.redaction.logs import redacting_logger

if TYPE_CHECKING:
    from autocoder_jupyter.display.live import LiveCard
    from autocoder_jupyter.engine.events import Emit
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.jobs.background_job import Listener
    from autocoder_jupyter.jobs.code_job import CodeJob, CodeRequest
    from autocoder_jupyter.request import AgentConfig, Request
    from autocoder_jupyter.types import PlanQuestion

_log = redacting_logger(__name__)

RESULT_TYPE = ("autocoder_jupyter.result.handle", "CodeGenEvalResult")
"""Module and name of the type that the magics bind; by name, so that nothing is imported to ask."""

CODE_RESULT_TYPE = ("autocoder_jupyter.jobs.code_result", "CodeModeResult")
"""The same of what a cell with `--mode tools` binds."""


class Job(Protocol):
    """A generation that runs, or ran; or a run of code mode.

    `request` is a `Request` or a `CodeRequest`, `result` a `CodeGenEvalResult` or a `CodeModeResult`.
    """

    request: Any
    config: AgentConfig
    result: Any

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def run_id(self) -> str:
        """Its folder in the journal; "" until there is one."""
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
        """The distributions, or the call of a tool, that it waits for."""
        ...

    @property
    def pending_questions(self) -> tuple[PlanQuestion, ...] | None:
        """What its plan asks."""
        ...

    def answer(self, answers: Sequence[str]) -> bool:
        """Answer that, one for each question."""
        ...

    def obstacle(self) -> str:
        """What only a person can take out of the way; "" when it goes on by itself."""
        ...

    def cancel(self) -> None:
        """Stop it."""
        ...

    def approve(self) -> bool:
        """Allow what it waits for."""
        ...

    def decline(self) -> bool:
        """Refuse what it waits for."""
        ...


class Jobs(Protocol):
    """The room that runs them; `autocoder_jupyter.jobs` is one."""

    def submit(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal_root: Path,
        listeners: Sequence[Emit] = (),
        draft: Draft | None = None,
    ) -> Job:
        """Start one, from a draft where there is one; an older one of the same name gives way."""
        ...

    def submit_code(self, request: CodeRequest, *, journal_root: Path, listeners: Sequence[Listener] = ()) -> CodeJob:
        """Start a run of code mode; an older job of the same name gives way."""
        ...

    def prepare(self, model: str) -> None:
        """Import what the first question to a model needs; takes seconds."""
        ...

    def current(self, name: str) -> Job | None:
        """The newest of a name."""
        ...

    def forget(self, name: str) -> None:
        """Know nothing more of a name."""
        ...

    def all_jobs(self) -> Sequence[Job]:
        """Those of this kernel."""
        ...


@dataclass(frozen=True)
class Launch:
    """What a cell started, and the card that shows it.

    Args:
        job: the generation.
        card: shows it, and holds its state.
        cell_id: of the cell, where the front end says it.
        started: seconds since 1970.
    """

    job: Job
    card: LiveCard[Any]
    cell_id: str | None = None
    started: float = field(default_factory=time.time)


@dataclass(frozen=True)
class Notebook:
    """The shell, the traits, and what was started here, by name.

    Args:
        shell: IPython's.
        traits: the `%config` object.
        given_jobs: takes the place of `autocoder_jupyter.jobs`.
        launched: what was started here, the newest of each name.
        front_end: what a page of ours adds.
        prepared: whether somebody has begun to.
        told: what the person was told in full already, and is reminded of in a line.
        own_tests: the person's own tests by the function's name, then by cell.
    """

    shell: Any
    traits: AutocodeTraits
    given_jobs: Jobs | None = None
    launched: dict[str, Launch] = field(default_factory=dict)
    front_end: FrontEnd = field(default_factory=FrontEnd)
    prepared: threading.Event = field(default_factory=threading.Event)
    told: set[str] = field(default_factory=set)
    own_tests: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def jobs(self) -> Jobs:
        """The room that runs generations."""
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
        return Path.cwd() / ".autocode"

    @property
    def is_terminal(self) -> bool:
        """Whether this is a plain IPython, without a kernel."""
        return getattr(self.shell, "kernel", None) is None

    @property
    def is_headless(self) -> bool:
        """Whether nobody sits in front of it: nbclient, papermill and nbconvert allow no input."""
        return not self.is_terminal and not getattr(self.shell.kernel, "_allow_stdin", True)

    @property
    def cell_id(self) -> str | None:
        """The id of the cell that runs, where the front end says it; JupyterLab and VS Code do."""
        ask = getattr(self.shell, "get_parent", None)
        parent: Mapping[str, Any] = (ask() if ask else None) or {}
        found = (parent.get("metadata") or {}).get("cellId")
        return found if isinstance(found, str) else None

    def own_tests_of(self, name: str) -> str:
        """All own tests of a function, one module; "" when there are none."""
        return "\n\n\n".join(source.strip("\n") for source in self.own_tests.get(name, {}).values())

    def prepare(self) -> None:
        """Have ready what the first generation needs, from a thread of its own; returns at once.

        For when a person writes a cell: that takes longer than the imports, which the first answer else waits for.
        """
        if not self.prepared.is_set():
            self.prepared.set()
            work = Context().run
            threading.Thread(target=work, args=(self._prepare,), name="autocode-prepare", daemon=True).start()

    def _prepare(self) -> None:
        try:
            self.jobs.prepare(self.settings()["model"])
        except Exception:  # a cell that runs says it to the person
            _log.info("nothing could be prepared", exc_info=True)

    def settings(self, flags: Mapping[str, Any] | None = None) -> Settings:
        """The settings that hold for a cell with these flags."""
        return resolve(flags or {}, self.traits.given(), Path.cwd(), os.environ, self.front_end.settings)

    def config_again(self, job: Job) -> AgentConfig:
        """How a run was done, for doing it again: with what is demanded of the sandbox by now, too."""
        demanded = job.config.sandbox_minimum.narrowed_by(self.settings().sandbox_minimum)
        return dataclasses.replace(job.config, sandbox_minimum=demanded)

    def show(self, html: str, text: str) -> None:
        """Put something static into the output of the cell that runs."""
        if self.is_terminal:
            print(text)
            return
        self.shell.display_pub.publish({"text/html": html, "text/plain": text})


def is_result(value: object) -> bool:
    """Whether a value is a function that a cell binds."""
    return _is_a(value, RESULT_TYPE)


def is_code_result(value: object) -> bool:
    """Whether a value is an answer that a cell with `--mode tools` binds."""
    return _is_a(value, CODE_RESULT_TYPE)


def is_ours(value: object) -> bool:
    """Whether a value is what a cell binds, of either kind."""
    return is_result(value) or is_code_result(value)


def _is_a(value: object, named: tuple[str, str]) -> bool:
    return any((kind.__module__, kind.__qualname__) == named for kind in type(value).__mro__)
