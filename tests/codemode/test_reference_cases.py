"""Cases that failed in Flyte's code mode, one per row: the model's answer, and the required result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from autocoder_jupyter import CodeModeAgent, tool
from autocoder_jupyter.codemode.values import Shown
from tests.codemode.conftest import Ask, block, error_of


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def broken() -> int:
    """Fails."""
    raise ValueError("the service is down")


def negative(x: int) -> int:
    """The negative."""
    return -x


def is_even(x: int) -> bool:
    """Whether it is even."""
    return x % 2 == 0


@tool(ask=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@dataclass(frozen=True)
class Case:
    """Answers of the model, and the required result. `told` are parts of the messages to the model, the last first."""

    answers: list[str]
    value: Any = None
    told: list[str] = field(default_factory=list)
    summary: str = "Done."
    tools: Any = (add, broken, negative, is_even, pay)
    attempts: int = 1
    error: str | None = None


CASES = {
    "a renamed tool is called by its new name": Case([block("plus(1, 2)"), "Done."], value=3, tools={"plus": add}),
    "a tool is unknown by its old name": Case(
        [block("add(1, 2)"), "Done."], tools={"plus": add}, told=["NameError: name 'add' is not defined"]
    ),
    "prose is the final answer and is not run": Case(["print = 3"], summary="print = 3", attempts=0),
    "a fence with py is run": Case(["```py\nadd(1, 2)\n```", "Done."], value=3),
    "a fence without a language is run": Case(["```\nadd(1, 2)\n```", "Done."], value=3),
    "a fence with capitals is run": Case(["```Python\nadd(1, 2)\n```", "Done."], value=3),
    "a fence of tildes is run": Case(["~~~python\nadd(1, 2)\n~~~", "Done."], value=3),
    "a fence that is not closed is run": Case(["So:\n```python\nadd(1, 2)", "Done."], value=3),
    "a fence in a text of the code does not end it": Case(
        ["````python\n'''\n```\n'''\nadd(1, 2)\n````", "Done."], value=3
    ),
    "of two blocks the first is run, and the model is told": Case(
        [block("add(1, 2)") + "\n" + block("add(3, 4)"), "Done."],
        value=3,
        told=["Only the first of your code blocks was run"],
    ),
    "a block of bash is not run as Python, and the model is told": Case(
        ["```bash\nls\n```", "Done."], attempts=0, told=["A block of 'bash' is not run"]
    ),
    "bash beside Python does not keep Python from being run": Case(
        ["```bash\nls\n```\nor\n" + block("add(1, 2)"), "Done."], value=3
    ),
    "an empty block is told, not run": Case(["```python\n\n```", "Done."], attempts=0, told=["was empty"]),
    "an empty answer is told": Case(["  ", "Done."], attempts=0, told=["Your answer was empty"]),
    "variables are there in the next turn": Case(
        [block("x = add(1, 2)\ndef twice(y):\n    return 2 * y\nimport math"), block("math.floor(twice(x))"), "Done."],
        value=6,
        attempts=2,
    ),
    "what a block had defined before it failed is there": Case(
        [block("x = 5\nbroken()"), block("x"), "Done."], value=5, attempts=2, told=["5"]
    ),
    "print is observed": Case([block("print('a', 1)\nprint('b')"), "Done."], told=["Output:\na 1\nb"]),
    "a set keeps its type": Case([block("{1, 2}"), "Done."], value={1, 2}, told=["{1, 2}"]),
    "a tuple keeps its type": Case([block("(1, (2,))"), "Done."], value=(1, (2,)), told=["(1, (2,))"]),
    "bytes keep their type": Case([block("b'ab'"), "Done."], value=b"ab", told=["b'ab'"]),
    "keys of a dict keep their type": Case([block("{(1, 2): None}"), "Done."], value={(1, 2): None}),
    "a tool's error can be caught, with its type": Case(
        [block("try:\n    broken()\nexcept ValueError as error:\n    caught = str(error)\ncaught"), "Done."],
        value="the service is down",
    ),
    "an error that is not caught goes back with its line": Case(
        [block("x = 1\nbroken()"), "Done."],
        told=["line 2, in <module>\n    broken()", "ValueError: the service is down"],
    ),
    "an unknown function can be caught": Case(
        [block("try:\n    nothing()\nexcept NameError:\n    x = 'caught'\nx"), "Done."], value="caught"
    ),
    "an unknown function goes back with its line": Case(
        [block("nothing()"), "Done."], told=["NameError: name 'nothing' is not defined"]
    ),
    "a tool is a value": Case([block("f = add\n[g(1, 2) for g in (f, add)]"), "Done."], value=[3, 3]),
    "map takes a tool": Case([block("list(map(add, [1, 2], [3, 4]))"), "Done."], value=[4, 6]),
    "filter takes a tool": Case([block("list(filter(is_even, range(5)))"), "Done."], value=[0, 2, 4]),
    "sorted takes a tool as its key": Case([block("sorted([1, 3, 2], key=negative)"), "Done."], value=[3, 2, 1]),
    "sorted is stable in reverse too": Case(
        [block("sorted([(1, 'a'), (0, 'b'), (1, 'c')], key=lambda row: row[0], reverse=True)"), "Done."],
        value=[(1, "a"), (1, "c"), (0, "b")],
    ),
    "min and max take a tool as their key": Case(
        [block("min([1, 3], key=negative), max(1, 3, key=negative), max([], default=0)"), "Done."], value=(3, 1, 0)
    ),
    "a function of the program may call a tool inside sorted": Case(
        [block("def key(x):\n    return add(negative(x), 0)\nsorted([1, 3, 2], key=key)"), "Done."], value=[3, 2, 1]
    ),
    "where a tool cannot be called the model is told how to do it": Case(
        [block("x = [2, 1]\nx.sort(key=negative)"), "Done."], told=["cannot be called from inside a method"]
    ),
    "a tool that needs consent is not called without, and that can be caught": Case(
        [block("try:\n    pay(5)\nexcept PermissionError as error:\n    x = str(error)\nx"), "Done."],
        value="pay was not called: it needs a person's consent, and there is nobody to ask.",
    ),
    "match, csv, decimal, random and try are there": Case(
        [
            block(
                "import csv, decimal, random\nmatch 3:\n    case 3:\n        x = decimal.Decimal('1.5')\n"
                "str(x), list(csv.reader(['a,b'])), 0 <= random.random() < 1"
            ),
            "Done.",
        ],
        value=("1.5", [["a", "b"]], True),
    ),
    "failures are counted anew after a block that ran": Case(
        [block("1 / 0"), block("1 / 0"), block("1"), block("1 / 0"), block("1 / 0"), "Done."], value=1, attempts=5
    ),
    "one more failure than may be ends the run": Case(
        [block("1 / 0")] * 3, summary="", attempts=3, error="3 answers in a row could not be run"
    ),
    "a run without a final answer ends after its turns": Case(
        [block("1")] * 10, value=1, summary="", attempts=10, error="no final answer after 10 turns"
    ),
    "what is given after the last expression is None": Case([block("x = 3"), "Done."], told=["printed nothing"]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_case_of_the_reference(ask: Ask, case: Case) -> None:
    result = ask(case.answers, case.tools)
    assert result.value == case.value
    assert type(result.value) is type(case.value)
    assert (result.summary, result.attempts) == (case.summary, case.attempts)
    assert result.error is None if case.error is None else case.error in error_of(result)
    said = [message["content"] for request in ask.requests for message in request["messages"]]
    for part in case.told:
        assert any(part in text for text in said), said[1:]


def test_all_failures_are_in_what_the_model_is_told(ask: Ask) -> None:
    result = ask([block("1 / 0"), block("nothing"), "No."])
    last = "\n".join(message["content"] for message in ask.requests[-1]["messages"])
    assert "ZeroDivisionError" in last
    assert "name 'nothing'" in last
    assert "1 / 0" in last
    assert [one.ok for one in result.blocks] == [False, False]


def test_a_renamed_tool_has_one_name_in_prompt_descriptions_and_sandbox() -> None:
    agent = CodeModeAgent({"plus": add})
    assert "def plus(a: int, b: int) -> int:" in agent.system_prompt
    assert "add(" not in agent.system_prompt
    assert agent.tool_descriptions() == [
        {"name": "plus", "signature": "plus(a: int, b: int) -> int", "description": "Add two numbers."}
    ]
    assert list(agent.tools) == ["plus"]


def test_an_observation_has_beginning_and_end_and_is_never_longer_than_its_limit(ask: Ask) -> None:
    result = ask([block("print('first', 'x' * 3_000_000, 'last')\n'y' * 1_000_000"), "Done."])
    observed = result.blocks[0].observed
    assert len(observed) < 2 * 8_000 + 200
    assert "first" in observed
    assert "characters left out" in observed
    assert "dropped" in result.output


def test_lists_in_lists_are_not_written_out_whole() -> None:
    many = [[list(range(1_000))] * 1_000] * 1_000  # a billion numbers
    written = Shown(8_000, shapes=True).value_for_model(many)
    assert written.startswith("[[[0, 1, 2,")
    assert len(written) < 9_000
