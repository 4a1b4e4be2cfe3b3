"""`%autocode rules`: the house rules of the project, and which answers to known questions they change."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from autocoder_jupyter.agent.rules import NAME, TASKS, RuleFile, rule_files, subjects
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.line.information import ask_budget
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted

if TYPE_CHECKING:
    from autocoder_jupyter.evaluate.trial import KnownTask, TaskScore

MOST_SUBJECTS = 8


def rules(notebook: Notebook, arguments: Arguments) -> None:
    """List the house rules, or test them."""
    files = rule_files(notebook.journal_root.parent)
    words = arguments.positional
    if words[:1] == ("test",):
        _test(notebook, arguments, files)
        return
    if words or arguments.given:
        raise InvalidRequest(f"There is nothing to do with {visible(' '.join(words) or 'a budget')!r}.", hint=_USAGE)
    if not files:
        print(f"There is no {NAME} in this folder or above it, up to the root of the repository.")
        return
    rows = [
        (visible(os.path.relpath(file.path)), *row, file.state) for file in files for row in _rows(file) or [("", "")]
    ]
    notebook.show(markup.table(("file", "rule", "for", ""), rows), markup.columns(rows))


_USAGE = "%autocode rules lists the rules, %autocode rules test [FOLDER] tests them."


def _rows(file: RuleFile) -> list[tuple[str, str]]:
    rows = []
    for rule in file.rules:
        about = sorted(subjects(rule))
        shown = ", ".join(map(visible, about[:MOST_SUBJECTS])) + (" …" if len(about) > MOST_SUBJECTS else "")
        rows.append((visible(rule.line[:120]), shown or "every request"))
    return rows


def _test(notebook: Notebook, arguments: Arguments, files: tuple[RuleFile, ...]) -> None:
    """Answer the questions of a folder under the rules, and compare with the known answers and the last ones."""
    from autocoder_jupyter.agent.generation import reached
    from autocoder_jupyter.evaluate.trial import SPENT, UNASKED, read_tasks, try_model
    from autocoder_jupyter.models import preflight

    used = [file for file in files if file.is_agreed]
    if len(used) < len(files):
        left = next(file for file in files if not file.is_agreed)
        raise InvalidRequest(f"{visible(left.path)} is {left.state}")
    beside = used[-1].path.parent if used else notebook.journal_root.parent
    folder = Path(arguments.positional[1]) if len(arguments.positional) > 1 else beside / TASKS
    tasks = read_tasks(folder)
    config = notebook.settings().agent_config()
    preflight.check(reached(config, config.model))
    max_cost, max_tokens = arguments.given.get("max_cost"), arguments.given.get("max_tokens")
    if max_cost is None and max_tokens is None:
        note = "A question is only sent if it or its rules have changed."
        max_cost, max_tokens = ask_budget(notebook, config, len(tasks), "%autocode rules test", note)

    place = cache_folder() / "rules" / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    before = _last(place / _ANSWERS)
    given: dict[str, KnownTask] = {}

    def answered(task: KnownTask) -> None:
        given[task.name] = task

    scores = try_model(
        tasks,
        dataclasses.replace(config, max_cost=None, max_tokens=None),
        max_cost=max_cost,
        max_tokens=max_tokens,
        rules=used,
        root=place / "journal",
        answered=answered,
    )
    asked = [score.task for score in scores if score.failed_stage not in (SPENT, UNASKED)]
    changed = {name for name in asked if name in before and (name not in given or _differ(before[name], given[name]))}
    rows = [_row(score, score.task in before, score.task in changed) for score in scores]
    right = sum(score.on_sample and score.on_new_rows for score in scores)
    says = f"{right} of {counted(len(scores), 'answer')} right"
    says += f"; {len(changed)} of {len(asked)} answers changed since the last test" if before else ""
    notebook.show(
        markup.join(markup.text_lines([f"{says}."]), markup.table(_HEADINGS, rows)), f"{says}.\n{markup.columns(rows)}"
    )
    _keep(place / _ANSWERS, given)


_ANSWERS = "answers"
"""The folder with the tasks of the last test, and what was answered."""

_HEADINGS = ("question", "answer", "", "")


def _row(score: TaskScore, is_known: bool, is_changed: bool) -> tuple[str, ...]:
    is_wrong = score.failed_stage in ("sample", "new rows")
    answer = "right" if score.on_sample and score.on_new_rows else "wrong" if is_wrong else "none"
    return visible(score.task), answer, "changed" if is_changed else "as before" if is_known else "", score.error[:120]


def _differ(before: KnownTask, now: KnownTask) -> bool:
    from autocoder_jupyter.evaluate.trial import is_right

    pairs = ((before.sample, now.sample), (before.new_rows, now.new_rows))
    return not all(is_right(old.answer, new.answer) for old, new in pairs)


def _last(folder: Path) -> dict[str, KnownTask]:
    """The answers of the last test, by question; none if there are none that can be read."""
    from autocoder_jupyter.evaluate.trial import read_tasks

    try:
        return {task.name: task for task in read_tasks(folder)}
    except InvalidRequest:
        return {}


def _keep(folder: Path, given: dict[str, KnownTask]) -> None:
    from autocoder_jupyter.evaluate.trial import write_task

    for task in given.values():
        write_task(folder, task)
