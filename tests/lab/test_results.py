from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from autocoder_jupyter.lab.messages import listed, without_clock
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.run.events import (
    ApprovalNeeded,
    EvidenceGathered,
    PlanReady,
    StageStarted,
    SuiteChanged,
    TestReported,
    TestsCollected,
    TokensUsed,
    ToolCalled,
    ToolEnded,
    TurnBegun,
)
from autocoder_jupyter.types import (
    CheckOutcome,
    CodePlan,
    Evidence,
    Exchange,
    InputSpec,
    OutputSpec,
    Report,
    TestOutcome,
    Trace,
    Usage,
)
from autocoder_jupyter.untrusted.visible import visible_block
from tests.lab.conftest import ScriptedJobs

FIELDS = {
    "name", "phase", "title", "tone", "facts", "rows", "started", "seconds", "cost", "asks", "question", "progress",
    "step", "cell_id", "limit", "limit_value", "limit_next", "actions", "buttons",
}  # fmt: skip
PLAN = CodePlan(
    description="",
    approach="",
    inputs=(InputSpec(name="sales", type="DataFrame"),),
    outputs=(OutputSpec(name="total", type="float"),),
)
EVIDENCE = Evidence(
    tests=(TestOutcome(id="test_a", outcome="passed"), TestOutcome(id="test_b", outcome="passed")),
    checks=(CheckOutcome(name="two runs agree", passed=True), CheckOutcome(name="x > 0", passed=False)),
    tests_changed=("test_b",),
)


def finished(name: str, state: Any = "ready", **fields: Any) -> CodeGenEvalResult:
    values = {"name": name, "run_id": "run-7", "prompt": "", "success": state == "ready", **fields}
    return CodeGenEvalResult(name, Pending.resolved(Resolution(state, Report(**values))))


def test_a_job_says_what_the_card_says(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth --max-cost 0.5\nWords")
    job = jobs.last
    for event in (
        PlanReady(PLAN),
        StageStarted("run", 2, 10),
        TestsCollected(("test_a", "test_b", "test_c")),
        TestReported(TestOutcome(id="test_a", outcome="passed")),
        TokensUsed("code", Usage(), Usage(input_tokens=100, output_tokens=20, cost=None)),
    ):
        job.tell(event)
    (told,) = listed(notebook)
    assert set(told) == FIELDS
    expected = {
        "name": "growth", "phase": "running", "title": "Running the tests", "tone": "busy", "cost": None,
        "facts": ["1 of 3 tests passed", "attempt 2 of 10", "100 tokens in, 20 out · cost unknown, limit $0.50"],
        "rows": {"Call": ["growth.run(sales: DataFrame) -> total: float"]},
    }  # fmt: skip
    assert {name: told[name] for name in expected} == expected  # type: ignore[literal-required]
    job.tell(ApprovalNeeded(("fiscalmonths",)))
    assert (listed(notebook)[0]["phase"], listed(notebook)[0]["asks"]) == ("waiting", "May it install fiscalmonths?")
    assert listed(notebook)[0]["actions"] == ["cancel", "approve", "decline", "edit-request", "inspect"]
    assert listed(notebook)[0]["buttons"] == {"cancel": "Cancel"}
    job.tell(EvidenceGathered(2, EVIDENCE))
    (told,) = listed(notebook)
    assert told["rows"]["Warnings"] == ["⚠ Tests changed since they were first written: test_b"]
    job.end("over_budget", error="Too dear.")
    (told,) = listed(notebook)
    assert (told["phase"], told["title"], told["rows"]["Reason"]) == ("over_budget", "Out of budget", ["Too dear."])


def test_a_result_that_the_namespace_holds_is_listed_with_its_evidence(shell: Any, notebook: Notebook) -> None:
    started = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    exchange = Exchange(stage="plan", key="", model="m", messages=(), answer="", replayed=True)
    shell.user_ns["old"] = finished(
        "growth",
        plan=PLAN,
        evidence=EVIDENCE,
        attempts=3,
        seconds=8.5,
        started=started,
        usage=Usage(input_tokens=5, cost=0.25),
        conversation_history=(exchange,),
    )
    (told,) = listed(notebook)
    assert set(told) == FIELDS
    expected = {
        "name": "old", "phase": "ready", "title": "Ready, not fully checked", "tone": "quiet",
        "facts": [
            "2 of 2 tests passed", "3 attempts", "8.5 s", "5 tokens in, 0 out · $0.250", "replayed from the journal",
        ],
        "started": started.timestamp(), "seconds": 8.5, "cost": 0.25, "cell_id": None,
    }  # fmt: skip
    assert {name: told[name] for name in expected} == expected  # type: ignore[literal-required]
    assert told["rows"]["Call"] == ["old.run(sales: DataFrame) -> total: float"]


def test_an_agent_says_how_far_it_is(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth\nWords")
    call = ToolCalled("1", 4, "Bash", "ls", "safe"), ToolEnded("1", "ok")
    for event in (TurnBegun(4, 50), *call, SuiteChanged(("test_b",)), EvidenceGathered(1, Evidence())):
        jobs.last.tell(event)
    (told,) = listed(notebook)
    assert told["facts"] == ["turn 4 of 50"]
    assert told["rows"]["Warnings"] == ["⚠ Tests changed by the agent since it first wrote them: test_b"]
    shell.user_ns["old"] = finished("old", trace=Trace(turns=4, max_turns=50, suite_changed=("test_b",)))
    assert "4 of 50 turns" in listed(notebook)[1]["facts"]
    assert listed(notebook)[1]["title"] == "Ready, not fully checked"


def test_a_pending_result_is_listed_and_not_waited_for(shell: Any, notebook: Notebook) -> None:
    shell.user_ns["later"] = CodeGenEvalResult("later", Pending(lambda: "waiting for approval"))
    assert [(job["name"], job["phase"]) for job in listed(notebook)] == [("later", "waiting")]
    assert "cancel" not in listed(notebook)[0]["actions"]  # its job belongs to no cell


def test_each_result_is_listed_once(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth\nWords")
    shell.user_ns.update(alias=shell.user_ns["growth"], _hidden=finished("x"), text="growth")
    assert [job["name"] for job in listed(notebook)] == ["growth"]


@pytest.mark.parametrize("state", ["ready", "failed", "cancelled", "over_budget"])
def test_every_ending_is_json(shell: Any, notebook: Notebook, state: Any) -> None:
    shell.user_ns["old"] = finished("old", state, error="x" * 5000)
    (told,) = listed(notebook)
    assert told["phase"] == state and len(told["rows"].get("Reason", [""])[0]) <= 1000
    json.dumps(told, allow_nan=False)


def test_words_of_others_hide_nothing_in_the_page(shell: Any, notebook: Notebook) -> None:
    nasty = "a\u202eb\x1b[31m"
    evidence = Evidence(checks=(CheckOutcome(name=nasty, passed=False),), tests_changed=(nasty,))
    shell.user_ns["old"] = finished("old", "failed", error=nasty, evidence=evidence)
    (told,) = listed(notebook)
    assert told["rows"]["Reason"] == [r"a\u202eb\x1b[31m"]
    text = json.dumps(told, ensure_ascii=False)
    assert visible_block(text) == text


def test_the_clock_alone_is_no_news(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    shell.run("%%autocode growth\nWords")
    before = listed(notebook)
    after = listed(notebook)
    assert before[0]["seconds"] < after[0]["seconds"] + 1
    assert without_clock(before) == without_clock(after)
    jobs.last.end()
    assert without_clock(listed(notebook)) == listed(notebook) != before
