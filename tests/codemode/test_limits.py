"""The limits of a program. If one is exceeded, the run continues, and nothing of the program remains."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent, tool
from autocoder_jupyter.codemode import Limits, operations
from autocoder_jupyter.codemode import interpreter as module
from autocoder_jupyter.codemode.calls import ToolCalls
from autocoder_jupyter.codemode.tables import Frame
from autocoder_jupyter.codemode.values import Shown
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.run.events import Event, Finished
from tests.codemode.conftest import Ask, block, error_of
from tests.scripted_model import Answer, ScriptedModel


def one() -> int:
    return 1


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process ids of the sandboxes that are started."""
    found: list[int] = []
    enter = module.CodeInterpreter.__enter__

    def entered(self: module.CodeInterpreter) -> module.CodeInterpreter:
        result = enter(self)
        assert self._pid is not None
        found.append(self._pid)
        return result

    monkeypatch.setattr(module.CodeInterpreter, "__enter__", entered)
    return found


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 seconds")


@pytest.mark.parametrize(
    ("code", "limit", "said"),
    [
        ("while True:\n    pass", {"seconds": 0.3}, "TimeoutError"),
        ("x = [0] * 10**9", {}, "MemoryError"),
        ("x = []\nwhile True:\n    x.append('x' * 1000)", {"memory": "32Mi"}, "MemoryError"),
        ("10 ** 10 ** 8", {"memory": "32Mi"}, "MemoryError"),
        ("x = 10 ** 10 ** 7\ny = x * x % 7", {"seconds": 0.2}, "TimeoutError"),
    ],
    ids=["endless", "a huge list", "memory bit by bit", "a huge number", "one long operation"],
)
def test_a_block_that_wants_too_much_is_stopped_and_what_was_defined_before_is_there(
    ask: Ask, code: str, limit: dict[str, Any], said: str
) -> None:
    answers = [block("kept = one() + 6"), block(code), block("kept"), "Done."]
    result = ask(answers, [one], limits=Limits(**limit))
    assert (result.value, [one.ok for one in result.blocks]) == (7, [True, False, True])
    assert said in error_of(result.blocks[1])
    assert "What this block defined is gone" in result.blocks[1].observed
    assert len(result.calls) == 1


def test_recursion_is_limited_and_can_be_caught(ask: Ask) -> None:
    code = "def f(n):\n    return f(n + 1)\ntry:\n    f(0)\nexcept RecursionError:\n    x = 'caught'\nx"
    assert ask([block(code), "Done."], limits=Limits(depth=50)).value == "caught"


def test_calls_are_limited_and_the_error_can_be_caught(ask: Ask) -> None:
    called = []
    code = (
        "x = 0\ntry:\n    for _ in range(10):\n        x += count()\nexcept RuntimeError as error:\n    print(error)\nx"
    )

    def count() -> int:
        called.append(1)
        return 1

    result = ask([block(code), "Done."], [count], limits=Limits(calls=3))
    assert (result.value, len(called), [call.outcome for call in result.calls]) == (3, 3, ["ok"] * 3 + ["failed"])
    assert "the run has made its 3 calls" in result.output


def test_a_program_that_catches_that_for_ever_is_stopped(ask: Ask) -> None:
    code = "while True:\n    try:\n        one()\n    except Exception:\n        pass"
    result = ask([block(code), "Done."], [one], limits=Limits(calls=2, steps=50))
    assert re.search("suspension|RuntimeError", error_of(result.blocks[0])), error_of(result.blocks[0])
    assert len(result.calls) <= 50


@pytest.mark.parametrize(
    "make",
    [lambda: list(range(2_000_000)), lambda: "x" * 60_000_000, lambda: {i: str(i) for i in range(400_000)}],
    ids=["list", "text", "dict"],
)
def test_a_value_too_large_for_the_sandbox_is_refused_before_it_crosses(
    ask: Ask, pids: list[int], make: Callable[[], Any]
) -> None:
    def load() -> Any:
        return make()

    code = "try:\n    load()\nexcept ValueError as error:\n    print(error)\n'alive'"
    result = ask([block("kept = 1"), block(code), block("kept"), "Done."], [load])
    assert "load gave more than the sandbox can take: over 64 MiB of values" in result.output
    assert (result.value, len(pids)) == (1, 1)


def test_many_values_that_end_the_sandbox_together_cost_the_block_and_not_the_run(ask: Ask) -> None:
    def load() -> str:
        return "x" * 25_000_000

    code = "xs = []\nwhile True:\n    xs.append(load() + 'y')"
    result = ask([block("kept = 1"), block(code), block("kept"), "Done."], [load])
    assert "MemoryError" in error_of(result.blocks[1])
    assert result.value == 1


def test_the_seconds_of_a_run_are_limited_and_no_process_is_left(ask: Ask, pids: list[int]) -> None:
    over = threading.Event()

    def slow() -> None:
        over.wait(60)

    try:
        result = ask([block("slow()")], [slow], max_seconds=5)
    finally:
        over.set()
    assert (result.state, result.attempts, result.blocks[0].ok) == ("over_budget", 1, False)
    assert result.calls[0].outcome == "cancelled"
    assert "The run exceeded its limit of 5 seconds" in error_of(result)
    assert not any(map(is_running, pids))


def test_cancelling_ends_the_sandbox_and_the_model_is_not_asked_again(root: Path, pids: list[int]) -> None:
    begun = threading.Event()

    async def cancelled() -> int:
        def started() -> None:
            begun.set()

        with ScriptedModel([block("started()\nwhile True:\n    pass"), "Done."]) as model:
            agent = CodeModeAgent([started], model="openai/scripted", api_base=model.url)
            task = asyncio.ensure_future(agent.run.aio("Do it.", journal_root=root))
            await asyncio.to_thread(begun.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(model.requests)

    assert asyncio.run(cancelled()) == 1
    assert pids
    wait_until(lambda: not any(map(is_running, pids)))


@pytest.mark.parametrize(
    "program", ["send('all')", "x = orders.sort('price')\nsend(x)"], ids=["a call", "an operation"]
)
def test_no_call_begins_after_a_cancel_whatever_the_kernel_was_doing(
    root: Path, pids: list[int], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """The arguments of a large call, and the operations on a table, take the kernel seconds, on another thread."""
    busy, events, sent = threading.Event(), list[Event](), list[Any]()

    @tool(effects=True)
    def send(what: Any) -> str:
        sent.append(what)
        return "sent"

    def slow(function: Any) -> Any:
        def slowed(*args: Any, **kwargs: Any) -> Any:
            busy.set()
            wait_until(lambda: not any(map(is_running, pids)))
            return function(*args, **kwargs)

        return slowed

    monkeypatch.setattr(Shown, "arguments", slow(Shown.arguments))
    monkeypatch.setattr(operations, "ordered", slow(operations.ordered))
    begin = ToolCalls.call

    def with_a_pause(*args: Any) -> Any:
        future = begin(*args)
        time.sleep(0.3)  # the event loop runs on before this thread looks whether the program has ended
        return future

    monkeypatch.setattr(ToolCalls, "call", with_a_pause)

    async def cancelled() -> None:
        with ScriptedModel([block(program), "Done."]) as model:
            agent = CodeModeAgent([send], model="openai/scripted", api_base=model.url)
            frames = {"orders": pd.DataFrame({"price": [2, 1]})}
            task = asyncio.ensure_future(
                agent.run.aio("Do it.", frames=frames, on_event=events.append, journal_root=root)
            )
            await asyncio.to_thread(busy.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(wait_until, lambda: any(isinstance(event, Finished) for event in events))
            # A call that was started on the loop would be there before what is started after it.
            await asyncio.wrap_future(background.submit(asyncio.sleep(0.5)))

    asyncio.run(cancelled())
    assert pids
    assert sent == []


def test_the_seconds_of_operations_on_tables_are_limited_and_the_program_does_not_see_it(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    operate = Frame.sort

    def sort(self: Frame, *args: Any, **kwargs: Any) -> Any:
        done.append("sort")
        time.sleep(0.05)
        return operate(self, *args, **kwargs)

    monkeypatch.setattr(Frame, "sort", sort)
    code = "for i in range(1000):\n    try:\n        orders.sort('price')\n    except BaseException:\n        pass\n1"
    frames = {"orders": pd.DataFrame({"price": [2, 1]})}
    result = ask([block(code), "Done."], frames=frames, limits=Limits(table_seconds=0.2))
    assert (result.state, len(ask.requests), result.value) == ("over_budget", 1, None)
    assert len(done) <= 5
    assert "limits.table_seconds" in error_of(result)
    # The next run asks again, and does not restore what ended the first.
    monkeypatch.setattr(Frame, "sort", operate)
    again = ask(
        [block("orders.sort('price').count()"), "Done."], message="Else.", history=result.history, frames=frames
    )
    assert again.value == 2


def test_tokens_are_limited_before_the_request_goes_out(ask: Ask) -> None:
    result = ask(["Done."], max_tokens=100)
    assert (result.state, len(ask.requests)) == ("over_budget", 0)
    assert "max_tokens" in error_of(result)


def test_money_cannot_be_limited_where_no_price_is_known(ask: Ask) -> None:
    result = ask(["Done."], max_cost=0.01)
    assert (result.state, len(ask.requests)) == ("failed", 0)
    assert "price" in error_of(result)


def test_money_is_counted_and_limited(ask: Ask) -> None:
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
    result = ask([block("1"), "Done."], max_cost=1.0, litellm_params=prices)
    assert result.usage.cost is not None
    assert 0 < result.usage.cost < 0.01
    assert ask(["Done."], message="Else.", max_cost=0.0005, litellm_params=prices).state == "over_budget"


def test_passing_faults_of_the_service_are_waited_out(ask: Ask) -> None:
    events: list[Event] = []
    answers: list[str | Answer] = [Answer(status=429, headers={"retry-after": "0"}), "Done."]
    assert ask(answers, on_event=events.append).summary == "Done."
    assert any(type(event).__name__ == "Retrying" for event in events)


def test_a_forgotten_await_is_found_before_anything_runs(ask: Ask) -> None:
    called = []

    async def fetch(day: str) -> int:
        called.append(day)
        return 1

    result = ask([block("x = fetch('a')\nx + 1"), "Done."], [fetch])
    assert "line 2: this call must be awaited" in error_of(result.blocks[0])
    assert called == []


def test_a_call_that_is_never_awaited_is_an_error_with_its_line(ask: Ask) -> None:
    async def fetch(day: str) -> int:
        return 1

    result = ask([block("y = 1\nprint(fetch('a'))"), "Done."], [fetch])
    assert "the result of fetch(…) in line 2 was never awaited" in error_of(result.blocks[0])


def test_arguments_that_a_tool_has_not_are_found_before_anything_runs(ask: Ask) -> None:
    result = ask([block("one()\none(1, x=2)"), "Done."], [one])
    assert "line 2: TypeError: Too many positional arguments to function `one`" in error_of(result.blocks[0])
    assert result.calls == ()


def test_that_a_variable_changes_its_type_is_no_error(ask: Ask) -> None:
    code = "x = 1\nx = 'a'\nrows = [1, 'b', None]\ny = rows[0] + 1\nsum(r['n'] for r in [{'n': 1, 's': 'a'}])"
    assert ask([block(code), block("x = None\nx is None"), "Done."]).value is True
    assert ask.told.endswith("True")


def test_the_clock_and_chance_of_the_sandbox_are_the_same_in_a_replay(ask: Ask) -> None:
    code = "import datetime, random, time\n(datetime.datetime.now(), random.random(), time.time())"
    assert ask([block(code), "Done."]).value == ask([], locked=True).value


def test_sleep_does_not_hold_the_run_up(ask: Ask) -> None:
    assert ask([block("import time, asyncio\ntime.sleep(3600)\nawait asyncio.sleep(3600)\n1"), "Done."]).value == 1


def test_the_environment_of_the_notebook_is_not_there(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    result = ask([block("import os\nos.environ.get('SECRET_KEY'), os.getenv('HOME')"), "No."])
    assert "hunter2" not in str(result)
    assert os.environ["HOME"] not in (result.blocks[0].error or "")
