"""An agent: the client of the MCP SDK in a session with the real server process. What it makes is scripted."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

import autocoder_jupyter
from tests.first_answers import joined
from tests.scripted_model import Answer, prompt_of

PATIENCE = 120.0
CANARY = "Canary Street"
"""A value of the data that must not leave at a level without rows."""

SALES = f"amount,place,salary\n10,{CANARY} 1,7001\n20,{CANARY} 2,7002\n"

PRICED = "openai/gpt-4.1-mini"
"""Its price is known, and its address is that of the scripted model."""


FUNCTIONS = {
    "the total": ('return int(sales["amount"].sum())', "int", "found == 3"),
    "the rows": ("return sales.copy()", "pd.DataFrame", "list(found.amount) == [1, 2]"),
    "as columns": (
        'return sales.set_index("place")[["amount"]].T.reset_index(drop=True)',
        "pd.DataFrame",
        "list(found.columns) == ['3', '4']",
    ),
    "renamed": (
        'return sales.rename(columns=lambda name: f"{name}_")',
        "pd.DataFrame",
        "list(found.amount_) == [1, 2]",
    ),
    "the first place": ('return str(sales["place"].iloc[0])', "str", "found == '3'"),
    "a failure": ('return int(sales["place"].iloc[0]) if len(sales) > 2 else 7', "int", "found == 7"),
    "a package": ("import left_pad_of_nobody\n    return left_pad_of_nobody.count(sales)", "int", "found == 1"),
}
"""What a request says: the body that the scripted model writes for it, what it returns, and what its tests assert."""

_TYPES = {"pd.DataFrame": "DataFrame"}


def answer(request: Mapping[str, Any]) -> str | Answer:
    """The answer of the scripted model: of the request that the prompt contains."""
    asked = prompt_of(request)
    body, returns, check = next(made for words, made in FUNCTIONS.items() if f"Compute {words}." in asked)
    if "You write the tests of one Python function" in asked:
        table = "pd.DataFrame({'amount': [1, 2], 'place': ['3', '4'], 'salary': [5, 6]})"
        return (
            "```python\nimport pandas as pd\nfrom solution import run\n\n\n"
            f'def test_it():\n    """It is computed."""\n    found = run(sales={table})\n    assert {check}\n```'
        )
    code = f'import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> {returns}:\n    """It."""\n    {body}\n'
    plan = {
        "description": "Something of the sales.",
        "approach": "pandas",
        "inputs": [{"name": "sales", "type": "DataFrame"}],
        "outputs": [{"name": "found", "type": _TYPES.get(returns, returns), "meaning": "what was asked for"}],
        "assumptions": [],
    }
    return joined(json.dumps(plan), f"```python\n{code}```")


def environment(address: str) -> dict[str, str]:
    """The variables of a process that uses the scripted model and the configuration of the tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOCODE_")}
    return {
        **inherited,
        "AUTOCODE_MODEL": PRICED,
        "AUTOCODE_API_BASE": address,
        "AUTOCODE_SANDBOX": "local",
        "AUTOCODE_EFFORT": "quick",
        "AUTOCODE_SECOND_OPINION": "off",
        "AUTOCODE_MAX_ITERATIONS": "1",
        "PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1]),
        "XDG_CONFIG_HOME": str(Path(platformdirs.user_config_path("autocoder-jupyter")).parent),
    }


@dataclass
class Agent:
    """A session of a client with a server.

    Attributes:
        seen: everything that the server has told it, as JSON.
        progress: the messages of progress.
    """

    client: Any
    loop: asyncio.AbstractEventLoop
    seen: list[str] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def _asked(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        async def heard(done: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        result = self._run(self.client.call_tool(tool, dict(arguments), progress_callback=heard))
        self.seen.append(result.model_dump_json())
        return result

    def tools(self) -> dict[str, Any]:
        """The tools by name."""
        listed = self._run(self.client.list_tools())
        self.seen.append(listed.model_dump_json())
        return {tool.name: tool for tool in listed.tools}

    def use(self, tool: str, **arguments: Any) -> Any:
        """The structured content that a tool returns."""
        result = self._asked(tool, arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """The error of a tool."""
        result = self._asked(tool, arguments)
        assert result.is_error, result.structured_content
        text = str(result.content[0].text)
        return re.sub(r"^Error executing tool \w+: ", "", text)

    def make(self, name: str, words: str, **data: str) -> Any:
        """Have a function made, and wait for the end or for what waits for the person."""
        self.use("make", name=name, request=f"Compute {words}.", data=data)
        return self.until(name, lambda verdict: verdict["done"] or bool(verdict["waiting_for"]))

    def until(self, name: str, reached: Callable[[Any], bool]) -> Any:
        while not reached(verdict := self.use("verdict", name=name, wait_seconds=20)):
            continue
        return verdict


@contextmanager
def session(*arguments: str, env: Mapping[str, str], folder: Path) -> Iterator[Agent]:
    """A session with a server process that is started with these arguments in a folder."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = ["-m", "autocoder_jupyter.mcp", *arguments]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(env), cwd=folder)
    loop, ready, ends = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found: list[Any] = []

    async def live() -> None:
        try:
            async with Client(stdio_client(parameters)) as client:
                found.append(client)
                ready.set()
                await ends.wait()
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE) and found, "the server did not start"
    try:
        yield Agent(found[0], loop)
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(PATIENCE)
        loop.close()
