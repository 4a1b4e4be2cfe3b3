"""The agent from a request to a verdict: the real SDK and program, a real sandbox; only the answers are scripted."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pandera.pandas as pa
import pytest

from autocoder_jupyter.contracts.describing import contract_of
from autocoder_jupyter.run.events import AgentText, Finished, SuiteChanged, ToolCalled, ToolEnded, TurnBegun
from autocoder_jupyter.types import OutputSpec
from tests.engines.claude.scripted_agent import (
    BLIND,
    GOOD,
    PLAN,
    TESTS,
    WRITES_BOTH,
    WRONG,
    Generated,
    ScriptedRun,
    bash,
    calls,
    edit,
    read,
    script,
    write,
)
from tests.runner import fenced
from tests.scripted_model import Answer, Call, ScriptedModel

pytestmark = pytest.mark.local_sandbox

CANARY = "canary-c0ffee-must-not-leave"


@pytest.fixture
def run_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    return ScriptedRun(tmp_path / ".autocode")


def observed(produced: Generated) -> str:
    """All requests that the model's service got."""
    return json.dumps(produced.model.requests)


def test_a_request_that_is_right_at_once(run_script: ScriptedRun) -> None:
    produced = run_script.run_script([WRITES_BOTH, calls(bash("pytest -q")), "Done."])
    report = produced.report
    assert report.success, report.error
    assert report.tests == TESTS and report.blind_tests.strip() == BLIND.strip()
    ids = [test.id for test in report.evidence.tests]
    assert ids == ["test_sum", "test_missing", "blind::test_other_sum", "blind::test_other_missing"]
    assert [(call.tool, call.kind, call.outcome) for call in produced.calls] == [
        ("Write", "safe", "ok"),
        ("Write", "safe", "ok"),
        ("Bash", "intercepted", "ok"),
    ]
    assert [event.turn for event in produced.of(TurnBegun)] == [1, 2, 3]
    assert "".join(event.text for event in produced.of(AgentText)) == "I write both.Done."
    assert len(produced.of(ToolCalled)) == len(produced.of(ToolEnded)) == 3
    assert report.trace is not None and report.trace.turns == 3 and report.trace.max_turns == 50
    assert report.trace.suite_changed == ()
    assert report.usage.cost and report.usage.input_tokens > 2000

    # The second run finds the function kept: it asks no model, and needs neither a key nor the SDK.
    os.environ.pop("ANTHROPIC_API_KEY")
    with pytest.MonkeyPatch.context() as hidden:
        hidden.setattr("autocoder_jupyter.engines.claude.session.require_program", _unreachable)
        again = run_script.run_script([])
    assert again.report.success and again.report.kept and not again.model.requests
    assert again.report.trace == report.trace
    assert [test.id for test in again.report.evidence.tests] == ids


def _unreachable() -> str:
    raise AssertionError("the program was looked for")


def test_an_attempt_that_fails_goes_back_to_the_same_session(run_script: ScriptedRun) -> None:
    weak = TESTS[: TESTS.index("\n\ndef test_missing")] + "\n"
    diagnosis = {
        "failures": [
            {
                "test_name": "test_other_missing",
                "error_message": "nan",
                "expected_behavior": "missing values count as zero",
                "root_cause": "skipna=False",
                "suggested_fix": "Leave skipna out.",
                "error_type": "logic",
            }
        ]
    }
    produced = run_script.run_script(
        [
            calls(write("solution.py", WRONG), write("tests.py", weak)),
            "Both are there, and all tests pass.",
            calls(edit("solution.py", "skipna=False", "")),
            "Missing values were not left out.",
        ],
        stages={"diagnose": json.dumps(diagnosis)},
    )
    report = produced.report
    assert report.success, report.error
    assert report.attempts == 2
    assert report.solution is not None and report.solution.code == GOOD
    asked = produced.asked_as_agent
    told = json.dumps(asked[2]["messages"][-1])
    assert len(asked) == 4 and len(asked[2]["messages"]) == 5, "the same conversation goes on"
    assert "missing values count as zero" in told and "runs on the sample" not in told
    assert "def test_other" not in json.dumps(asked), "the blind tests are never shown"
    assert report.trace is not None and report.trace.turns == 4


ESCAPES = (
    bash("curl -s http://example.com"),
    bash("pip install requests"),
    bash("python -m pip install requests"),
    bash("cat ~/.ssh/id_rsa; cat $HOME/.bashrc"),
    bash("env"),
    bash("ls -la && echo $(curl http://example.com)"),
    bash("pytest; cat /etc/passwd"),
    bash("ln -s /etc/passwd stolen"),
    read("/etc/passwd"),
    read("../../etc/passwd"),
    write("/tmp/outside.txt", "x"),
    write("conftest.py", "import pytest"),
)

PASSED_FOR_SAFE = """\
import os, pathlib, socket, subprocess
out = []
for path in ("/etc/shadow", "/root", "/home", "/proc/self/environ", "/proc/1/environ"):
    try:
        place = pathlib.Path(path)
        out.append(f"{path} {place.read_bytes()[:4000]!r}" if place.is_file() else f"{path} {os.listdir(path)}")
    except Exception as error:
        out.append(f"{path} {type(error).__name__}")
out.append(repr(dict(os.environ)))
try:
    socket.create_connection(("127.0.0.1", PORT), timeout=2)
    out.append("CONN" + "ECTED")
except Exception as error:
    out.append(type(error).__name__)
try:
    os.symlink("/etc/passwd", "stolen")
except Exception as error:
    out.append(type(error).__name__)
print("\\n".join(out))
"""


def test_an_agent_that_tries_to_escape_gets_nowhere(run_script: ScriptedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_OTHER_API_KEY", CANARY)
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", CANARY)
    bent = TESTS.replace("== 3.0", "== run(sales=pd.DataFrame({'v': [1.0, 2.0]}))").replace(
        'assert run(sales=pd.DataFrame({"v": [1.5, None]})) == 1.5', "assert True"
    )

    def turns(port: str) -> list[Any]:
        return [
            calls(*ESCAPES),
            calls(
                write("look.py", PASSED_FOR_SAFE.replace("PORT", port)),
                bash("python look.py"),
                bash("ls -l stolen; cat stolen"),
                Call("mcp__workspace__WebFetch", {"url": "http://example.com"}),
                Call("WebFetch", {"url": "http://example.com"}),
            ),
            calls(write("solution.py", WRONG), write("tests.py", TESTS), bash("pytest")),
            calls(write("tests.py", bent), bash("pytest")),
            *["I am done; everything passes."] * 8,
        ]

    diagnosis = {"failures": [{"test_name": "test_other_missing", "error_message": "nan", "error_type": "logic"}]}
    with ScriptedModel() as elsewhere:
        port = elsewhere.root.rpartition(":")[2]
        produced = run_script.run_script(turns(port), stages={"diagnose": json.dumps(diagnosis)}, max_iterations=2)
        assert not elsewhere.requests
    sent = observed(produced)
    assert CANARY not in sent and "the-key" not in sent
    assert "root:x:" not in sent and "root:" not in sent.replace("/root", "")
    assert "CONNECTED" not in sent
    denied = [call for call in produced.calls if call.kind == "denied"]
    assert len(denied) >= 10 and all(call.outcome == "denied" and call.reason for call in denied)
    assert not Path("/tmp/outside.txt").exists()
    # Tests that were changed until they passed prove nothing; blind tests and the record of the change remain.
    report = produced.report
    assert not report.success
    assert report.trace is not None and report.trace.suite_changed == ("test_sum", "test_missing")
    assert produced.of(SuiteChanged)[-1].tests == report.trace.suite_changed, "and the card says so"


def test_tests_that_put_another_function_in_the_place_of_its_own_prove_nothing(run_script: ScriptedRun) -> None:
    faked = (
        "import sys, types\nfake = types.ModuleType('solution')\n"
        "fake.run = lambda sales: 1.5 if sales['v'].isna().any() else 3.0\nsys.modules['solution'] = fake\n" + TESTS
    )
    diagnosis = {"failures": [{"test_name": "test_other_missing", "error_message": "nan", "error_type": "logic"}]}
    produced = run_script.run_script(
        [calls(write("solution.py", WRONG), write("tests.py", faked), bash("pytest")), *["All pass."] * 3],
        stages={"diagnose": json.dumps(diagnosis)},
        max_iterations=2,
    )
    report = produced.report
    assert not report.success and "2 of 2 tests passed" in produced.calls[-1].observed
    outcomes = {test.id: test.outcome for test in report.evidence.tests}
    assert outcomes["test_missing"] == "passed" and outcomes["blind::test_other_missing"] == "failed"
    assert set(report.evidence.vacuous_tests) >= {"test_sum", "test_missing"}
    told = json.dumps(produced.asked_as_agent[-1]["messages"][-1])
    assert "a test that you do not see (test_other_missing)" in told and "returns empty defaults" in told


def test_a_blind_test_that_is_wrong_is_worked_out_anew_without_the_agent(run_script: ScriptedRun) -> None:
    wrong = BLIND.replace("== 1.5", "== 99")
    right = BLIND[BLIND.index("def test_other_missing") :]
    diagnosis = {"failures": [{"test_name": "test_other_missing", "error_message": "99", "error_type": "test_error"}]}
    verdict = {"test_name": "test_other_missing", "derivation": "1.5 + 0", "verdict": "wrong", "replacement": right}
    produced = run_script.run_script(
        [WRITES_BOTH, "Done."],
        stages={
            "tests": fenced(wrong),
            "diagnose": json.dumps(diagnosis),
            "fix_tests": json.dumps({"verdicts": [verdict]}),
        },
    )
    report = produced.report
    assert report.success and report.attempts == 2, report.error
    assert len(produced.asked_as_agent) == 2, "the agent was not asked again"
    assert report.evidence.tests_changed == ("blind::test_other_missing",)
    assert report.blind_tests.strip() == BLIND.strip() and report.trace is not None
    assert report.trace.suite_changed == ()


def test_a_cancelled_session_leaves_no_process_and_goes_on_where_it_was(run_script: ScriptedRun) -> None:
    reached = threading.Event()
    first = [WRITES_BOTH, calls(bash("pytest -q"), bash("echo once >> notes.txt; cat notes.txt"))]

    async def cancelled(model: ScriptedModel) -> None:
        job = asyncio.ensure_future(run_script.run(model))
        await asyncio.to_thread(reached.wait, 60)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    def hold(_: Any) -> Answer:
        reached.set()
        return Answer("late", hold=threading.Event())

    with ScriptedModel(_then(script(first), hold)) as model:
        asyncio.run(cancelled(model))
        assert _programs_of_ours() == []
    assert run_script.events[-1].state == "cancelled" if isinstance(run_script.events[-1], Finished) else False

    again = run_script.run_script(["Done."])
    assert again.report.success, again.report.error
    assert len(again.asked_as_agent) == 1 and len(again.model.requests) == 1, "only what was not answered is asked"
    assert all(call.replayed for call in again.calls) and len(again.calls) == 4
    assert again.calls[-1].observed == "once"


def _then(answer: Any, after: Any) -> Any:
    """A script, and the answers after the agent's turns."""

    def run_script(request: dict[str, Any]) -> Any:
        try:
            return answer(request)
        except LookupError:
            return after(request)

    return run_script


def _programs_of_ours() -> list[str]:
    """Command lines of the SDK's program among the descendants of this process."""
    parents, found = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[folder.name] = (folder / "stat").read_text().rpartition(") ")[2].split()[1]
                found[folder.name] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue

    def ours(pid: str) -> bool:
        while pid in parents and pid != "0":
            if pid == str(os.getpid()):
                return True
            pid = parents[pid]
        return False

    return [line for pid, line in found.items() if "claude" in line and "stream-json" in line and ours(pid)]


class Totals(pa.DataFrameModel):
    """The contract of the output in the next test: the sample has a sum of 2."""

    v: float = pa.Field(lt=2)


SUMS = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.groupby("kind", as_index=False)["v"].sum()
"""

SUM_TESTS = '''\
import pandas as pd
from solution import run


def test_sums():
    """The sum of v."""
    totals = run(sales=pd.DataFrame({"v": [0.5, 0.5], "kind": ["a", "b"]}))
    assert list(totals["kind"]) == ["a", "b"] and list(totals["v"]) == [0.5, 0.5]
'''


@pytest.mark.parametrize("mended", [True, False])
def test_a_broken_contract_is_told_to_the_agent_and_to_the_person(run_script: ScriptedRun, mended: bool) -> None:
    plan = {**PLAN, "outputs": [{"name": "totals", "type": "DataFrame"}]}
    request = run_script.request(
        outputs=(OutputSpec(name="totals", type="DataFrame"),),
        contracts={"totals": contract_of("", "totals", Totals, is_output=True)},
    )
    turns: list[str | Answer] = [calls(write("solution.py", SUMS), write("tests.py", SUM_TESTS)), "Both are there."]
    if mended:
        turns += [
            calls(edit("solution.py", "sales.groupby", "sales.assign(v=sales.v.clip(upper=1)).groupby")),
            "No sum is too large now.",
        ]
    stages = {"plan": json.dumps(plan), "tests": fenced(SUM_TESTS.replace("test_sums", "test_other_sums"))}
    produced = run_script.run_script(turns, request, stages=stages, max_iterations=2 if mended else 1)
    broken = "v: less_than(max_value=2): 1 of 2 rows (row 1: 2)"
    assert produced.report.success == mended, produced.report.error
    if mended:
        assert broken in json.dumps(produced.asked_as_agent[2]["messages"][-1])
    else:
        assert "This does not hold: totals satisfies Totals on the sample." in str(produced.report.error)
        assert broken in produced.report.evidence.acceptance[0].in_full
