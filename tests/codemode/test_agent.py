import asyncio
import time

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent
from tests.scripted_model import ScriptedModel


def plus(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fetch(day: str) -> list[dict[str, float]]:
    """Prices of a day."""
    await asyncio.sleep(0)
    if day == "never":
        raise ValueError("no such day")
    return [{"price": 1.5}]


@pytest.fixture
def ask(tmp_path):
    """Runs a request with these tools against these answers; gives the result and what the model was sent."""

    def run(answers, tools=(plus, fetch), message="Do it.", history=(), **settings):
        with ScriptedModel(answers) as model:
            agent = CodeModeAgent(tools, model="openai/scripted", api_base=model.url, **settings)
            result = agent.run(message, history, journal_root=tmp_path / ".autocode")
        assert isinstance(result, AgentResult)
        return result, model.requests

    return run


def test_a_block_is_run_and_prose_is_the_final_answer(ask):
    result, requests = ask(["```python\nx = plus(1, 2)\nprint('it is', x)\nx * 2\n```", "It is 6."])
    assert (result.summary, result.value, result.output) == ("It is 6.", 6, "it is 3\n")
    assert (result.state, result.error, result.attempts, result.turns) == ("ready", None, 1, 2)
    told = requests[1]["messages"][-1]["content"]
    assert "it is 3" in told
    assert told.endswith("Value of the last expression:\n6")


def test_the_same_request_again_asks_no_model_and_calls_no_tool(ask):
    called = []

    def count(x: int) -> int:
        called.append(x)
        return x + 1

    first, asked = ask(["```python\ncount(1)\n```", "Two."], [count])
    second, asked_again = ask([], [count])
    assert (len(asked), len(asked_again), called) == (2, 0, [1])
    assert (second.summary, second.value, second.calls[0].replayed) == (first.summary, 2, True)


def test_plain_and_async_tools_run_side_by_side_where_the_code_gathers_them(ask):
    at_once, most = [], []

    def slow(x: int) -> int:
        at_once.append(x)
        time.sleep(0.1)
        most.append(len(at_once))
        at_once.remove(x)
        return x

    async def slow_too(x: int) -> int:
        return await asyncio.to_thread(slow, x)

    code = (
        "```python\nimport asyncio\n"
        "await asyncio.gather(asyncio.to_thread(slow, 1), asyncio.to_thread(slow, 2), slow_too(3))\n```"
    )
    result, _ = ask([code, "Done."], [slow, slow_too])
    assert result.value == [1, 2, 3]
    assert max(most) == 3
