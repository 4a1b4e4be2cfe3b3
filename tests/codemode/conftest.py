"""A run of code mode: the real sandbox, the real litellm over HTTP, answers written beforehand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AgentResult, CodeModeAgent
from tests.scripted_model import ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".autocode"


@pytest.fixture
def ask(root: Path) -> Callable[..., AgentResult]:
    """Run one request against these answers; the requests to the model are kept in `ask.requests`."""

    def run(
        answers: Sequence[Any],
        tools: Any = (),
        *,
        message: str = "Do it.",
        history: Sequence[Any] = (),
        frames: Any = None,
        on_event: Any = None,
        **settings: Any,
    ) -> AgentResult:
        with ScriptedModel(answers) as model:
            agent = CodeModeAgent(tools, model="openai/scripted", api_base=model.url, **settings)
            result = agent.run(message, history, frames=frames, on_event=on_event, journal_root=root)
        run.requests = model.requests
        return result

    run.requests = []
    return run


@pytest.fixture
def run_block(ask: Callable[..., AgentResult]) -> Callable[..., AgentResult]:
    """Run one block of code and end; what the model was told of it is in `ask.requests[-1]`."""

    def run(code: str, tools: Any = (), **settings: Any) -> AgentResult:
        return ask([block(code), "Done."], tools, **settings)

    return run


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def told(ask: Any) -> str:
    """What the model was told last."""
    return str(ask.requests[-1]["messages"][-1]["content"])
