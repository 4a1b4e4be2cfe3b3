"""A session of the Claude Agent SDK: its program without its own tools, settings, key and environment variables.

The program's tools are our functions in this process; its questions to the model go to the gateway. Prompts are sent
unchanged: otherwise the program would read files that an `@` in them names, and run slash commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engines.claude.gateway import Gateway
from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.models.library import collecting_rarely
from autocoder_jupyter.sandbox.temporary_folder import remove_abandoned, temporary_folder
from autocoder_jupyter.untrusted.visible import visible_block

# Installation
#
# It is checked without importing the SDK.

_PIP = 'pip install "autocoder-jupyter[agent]"'


def require_program() -> str:
    """The path of the SDK's bundled program, or of one that is installed on this machine.

    Raises:
        ModelError: the SDK is not installed, or there is no executable program.
    """
    origin = _origin()
    if origin is None:
        raise not_installed()
    name = "claude.exe" if sys.platform == "win32" else "claude"
    bundled = Path(origin).parent / "_bundled" / name
    program = str(bundled) if bundled.is_file() else shutil.which(name)
    if program is None:
        raise ModelError(
            "The Claude Agent SDK is installed without its program.",
            why=f"There is no {bundled}, and no {name} on the path.",
            hint=f"Install it again: {_PIP} --force-reinstall. There are wheels with the program for most systems.",
        )
    if not os.access(program, os.X_OK):
        raise ModelError(
            "The program of the Claude Agent SDK cannot be started.",
            why=f"{program} is not executable.",
            hint=f"Make it executable (chmod +x), or install it again: {_PIP} --force-reinstall.",
        )
    return program


def not_installed(why: str = "") -> ModelError:
    """The error if the SDK cannot be imported."""
    return ModelError(
        "The Claude backend needs the Claude Agent SDK, which is not installed.",
        why=why,
        hint=f"Install it and restart the kernel: {_PIP}. Or leave out --backend claude.",
    )


def _origin() -> str | None:
    """The path of the SDK's package; None if there is none."""
    with suppress(ImportError, ValueError):  # raised by a hidden or broken module
        spec = importlib.util.find_spec("claude_agent_sdk")
        return spec.origin if spec is not None else None
    return None


# The program's folders and environment
#
# The SDK passes all environment variables of the kernel to its program; its option `env` only adds variables. So the
# SDK starts a launcher of this package, which replaces itself by the program with only the variables on a list.


_SYSTEM_VARIABLES = ("LANG", "LC_ALL", "TZ")
"""Variables that keep their value. Proxies may contain a password and are not needed: the program asks only us."""

_PATH = "/usr/local/bin:/usr/bin:/bin"
_SDK_VARIABLES = ("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE")

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class Home:
    """The options of a session: `cli_path`, `cwd` (an empty folder) and `env`."""

    cli_path: str
    cwd: str
    env: Mapping[str, str]


@contextmanager
def home(program: str, variables: Mapping[str, str]) -> Iterator[Home]:
    """A folder for the program during a session. It is removed afterwards."""
    with temporary_folder("claude") as root:  # the program writes the session there, so it must be removed
        folders = {name: str(root / name) for name in ("cwd", "home", "config", "tmp")}
        env = {
            **dict(variables),
            "PATH": _PATH,
            **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), folders["home"]),
            "TMPDIR": folders["tmp"],
            "CLAUDE_CONFIG_DIR": folders["config"],
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        for folder in folders.values():
            Path(folder).mkdir()
        yield Home(_launcher(root, program, [*_SYSTEM_VARIABLES, *_SDK_VARIABLES, *env]), folders["cwd"], env)


def _launcher(root: Path, program: str, kept: list[str]) -> str:
    """A script that starts `program` with the variables `kept`. No value is in it or on a command line."""
    file = root / "launcher"
    command = shlex.join([sys.executable, "-I", "-S", "-c", _LAUNCHER.read_text("utf-8"), program, ",".join(kept)])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    file.chmod(0o700)
    return str(file)


# The import
#
# It is done without what the SDK's imports would compute in advance.

_GRAMMARS = "rfc3987_syntax"
"""A package that JupyterLab installs. Its import compiles 38 grammars, which takes longer than all other imports."""


def load() -> None:
    """Import the SDK. Blocks for a second."""
    with collecting_rarely():
        with _grammars_compiled_later():
            importlib.import_module("jsonschema")
        importlib.import_module("claude_agent_sdk")


@contextlib.contextmanager
def _grammars_compiled_later() -> Iterator[None]:
    """Let an import of jsonschema not compile the grammars.

    jsonschema uses them only to check the formats `iri` and `iri-reference`. It gets a function that compiles them at
    the first such check.
    """
    if _GRAMMARS in sys.modules or importlib.util.find_spec(_GRAMMARS) is None:
        yield
        return
    stand_in = ModuleType(_GRAMMARS)
    vars(stand_in)["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_GRAMMARS] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_GRAMMARS) is stand_in:
            del sys.modules[_GRAMMARS]


def _is_valid_syntax(term: str, text: str) -> bool:
    """Whether a text has the syntax of a term of RFC 3987, like the function of the package."""
    return bool(importlib.import_module(_GRAMMARS).is_valid_syntax(term, text))


# The session

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
        call: called with the arguments; returns the text for the model, and whether the call succeeded.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Awaitable[tuple[str, bool]]]


async def preload() -> None:
    """Import the SDK, in a thread because it takes a second or two."""
    await call_blocking(require_program)
    try:
        await call_blocking(load)
    except ImportError as error:  # it is partly installed
        raise not_installed(f"{error}.") from error


class Session:
    """One conversation with the agent. `ask` can be called many times; the workspace and the messages stay."""

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
        """Start the program."""
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
        """Send a message, and wait until the agent stops."""
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
