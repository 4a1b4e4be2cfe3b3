"""What the solutions of a task give on its tables, compared by the product's own definition of equality."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from autocoder_jupyter.evaluate import trial
from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import HEAD, Change, Task


def settings(task: Task) -> Iterator[tuple[str, Tables]]:
    """The tables on which answers are compared: the sample, new rows, and the small edge case if there is one."""
    yield "sample", task.sample()
    yield "new rows", task.new_rows()
    if task.edge:
        yield "edge", tables_of(task, task.edge)


def tables_of(task: Task, source: str) -> Tables:
    """The tables that a piece of source makes. Only for sources of this project."""
    names: dict[str, Any] = {}
    exec(HEAD + task.body(source), names)
    return {name: names[name] for name in task.inputs}


def answer(task: Task, change: Change, tables: Tables) -> Any:
    """What a solution returns; an exception that it raises is returned."""
    try:
        return task.function(change)(**copy.deepcopy(tables))
    except Exception as error:
        return error


def is_right(task: Task, given: Any, tables: Tables) -> bool:
    """Whether an answer is what the right function gives on these tables."""
    known = answer(task, task.right, tables)
    if isinstance(given, Exception) or isinstance(known, Exception):
        return False
    return trial.is_right(known, given)


def shows_on(task: Task, change: Change) -> tuple[str, ...]:
    """On which tables a solution does not give the right answer."""
    return tuple(name for name, tables in settings(task) if not is_right(task, answer(task, change, tables), tables))
