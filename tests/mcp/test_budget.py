"""What the person allows is spent once, whatever an agent asks at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from autocoder_jupyter.mcp.answers import FunctionVerdict
from autocoder_jupyter.mcp.link import Busy

if TYPE_CHECKING:
    from autocoder_jupyter.mcp.server import Tools


def tools_of(link: Any, *, making: str = "") -> Tools:
    from autocoder_jupyter.mcp.server import SessionBudget, Tools

    return Tools(link, "schema", (), SessionBudget(1.0, making=making))


class HeldLink:
    """Answers when the test says so, in the order that the test wants."""

    def __init__(self) -> None:
        self.asked: list[tuple[Mapping[str, Any], asyncio.Future[dict[str, Any]]]] = []

    async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.asked.append((asked, answered))
        return await answered

    async def tells(self, tool: str, *, done: bool, cost: float) -> None:
        """Answer the oldest question for a tool."""
        await asyncio.sleep(0)
        found = next(one for one in self.asked if one[0]["tool"] == tool)
        self.asked.remove(found)
        verdict = FunctionVerdict(name="total", state="", headline="", done=done, cost=cost)
        found[1].set_result({"ok": verdict.model_dump()})
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_a_verdict_on_the_function_before_does_not_end_the_count_of_the_next() -> None:
    async def both() -> None:
        link = HeldLink()
        tools = tools_of(link)
        stale = asyncio.create_task(tools.verdict("total"))
        making = asyncio.create_task(tools.make("total", "It.", {}))
        await asyncio.sleep(0)
        early = asyncio.create_task(tools.verdict("total"))
        await link.tells("verdict", done=True, cost=0.1)  # that of the function that is replaced
        await link.tells("make", done=False, cost=0.0)
        await link.tells("verdict", done=True, cost=0.1)
        await asyncio.gather(stale, early, making)
        assert (tools.budget.left, tools.budget.making) == (1.0, "total")
        now = asyncio.create_task(tools.verdict("total"))
        await link.tells("verdict", done=True, cost=0.4)
        await now
        assert (tools.budget.left, tools.budget.making) == (0.6, "")

    asyncio.run(both())


def test_a_busy_kernel_costs_nothing() -> None:
    class BusyLink:
        async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
            raise Busy("The kernel is busy with a cell.")

    from mcp.server.mcpserver.exceptions import ToolError

    tools = tools_of(BusyLink(), making="total")
    with pytest.raises(ToolError, match="busy"):
        asyncio.run(tools.make("other", "It.", {}))
    assert (tools.budget.left, tools.budget.making) == (1.0, "total")
