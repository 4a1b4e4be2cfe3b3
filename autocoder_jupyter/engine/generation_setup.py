"""The setup of one generation. It is complete before the first question to the model, and does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.prepare import Prepared
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.engine.services import Services
from autocoder_jupyter.engine.stage_runner import StageRunner
from autocoder_jupyter.redaction.messages import hidden_values
from autocoder_jupyter.request import AgentConfig, Request, Share, secret_values
from autocoder_jupyter.run.events import Emit
from autocoder_jupyter.types import Exchange


@dataclass(frozen=True)
class GenerationSetup:
    """The request, the settings, and the tools of one generation.

    Args:
        request: the request.
        config: the settings.
        services: model, sandbox, journal, and the tracker of the run.
        prepared: the inputs, the data context and the key of the request.
        budget: the budget of all questions to models.
        talk: the conversation with the model.
        second_talk: the conversation for the second opinion.
        session: the sandbox of this generation.
        stages: runs the stages.
    """

    request: Request
    config: AgentConfig
    services: Services
    prepared: Prepared
    budget: Budget
    talk: Conversation
    second_talk: Conversation
    session: SandboxSession
    stages: StageRunner

    @classmethod
    def of(
        cls,
        request: Request,
        config: AgentConfig,
        services: Services,
        prepared: Prepared,
        budget: Budget,
    ) -> GenerationSetup:
        """Make the tools from the services. The time of `budget` has already started."""
        emit = services.emit
        record = services.journal.add_stopped
        talk = Conversation(services.model, budget, emit, record)
        second_talk = Conversation(services.second_model or services.model, budget, emit, record)
        session = SandboxSession(services, config, prepared.pinned)
        unguided = config.skip_tests and not (request.has_acceptance or request.split)
        attempts_allowed = 1 if unguided else config.max_iterations
        stages = StageRunner(emit, lambda: (*talk.exchanges, *second_talk.exchanges), attempts_allowed)
        return cls(request, config, services, prepared, budget, talk, second_talk, session, stages)

    @property
    def emit(self) -> Emit:
        """The function that sends an event to the listeners."""
        return self.services.emit

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges with models; those of the second opinion are last."""
        return tuple(self.stages.exchanges())

    @property
    def told_samples(self) -> Mapping[str, Any]:
        """The samples without the hidden columns."""
        return WithheldColumns.of(self.config.hide, self.config.mask).told(self.request.samples)

    @property
    def hidden_values(self) -> dict[str, str]:
        """The values of secrets and variables, which are told to nobody, by name."""
        return hidden_values(secret_values(self.config.secrets), self.config.env_vars)

    @property
    def share_of_runs(self) -> Share:
        """The sharing level for the output of runs: no values where columns are hidden or masked."""
        held_back = self.config.hide or self.config.mask
        return "stats" if held_back and self.config.share == "rows" else self.config.share
