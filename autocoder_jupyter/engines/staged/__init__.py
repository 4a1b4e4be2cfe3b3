"""The writer by stages: one question each for code and tests, then diagnosis and fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.engine.writer import WriterFactory
    from autocoder_jupyter.models.protocol import ModelConfig


def require(model: ModelConfig) -> None:
    """Every model can be used."""


def writers(model: ModelConfig) -> WriterFactory:
    """The factory of its writers. They ask the model of the generation."""
    from autocoder_jupyter.engines.staged.writer import StagedWriters

    return StagedWriters()
