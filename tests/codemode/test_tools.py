"""Which objects can be tools, their names, and what the model sees of them."""

from __future__ import annotations

import contextvars
import datetime as dt
import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent, tool
from autocoder_jupyter.codemode.tools import declaration, stubs, toolbox
from autocoder_jupyter.errors import InvalidRequest
from tests.cases import each
from tests.codemode.conftest import Ask, block


def rate(currency: str, day: dt.date | None = None, *, exact: bool = False) -> float:
    """The rate of a currency.

    Args:
        currency: its code.
    """
    return 1.5 if exact else 1.0


async def news(*words: str, limit: int = 5, **more: Any) -> list[dict[str, Any]]:
    return [{"words": words, "limit": limit, **more}]


def table(prices: pd.DataFrame, columns: Sequence[str], kind: Literal["a", "b"] = "a") -> tuple[pd.Series, Decimal]:
    return prices[columns[0]], Decimal(1)


def strange(  # type: ignore[no-untyped-def]
    thing: Nowhere,  # type: ignore[name-defined]  # noqa: F821
    other: object,
    at: Any = ...,
    /,
    long: str = "x" * 100,
):
    return None


class Adder:
    """Adds."""

    def __init__(self, by: int) -> None:
        self.by = by

    def add(self, x: int) -> int:
        """Add to it."""
        return x + self.by

    async def __call__(self, x: int) -> int:
        return x + self.by


@each(
    ("target", "expected"),
    [
        (rate, "def rate(currency: str, day: datetime.date | None = None, *, exact: bool = False) -> float"),
        (news, "async def news(*words: str, limit: int = 5, **more: Any) -> list[dict[str, Any]]"),
        (
            table,
            "def table(prices: Frame, columns: Sequence[str], kind: Literal['a', 'b'] = 'a') "
            "-> tuple[Frame, decimal.Decimal]",
        ),
        (strange, "def strange(thing: Any, other: Any, at: Any = ..., /, long: str = ...) -> Any"),
        (Adder(1).add, "def add(x: int) -> int"),
    ],
)
def test_the_model_sees_name_and_signature(target: Callable[..., Any], expected: Any) -> None:
    [made] = toolbox([target]).values()
    assert declaration(made) == expected


def test_the_sandbox_understands_every_signature(ask: Ask) -> None:
    tools: list[Callable[..., Any]] = [rate, news, table, strange, Adder(1).add]
    compile(stubs(toolbox(tools).values(), ["prices"]), "stubs", "exec")
    result = ask([block("rate('EUR', exact=True), await news('a', 'b', far=1), add(2)"), "Done."], tools)
    assert result.value == (1.5, [{"words": ("a", "b"), "limit": 5, "far": 1}], 3)


def test_descriptions_have_the_first_paragraph_and_the_prompt_has_all_of_it() -> None:
    agent = CodeModeAgent([rate, news])
    first, second = agent.tool_descriptions()
    assert first == {
        "name": "rate",
        "signature": "rate(currency: str, day: datetime.date | None = None, *, exact: bool = False) -> float",
        "description": "The rate of a currency.",
    }
    assert (second["name"], second["description"]) == ("news", "")
    assert "    Args:\n        currency: its code." in agent.system_prompt


@each(
    ("tools", "said"),
    [
        ([rate, rate], "Two tools have the name 'rate'"),
        ({"two words": rate}, "'two words'"),
        ({"class": rate}, "keyword"),
        ({"print": rate}, "already a name of Python"),
        ({"sorted": rate}, "already a name of Python"),
        ({"call": rate}, "already a name of code mode"),
        ({"to_thread": rate}, "already a name of code mode"),
        ({"_rate": rate}, "underscore"),
        ({3: rate}, "3"),
        ([lambda x: x], "<lambda>"),
        ([3], "is not a function"),
        ([Adder], "is not a function"),
        (3, "must be a list"),
        ({"least": min}, "signature of least cannot be read"),
        ([functools.partial(rate, "EUR"), functools.partial(rate, "USD")], "Two tools"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_reason(tools: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        CodeModeAgent(tools)


def test_partials_methods_and_callable_objects_are_tools(ask: Ask) -> None:
    tools = {"euro": functools.partial(rate, "EUR"), "adder": Adder(2), "add": Adder(3).add}
    result = ask([block("euro(exact=True), await adder(1), add(1)"), "Done."], tools)
    assert result.value == (1.5, 3, 4)


def test_a_plain_function_that_gives_a_coroutine_is_awaited(ask: Ask) -> None:
    async def slow() -> int:
        return 7

    assert ask([block("quick()"), "Done."], {"quick": lambda: slow()}).value == 7


def test_tool_marks_a_function_and_leaves_it_as_it_is() -> None:
    @tool(ask=True, effects=True, name="send", description="Send it.")
    def send_mail(to: str) -> str:
        """Ours."""
        return to

    assert send_mail("x") == "x"
    [made] = toolbox([send_mail]).values()
    assert (made.name, made.description, made.ask, made.effects) == ("send", "Send it.", True, True)
    prompt = CodeModeAgent([send_mail]).system_prompt
    assert "The user is asked before each call." in prompt
    assert "It changes something outside" in prompt
    assert list(toolbox({"post": send_mail})) == ["post"]
    assert tool(rate) is rate


@each("marks", [{"ask": 1}, {"effects": "yes"}, {"name": "two words"}, {"description": " "}], ids=str)
def test_a_mark_that_cannot_be_is_named(marks: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(marks))):
        tool(**marks)


def test_what_cannot_be_marked_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="marks a function"):
        tool(3)  # type: ignore[call-overload]
    with pytest.raises(InvalidRequest, match="cannot be marked"):
        tool(ask=True)(len)


class Gone(ConnectionError):
    """Of somebody's library."""


@pytest.mark.parametrize(
    ("error", "caught", "said"),
    [
        (ValueError("no"), "ValueError", "no"),
        (KeyError("no"), "KeyError", "no"),
        (Gone("no"), "OSError", "Gone: no"),
        (ConnectionRefusedError("no"), "OSError", "ConnectionRefusedError: no"),
        (StopIteration("no"), "RuntimeError", "StopIteration"),
        (SystemExit(3), "RuntimeError", "SystemExit"),
        (InvalidRequest("no", hint="Do that."), "ValueError", "no Do that."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_an_error_keeps_its_type_where_the_sandbox_has_it(
    ask: Ask, error: BaseException, caught: str, said: str
) -> None:
    def fail() -> None:
        raise error

    code = f"try:\n    fail()\nexcept {caught} as error:\n    x = str(error.args[0])\nx"
    assert said in ask([block(code), "Done."], [fail]).value


def test_to_thread_takes_plain_tools_only(ask: Ask) -> None:
    code = (
        "import asyncio\nasync def trial(f):\n    try:\n        return await asyncio.to_thread(f, 'a')\n"
        "    except TypeError as error:\n        return str(error)\n[await trial(f) for f in (news, len, trial)]"
    )
    result = ask([block(code), "Done."], [news, rate])
    assert result.value[0] == "news is async: await it as it is, without to_thread"
    assert result.value[1].startswith("to_thread takes a tool")
    assert result.value[2].startswith("to_thread takes a tool")


class FlyteTask:
    """The documented interface of a task of Flyte 2 outside of a run: `func`, and a call that just calls it."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


FlyteTask.__module__ = "flyte._task"


async def price(day: str) -> float:
    """The price of a day."""
    return 2.5


def double(x: float) -> float:
    """Twice as much."""
    return 2 * x


def task_of(func: Any) -> Any:
    return FlyteTask(func)


def real_task_of(func: Any) -> Any:
    flyte = pytest.importorskip("flyte", reason="flyte is not installed")
    return flyte.TaskEnvironment(name="tools").task(func)


@pytest.mark.parametrize("task_of", [task_of, real_task_of])
def test_tasks_of_flyte_have_the_signature_of_their_function_and_are_called(
    ask: Ask, task_of: Callable[[Any], Any]
) -> None:
    tasks = [task_of(price), task_of(double)]
    agent = CodeModeAgent(tasks)
    assert agent.uses_flyte_tools()
    assert not CodeModeAgent([rate]).uses_flyte_tools()
    assert [tool["signature"] for tool in agent.tool_descriptions()] == [
        "price(day: str) -> float",
        "double(x: float) -> float",
    ]
    assert ask([block("double(await price('a'))"), "Done."], tasks).value == 5.0


def test_a_tool_finds_the_context_variables_of_who_began_the_run(ask: Ask) -> None:
    where = contextvars.ContextVar("where", default="nowhere")

    async def awaited() -> str:
        return where.get()

    where.set("here")
    assert ask(
        [block("plain(), await awaited()"), "Done."], {"plain": lambda: where.get(), "awaited": awaited}
    ).value == (
        "here",
        "here",
    )
