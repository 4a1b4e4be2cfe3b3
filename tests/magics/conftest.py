from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autocoder_jupyter import magics
from autocoder_jupyter.display import live
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.events import ApprovalNeeded, Finished
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import CodeSolution, Report


class ScriptedJob:
    """A job that is controlled by the test, with a real result."""

    def __init__(self, request: Request, config: AgentConfig, tracker: RunTracker[FunctionRun], root: Path) -> None:
        self.request = request
        self.config = config
        self.name = request.name
        self.run_id = "run-1"
        self.state_now: Any = "running"
        self.pending: Pending[Any] = Pending(lambda: self.state_now, lambda reason: self.cancel())
        self.result = CodeGenEvalResult(request.name, self.pending, samples=request.samples, root=root)
        self.pending_approval: tuple[str, ...] | None = None
        self.pending_questions: Any = None
        self.draft: Any = None
        self.asked: list[Any] = []
        self.tracker = tracker

    @property
    def state(self) -> str:
        return self.result.state

    @property
    def done(self) -> bool:
        return self.result.done

    def tell(self, event: Any) -> None:
        self.tracker(event)

    def ask(self, *packages: str) -> None:
        self.state_now, self.pending_approval = "waiting for approval", packages
        self.tell(ApprovalNeeded(packages))

    def end(self, state: Any = "ready", exception: Exception | None = None, **fields: Any) -> None:
        values: dict[str, Any] = {
            "name": self.name,
            "run_id": self.run_id,
            "prompt": self.request.prompt,
            "success": state == "ready",
            "solution": CodeSolution(code=f"def run():\n    return {self.name!r}\n"),
            **fields,
        }
        self.tracker.finish(Finished(state, fields.get("error") or ""))
        self.pending.resolve(Resolution(state, Report(**values), exception))

    def obstacle(self) -> str:
        return f"{self.name} waits for consent." if self.pending_approval else ""

    def cancel(self) -> None:
        self.asked.append("cancel")
        if not self.done:
            self.end("cancelled")

    def approve(self, question: str = "") -> bool:
        return self._decide("approve", question)

    def answer(self, answers: Sequence[str]) -> bool:
        self.asked.append(tuple(answers))
        return True

    def decline(self, question: str = "") -> bool:
        return self._decide("decline", question)

    def answer_silence(self, answer: str) -> bool:
        self.asked.append(answer)
        return bool(self.tracker.run.silent)

    def _decide(self, how: str, question: str) -> bool:
        is_meant = question in ("", ", ".join(self.pending_approval or ()))
        self.asked.extend([how] if is_meant else [])
        return is_meant


class ScriptedJobs:
    """Replaces `autocoder_jupyter.jobs`; `ending` is applied as soon as a job is submitted."""

    def __init__(self) -> None:
        self.submitted: list[ScriptedJob] = []
        self.ending: Any = None
        self.prepared: list[tuple[str, str]] = []
        self.completed: list[str] = []

    def prepare(self, model: str) -> None:
        self.prepared.append((model, threading.current_thread().name))

    def submit(
        self,
        request: Request,
        config: AgentConfig,
        *,
        journal_root: Path,
        tracker: RunTracker[FunctionRun],
        draft: Any = None,
    ) -> ScriptedJob:
        job = ScriptedJob(request, config, tracker, journal_root)
        job.draft = draft
        self.submitted.append(job)
        if self.ending:
            self.ending(job)
        return job

    def current(self, name: str) -> ScriptedJob | None:
        return {job.name: job for job in self.submitted}.get(name)

    def forget(self, name: str) -> None:
        self.submitted = [job for job in self.submitted if job.name != name]

    def complete(self, name: str, notify: Callable[[], object]) -> None:
        self.completed.append(name)

    def all_jobs(self) -> list[ScriptedJob]:
        return list({job.name: job for job in self.submitted}.values())

    @property
    def last(self) -> ScriptedJob:
        return self.submitted[-1]


class RaisingShell(InteractiveShell):
    """A shell whose `run` raises the exception of the cell."""

    kernel: Any = None
    _instance: Any

    def run(self, cell: str) -> Any:
        result = self.run_cell(cell)
        result.raise_error()
        return result.result

    @property
    def shown(self) -> str:
        """All HTML and text that cells displayed."""
        assert isinstance(self.display_pub, CapturingDisplayPublisher)
        return "\n".join(str(output.get("data", output)) for output in self.display_pub.outputs)


@pytest.fixture(autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's permissions: empty, and not that of the user who runs the tests."""
    place = tmp_path_factory.mktemp("config")
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: place / name)
    return place


@pytest.fixture(autouse=True)
def impatient_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards show their last state without delay. `tests/display/test_live.py` tests the delay."""
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.01)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, without settings from outside."""
    for name in [name for name in os.environ if name.startswith("AUTOCODE_")]:
        monkeypatch.delenv(name)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def jobs() -> ScriptedJobs:
    return ScriptedJobs()


@pytest.fixture
def means_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who means what the cell says, where it passes no data. All other questions fail."""

    def answer(question: str) -> str:
        assert question == "Type yes to go on without data, anything else to stop: "
        return "yes"

    monkeypatch.setattr("builtins.input", answer)


@pytest.fixture
def shell(here: Path, jobs: ScriptedJobs, means_no_data: None) -> Iterator[RaisingShell]:
    """A shell like that of a notebook with a user: magics registered, jobs replaced."""
    produced: Any = jobs
    config = Config()
    config.HistoryManager.enabled = False
    shell = RaisingShell(config=config, display_pub_class=CapturingDisplayPublisher)
    kept: Any = InteractiveShell
    kept._instance = RaisingShell._instance = shell
    shell.kernel = SimpleNamespace(_allow_stdin=True)
    magics.register(shell, produced)
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    yield shell
    magics.unregister(shell)
    for job in jobs.submitted:
        job.cancel()
    for launch in notebook.launched.values():
        assert launch.card.wait(60)
    kept._instance = RaisingShell._instance = None
    # Hundreds of shells would each run a garbage collection at the end, which takes a minute.
    atexit.unregister(shell.atexit_operations)
