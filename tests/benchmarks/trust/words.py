"""What the scripted model says to each question about a task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import OUTPUT
from tests.benchmarks.trust.known import answer, tables_of
from tests.benchmarks.trust.task import Change, Task
from tests.runner import fenced


def words(
    task: Task,
    code: Change,
    tests: Mapping[str, str],
    second: Change | None = None,
    reading: str = "",
    *,
    derives: bool = True,
) -> dict[str, Callable[[dict[str, Any]], str]]:
    """The answers by stage. A derivation is that of the right function.

    Args:
        task: the task.
        code: the function that the model writes.
        tests: the tests that it writes.
        second: the second solution; None if there is none.
        reading: how the second solution reads the request, if otherwise.
        derives: whether tests that it is asked for later are worked out. Otherwise they only check types again.
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
    always = {stage: _always(text) for stage, text in said.items()}
    more = worked_out(task) if derives else _always(fenced(task.test_module(task.tests_of_types)))
    return {**always, "derive": derived(task), "again": derived(task), "more_tests": more}


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


def worked_out(task: Task) -> Callable[[dict[str, Any]], str]:
    """The tests that a good model writes for small inputs: what the right function gives, to four digits."""

    def say(request: dict[str, Any]) -> str:
        inputs = re.findall(r"<input>\n(.*?)\n</input>", request["messages"][1]["content"], re.DOTALL)
        results = [(given, answer(task, task.right, tables_of(task, given))) for given in inputs]
        tests = (_test(task, *one) for one in enumerate(results) if not isinstance(one[1][1], Exception))
        return fenced("\n\n\n".join(tests) or "# No sentence decides.")

    return say


def _test(task: Task, number: int, known: tuple[str, Any]) -> str:
    given, result = known
    body = [*given.splitlines(), f"answer = run({', '.join(f'{name}={name}' for name in task.inputs)})"]
    if isinstance(result, pd.DataFrame):
        columns = {name: [None if pd.isna(one) else _number(one) for one in result[name]] for name in result}
        body += [f"assert list(answer.columns) == {list(columns)} and len(answer) == {len(result)}"]
        body += [_same(f"answer[{name!r}]", values) for name, values in columns.items()]
    else:
        values = result if isinstance(result, list) else [result]
        body.append(_same("answer" if values is result else "[answer]", [_number(one) for one in values]))
    lines = "\n".join(f"    {line}" for line in ["import pandas as pd", "import pytest", *body])
    return f'def test_worked_out_{number}():\n    """It is worked out by hand."""\n{lines}'


def _same(found: str, values: list[Any]) -> str:
    """An assertion that values are the same, numbers to four digits."""
    if any(isinstance(value, str) for value in values):
        plain = "None if pd.isna(value) else str(value).removesuffix(' 00:00:00')"
        return f"assert [{plain} for value in {found}] == {values!r}"
    numbers = ", ".join("float('nan')" if value is None or value != value else repr(value) for value in values)
    plain = "float('nan') if pd.isna(value) else value"
    return f"assert [{plain} for value in {found}] == pytest.approx([{numbers}], rel=1e-3, abs=1e-4, nan_ok=True)"


def _values(result: Any, place: str, keys: str) -> list[Any]:
    if keys:
        return [", ".join(_told(row[key]) for key in keys.split(", ")) for _, row in result.iterrows()]
    values = [result] if place == OUTPUT else list(result[place.partition(".")[2]])
    return [None if pd.isna(value) else _number(value) for value in values]


def _number(value: Any) -> Any:
    if isinstance(value, bool | np.bool):
        return bool(value)
    return round(float(value), 4) if isinstance(value, int | float | np.number) else _told(value)


def _told(value: Any) -> str:
    return str(value).removesuffix(" 00:00:00")
