"""Tasks with known answers, and the trial of a model: its functions are compared with the known answers."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from autocoder_jupyter.agent.agent import AutoCoderAgent
from autocoder_jupyter.agent.arguments import folder_name
from autocoder_jupyter.agent.rules import RuleFile
from autocoder_jupyter.equality import EXAMPLE, equal
from autocoder_jupyter.errors import AutocodeError, BudgetSpent, InvalidRequest, WrittenLater
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.trust.formats import require_known, stamp
from autocoder_jupyter.types import OutputSpec, Report, type_name
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.version import VERSION

# Tasks: a request, its data, and the answers that are known to be right

Tables = dict[str, pd.DataFrame]

OUTPUT = "answer"
"""The name of the only output of a task."""


@dataclass(frozen=True)
class TaskWords:
    """What is asked.

    Args:
        name: of the task, in a few words.
        request: the text of the cell. It names each table as `@name`.
        returns: the type of the only output, `answer`; for a DataFrame the dtypes of its columns by name.
    """

    name: str
    request: str
    returns: str | Mapping[str, str]

    @property
    def kind(self) -> str:
        return self.returns if isinstance(self.returns, str) else "DataFrame"

    @property
    def output(self) -> OutputSpec:
        """The output, as a request declares it."""
        return OutputSpec(name=OUTPUT, type=type_name(self.kind))


@dataclass(frozen=True)
class KnownCase:
    """Tables, and the right answer for them."""

    tables: Mapping[str, pd.DataFrame]
    answer: Any


@dataclass(frozen=True)
class KnownTask(TaskWords):
    """A task with its right answers as data.

    Args:
        sample: the tables that are described to the model.
        new_rows: other tables with the same columns, which the model never sees.
    """

    sample: KnownCase
    new_rows: KnownCase


def is_right(known: Any, given: Any) -> bool:
    """Whether an answer equals the known one, compared like a user's example."""
    return equal(known, given, EXAMPLE)


# Tasks as files: a folder with a subfolder for each task
#
#     TASKS/net revenue/task.json       format, request, returns, and a description of each file of values
#     TASKS/net revenue/sample.0.bin    the first table of the sample, then the others, then the right answer
#     TASKS/net revenue/new_rows.0.bin  the same for the new rows
#
# They hold data and no code. The files of values are those of a saved result. Whoever wrote the folder is not trusted:
# no link is followed, and every value is checked.

FORMAT = 1
TASK_FILE = "task.json"
SHIPPED = Path(__file__).parent / "tasks"
"""The tasks that come with the package."""

MOST_TASKS = 1000
_TASK_BYTES = 2**20
_VALUE_BYTES = 2**28
_FOLDER_BYTES = 2**30
"""All values of a folder together, because they are all held in memory."""

_MOST_TABLES = 20

_ANSWERS = frozenset({"DataFrame", "Series", "bool", "dict", "float", "int", "list", "str"})
"""The types of an answer. Files and figures have no single right form."""

_Case = Literal["sample", "new_rows"]


def write_task(folder: Path, task: KnownTask) -> Path:
    """Write a task into a new subfolder with its name."""
    from autocoder_jupyter.codec import encode

    files = Folder(folder)
    record: dict[str, Any] = {**stamp(FORMAT), "request": task.request, "returns": task.returns}
    for name, case in _cases(task):
        headers = []
        for number, (value, kind) in enumerate(
            [*((table, "DataFrame") for table in case.tables.values()), (case.answer, task.kind)]
        ):
            encoded = encode(value, kind)
            files.write(f"{task.name}/{name}.{number}.bin", *encoded.buffers)
            headers.append(encoded.header)
        record[name] = {"tables": list(case.tables), "values": headers}
    files.write(f"{task.name}/{TASK_FILE}", json.dumps(record, ensure_ascii=False, indent=1).encode())
    return folder / task.name


def read_tasks(folder: Path) -> tuple[KnownTask, ...]:
    """The tasks of a folder, by name.

    Raises:
        InvalidRequest: there is no task, or one cannot be read.
    """
    files = Folder(folder)
    try:
        names = sorted(name for name in files.names("") if files.exists(f"{name}/{TASK_FILE}"))
    except OSError as error:
        raise InvalidRequest(f"The tasks in {visible(folder)} cannot be read.", why=str(error.strerror)) from None
    if not names or len(names) > MOST_TASKS:
        raise InvalidRequest(
            f"There are {len(names) or 'no'} tasks in {visible(folder)}.",
            why=f"A folder of tasks has 1 to {MOST_TASKS} subfolders with a {TASK_FILE}.",
            hint="autocoder_jupyter.evaluate.trial.write_task writes one.",
        )
    tasks, left = [], _FOLDER_BYTES
    for name in names:
        task, taken = _read(files, name, left)
        tasks.append(task)
        left -= taken
    return tuple(tasks)


def _read(files: Folder, name: str, left: int) -> tuple[KnownTask, int]:
    """A task, and the bytes of its values, which may be as many as are left."""
    from autocoder_jupyter.sandbox.host.replies import receive

    taken = 0

    def case(record: Mapping[str, Any], which: _Case) -> KnownCase:
        nonlocal taken
        tables = record["tables"]
        _require_names(tables)
        values = []
        for number, header in enumerate(record["values"]):
            if header["type"] not in (_ANSWERS if number == len(tables) else {"DataFrame"}):
                raise ValueError(f"value {number} of {which} has the type {header['type']}")
            most = min(_VALUE_BYTES, left - taken)
            payload = memoryview(files.read_bytes(f"{name}/{which}.{number}.bin", most))
            taken += len(payload)
            values.append(receive(header, payload, trusted=False))
        if len(values) != len(tables) + 1:
            raise ValueError(f"{which} must have a value for each table, then the answer")
        return KnownCase(dict(zip(tables, values[:-1], strict=True)), values[-1])

    try:
        record = parse(files.read_bytes(f"{name}/{TASK_FILE}", _TASK_BYTES))
        require_known(record, f"The task {visible(name)}", FORMAT)
        if record["format"] != FORMAT:
            raise ValueError(f"it is not in format {FORMAT}")
        request, returns = record["request"], record["returns"]
        if not isinstance(returns, str | dict):
            raise TypeError("returns must be a type, or dtypes by column")
        check.request("request", request)
        if isinstance(returns, str) and returns not in _ANSWERS:
            raise ValueError(f"{OUTPUT} cannot be a {returns}")
        sample, new_rows = case(record["sample"], "sample"), case(record["new_rows"], "new_rows")
        if sample.tables.keys() != new_rows.tables.keys():
            raise ValueError("sample and new_rows have tables with other names")
        return KnownTask(name, request, returns, sample, new_rows), taken
    except WrittenLater:
        raise
    except (InvalidRequest, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        why = error.what if isinstance(error, InvalidRequest) else f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = f"{error.filename}: {error.strerror}"
        raise InvalidRequest(f"The task {visible(name)!r} cannot be read.", why=visible(why)[:500]) from None


def _require_names(tables: Any) -> None:
    """Names of tables are inputs of the function."""
    named = isinstance(tables, list) and all(isinstance(name, str) and check.is_input_name(name) for name in tables)
    if not named or len(set(tables)) < len(tables) or len(tables) > _MOST_TABLES:
        raise ValueError(f"tables must be at most {_MOST_TABLES} different names")


def _cases(task: KnownTask) -> Iterator[tuple[_Case, KnownCase]]:
    yield "sample", task.sample
    yield "new_rows", task.new_rows


# The trial

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
        on_sample: whether the function is right on the tables that were described to the model.
        on_new_rows: whether it is right on the others.
        failed_stage: the stage that failed; `sample` or `new rows` for a wrong answer of a verified function,
            `budget` if the budget was spent, `model` if it could no longer be asked, "" if all is right.
        cost: in US dollars; None if the price is not known.
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
    rules: Sequence[Path | RuleFile] = (),
    root: Path | None = None,
    answered: Callable[[KnownTask], object] = lambda task: None,
) -> tuple[TaskScore, ...]:
    """Run tasks one after the other. Blocks; nothing is recorded beside the notebook.

    Args:
        tasks: what is asked.
        config: the settings; a model is asked for each task.
        max_cost: US dollars for all tasks together.
        max_tokens: tokens for all tasks together.
        hear: called with each score.
        rules: `autocode.md` files whose rules apply.
        root: the folder of a journal that is kept, so that a model is only asked for a task whose request or rules have
            changed; by default nothing is kept.
        answered: called with a task and the answers that a verified function gave.

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
                score, given = _tried(task, config, cost_left, tokens_left, rules, root)
                if given is not None:
                    answered(given)
            except AutocodeError as error:
                if not scores:
                    raise
                score = TaskScore(config.model, task.name, failed_stage=UNASKED, error=f"{error.what} {error.why}")
        scores.append(score)
        hear(score)
    return tuple(scores)


def _tried(
    task: KnownTask,
    config: AgentConfig,
    max_cost: float | None,
    max_tokens: int | None,
    rules: Sequence[Path | RuleFile],
    root: Path | None,
) -> tuple[TaskScore, KnownTask | None]:
    limits = {"max_cost": max_cost, "max_tokens": max_tokens}
    kept = {} if root else {"cache": "disable"}
    agent = AutoCoderAgent(**{**vars(config), **limits, **kept, "ask": False, "log": None})
    name = f"{folder_name(task.name)[:30]}_{hashlib.sha256(task.name.encode()).hexdigest()[:8]}"
    with contextlib.nullcontext(root) if root else tempfile.TemporaryDirectory(prefix="autocode-trial-") as place:
        try:
            result = agent.generate(
                task.request,
                samples=dict(copy.deepcopy(task.sample.tables)),
                outputs={task.output.name: task.output},
                rules=rules,
                name=name if root else "task",
                journal_root=Path(place),
            )
        except BudgetSpent as error:
            return TaskScore(config.model, task.name, failed_stage=SPENT, error=error.what), None
        return _scored(task, config.model, result)


def _scored(task: KnownTask, model: str, result: CodeGenEvalResult) -> tuple[TaskScore, KnownTask | None]:
    """The score, and the task with the answers that were given; None if there are none."""
    report = result.report
    found, given = {"sample": "", "new rows": ""}, None
    if report.success:
        cases = (task.sample, task.new_rows)
        answers = [_answer(result, case) for case in cases]
        found = {name: why for name, (_, why) in zip(found, answers, strict=True)}
        stage = next((name for name, why in found.items() if why), "")
        error = found.get(stage, "")
        if not any(answer is _NOTHING for answer, _ in answers):
            sample, new_rows = (replace(case, answer=answer) for case, (answer, _) in zip(cases, answers, strict=True))
            given = replace(task, sample=sample, new_rows=new_rows)
    else:
        stage, error = _failed_stage(result), (report.error or "it was not verified").partition("\n")[0]
    score = TaskScore(
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
    return score, given


_NOTHING = object()


def _answer(result: CodeGenEvalResult, case: KnownCase) -> tuple[Any, str]:
    """What the function gives for these tables, and why that is wrong; "" if it is right."""
    try:
        given = result.run(**copy.deepcopy(dict(case.tables)))
    except AutocodeError as error:
        return _NOTHING, error.what
    return given, "" if is_right(case.answer, given) else "the answer differs from the known one"


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


# The table of a trial: a line for each model, then a line for each task

MODEL_HEADINGS = ("model", "right on the sample", "right on new rows", "tokens", "dollars", "seconds")
TASK_HEADINGS = ("model", "task", "sample", "new rows", "failed stage", "tokens", "dollars", "seconds", "error")


def model_rows(scores: Sequence[TaskScore]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for model in dict.fromkeys(score.model for score in scores):
        own = [score for score in scores if score.model == model]
        costs = [score.cost for score in own]
        cost = None if None in costs else sum(cost or 0.0 for cost in costs)
        rows.append(
            (
                model,
                f"{sum(score.on_sample for score in own)} of {len(own)}",
                f"{sum(score.on_new_rows for score in own)} of {len(own)}",
                f"{sum(score.tokens for score in own):,}",
                _dollars(cost),
                f"{sum(score.seconds for score in own):.0f}",
            )
        )
    return rows


def task_rows(scores: Sequence[TaskScore]) -> list[tuple[str, ...]]:
    return [
        (
            score.model,
            score.task,
            "right" if score.on_sample else "–",
            "right" if score.on_new_rows else "–",
            score.failed_stage,
            f"{score.tokens:,}",
            _dollars(score.cost),
            f"{score.seconds:.0f}",
            score.error[:120],
        )
        for score in scores
    ]


def markdown(scores: Sequence[TaskScore], config: AgentConfig) -> str:
    """Both tables, for an issue, below the settings that they can only be compared with."""
    settings = f"effort {config.effort}, share {config.share}, at most {config.max_iterations} attempts"
    parts = (_table(MODEL_HEADINGS, model_rows(scores)), _table(TASK_HEADINGS, task_rows(scores)))
    return f"autocoder-jupyter {VERSION}; {settings}\n\n" + "\n\n".join(parts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text of others as plain text of Markdown: no cell, tag, link or mention begins in it."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\`|[]@#*_":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"
