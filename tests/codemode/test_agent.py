"""A run: blocks of code are executed, text is the answer, and no recorded step is repeated."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent
from autocoder_jupyter.codemode import Limits
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.run.events import (
    CodeEnded,
    CodeStarted,
    Event,
    Finished,
    FunctionCalled,
    NoAnswerYet,
    TokensUsed,
    ToolEnded,
)
from tests.cases import each
from tests.codemode.conftest import Ask, block, error_of
from tests.scripted_model import Answer


def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fetch(day: str) -> list[dict[str, float]]:
    """Prices of a day."""
    await asyncio.sleep(0)
    if day == "never":
        raise ValueError("no such day")
    return [{"price": 1.5}]


def test_a_block_is_run_and_prose_is_the_final_answer(ask: Ask) -> None:
    result = ask([block("x = plus(1, 2)\nprint('it is', x)\nx * 2"), "It is 6."], [plus])
    assert isinstance(result, AgentResult)
    assert (result.summary, result.value, result.output) == ("It is 6.", 6, "it is 3\n")
    assert (result.state, result.error, result.attempts, result.turns) == ("ready", None, 1, 2)
    assert ask.told == "Output:\nit is 3\n\nValue of the last expression:\n6"


def test_the_house_rules_that_apply_are_sent_with_the_request_and_named_in_the_answer(ask: Ask, root: Path) -> None:
    rules = root.parent / "team.md"
    rules.write_text("# Orders\nAn order counts in the month of `paid_at`.\n\n# Stores\nStore 99 is a test store.\n")
    result = ask(["Two."], message="How many orders?", rules=rules)
    assert "paid_at" in ask.told and "test store" not in ask.told
    assert result.notes == ("House rule: Orders: An order counts in the month of `paid_at`.",)
    (root.parent / "autocode.md").write_text("# Orders\nA draft is no order.\n")
    with pytest.warns(UserWarning, match="you have not agreed to this text"):
        ask(["Three."], message="How many orders?")
    assert "draft" not in ask.told


def test_a_model_that_says_nothing_is_told_until_it_answers(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocoder_jupyter.models.silence.SILENT_SECONDS", 0.01)
    told: list[Event] = []
    release = threading.Event()

    def hear(event: Event) -> None:
        told.extend([event] if isinstance(event, NoAnswerYet) else [])
        if event == NoAnswerYet(("tools",)):
            release.set()

    assert ask([Answer("It is done.", hold=release)], on_event=hear).summary == "It is done."
    assert told == [NoAnswerYet(("tools",)), NoAnswerYet(())]


def test_a_dict_with_a_summary_is_the_final_answer_with_its_charts(ask: Ask) -> None:
    result = ask([block("{'summary': 'Six.', 'charts': ['<svg/>'], 'total': 6}")])
    assert (result.summary, result.charts, result.value["total"], result.turns) == ("Six.", ("<svg/>",), 6, 1)


def test_charts_that_are_no_texts_are_told_to_the_model(ask: Ask) -> None:
    result = ask([block("{'summary': 'Six.', 'charts': [1]}"), block("{'summary': 'Six.'}")])
    assert '"charts" must be a list of texts' in ask.told
    assert (result.summary, result.attempts, result.blocks[0].ok) == ("Six.", 2, False)


def test_what_a_run_does_is_told_as_it_happens(ask: Ask) -> None:
    events: list[Event] = []
    ask([block("plus(1, 2)"), "Three."], [plus], on_event=events.append)
    kinds = [type(event) for event in events]
    order = [CodeStarted, FunctionCalled, ToolEnded, CodeEnded, TokensUsed, Finished]
    assert [kind for kind in kinds if kind in order] == [TokensUsed, *order]
    [called] = [event for event in events if isinstance(event, FunctionCalled)]
    [ended] = [event for event in events if isinstance(event, ToolEnded)]
    assert (called.tool, called.argument, called.line, called.call) == ("plus", "a=1, b=2", 1, ended.call)
    assert (ended.outcome, ended.observed, ended.replayed) == ("ok", "3", False)


def test_plain_and_async_tools_run_side_by_side_where_the_code_gathers_them(ask: Ask) -> None:
    running, most = [], []

    def slow(x: int) -> int:
        running.append(x)
        time.sleep(0.1)
        most.append(len(running))
        running.remove(x)
        return x

    async def slow_too(x: int) -> int:
        return await asyncio.to_thread(slow, x)

    code = "import asyncio\nawait asyncio.gather(asyncio.to_thread(slow, 1), asyncio.to_thread(slow, 2), slow_too(3))"
    result = ask([block(code), "Done."], [slow, slow_too])
    assert (result.value, max(most)) == ([1, 2, 3], 3)


def test_a_run_on_a_loop_of_its_own_is_awaited(root: Path) -> None:
    async def answer(model: str, system: str, messages: list[dict[str, str]]) -> str:
        return f"{model} was asked: {messages[-1]['content']}"

    agent = CodeModeAgent([plus], call_llm=answer, model="own/model")
    result = asyncio.run(agent.run.aio("Hello?", journal_root=root))
    assert result.summary == "own/model was asked: Hello?"
    assert result.usage.input_tokens == 0


def test_runs_of_one_agent_go_on_side_by_side_each_with_its_own_record(root: Path) -> None:
    async def answer(model: str, system: str, messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0.05)
        return block(f"plus({messages[0]['content']}, 1)") if len(messages) == 1 else "Done."

    async def both() -> list[AgentResult]:
        agent = CodeModeAgent([plus], call_llm=answer)
        return await asyncio.gather(*(agent.run.aio(words, journal_root=root) for words in ("1", "2", "3")))

    results = asyncio.run(both())
    assert [result.value for result in results] == [2, 3, 4]
    assert len({result.run_id for result in results}) == 3
    again = CodeModeAgent([plus], locked=True)
    assert [again.run(words, journal_root=root).value for words in ("1", "2", "3")] == [2, 3, 4]


def test_a_blocking_call_llm_gets_model_system_and_messages(root: Path) -> None:
    seen = []

    def answer(model: str, system: str, messages: list[dict[str, str]]) -> str:
        seen.append((model, system, messages))
        return "Yes."

    agent = CodeModeAgent([plus], call_llm=answer, model="own/model", skills=["Be brief."])
    assert agent.run("Hello?", [{"role": "user", "content": "Before."}], journal_root=root).summary == "Yes."
    [(model, system, messages)] = seen
    assert (model, system) == ("own/model", agent.system_prompt)
    assert messages == [{"role": "user", "content": "Before."}, {"role": "user", "content": "Hello?"}]


@pytest.mark.parametrize(("answer", "said"), [(lambda *_: 1 / 0, "ZeroDivisionError"), (lambda *_: 7, "not int")])
def test_a_call_llm_that_fails_is_the_error_of_the_result(root: Path, answer: Any, said: str) -> None:
    result = CodeModeAgent(call_llm=answer).run("Hello?", journal_root=root)
    assert result.state == "failed"
    assert said in error_of(result)


def test_a_model_that_cannot_be_asked_is_the_error_of_the_result(ask: Ask) -> None:
    result = ask([])
    assert (result.state, result.summary) == ("failed", "")
    assert "the script is at its end" in error_of(result)


def test_a_prefix_stands_first_as_it_is_and_the_prompt_has_no_doubled_braces(tmp_path: Path) -> None:
    skill = tmp_path / "skill.md"
    skill.write_text("Prices are in {currency}.")
    agent = CodeModeAgent([plus], system_prompt_prefix="You know {tools}.", skills=["Be brief.", skill])
    assert agent.system_prompt.startswith("You know {tools}.\n\n")
    assert agent.system_prompt.endswith("# Further instructions\nBe brief.\n\nPrices are in {currency}.")
    assert "{{" not in agent.system_prompt
    assert "def plus(a: int, b: int) -> int:\n    Add two numbers." in agent.system_prompt


def test_the_prompt_tells_how_to_give_charts_and_a_summary_and_is_the_same_each_time() -> None:
    first, second = (CodeModeAgent([plus, fetch]).system_prompt for _ in range(2))
    assert first == second
    assert '"summary"' in first
    assert '"charts"' in first


@each(
    ("settings", "said"),
    [
        ({"max_retries": -1}, "max_retries"),
        ({"max_turns": 0}, "max_turns"),
        ({"skills": "a text"}, "skills must be a list"),
        ({"skills": [__import__("pathlib").Path("/nowhere/skill.md")]}, "cannot be read"),
        ({"api_key": "sk-123"}, "NAME"),
        ({"cache": "never"}, "cache"),
        ({"share": "all"}, "share"),
        ({"name": "no name"}, "name"),
        ({"functions": {"plus": plus}}, "not a generated function"),
        ({"functions": [plus]}, "dict"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        CodeModeAgent([plus], **settings)


@each("limit", [{"memory": "1Mi"}, {"seconds": 0}, {"depth": 1}, {"calls": 0}, {"steps": 1}, {"observation": 10}])
def test_a_limit_that_is_none_is_named(limit: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=f"limits.{next(iter(limit))}"):
        Limits(**limit)


def test_history_must_be_messages(root: Path) -> None:
    with pytest.raises(InvalidRequest, match="history must be messages"):
        CodeModeAgent(call_llm=lambda *_: "Yes.").run("Hello?", ["Before."], journal_root=root)  # type: ignore[list-item]


@pytest.mark.parametrize(
    "code", ["import pandas", "def f():\n    from sklearn import linear_model\nf()", "import os\nimport numpy as np"]
)
def test_a_package_that_is_not_there_is_one_readable_error_for_the_person_and_the_model(ask: Ask, code: str) -> None:
    result = ask([block(code), block("1 + 1"), "done"])
    failed, mended = result.blocks
    last = error_of(failed).splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: No module named '") and "a frame needs no import" in last
    told = ask.requests[1]["messages"][-1]["content"]
    assert last in told and '"code"' not in told and "ty.dev" not in told
    assert mended.error is None
