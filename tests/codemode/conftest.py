"""A run of code mode: the real sandbox, the real litellm over HTTP, answers written beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent
from autocoder_jupyter.codemode.events import Emit
from tests.scripted_model import Script, ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".autocode"


class Ask:
    """Runs one request against these answers; the requests to the model are kept."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.requests: list[dict[str, Any]] = []

    def __call__(
        self,
        answers: Script,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] = (),
        *,
        message: str = "Do it.",
        history: Sequence[Mapping[str, str]] = (),
        frames: Mapping[str, Any] | None = None,
        on_event: Emit | None = None,
        **settings: Any,
    ) -> AgentResult:
        with ScriptedModel(answers) as model:
            agent = CodeModeAgent(tools, model="openai/scripted", api_base=model.url, **settings)
            result = agent.run(message, history, frames=frames, on_event=on_event, journal_root=self._root)
        self.requests = model.requests
        return result


@pytest.fixture
def ask(root: Path) -> Ask:
    return Ask(root)


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def told(ask: Ask) -> str:
    """What the model was told last."""
    return str(ask.requests[-1]["messages"][-1]["content"])
