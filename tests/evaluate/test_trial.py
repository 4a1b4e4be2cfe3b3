"""A model is tried with tasks whose answers are known, through the real loop, client and sandbox."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.errors import InvalidRequest, UnknownModel
from autocoder_jupyter.evaluate.__main__ import main
from autocoder_jupyter.evaluate.known_task import KnownTask, is_right
from autocoder_jupyter.evaluate.score_table import markdown
from autocoder_jupyter.evaluate.task_folder import SHIPPED, read_tasks, write_task
from autocoder_jupyter.evaluate.trial import SPENT, TaskScore, try_model
from tests.benchmarks.trust.shipped import shipped
from tests.benchmarks.trust.task import Change, Task
from tests.benchmarks.trust.tasks import checks, orders, series
from tests.benchmarks.trust.words import words
from tests.runner import MARKERS
from tests.scripted_model import ScriptedModel, by_marker

REVENUE, STREAK, KEYS = orders.TASKS[0], series.TASKS[1], checks.TASKS[0]


def model_of(codes: list[tuple[Task, Change]]) -> ScriptedModel:
    """A model that answers each task with this code; an example of the code is right if its types are."""
    said = [words(task, code, task.tests_of_types, task.same) for task, code in codes]
    starts = [task.request[:30] for task, _ in codes]

    def say(stage: str, request: dict[str, Any]) -> str:
        text = json.dumps(request["messages"])
        return next(answers[stage] for answers, start in zip(said, starts, strict=True) if start in text)(request)

    return ScriptedModel(by_marker({MARKERS[stage]: partial(say, stage) for stage in said[0]}))


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
    text = markdown(scores)
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


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "not in format 1"),
        ({"returns": "File"}, "cannot be a File"),
        ({"request": ["a"]}, "request must be text"),
        ({"sample": {"tables": ["orders"], "values": []}}, "a value for each table"),
        ({"sample": {"tables": ["orders"], "values": [{"type": "Dir"}]}}, "has the type Dir"),
    ],
)
def test_a_task_that_cannot_be_read_is_refused(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file = write_task(tmp_path, REVENUE.known()) / "task.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(InvalidRequest, match="The task 'net revenue' cannot be read") as refused:
        read_tasks(tmp_path)
    assert why in refused.value.why


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="There are no tasks"):
        read_tasks(tmp_path)
    with pytest.raises(InvalidRequest, match="absent"):
        read_tasks(tmp_path / "absent")


def test_text_of_others_becomes_no_markdown() -> None:
    text = markdown([TaskScore("a|b", "t", error="<img src=x> [l](u) @you `c`\nrow")])
    assert "<img" not in text and "a\\|b" in text and "\\@you" in text and "\\[l\\](u)" in text
    assert text.count("\n") == 8
