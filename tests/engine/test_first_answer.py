"""The first answer: a module whose docstring is the plan."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.first_answer import (
    FirstAnswer,
    docstring_in,
    first_messages,
    plan_in,
    read_docstring,
    without_plan,
)
from autocoder_jupyter.engine.plan import reading
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import PlanReady, SourceWritten, StageStarted, TextStreamed
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.runner import CODE, TESTS, Runner, fenced, sales
from tests.scripted_model import Answer, ScriptedModel

HEAD = '''"""Revenue of each shop, without cancelled orders.

Outputs:
- by_shop (DataFrame): one row per shop, the highest revenue first
    - shop (str): its name (not its id)
    - Revenue (EUR) (float64): sum of units * price
- best: str, the name of the first shop
Parameters:
- status (str = "cancelled"): orders with this status are left out
Assumptions:
- Orders without a shop are left out,
  also those of returned goods.
- A refund counts as negative revenue.
Packages: scipy, `scikit-learn`
Holds: order, groups:shop
Questions:
- Which date counts? [order date | payment date] assumed: order date
"""'''
BODY = "def run(sales, status='cancelled'):\n    return sales, 'x'"
INPUTS = (InputSpec(name="sales", type="DataFrame"),)
ONE = (OutputSpec(name="total", type="float"),)


def test_each_section_of_the_docstring_is_read() -> None:
    found = read_docstring(HEAD.strip('"'))
    table, best = found.outputs
    assert found.description == "Revenue of each shop, without cancelled orders."
    assert (table.name, table.type, table.meaning) == (
        "by_shop",
        "DataFrame",
        "one row per shop, the highest revenue first",
    )
    assert [(one.name, one.dtype, one.meaning) for one in table.columns] == [
        ("shop", "str", "its name (not its id)"),
        ("Revenue (EUR)", "float64", "sum of units * price"),
    ]
    assert (best.name, best.type, best.meaning) == ("best", "str", "the name of the first shop")
    (status,) = found.parameters
    assert (status.name, status.type, status.default) == ("status", "str", "cancelled")
    assert found.assumptions == [
        "Orders without a shop are left out, also those of returned goods.",
        "A refund counts as negative revenue.",
    ]
    assert (found.packages, found.holds) == (["scipy", "scikit-learn"], ["order", "groups:shop"])
    (asked,) = found.questions
    assert (asked.text, asked.options, asked.assumed) == (
        "Which date counts?",
        ["order date", "payment date"],
        "order date",
    )


@pytest.mark.parametrize(
    "outputs",
    [
        "Outputs:\n- total (float): the sum",
        "**Outputs:**\n* `total`: float, the sum",
        "Returns: total (float): the sum",
        "## Outputs:\n  - total: float - the sum",
        "OUTPUTS:\ntotal (float): the sum",
        "Parameters: {}\nAssumptions: []\nHolds: {}\nOutputs:\n- total (float): the sum",
        "Args:\n    sales (pd.DataFrame): the table\nOutputs:\n- total (float): the sum",
        "Parameters:\n- none\n- `sales` (DataFrame): the table\nOutputs:\n    total (float): the sum",
        "Parameters\n----------\nsales : pd.DataFrame\n    The table.\n\nOutputs\n-------\ntotal : float, the sum",
    ],
)
def test_weak_models_write_the_same_in_many_ways(outputs: str) -> None:
    code = f'"""Add it up.\n\n{outputs}\nParameters: none\nPackages: none\n"""\n\ndef run(sales):\n    return 1.0\n'
    plan = reading(Request("x", "p"), INPUTS)(plan_in(code, code))
    assert [(one.name, one.type, one.meaning) for one in plan.outputs] == [("total", "float", "the sum")]
    assert plan.packages == () and plan.inputs == INPUTS


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ("Returns:\n    float: The total of v.", [("result", "float", "The total of v.")]),
        (
            "Returns:\n    pd.DataFrame: One row.\n    int: Its rows.",
            [("result", "DataFrame", "One row."), ("result_2", "int", "Its rows.")],
        ),
        ("Returns\n-------\nfloat\n    The total.", [("result", "float", "")]),
        ("Returns:\n    The total of v, as a number.", [("result", "float", "")]),
        (
            "Outputs:\n  total (float): the sum\n  of all\n  n (int): the count\n",
            [("total", "float", "the sum of all"), ("n", "int", "the count")],
        ),
        (
            "Outputs:\n- table: one row per shop\n    - date (period[M])\n",
            [("result", "DataFrame", "one row per shop")],
        ),
    ],
)
def test_outputs_are_read_as_docstrings_usually_have_them(returns: str, expected: list[tuple[str, str, str]]) -> None:
    code = (
        f'"""Add it up.\n\nArgs:\n    sales: the table.\n\n{returns}\n"""\n\ndef run(sales) -> float:\n    return 1.0\n'
    )
    plan = reading(Request("x", "p"), INPUTS)(plan_in(code, code))
    assert [(one.name, one.type, one.meaning) for one in plan.outputs] == expected
    assert plan.inputs == INPUTS


@pytest.mark.parametrize("packages", ["[]", "['scipy', 'scikit-learn']", "None needed.", "scipy, none"])
def test_a_list_of_packages_may_be_one_of_python_or_none(packages: str) -> None:
    found = read_docstring(f"Add it up.\n\nPackages: {packages}")
    assert set(found.packages) <= {"scipy", "scikit-learn"} and len(found.packages) == packages.count("sc")


@pytest.mark.parametrize(
    ("answer", "outputs", "expected"),
    [
        (fenced("def run(sales) -> float:\n    return 1.0"), (), [("result", "float")]),
        (
            fenced("def run(sales) -> tuple[float, pd.DataFrame]:\n    return 1.0, sales"),
            (),
            [("result_1", "float"), ("result_2", "DataFrame")],
        ),
        (fenced("def run(sales):\n    return 1.0"), ONE, [("total", "float")]),
        (
            json.dumps({"outputs": [{"name": "total", "type": "number"}], "parameters": []})
            + "\n"
            + fenced("def run(sales):\n    return 1.0"),
            (),
            [("total", "float")],
        ),
    ],
    ids=["annotation", "annotated tuple", "declared", "JSON"],
)
def test_code_without_a_docstring_is_used_where_its_outputs_are_known(
    answer: str, outputs: tuple[OutputSpec, ...], expected: list[tuple[str, str]]
) -> None:
    code = answer.rpartition("```python\n")[2].removesuffix("\n```")
    plan = reading(Request("x", "p", outputs=outputs), INPUTS)(plan_in(answer, code))
    assert [(one.name, one.type) for one in plan.outputs] == expected


def test_the_docstring_is_found_as_soon_as_it_has_an_end() -> None:
    text = f"Here is the module:\n\n```python\n{HEAD}\nimport pandas as pd\n"
    ends = [length for length in range(len(text) + 1) if docstring_in(text[:length]) is not None]
    assert ends[0] == text.index(HEAD) + len(HEAD)
    assert docstring_in(text) == HEAD[3:-3]


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{HEAD}",
        f"```python\nimport pandas\n\n\ndef run():\n    {HEAD}",
        '```json\n{"outputs": []}\n```\n```python\n"""Add up."""\n',
        "no docstring",
        f"**First attempt:**\n\n```python\n{HEAD}",
    ],
    ids=["thoughts", "of a function", "below JSON", "none", "of a draft"],
)
def test_another_docstring_is_not_a_plan_yet(text: str) -> None:
    assert docstring_in(text) is None


def test_the_plan_goes_from_the_module_and_other_docstrings_stay() -> None:
    assert without_plan(f"{HEAD}\n\n{BODY}\n") == f"{BODY}\n"
    assert without_plan(f'"""Add up."""\n\n{BODY}\n') == f'"""Add up."""\n\n{BODY}\n'
    assert without_plan(f"{HEAD}; x = 1\n{BODY}\n") == f"{HEAD}; x = 1\n{BODY}\n"


async def test_the_plan_is_there_while_the_code_is_still_written() -> None:
    release = threading.Event()
    text = f"```python\n{HEAD}\n{BODY}\n{'# more ' * 99}\n```"
    with ScriptedModel([Answer(text, hold=release, hold_after=len(HEAD) + 200)]) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        request = Request("r", "Sum it up.")
        answer = FirstAnswer(conversation, first_messages(request, INPUTS, ""), reading(request, INPUTS))
        head = await asyncio.wait_for(answer.head(), 60)
        assert [spec.name for spec in head.plan.outputs] == ["by_shop", "best"]
        assert conversation.has_asked.is_set()  # workers are started then
        release.set()
        assert (await answer.code()).startswith(f"{BODY}\n#")


async def test_the_code_is_shown_from_its_beginning() -> None:
    """Also where the end of the docstring and the beginning of the code arrive at once."""
    release = threading.Event()
    heard: list[tuple[str, str]] = []
    with ScriptedModel(
        [Answer(f"```python\n{HEAD}\n\n{BODY}\n```", hold=release, hold_after=len(HEAD) + 60)]
    ) as endpoint:
        conversation = Conversation(
            LiteLLMModel(endpoint.config()),
            Budget(),
            lambda event: heard.append((event.stage, event.text)) if isinstance(event, TextStreamed) else None,
        )
        request = Request("r", "Sum it up.")
        answer = FirstAnswer(conversation, first_messages(request, INPUTS, ""), reading(request, INPUTS))
        await asyncio.wait_for(answer.head(), 60)
        release.set()
        await answer.code()
    code = "".join(text for stage, text in heard if stage == "code")
    assert code.removesuffix("\n```") == BODY


@pytest.mark.parametrize("stop_before", [True, False])
async def test_an_answer_that_is_stopped_leaves_nothing(stop_before: bool) -> None:
    release = threading.Event()
    with ScriptedModel([Answer(fenced(BODY), hold=release)]) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        request = Request("r", "Sum it up.")
        answer = FirstAnswer(conversation, first_messages(request, INPUTS, ""), reading(request, INPUTS))
        if not stop_before:
            await asyncio.sleep(0.2)
        answer.stop()
        with pytest.raises(asyncio.CancelledError):
            await answer.head()
        release.set()


async def test_a_module_with_another_interface_than_its_docstring_is_refused_with_the_def_line() -> None:
    bad = f"```python\n{HEAD}\ndef run(orders):\n    return 1\n```"
    with ScriptedModel([bad, fenced(BODY)]) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        request = Request("r", "Sum it up.")
        answer = FirstAnswer(conversation, first_messages(request, INPUTS, ""), reading(request, INPUTS))
        assert await answer.code() == f"{BODY}\n"
    complaint = endpoint.requests[1]["messages"][-1]["content"]
    assert (
        "`run` lacks the parameter sales, status" in complaint and "`def run(sales: pd.DataFrame, status" in complaint
    )


async def test_an_answer_that_never_has_a_plan_ends_with_the_reason() -> None:
    with ScriptedModel(["I cannot do this."] * 3) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        request = Request("r", "Sum it up.")
        answer = FirstAnswer(conversation, first_messages(request, INPUTS, ""), reading(request, INPUTS))
        with pytest.raises(UnusableAnswer, match="unusable, also after 2 repairs"):
            await answer.head()


@pytest.mark.local_sandbox
async def test_tests_are_asked_for_before_the_code_is_complete(runner: Runner) -> None:
    seen: list[Any] = []
    produced = await runner.generate(
        {
            "code": [fenced(f'"""Add up.\n\nAssumptions:\n- A missing price is 0.\n"""\n{CODE}')],
            "tests": [fenced(TESTS)],
        },
        samples={"sales": sales()},
        hear=seen.append,
    )
    assert produced.report.success and produced.asked == ["code", "tests"]
    assert produced.plan.assumptions == ("A missing price is 0.",) and produced.code.strip() == CODE
    stages = [event.stage for event in seen if isinstance(event, StageStarted)]
    assert stages[:2] == ["plan", "code"]
    kinds = [type(event) for event in seen]
    assert kinds.index(PlanReady) < kinds.index(SourceWritten)
