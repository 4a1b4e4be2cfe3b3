"""Runs of code mode: the real sandbox, the real litellm over HTTP, scripted answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent
from autocoder_jupyter.run.code_run import Block
from autocoder_jupyter.run.events import Emit
from tests.scripted_model import Answer, ScriptedModel


class Ask:
    """Runs one request with scripted answers. The requests that the model got are in `requests`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.requests: list[dict[str, Any]] = []

    def __call__(
        self,
        answers: Sequence[str | Answer],
        tools: Any = (),
        *,
        message: str = "Do it.",
        history: Sequence[Mapping[str, str]] = (),
        frames: Mapping[str, Any] | None = None,
        rules: Any = None,
        on_event: Emit | None = None,
        **settings: Any,
    ) -> AgentResult:
        with ScriptedModel(answers) as model:
            agent = CodeModeAgent(tools, model="openai/scripted", api_base=model.url, **settings)
            result = agent.run(message, history, frames=frames, rules=rules, on_event=on_event, journal_root=self._root)
        self.requests = model.requests
        return result

    @property
    def told(self) -> str:
        """The content of the last message that the model got."""
        return str(self.requests[-1]["messages"][-1]["content"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".autocode"


@pytest.fixture
def ask(root: Path) -> Ask:
    return Ask(root)


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def error_of(failed: AgentResult | Block) -> str:
    """The error of a failed block."""
    assert failed.error is not None
    return failed.error
