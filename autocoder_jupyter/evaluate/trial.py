"""The trial of a model: each task is run the whole way, and its function is compared with the known answers."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.agent import AutoCoderAgent
from autocoder_jupyter.errors import AutocodeError, BudgetSpent
from autocoder_jupyter.evaluate.known_task import KnownCase, KnownTask, is_right
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.types import Report
from autocoder_jupyter.types.records import STAGES

USUAL_TOKENS = 20_000
"""Tokens of one task with a model that needs one attempt, rounded up; with more attempts it takes more."""

SPENT = "budget"
"""The stage of a task that was not finished, or not begun, because the budget was spent."""


UNASKED = "model"
"""The stage of a task for which the model could not be asked, after others for which it could."""


@dataclass(frozen=True)
class TaskScore:
    """What a model made of a task.

    Args:
        model: the model.
        task: the name of the task.
        on_sample: whether the function is right on the tables that the model was told about.
        on_new_rows: whether it is right on the others.
        failed_stage: the stage that failed; `sample` or `new rows` for a wrong answer of a verified function,
            `budget` if the budget was spent, `model` if it could no longer be asked, "" if all is right.
        tokens: of all questions, in and out.
        cost: in US dollars; None if the price is not known.
        seconds: of the generation.
        error: why it failed; "" if it did not.
    """

    model: str
    task: str
    on_sample: bool = False
    on_new_rows: bool = False
    failed_stage: str = ""
    tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    error: str = ""


def try_model(
    tasks: Sequence[KnownTask],
    config: AgentConfig,
    *,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    hear: Callable[[TaskScore], object] = lambda score: None,
) -> tuple[TaskScore, ...]:
    """Run tasks one after the other. Blocks; nothing is recorded beside the notebook.

    Args:
        tasks: the tasks.
        config: the model and the other settings. Recorded answers are never used, and nobody is asked.
        max_cost: US dollars for all tasks together; None for no limit.
        max_tokens: tokens for all tasks together; None for no limit.
        hear: is told each score when it is known.

    Raises:
        AutocodeError: the model cannot be asked (no key, no address), or there is no sandbox. After the first task this
            is a score, because the others are paid for, and no further task is begun.
    """
    scores: list[TaskScore] = []
    for task in tasks:
        spent = sum(score.cost or 0.0 for score in scores)
        used = sum(score.tokens for score in scores)
        cost_left = None if max_cost is None else max_cost - spent
        tokens_left = None if max_tokens is None else max_tokens - used
        if (cost_left is not None and cost_left <= 0) or (tokens_left is not None and tokens_left <= 0):
            score = TaskScore(config.model, task.name, failed_stage=SPENT, error="not begun")
        elif scores and scores[-1].failed_stage == UNASKED:
            score = TaskScore(config.model, task.name, failed_stage=UNASKED, error="not begun")
        else:
            try:
                score = _tried(task, config, cost_left, tokens_left)
            except AutocodeError as error:
                if not scores:
                    raise
                score = TaskScore(config.model, task.name, failed_stage=UNASKED, error=f"{error.what} {error.why}")
        scores.append(score)
        hear(score)
    return tuple(scores)


def _tried(task: KnownTask, config: AgentConfig, max_cost: float | None, max_tokens: int | None) -> TaskScore:
    limits = {"max_cost": max_cost, "max_tokens": max_tokens}
    agent = AutoCoderAgent(**{**vars(config), **limits, "ask": False, "cache": "disable", "log": None})
    with tempfile.TemporaryDirectory(prefix="autocode-trial-") as root:
        try:
            result = agent.generate(
                task.request,
                samples=dict(copy.deepcopy(task.sample.tables)),
                outputs={task.output.name: task.output},
                name="task",
                journal_root=Path(root),
            )
        except BudgetSpent as error:
            return TaskScore(config.model, task.name, failed_stage=SPENT, error=error.what)
        return _scored(task, config.model, result)


def _scored(task: KnownTask, model: str, result: CodeGenEvalResult) -> TaskScore:
    report = result.report
    found = {"sample": "", "new rows": ""}
    if report.success:
        found = {"sample": _wrong(result, task.sample), "new rows": _wrong(result, task.new_rows)}
        stage = next((name for name, why in found.items() if why), "")
        error = found.get(stage, "")
    else:
        stage, error = _failed_stage(result), (report.error or "it was not verified").partition("\n")[0]
    return TaskScore(
        model,
        task.name,
        on_sample=report.success and not found["sample"],
        on_new_rows=report.success and not found["new rows"],
        failed_stage=stage,
        tokens=report.total_input_tokens + report.total_output_tokens,
        cost=report.usage.cost,
        seconds=report.seconds,
        error=error,
    )


def _wrong(result: CodeGenEvalResult, case: KnownCase) -> str:
    """Why the function is wrong for these tables; "" if it is right."""
    try:
        given = result.run(**copy.deepcopy(dict(case.tables)))
    except AutocodeError as error:
        return error.what
    return "" if is_right(case.answer, given) else "the answer differs from the known one"


def _failed_stage(result: CodeGenEvalResult) -> str:
    if result.state == "over_budget":
        return SPENT
    if any(test.outcome != "passed" for test in result.report.evidence.tests):
        return "run"
    stages = list(_stages(result.report))
    return next((name for name, ok in stages if not ok), stages[-1][0] if stages else "start")


def _stages(report: Report) -> Iterator[tuple[str, bool]]:
    """The stages of the last attempt in order, and whether each succeeded."""
    beside = {name for name, stage in STAGES.items() if stage.runs_beside}
    for step in report.timeline:
        if step.kind == "stage" and step.attempt == max(report.attempts, 1) and step.name not in beside:
            yield step.name, step.ok
