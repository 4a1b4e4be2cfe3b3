"""A session of the Claude Agent SDK: its program without its own tools, settings, key and environment variables.

The program's tools are our functions in this process; its questions to the model go to the gateway. Prompts are sent
unchanged: otherwise the program would read files that an `@` in them names, and run slash commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engines.claude import sdk_import
from autocoder_jupyter.engines.claude.gateway import Gateway
from autocoder_jupyter.engines.claude.installed import not_installed, require_program
from autocoder_jupyter.engines.claude.program import home
from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.sandbox.temporary_folder import remove_abandoned
from autocoder_jupyter.untrusted.parsing import visible_block

SERVER = "workspace"
"""The name of the tools' server. The model sees the tools as `mcp__workspace__Bash`."""

_HOURS = str(6 * 60 * 60 * 1000)
_VARIABLES = {
    "CLAUDE_CODE_MAX_RETRIES": "0",  # the gateway retries
    "API_TIMEOUT_MS": _HOURS,
    "MCP_TOOL_TIMEOUT": _HOURS,
    "DISABLE_AUTO_COMPACT": "1",  # a summary would be an extra request
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}
_SECONDS_TO_START = 60.0
_SECONDS_TO_END = 15.0


@dataclass(frozen=True)
class AgentTool:
    """A tool that the model may call.

    Args:
        name: its name; the model sees it after the server's name.
        description: what it does.
        schema: JSON schema of its arguments.
        call: called with the arguments; returns the text for the model, and whether the call succeeded.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Awaitable[tuple[str, bool]]]


async def preload() -> None:
    """Import the SDK, in a thread because it takes a second or two.

    Raises:
        ModelError: the SDK or its program is not installed.
    """
    await call_blocking(require_program)
    try:
        await call_blocking(sdk_import.load)
    except ImportError as error:  # it is partly installed
        raise not_installed(f"{error}.") from error


class Session:
    """One conversation with the agent. `ask` can be called many times; the workspace and the messages stay.

    Args:
        gateway: answers the program.
        tools: all tools of the program.
        system: the system text.
        model: the model's plain name.
    """

    def __init__(self, gateway: Gateway, tools: Sequence[AgentTool], system: str, model: str) -> None:
        self._gateway = gateway
        self._tools = tools
        self._system = system
        self._model = model
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._complaints: list[str] = []
        self.id = ""

    async def start(self) -> None:
        """Start the program.

        Raises:
            ModelError: it cannot be started.
        """
        await preload()
        import claude_agent_sdk as sdk

        program = await call_blocking(require_program)
        await call_blocking(remove_abandoned)
        await self._gateway.start()
        address = {"ANTHROPIC_BASE_URL": self._gateway.url, "ANTHROPIC_API_KEY": self._gateway.token}
        place = self._stack.enter_context(home(program, {**_VARIABLES, **address}))
        options = sdk.ClaudeAgentOptions(
            tools=[],
            allowed_tools=[f"mcp__{SERVER}"],
            permission_mode="dontAsk",
            strict_mcp_config=True,
            mcp_servers={SERVER: sdk.create_sdk_mcp_server(SERVER, tools=[_served(sdk, tool) for tool in self._tools])},
            setting_sources=[],
            skills=[],
            verbatim_prompts=True,
            system_prompt=self._system,
            model=self._model,
            cli_path=place.cli_path,
            cwd=place.cwd,
            env=dict(place.env),
            stderr=self._complaints.append,
        )
        client = sdk.ClaudeSDKClient(options)
        self._stack.push_async_callback(_ended, client)
        try:
            async with asyncio.timeout(_SECONDS_TO_START):
                await client.connect()
        except Exception as error:
            raise self._not_started(error) from error
        self._client = client

    async def ask(self, text: str) -> None:
        """Send a message, and wait until the agent stops.

        Raises:
            AutocodeError: the session cannot continue, because of a limit, the service or the program.
        """
        await self._client.query(text)
        turn = asyncio.ensure_future(self._result())
        try:
            ends: set[asyncio.Future[Any]] = {turn, self._gateway.fault}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not turn.done():
                turn.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await turn
        if self._gateway.fault.done():
            raise self._gateway.fault.result()
        turn.result()

    async def _result(self) -> None:
        import claude_agent_sdk as sdk

        try:
            async for message in self._client.receive_response():
                if isinstance(message, sdk.ResultMessage):
                    self.id = message.session_id
                    if message.is_error:
                        raise self._broken(str(message.result or message.terminal_reason or message.subtype))
                    return
        except sdk.ClaudeSDKError as error:
            raise self._broken(str(error)) from error
        raise self._broken("it ended in the middle of a turn")

    async def close(self) -> None:
        """End the program, and remove its files."""
        self._client = None
        await self._gateway.close()  # first, because the program ends slowly and must ask nothing more
        await self._stack.aclose()

    def _not_started(self, error: Exception) -> ModelError:
        why = "it did not answer in time" if isinstance(error, TimeoutError) else str(error)
        return ModelError("The program of the Claude Agent SDK could not be started.", why=self._words(why))

    def _broken(self, why: str) -> ModelError:
        return ModelError(
            "The program of the Claude Agent SDK stopped.",
            why=self._words(why),
            hint="Run the cell again; what the agent has done so far is replayed.",
        )

    def _words(self, why: str) -> str:
        return visible_block("\n".join([why, *self._complaints[-3:]]))[:1000]


def _served(sdk: Any, tool: AgentTool) -> Any:
    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        text, ok = await tool.call(arguments)
        return {"content": [{"type": "text", "text": text}], "is_error": not ok}

    return sdk.tool(tool.name, tool.description, dict(tool.schema))(call)


async def _ended(client: Any) -> None:
    """Disconnect, also during a cancel."""
    ending = asyncio.ensure_future(client.disconnect())
    with suppress(TimeoutError, Exception):
        async with asyncio.timeout(_SECONDS_TO_END):
            await asyncio.shield(ending)
