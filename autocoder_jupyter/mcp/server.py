"""The tools of the server, the budget of the person, and the progress of what is made."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.mcp.answers import CallOutputs, Description, FunctionVerdict, Listing
from autocoder_jupyter.mcp.link import Busy, Link, Unanswered
from autocoder_jupyter.request import Share
from autocoder_jupyter.version import VERSION

MOST_CHARACTERS = 2**20
POLL_SECONDS = 1.0
LONGEST_WAIT = 50.0
"""Clients often give a call up after a minute."""

INSTRUCTIONS = """\
Python functions that were tested on the person's data in a sandbox, and tables to call them on. Tables are passed by
name or path, and results stay where the data are. A verdict says how far a function was verified and what speaks
against it: report its words instead of your own claim. What waits for the person (consents, questions, the budget, how
much is shared) no tool can answer: tell the person what it says, and do not work around it."""

FunctionName = Annotated[str, Field(description="The name of a function, as list gives it")]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


@dataclass
class SessionBudget:
    """What may be spent on what this server makes, in US dollars.

    Args:
        left: None if the person allowed nothing.
        making: the function that is being made, whose cost is not known yet.
        begun: how many were begun.
    """

    left: float | None
    making: str = ""
    begun: int = 0

    def begin(self, name: str) -> None:
        self.making, self.begun = name, self.begun + 1

    def settle(self, verdict: FunctionVerdict) -> None:
        """Count the cost of a function that is done. An unknown cost is all that it could be."""
        if self.left is not None and verdict.name == self.making and verdict.done:
            self.left = max(0.0, self.left - verdict.cost) if verdict.cost is not None else 0.0
            self.making = ""

    def lose(self) -> None:
        """Count everything that is left, because nobody knows what was spent."""
        self.left, self.making = 0.0, ""


class _Lost(ToolError):
    """It is not known what became of a request."""


class _Later(ToolError):
    """Nothing was asked."""


@dataclass
class Tools:
    """The tools for one agent.

    Args:
        share: how much of the data the agent may see.
        folders: the folders whose files it may name.
    """

    link: Link
    share: Share
    folders: tuple[str, ...]
    budget: SessionBudget
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """The answer of the handler.

        Raises:
            ToolError: it refuses, or cannot be reached.
        """
        asked = {
            "session": self.session,
            "share": self.share,
            "folders": self.folders,
            "tool": tool,
            "arguments": arguments,
        }
        if len(json.dumps(asked)) > MOST_CHARACTERS:
            raise _refusal(
                f"A request has at most {MOST_CHARACTERS:,} characters.",
                why="Data are passed by name, not as values.",
                hint="Give the name of a frame or the path of a file.",
            )
        try:
            answer = await self.link.ask(asked)
        except Unanswered as error:
            raise _Lost(str(error)) from None
        except Busy as error:
            raise _Later(str(error)) from None
        except AutocodeError as error:
            raise ToolError(str(error)) from None
        if "error" in answer:
            raise ToolError(str(answer["error"]))
        found: Mapping[str, Any] = answer["ok"]
        return found

    async def verdict(self, name: str) -> FunctionVerdict:
        begun = self.budget.begun
        verdict = FunctionVerdict.model_validate(await self.ask("verdict", name=name))
        if begun == self.budget.begun:  # else it may be that of a function of the same name before
            self.budget.settle(verdict)
        return verdict

    async def make(self, name: str, request: str, data: Mapping[str, str]) -> FunctionVerdict:
        async with self.making:
            await self._require_budget()
            left = self.budget.left
            try:
                found = await self.ask("make", name=name, request=request, data=data, max_cost=left)
            except BaseException as error:  # after a cancel, too, it may have been started
                if not isinstance(error, ToolError) or isinstance(error, _Lost):
                    self.budget.lose()
                raise
            self.budget.begin(name)
            verdict = FunctionVerdict.model_validate(found)
            self.budget.settle(verdict)
            return verdict

    async def _require_budget(self) -> None:
        if self.budget.left is None:
            raise _refusal(
                "No budget was set, so nothing can be made.",
                why="To make a function costs money, and the person sets how much.",
                hint="waiting for the person: start this server with --max-cost DOLLARS.",
            )
        if making := self.budget.making:
            try:
                verdict = await self.verdict(making)
            except _Later:
                raise
            except ToolError:
                self.budget.lose()
                raise
            if not verdict.done:
                raise _refusal(
                    f"{making} is still being made.",
                    why="One function is made after the other, so that the budget holds.",
                    hint=f"verdict {making} with wait_seconds waits for it. {verdict.waiting_for}".strip(),
                )
        if not self.budget.left:
            raise _refusal(
                "The budget is spent.",
                why="It is for all functions that this server makes.",
                hint="waiting for the person: start this server again with a new --max-cost.",
            )


def _refusal(what: str, *, why: str, hint: str) -> ToolError:
    return ToolError(str(InvalidRequest(what, why=why, hint=hint)))


def server_of(tools: Tools) -> MCPServer:
    """The server with its tools."""
    server: MCPServer = MCPServer("autocode", version=VERSION, instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool(name="list", annotations=_READS)
    async def list_all() -> Listing:
        """The functions, tables in memory and files that can be named, and the budget that is left."""
        listing = Listing.model_validate(await tools.ask("list"))
        return listing.model_copy(update={"budget": tools.budget.left})

    @server.tool(annotations=_READS)
    async def describe(
        name: Annotated[str, Field(description="A function, a frame, the path of a table, or a name that call gave")],
    ) -> Description:
        """A function's inputs, outputs and code; or the columns of a table, as far as the person shares them."""
        return Description.model_validate(await tools.ask("describe", name=name))

    @server.tool(annotations=_ADDS)
    async def call(
        name: FunctionName,
        inputs: Annotated[
            dict[str, Any],
            Field(description="Values by input: for a table the name of a frame or the path of a file, else JSON"),
        ],
    ) -> CallOutputs:
        """Call a function in its sandbox. Its outputs get new names; rows are shown only if the person shares them."""
        return CallOutputs.model_validate(await tools.ask("call", name=name, inputs=inputs))

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True))
    async def make(
        name: Annotated[str, Field(description="A new name for the function")],
        request: Annotated[str, Field(description="What it must do, in words")],
        data: Annotated[
            dict[str, str], Field(description="Its tables: the name of a frame or the path of a file, by input")
        ],
    ) -> FunctionVerdict:
        """Have a function written by the person's model, and tested on the data in a sandbox. Returns at once."""
        return await tools.make(name, request, data)

    @server.tool(annotations=_READS)
    async def verdict(
        name: FunctionName,
        ctx: Context,
        wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="How long to wait for the end")] = 0.0,
    ) -> FunctionVerdict:
        """How far a function was verified, and what speaks for and against it. With progress, while it is made."""
        end = asyncio.get_running_loop().time() + wait_seconds
        found, step, doing = await tools.verdict(name), 0, ""
        while not found.done and not found.waiting_for and asyncio.get_running_loop().time() < end:
            if found.doing != doing:
                step, doing = step + 1, found.doing
                await ctx.report_progress(step, message=doing)
            await asyncio.sleep(POLL_SECONDS)
            found = await tools.verdict(name)
        return found

    return server
