"""The Claude Agent SDK as the author of code and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.engine.writer import WriterFactory
    from autocoder_jupyter.models.protocol import ModelConfig


def require(model: ModelConfig) -> None:
    """Check that the agent can be used."""
    from autocoder_jupyter.engines.claude.service import require_claude
    from autocoder_jupyter.engines.claude.session import require_program

    require_claude(model.model)
    require_program()


def writers(model: ModelConfig) -> WriterFactory:
    """The factory of agents that use a model."""
    from autocoder_jupyter.engines.claude.writer import ClaudeWriters

    return ClaudeWriters(model)
