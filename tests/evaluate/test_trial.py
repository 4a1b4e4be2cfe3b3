"""A model is tried with tasks whose answers are known, through the real loop, client and sandbox."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.errors import InvalidRequest, UnknownModel
from autocoder_jupyter.evaluate import trial
from autocoder_jupyter.evaluate.__main__ import main
from autocoder_jupyter.evaluate.trial import (
    SHIPPED,
    SPENT,
    KnownTask,
    TaskScore,
    is_right,
    markdown,
    read_tasks,
    try_model,
    write_task,
)
from tests.benchmarks.trust.shipped import shipped
from tests.benchmarks.trust.task import Change, Task
from tests.benchmarks.trust.tasks import checks, orders, series
from tests.benchmarks.trust.words import words
from tests.cases import each
from tests.runner import MARKERS
from tests.scripted_model import Answer, ScriptedModel, by_marker

REVENUE, STREAK, KEYS = orders.TASKS[0], series.TASKS[1], checks.TASKS[0]


def model_of(codes: list[tuple[Task, Change]]) -> ScriptedModel:
    return ScriptedModel(answers_of(codes))


def answers_of(codes: list[tuple[Task, Change]]) -> Callable[[dict[str, Any]], str | Answer]:
    """Answers each task with this code; an example of the code is right if its types are."""
    said = [words(task, code, task.tests_of_types, task.same) for task, code in codes]
    starts = [task.request[:30] for task, _ in codes]

    def say(stage: str, request: dict[str, Any]) -> str:
        text = json.dumps(request["messages"])
        return next(answers[stage] for answers, start in zip(said, starts, strict=True) if start in text)(request)

    return by_marker({MARKERS[stage]: partial(say, stage) for stage in said[0]})


def settings(model: ScriptedModel) -> dict[str, Any]:
    return {**model.settings, "effort": "quick", "max_iterations": 1, "timeout": 60, "sandbox": "local"}


@pytest.fixture
def tasks() -> list[KnownTask]:
    return [task.known() for task in (REVENUE, STREAK, KEYS)]


@pytest.mark.local_sandbox
@pytest.mark.slow
def test_a_score_says_what_is_right_and_which_stage_failed(tasks: list[KnownTask]) -> None:
    by_heart = f"return {tasks[1].sample.answer} if len(visits) else 0"
    codes: list[tuple[Task, Change]] = [(REVENUE, REVENUE.right), (STREAK, by_heart), (KEYS, "raise ValueError('no')")]
    heard: list[TaskScore] = []
    with model_of(codes) as model:
        scores = try_model(tasks, agent_config(**settings(model)), max_tokens=400_000, hear=heard.append)
    right, recited, failed = scores
    assert tuple(heard) == scores
    assert (right.on_sample, right.on_new_rows, right.failed_stage, right.error) == (True, True, "", "")
    assert (recited.on_sample, recited.on_new_rows, recited.failed_stage) == (True, False, "new rows")
    assert (failed.on_sample, failed.on_new_rows, failed.failed_stage) == (False, False, "run")
    assert all(score.tokens > 1000 and score.seconds > 0 and score.model == "openai/scripted" for score in scores)
    text = markdown(scores, agent_config(model="openai/scripted"))
    assert text.splitlines()[0].endswith("; effort normal, share rows, at most 10 attempts")
    assert "2 of 3 | 1 of 3" in text and "| longest streak | right | – | new rows |" in text


@pytest.mark.local_sandbox
@pytest.mark.slow
def test_the_budget_is_for_all_tasks_together(tasks: list[KnownTask]) -> None:
    codes: list[tuple[Task, Change]] = [(REVENUE, REVENUE.right), (STREAK, STREAK.right), (KEYS, KEYS.right)]
    with model_of(codes) as model:
        config = agent_config(**settings(model))
        (first,) = try_model(tasks[:1], config, max_tokens=400_000)
        asked = len(model.requests)
        scores = try_model(tasks, config, max_tokens=first.tokens)
        assert len(model.requests) <= 2 * asked
    assert sum(score.tokens for score in scores) <= first.tokens
    assert [score.failed_stage for score in scores[1:]] == [SPENT, SPENT]


@pytest.mark.local_sandbox
@pytest.mark.slow
def test_the_command_line_writes_json_lines_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path, REVENUE.known())
    with model_of([(REVENUE, REVENUE.right)]) as model:
        place = ["--model", "openai/scripted", "--api-base", model.url, "--sandbox", "local"]
        assert main([*place, "--tasks", str(tmp_path), "--max-tokens", "400000"]) == 0
    said = capsys.readouterr()
    (line,) = map(json.loads, said.out.splitlines())
    assert set(line) == {field.name for field in dataclasses.fields(TaskScore)}
    assert line["task"] == "net revenue" and line["on_sample"] and line["on_new_rows"]
    assert "| openai/scripted | 1 of 1 | 1 of 1 |" in said.err


@pytest.mark.local_sandbox
@pytest.mark.slow
def test_what_was_paid_for_is_shown_if_the_model_can_no_longer_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in (REVENUE, STREAK, KEYS):
        write_task(tmp_path, task.known())
    first = min(task.name for task in (REVENUE, STREAK, KEYS))
    (task,) = (task for task in (REVENUE, STREAK, KEYS) if task.name == first)
    answer = answers_of([(task, task.right)])

    def until_the_credit_ends(request: dict[str, Any]) -> str | Answer:
        is_first = task.request[:30] in json.dumps(request["messages"])
        return answer(request) if is_first else Answer(status=402, error="no credit")

    with ScriptedModel(until_the_credit_ends) as model:
        place = ["--model", "openai/scripted", "--api-base", model.url, "--sandbox", "local"]
        assert main([*place, "--tasks", str(tmp_path), "--max-tokens", "4000000"]) == 2
    said = capsys.readouterr()
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["failed_stage"] for line in lines] == ["", "model", "model"]
    assert "no credit left" in lines[1]["error"] and lines[2]["error"] == "not begun"
    assert "| openai/scripted | 1 of 3 | 1 of 3 |" in said.err


@pytest.mark.slow
def test_all_models_are_checked_before_one_is_paid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path, REVENUE.known())
    with ScriptedModel() as model:
        models = ["--model", "openai/scripted", "--model", "nope/x"]
        given = [*models, "--api-key", "NO_SUCH_KEY", "--api-base", model.url, "--tasks", str(tmp_path)]
        assert main([*given, "--max-tokens", "1000"]) == 2
        assert model.requests == []
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_provider_that_does_not_exist_fails_before_anything_is_loaded(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autocoder_jupyter.evaluate", "--model", "nope/x", "--max-cost", "1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and ended.stdout == ""
    assert "There is no model 'nope/x'" in ended.stderr and "Traceback" not in ended.stderr


def test_a_model_that_cannot_be_asked_ends_the_trial(tasks: list[KnownTask]) -> None:
    with pytest.raises(UnknownModel):
        try_model(tasks, agent_config(model="nope/x"))


@pytest.mark.filterwarnings("ignore")
def test_the_shipped_tasks_are_those_of_the_benchmark() -> None:
    read = {task.name: task for task in read_tasks(SHIPPED)}
    assert len(read) == 12
    for task in shipped():
        found = read.pop(task.name)
        assert (found.request, found.returns) == (task.request, task.returns)
        for mine, theirs in ((found.sample, task.sample), (found.new_rows, task.new_rows)):
            assert is_right(theirs.answer, mine.answer)
            assert mine.tables.keys() == theirs.tables.keys()
            assert all(is_right(theirs.tables[name], table) for name, table in mine.tables.items())
        assert not is_right(found.sample.answer, found.new_rows.answer)
    assert read == {}


@each(
    ("change", "why"),
    [
        ({"format": 0}, "not in format 1"),
        ({"returns": "File"}, "cannot be a File"),
        ({"request": ["a"]}, "request must be a non-empty string"),
        ({"sample": {"tables": ["orders"], "values": []}}, "a value for each table"),
        ({"request": "  "}, "request must be a non-empty string"),
        ({"request": "x" * 100_001}, "at most 100,000 are sent"),
        ({"sample": {"tables": ["orders; import os"], "values": []}}, "at most 20 different names"),
        ({"sample": {"tables": ["orders", "orders"], "values": []}}, "at most 20 different names"),
        ({"sample": {"tables": [f"t{number}" for number in range(21)], "values": []}}, "at most 20 different names"),
        ({"sample": {"tables": ["orders"], "values": [{"type": "Dir"}]}}, "has the type Dir"),
    ],
)
def test_a_task_that_cannot_be_read_is_refused(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file = write_task(tmp_path, REVENUE.known()) / "task.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(InvalidRequest, match="The task 'net revenue' cannot be read") as refused:
        read_tasks(tmp_path)
    assert why in refused.value.why


def test_new_rows_have_the_tables_of_the_sample(tmp_path: Path) -> None:
    file = write_task(tmp_path, REVENUE.known()) / "task.json"
    record = json.loads(file.read_text("utf-8"))
    record["new_rows"]["tables"] = ["others"]
    file.write_text(json.dumps(record), "utf-8")
    with pytest.raises(InvalidRequest) as refused:
        read_tasks(tmp_path)
    assert "tables with other names" in refused.value.why


def test_all_values_of_a_folder_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for task in (REVENUE, STREAK):
        write_task(tmp_path, task.known())
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.bin"))
    monkeypatch.setattr(trial, "_FOLDER_BYTES", size)
    assert len(read_tasks(tmp_path)) == 2
    monkeypatch.setattr(trial, "_FOLDER_BYTES", size - 1)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_tasks(tmp_path)


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="There are no tasks"):
        read_tasks(tmp_path)
    with pytest.raises(InvalidRequest, match="absent"):
        read_tasks(tmp_path / "absent")


def test_text_of_others_becomes_no_markdown() -> None:
    text = markdown([TaskScore("a|b", "t", error="<img src=x> [l](u) @you `c`\nrow")], agent_config(model="a"))
    assert "<img" not in text and "a\\|b" in text and "\\@you" in text and "\\[l\\](u)" in text
    assert text.count("\n") == 8
