"""A model that is never asked: every question without a recorded answer is refused."""

from __future__ import annotations

from autocoder_jupyter.errors import Locked
from autocoder_jupyter.models.listener import SILENT, Listener
from autocoder_jupyter.models.protocol import ModelConfig, Question
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.types.stages import STAGES


class LockedModel:
    """A `ConfiguredModel` that refuses every question. `ReplayingModel` answers recorded questions before it.

    Args:
        config: the model that would be asked. The keys of questions depend on it.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """Refuse the question.

        Raises:
            Locked: always.
        """
        asks = next((record.asks for stage, record in STAGES.items() if stage == question.stage), question.stage)
        raise Locked(
            f"{self.config.model} must be asked {asks}, but the run is locked.",
            hint="Run it once without --locked (or AUTOCODE_LOCKED), and keep the .autocode folder with the notebook.",
        )
