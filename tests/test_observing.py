"""The event log and the OpenTelemetry spans: both are off by default."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import pytest

from autocoder_jupyter.agent.generation import export_spans
from autocoder_jupyter.run.events import (
    AgentText,
    Finished,
    Retrying,
    SourceWritten,
    StageFinished,
    StageStarted,
    SuiteChanged,
    TokensUsed,
    ToolCalled,
    ToolEnded,
    TurnBegun,
)
from autocoder_jupyter.run.tracker import EventLog
from autocoder_jupyter.types import Report, Step, Usage

REPORT = Report(
    name="growth",
    run_id="r1",
    prompt="secret words",
    success=False,
    started=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    seconds=4.0,
    timeline=(
        Step(kind="model", name="plan", begin=1.0, seconds=2.0, detail="10 tokens in"),
        Step(kind="stage", name="run", begin=3.0, seconds=0.5, ok=False, attempt=2),
        Step(kind="tool", name="Bash", begin=3.2, seconds=0.1, detail="intercepted"),
    ),
)


def test_events_are_json_lines_without_sources_and_with_private_values_masked(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "logs.jsonl", "growth", lambda: "r1")
    for event in (
        StageStarted("plan", 1, 3),
        Retrying("plan", "no answer for anna.smith@example.org", 1.0),
        TokensUsed("plan", Usage(input_tokens=10), Usage(), seconds=2.0),
        SourceWritten("solution", 1, "def run(): return 'secret'"),
        StageFinished("plan", 1, True),
        Finished("failed", "the value anna.smith@example.org is wrong"),
    ):
        log(event)
    text = (tmp_path / "logs.jsonl").read_text()
    records = [json.loads(line) for line in text.splitlines()]
    assert [record["event"] for record in records] == [
        *("StageStarted", "Retrying", "TokensUsed", "StageFinished", "Finished"),
    ]
    assert all(record["name"] == "growth" and record["run"] == "r1" and record["time"] for record in records)
    assert records[2]["input_tokens"] == 10 and records[2]["seconds"] == 2.0
    assert "anna.smith" not in text and "secret" not in text


def test_the_log_has_tool_calls_without_what_was_asked_and_told(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "logs.jsonl", "growth", lambda: "r1")
    for event in (
        TurnBegun(2, 50),
        AgentText(2, "secret thought"),
        ToolCalled("c1", 2, "Bash", "grep secret orders.csv", "denied", "it reads secret.csv"),
        ToolEnded("c1", "denied", "secret row"),
        SuiteChanged(("test_sum",)),
        Finished("ready"),
    ):
        log(event)
    text = (tmp_path / "logs.jsonl").read_text()
    turn, called, ended, changed, _ = (json.loads(line) for line in text.splitlines())
    assert (turn["turn"], turn["of"], changed["tests"]) == (2, 50, ["test_sum"])
    assert (called["call"], called["tool"], called["class"]) == ("c1", "Bash", "denied")
    assert (ended["call"], ended["outcome"], ended["replayed"]) == ("c1", "denied", False)
    assert "secret" not in text


def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "logs.jsonl").symlink_to(tmp_path / "elsewhere")
    said: list[str] = []
    log = EventLog(tmp_path / "logs.jsonl", "growth", lambda: "r1", on_fault=said.append)
    for _ in range(3):
        log(StageFinished("plan", 1, True))
    assert len(said) == 1 and "logs.jsonl is not written: it is a link" in said[0]
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_log_leaves_the_folder_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    Path("logs").symlink_to(tmp_path / "elsewhere")
    said: list[str] = []
    for path in (Path("logs/a.jsonl"), Path("logs").absolute() / "b.jsonl", Path("x/../logs/c.jsonl")):
        EventLog(path, "growth", lambda: "r1", on_fault=said.append)(StageFinished("plan", 1, True))
    assert len(said) == 3 and all("it is a link" in one for one in said)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    EventLog(tmp_path / "elsewhere" / "d.jsonl", "growth", lambda: "r1")(StageFinished("plan", 1, True))
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["d.jsonl"]


def test_spans_have_the_times_of_the_steps_and_no_words_of_the_request() -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    export_spans(REPORT)
    plan, run, tool, whole = exporter.get_finished_spans()
    assert (whole.name, plan.name, run.name) == ("autocode growth", "model plan", "stage run")
    assert plan.parent is not None and plan.parent.span_id == whole.context.span_id
    began = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp() * 1e9)
    assert (plan.start_time, plan.end_time) == (began + 10**9, began + 3 * 10**9)
    assert not run.status.is_ok and not whole.status.is_ok and plan.status.is_ok
    assert tool.name == "tool Bash"
    assert tool.attributes is not None
    assert (tool.attributes["gen_ai.tool.name"], tool.attributes["autocode.tool.class"]) == ("Bash", "intercepted")
    assert "secret" not in "".join(span.to_json() for span in exporter.get_finished_spans())


def test_who_uses_no_opentelemetry_gets_none_imported() -> None:
    code = (
        "import sys; from autocoder_jupyter.agent.generation import export_spans; from tests.test_observing "
        "import REPORT;"
        "export_spans(REPORT); print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
