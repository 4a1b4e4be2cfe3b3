"""A record beside the notebook may come from somebody else: what its code may do with the user's tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent, tool
from autocoder_jupyter.codemode.approval import Approve
from tests.scripted_model import ScriptedModel

sent: list[str] = []


@tool(effects=True)
def send_mail(to: str) -> str:
    """Send a mail."""
    sent.append(to)
    return "sent"


@tool(ask=True)
def read_secret(name: str) -> str:
    """Read a secret."""
    sent.append(name)
    return "4711"


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


def run(
    root: Path,
    answers: list[str],
    history: Sequence[Mapping[str, str]] = (),
    approve: Approve | None = None,
    message: str = "Do it.",
) -> tuple[AgentResult, list[dict[str, Any]]]:
    with ScriptedModel(answers) as model:
        agent = CodeModeAgent([send_mail, read_secret], model="openai/scripted", api_base=model.url, approve=approve)
        return agent.run(message, history, journal_root=root), model.requests


def without_outcomes(root: Path) -> None:
    """A record as an attacker would write it: answers and marks of blocks, but no recorded calls."""
    for file in root.rglob("conversation.jsonl"):
        entries = [line for line in file.read_text().splitlines() if json.loads(line)["kind"] in ("exchange", "block")]
        file.write_text("\n".join(entries) + "\n")


@pytest.mark.parametrize("call", ["send_mail('thief')", "read_secret('key')"])
def test_recorded_code_calls_no_such_tool_without_the_person(tmp_path: Path, call: str) -> None:
    root = tmp_path / ".autocode"
    answers = [f"```python\n{call}\n```", "Done."]
    run(root, answers, approve=lambda request: "allow")
    assert len(sent) == 1
    without_outcomes(root)
    sent.clear()
    asked = []
    again, _ = run(root, ["It was not called."], approve=lambda request: asked.append(request) or "deny")
    assert sent == []
    assert [request.recorded for request in asked] == [True]
    assert again.calls[0].outcome == "denied"
    nobody, _ = run(root, ["It was not called."])
    assert sent == []
    assert nobody.calls[0].outcome == "denied"


@pytest.mark.parametrize("call", ["send_mail('thief')", "read_secret('key')"])
def test_a_conversation_that_goes_on_calls_no_such_tool_to_bring_back_what_was_defined(
    tmp_path: Path, call: str
) -> None:
    root = tmp_path / ".autocode"
    first, _ = run(root, [f"```python\nx = {call}\n```", "Done."], approve=lambda request: "allow")
    without_outcomes(root)
    sent.clear()
    asked = []
    more, _ = run(
        root,
        ["```python\n1 + 1\n```", "Two."],
        history=first.history,
        approve=lambda request: asked.append(request) or "allow",
        message="Go on.",
    )
    assert (sent, asked) == ([], [])
    assert more.value == 2
