"""What the played model says to each question about a task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.known_task import OUTPUT
from tests.benchmarks.trust.known import answer, tables_of
from tests.benchmarks.trust.task import Change, Task
from tests.runner import fenced


def words(
    task: Task, code: Change, tests: Mapping[str, str], second: Change | None = None, reading: str = ""
) -> dict[str, Callable[[dict[str, Any]], str]]:
    """The answers by stage. A derivation is that of the right function.

    Args:
        task: the task.
        code: the function that the model writes.
        tests: the tests that it writes.
        second: the second solution; None if there is none.
        reading: how the second solution reads the request, if otherwise.
    """
    said: dict[str, str] = {
        "plan": plan(task),
        "code": fenced(task.module(code)),
        "tests": fenced(task.test_module(tests)),
        "name": json.dumps({"readings": [{"assumption": 1, "words": "otherwise", "line": reading}] if reading else []}),
    }
    if second is not None:
        noted = "\n".join(f"- {line}" for line in ((reading,) if reading else task.assumptions))
        declared = f'"""How it is read:\n\n{noted}\n"""\n\nOUTPUTS = {{"{OUTPUT}": "{task.kind}"}}\n\n'
        said["second"] = fenced(task.module(second, declared))
    return {**{stage: _always(text) for stage, text in said.items()}, "derive": derived(task), "again": derived(task)}


def _always(text: str) -> Callable[[dict[str, Any]], str]:
    return lambda request: text


def plan(task: Task) -> str:
    """The plan, which names the output and the assumptions of the right function."""
    output: dict[str, Any] = {"name": OUTPUT, "type": task.kind, "meaning": task.request}
    if not isinstance(task.returns, str):
        output["columns"] = [{"name": name, "dtype": dtype} for name, dtype in task.returns.items()]
    return json.dumps(
        {
            "description": task.request,
            "approach": "Select the rows, group them, add up.",
            "outputs": [output],
            "assumptions": list(task.assumptions),
        }
    )


def derived(task: Task) -> Callable[[dict[str, Any]], str]:
    """What a good model works out by hand for a small input, to four digits: what the right function gives."""

    def say(request: dict[str, Any]) -> str:
        question = request["messages"][1]["content"]
        given = re.search(r"<input>\n(.*?)\n</input>", question, re.DOTALL)
        assert given is not None
        result = answer(task, task.right, tables_of(task, given[1]))
        asked = question.rpartition("<asked>")[2].partition("</asked>")[0]
        places = re.findall(rf"^- ({OUTPUT}[^:\n]*)(?:: its rows, each by its (.*) \(joined)?", asked, re.MULTILINE)
        decided = not isinstance(result, Exception)
        values = [{"place": place, "values": _values(result, place, keys)} for place, keys in places] if decided else []
        return json.dumps({"derivation": "Step by step.", "sentence": "", "decided": decided, "values": values})

    return say


def _values(result: Any, place: str, keys: str) -> list[Any]:
    if keys:
        return [", ".join(_told(row[key]) for key in keys.split(", ")) for _, row in result.iterrows()]
    values = [result] if place == OUTPUT else list(result[place.partition(".")[2]])
    return [None if pd.isna(value) else _number(value) for value in values]


def _number(value: Any) -> Any:
    return round(float(value), 4) if isinstance(value, float | np.number) else _told(value)


def _told(value: Any) -> str:
    return str(value).removesuffix(" 00:00:00")
