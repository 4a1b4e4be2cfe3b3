"""The Claude Agent SDK with this server as one of its tools: the real program, the real server, scripted answers."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.agent import CANARY, SALES, answer, environment
from tests.scripted_model import Answer, Call, ScriptedModel

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]


def test_claude_has_a_function_made_and_tells_its_verdict(tmp_path: Path) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "sales.csv").write_text(SALES)
    data = {"sales": "sales.csv"}
    steps = [
        Call("mcp__autocode__make", {"name": "total", "request": "Compute the total.", "data": data}),
        Call("mcp__autocode__verdict", {"name": "total", "wait_seconds": 50}),
        Call("mcp__autocode__call", {"name": "total", "inputs": data}),
    ]
    turns = iter([*(Answer("", calls=[step]) for step in steps), Answer("It is ready, not fully checked.")])

    def says(request: dict[str, Any]) -> str | Answer:
        offered = [tool["name"] for tool in request.get("tools") or ()]
        if "mcp__autocode__make" not in offered:
            return '{"title": "The total"}'
        told = json.dumps(request["messages"][-1])
        return Answer("", calls=[steps[1]]) if "done" in told and "false" in told else next(turns)

    with ScriptedModel(says) as claude, ScriptedModel(answer) as model:
        variables = environment(model.url)
        server = {
            "type": "stdio",
            "command": sys.executable,
            "args": ["-m", "autocoder_jupyter.mcp", "--folder", str(tmp_path), "--max-cost", "0.5"],
            "env": {**variables, "MCP_CONNECTION_NONBLOCKING": "0"},
        }
        options = sdk.ClaudeAgentOptions(
            mcp_servers={"autocode": server},
            strict_mcp_config=True,
            allowed_tools=["mcp__autocode"],
            permission_mode="dontAsk",
            tools=[],
            setting_sources=[],
            cwd=str(tmp_path),
            model="claude-sonnet-4-5",
            env={
                "ANTHROPIC_BASE_URL": claude.root,
                "ANTHROPIC_API_KEY": "the-key",
                "HOME": str(tmp_path),
                "MCP_TIMEOUT": "110000",
                "MCP_TOOL_TIMEOUT": "110000",
            },
        )

        async def talked() -> list[Any]:
            async with asyncio.timeout(300):
                return [message async for message in sdk.query(prompt="What is the total?", options=options)]

        messages = asyncio.run(talked())
        assert claude.unforeseen == []
        last = max(claude.requests, key=lambda request: len(request["messages"]))
        blocks = [block for message in last["messages"] for block in message["content"] if isinstance(block, dict)]
        results = [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
    assert messages[-1].result == "It is ready, not fully checked."
    begun, *_, verdict, called = results
    assert "total" in begun and "Ready, not fully checked" in verdict and "no second opinion" in verdict
    assert "total_1" in called
    assert CANARY not in json.dumps(claude.requests) and CANARY not in json.dumps(model.requests)
