"""Limits, cancel and crash of an agent: nothing is left, and a session continues. Real SDK, program and sandbox."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.errors import (
    AuthenticationFailed,
    InvalidRequest,
    Locked,
    ModelError,
)
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.run.events import ApprovalNeeded, ToolCalled, ToolEnded
from autocoder_jupyter.types import Report
from tests.engines.claude.scripted_agent import (
    GOOD,
    SALES,
    TESTS,
    WRITES_BOTH,
    WRONG,
    ScriptedRun,
    bash,
    calls,
    read,
    script,
    write,
)
from tests.scripted_model import Answer, ScriptedModel

pytestmark = pytest.mark.local_sandbox


@pytest.fixture
def run_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    return ScriptedRun(tmp_path / ".autocode")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A recorded generation: the `.autocode` folder, and the report. Tests get a copy of the folder."""
    root = tmp_path_factory.mktemp("done") / ".autocode"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ANTHROPIC_API_KEY", "the-key")
        produced = ScriptedRun(root).run_script([WRITES_BOTH, "Done."])
    assert produced.report.success, produced.report.error
    return root, produced.report


@pytest.fixture
def first(done: tuple[Path, Report], run_script: ScriptedRun) -> Report:
    """The report of a generation that was recorded before, in the folder of `run_script`."""
    root, report = done
    shutil.copytree(root, run_script.root)
    return report


# One sentence for what cannot work


def test_a_model_of_somebody_else_is_refused_before_anything(run_script: ScriptedRun) -> None:
    with pytest.raises(InvalidRequest, match="only with models of Anthropic, and openai/gpt-5 is not one") as refused:
        run_script.run_script([], model="openai/gpt-5")
    assert "anthropic/claude-" in refused.value.hint


@pytest.mark.parametrize("hidden", ["claude_agent_sdk", "mcp"])
def test_without_the_extra_there_is_one_sentence_with_the_pip_line(
    hidden: str, run_script: ScriptedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("claude_agent_sdk", "mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, hidden, None)
    with pytest.raises(ModelError, match="needs the Claude Agent SDK, which is not installed") as refused:
        run_script.run_script([])
    assert 'pip install "autocoder-jupyter[agent]"' in refused.value.hint


@pytest.mark.parametrize(("mode", "said"), [(None, "without its program"), (0o644, "cannot be started")])
def test_a_program_that_is_not_there_or_not_executable_is_named(
    mode: int | None, said: str, run_script: ScriptedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "claude_agent_sdk"
    (package / "_bundled").mkdir(parents=True)
    if mode is not None:
        (package / "_bundled" / "claude").write_text("")
        (package / "_bundled" / "claude").chmod(mode)
    spec = importlib.util.spec_from_file_location("claude_agent_sdk", package / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match=said):
        run_script.run_script([])


def test_a_program_that_breaks_off_is_told_with_its_own_words(
    run_script: ScriptedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "claude"
    broken.write_text("#!/bin/sh\necho 'no such instruction' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr("autocoder_jupyter.engines.claude.session.require_program", lambda: str(broken))
    with pytest.raises(ModelError, match=r"The program of the Claude Agent SDK could not be started") as told:
        run_script.run_script([])
    assert "no such instruction" in told.value.why


def test_no_key_is_said_before_the_plan(run_script: ScriptedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(AuthenticationFailed, match="There is no key for anthropic/claude-sonnet-4-5"):
        run_script.run_script([], api_base=None)


# Limits


def test_a_cancel_ends_the_command_that_runs(run_script: ScriptedRun) -> None:
    async def cancelled(model: ScriptedModel) -> None:
        called = asyncio.Event()
        run_script.on_event = lambda event: called.set() if isinstance(event, ToolCalled) else None
        job = asyncio.ensure_future(run_script.run(model))
        await called.wait()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    with ScriptedModel(script([calls(bash("sleep 100"))])) as model:
        asyncio.run(cancelled(model))
    assert [event.outcome for event in run_script.events if isinstance(event, ToolEnded)] == ["cancelled"]


# What it must produce


def test_an_agent_that_leaves_nothing_is_reminded_and_then_fails(run_script: ScriptedRun) -> None:
    produced = run_script.run_script(["All done.", calls(write("solution.py", GOOD)), "Really done.", "As I said."])
    asked = [json.dumps(request["messages"][-1]) for request in produced.asked_as_agent]
    assert "there is no solution.py" in asked[1]
    assert "there is no tests.py" in asked[3]
    assert not produced.report.success
    assert "The agent stopped although there is no tests.py" in (produced.report.error or "")


@pytest.mark.usefixtures("first")
def test_a_second_generation_never_takes_files_of_the_first(run_script: ScriptedRun) -> None:
    produced = run_script.run_script(
        [calls(bash("ls"), read("solution.py")), "Done.", "Done.", "Done."], cache="override"
    )
    assert not produced.report.success and "there is no solution.py" in (produced.report.error or "")
    assert "There is no solution.py" in produced.calls[1].observed


def test_packages_need_consent_like_all_others(run_script: ScriptedRun) -> None:
    wants = calls(write("packages.txt", "# needed\ntotally-unheard-of\n"), bash("python -c 'print(1)'"))
    away = calls(write("packages.txt", ""), write("solution.py", GOOD), write("tests.py", TESTS))
    produced = run_script.run_script([wants, away, "Done."])
    assert [event.packages for event in produced.of(ApprovalNeeded)] == [("totally-unheard-of",)]
    assert "may not be installed" in produced.calls[1].observed
    assert produced.report.success, produced.report.error


def test_tests_that_cannot_fail_prove_nothing(run_script: ScriptedRun) -> None:
    empty = TESTS.replace("== 3.0", ">= 0").replace("== 1.5", ">= 0")
    produced = run_script.run_script(
        [calls(write("solution.py", GOOD), write("tests.py", empty)), "Done.", calls(write("tests.py", TESTS)), "Now."],
        blind_tests="off",
    )
    assert produced.report.success and produced.report.attempts == 2
    assert produced.report.blind_tests == ""
    assert "only returns empty defaults" in json.dumps(produced.asked_as_agent[2]["messages"][-1])
    assert produced.report.trace is not None and produced.report.trace.suite_changed == ("test_sum", "test_missing")


def test_without_tests_only_the_function_is_wanted(run_script: ScriptedRun) -> None:
    produced = run_script.run_script([calls(write("solution.py", GOOD), bash("pytest")), "Done."], skip_tests=True)
    assert produced.report.success, produced.report.error
    assert "tests.py" not in json.dumps(produced.asked_as_agent[0]["messages"])
    assert "No tests are wanted" in produced.calls[1].observed


# Sessions that continue


def test_a_killed_kernel_leaves_no_program_and_its_session_goes_on(run_script: ScriptedRun, tmp_path: Path) -> None:
    with ScriptedModel(_holding(script([WRITES_BOTH, calls(bash("pytest -q"))]))) as model:
        code = _KILLED.format(root=str(run_script.root), address=model.root)
        child = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(Path.cwd())})
        model.wait_for_requests(5, timeout=90)
        programs = _children_named_claude(child.pid)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert programs
        deadline = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() and not _is_zombie(pid) for pid in programs):
            assert time.monotonic() < deadline, "the program lives on"
            time.sleep(0.1)
    again = run_script.run_script(["Done."])
    assert again.report.success, again.report.error
    assert len(again.model.requests) == 1 and all(call.replayed for call in again.calls)


_KILLED = """
import asyncio
from pathlib import Path
from types import SimpleNamespace
from tests.engines.claude.scripted_agent import ScriptedRun
asyncio.run(ScriptedRun(Path({root!r})).run(SimpleNamespace(root={address!r})))
"""


def _holding(answer: Any) -> Any:
    import threading

    def run_script(request: dict[str, Any]) -> Any:
        try:
            return answer(request)
        except LookupError:
            return Answer("late", hold=threading.Event())

    return run_script


def _children_named_claude(parent: int) -> list[int]:
    found, parents = [], {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
                if b"stream-json" in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return [pid for pid in found if parents.get(pid) == parent]


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


def test_locked_a_recorded_session_is_replayed_and_a_new_one_refused(run_script: ScriptedRun) -> None:
    first = run_script.run_script([WRITES_BOTH, calls(bash("pytest -q")), "Done."])
    (run_script.root / "total" / "versions" / first.report.run_id / "report.json").unlink()
    again = run_script.run_script([], locked=True)
    assert again.report.success, again.report.error
    assert not again.model.requests and all(call.replayed for call in again.calls)
    with pytest.raises(Locked):
        run_script.run_script([], run_script.request(constraints=("total is positive",)), locked=True)


def test_a_session_with_a_command_that_failed_is_replayed_too(run_script: ScriptedRun) -> None:
    first = run_script.run_script([calls(bash("cat nothing.csv")), WRITES_BOTH, "Done."])
    assert "system-reminder" not in json.dumps([request["messages"] for request in first.asked_as_agent])
    (run_script.root / "total" / "versions" / first.report.run_id / "report.json").unlink()
    again = run_script.run_script([], locked=True)
    assert again.report.success, again.report.error
    assert not again.model.requests and [call.outcome for call in again.calls] == ["failed", "ok", "ok"]


def test_a_kept_function_that_fails_today_is_mended_in_a_workspace_that_holds_it(run_script: ScriptedRun) -> None:
    first = run_script.run_script([calls(write("solution.py", PICKY), write("tests.py", TESTS)), "Done."])
    assert first.report.success, first.report.error
    longer = SALES.assign(v=[1.0, 2.0, -4.0])
    mends = calls(read("solution.py"), write("solution.py", GOOD))
    again = run_script.run_script([mends, "Done."], run_script.request(samples={"sales": longer}))
    assert again.report.success, again.report.error
    assert again.report.parent == first.report.run_id and again.report.run_id != first.report.run_id
    assert "On today's data, this fails" in json.dumps(again.asked_as_agent[0]["messages"][0])
    assert "if (sales" in again.calls[0].observed


PICKY = GOOD.replace("    return", "    if (sales[\"v\"] < 0).any():\n        raise KeyError('v')\n    return")


def test_a_refinement_begins_with_the_files_of_the_earlier_version(run_script: ScriptedRun, first: Report) -> None:
    doubled = GOOD.replace(".sum())", ".sum() * 2)")
    kept = TESTS.replace("== 3.0", "== 6.0").replace("== 1.5", "== 3.0")
    names = ("test_other_sum", "test_other_missing")
    dropped = [{"test_name": name, "verdict": "drop", "contradicted_by": "Twice that."} for name in names]
    changes = calls(write("solution.py", doubled), write("tests.py", kept))
    produced = run_script.run_script(
        [calls(bash("cat solution.py tests.py")), changes, "Done."],
        run_script.request(wishes=("Twice that.",), earlier=Earlier.of(first)),
        stages={
            "sort_tests": json.dumps({"verdicts": dropped}),
            "tests": f"```python\n{kept.replace('test_', 'test_other_')}```",
        },
    )
    assert produced.report.success, produced.report.error
    assert "come from an earlier version" in json.dumps(produced.asked_as_agent[0]["messages"][0])
    assert "def test_sum" in produced.calls[0].observed and "def run" in produced.calls[0].observed


def test_the_key_of_a_request_does_not_hold_the_backend(run_script: ScriptedRun) -> None:
    backends: tuple[dict[str, Any], ...] = ({}, {"backend": "litellm"}, {"backend": "claude"})
    keys = [prepare(run_script.request(), agent_config(**given)).key.id for given in backends]
    assert len(set(keys)) == 1


def test_of_a_failure_on_the_data_the_agent_is_told_what_may_be_shared(run_script: ScriptedRun) -> None:
    quoting = GOOD.replace(
        "    return",
        '    if "kind" in sales and (sales["kind"] == "a").any():\n'
        "        raise ValueError(f\"no {sales['kind'].iloc[1] * 3}\")\n    return",
    )
    produced = run_script.run_script(
        [calls(write("solution.py", quoting), write("tests.py", TESTS), bash("ls")), "Done.", WRITES_BOTH, "Mended."],
        share="schema",
    )
    assert produced.report.success and produced.report.attempts == 2, produced.report.error
    told = json.dumps(produced.asked_as_agent[2]["messages"][-1])
    assert "ValueError in line 7" in told and "withheld" in told and "bbb" not in told
    assert produced.calls[2].observed == "solution.py\ntests.py", "no file holds rows that may not be seen"


def test_an_edit_of_the_person_meets_the_blind_tests_too_and_asks_nobody(
    run_script: ScriptedRun, first: Report
) -> None:
    (run_script.root / "total" / "solution.py").write_text(WRONG)
    edited = run_script.run_script([])
    assert not edited.model.requests and edited.report.author == "you" and edited.report.trace is None
    failed = [test.id for test in edited.report.evidence.tests if test.outcome != "passed"]
    assert failed == ["test_missing", "blind::test_other_missing"]
