"""Single calls of the agent: their record, and the warnings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autocoder_jupyter.engine.generation import GenerationSetup
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engines.claude import toolbox as toolbox_module
from autocoder_jupyter.engines.claude.agent import HOW_IT_RAN
from autocoder_jupyter.engines.claude.toolbox import Toolbox, ToolCallbacks
from autocoder_jupyter.errors import AutocodeError, EngineGone
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.protocol import CommandOutcome
from autocoder_jupyter.sandbox.workspace.workspace import LONGEST_OBSERVATION, Observation, Workspace


class Bench:
    """The tools of a session, with scripted results of commands and a real journal."""

    def __init__(self, root: Path) -> None:
        self.journal = Journal(root / ".autocode", "total")
        self.journal.begin("run1")
        self.commands: list[str] = []
        self.outcomes: dict[str, CommandOutcome | Exception] = {}
        self.tests = Observation(f"2 of 2 tests passed. {HOW_IT_RAN}")
        self.faults: list[AutocodeError] = []
        services = SimpleNamespace(journal=self.journal)
        self._setup = SimpleNamespace(config=AgentConfig(), services=services, emit=lambda event: None)
        self.workspace = Workspace(self._run)
        callbacks = ToolCallbacks(self._ready, self._test, lambda: None, self.faults.append)
        self.toolbox = Toolbox(cast(GenerationSetup, self._setup), self.workspace, callbacks, "session", lambda: 1)

    def call(self, name: str, **arguments: Any) -> str:
        tool = next(tool for tool in self.toolbox.tools if tool.name == name)

        async def called() -> tuple[str, bool]:
            return await tool.call(arguments)

        return asyncio.run(called())[0]

    @property
    def size(self) -> int:
        return (self.journal.folder / "journal.jsonl").stat().st_size

    async def _ready(self) -> str:
        return ""

    async def _test(self) -> Observation:
        return self.tests

    async def _run(self, command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        self.commands.append(command)
        outcome = self.outcomes.get(command, CommandOutcome(0, "done", files))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_call_that_changes_no_file_records_none(bench: Bench) -> None:
    bench.call("Write", file_path="solution.py", content="x" * 100_000)
    before = bench.size
    for number in range(10):
        bench.call("Bash", command=f"echo {number}")
    assert bench.size - before < 10_000


def test_what_a_session_writes_to_the_journal_has_an_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox_module, "MOST_RECORDED", 500_000)
    again = Bench(bench.journal.root.parent)
    for number in range(20):
        again.outcomes[f"touch {number}"] = CommandOutcome(0, "", {"large.bin": bytes([number]) * 100_000})
        again.call("Bash", command=f"touch {number}")
    assert again.size < 700_000
    assert again.workspace.files["large.bin"][0] == 19


def test_results_count_toward_what_a_session_writes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox_module, "MOST_RECORDED", 200_000)
    again = Bench(bench.journal.root.parent)
    again.outcomes["cat large"] = CommandOutcome(0, "x" * 25_000, {})
    for _ in range(30):
        again.call("Bash", command="cat large")
    assert again.size < 300_000


def test_one_answer_cannot_make_any_number_of_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox_module, "MOST_CALLS", 5)
    told = [bench.call("Bash", command=f"echo {number}") for number in range(8)]
    assert told[:5] == ["done"] * 5 and all("has made its 5 calls" in one for one in told[5:])
    assert len(bench.commands) == len(bench.toolbox.calls) == 5


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("Read", {"offset": float("inf")}, "x = 1"),
        ("Read", {"limit": float("nan")}, "x = 1"),
        ("Read", {"offset": -5, "limit": -3}, "x = 1"),
        ("Read", {"offset": 10**5000}, "x = 1"),
        ("Bash", {"command": "ls", "timeout": 10**5000}, "done"),
        ("Bash", {"command": "ls", "more": {"\udc00": [float("nan"), "\udc00"]}}, "done"),
        ("Bash", {"command": "echo \udc00"}, "done"),
        ("Write", {"content": "x = '\udc00'"}, "Wrote over a.py"),
    ],
    ids=range(8),
)
def test_arguments_that_no_call_can_mean_are_no_errors(
    bench: Bench, name: str, arguments: dict[str, Any], told: str
) -> None:
    bench.call("Write", file_path="a.py", content="x = 1\n")
    assert told in bench.call(name, **{"file_path": "a.py", **arguments})
    assert bench.toolbox.calls[-1].outcome == "ok"


def test_recorded_calls_are_not_made_again_and_leave_the_same_files(bench: Bench) -> None:
    files = {"a.txt": b"a"}
    made = {"touch a.txt": CommandOutcome(0, "made", files), "false": CommandOutcome(1, "no", files)}
    bench.outcomes |= made
    said = [bench.call("Bash", command=command) for command in made]
    again = Bench(bench.journal.root.parent)
    assert [again.call("Bash", command=command) for command in made] == said
    assert not again.commands and dict(again.workspace.files) == {"a.txt": b"a"}


def test_a_sandbox_that_failed_is_asked_again_when_the_session_is_resumed(bench: Bench) -> None:
    bench.outcomes["ls"] = EngineGone("The engine is gone.")
    assert "sandbox failed" in bench.call("Bash", command="ls") and len(bench.faults) == 1
    again = Bench(bench.journal.root.parent)
    assert again.call("Bash", command="ls") == "done"


def test_an_observation_of_a_strangers_journal_is_bounded(bench: Bench) -> None:
    bench.call("Bash", command="ls")
    for key in list(bench.journal._steps):
        bench.journal.add_step(*key, {"observed": "x" * 10**6, "ok": True})
    assert len(Bench(bench.journal.root.parent).call("Bash", command="ls")) == LONGEST_OBSERVATION


def test_a_denied_call_does_not_run_and_changes_nothing(bench: Bench) -> None:
    bench.outcomes["curl evil"] = CommandOutcome(0, "got it", {"evil.txt": b"evil"})
    assert "no network" in bench.call("Bash", command="curl evil")
    assert "would change" in bench.call("Write", file_path="conftest.py", content="x = 1")
    assert not bench.commands and not bench.workspace.files
    assert [use.outcome for use in bench.toolbox.calls] == ["denied", "denied"]


def test_who_writes_tests_and_runs_them_on_one_line_hears_that_these_were_not_run(bench: Bench) -> None:
    told = bench.call("Bash", command="cat > tests.py <<'EOF'\nx = 1\nEOF\npytest -q")
    assert told.endswith("[the other commands of the line are not run: call them without pytest]")
    assert "not run" not in bench.call("Bash", command="pytest -q | tail -5")
