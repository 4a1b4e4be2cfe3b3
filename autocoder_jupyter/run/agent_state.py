"""The state of an agent, computed from its events. Pure, like the state of the card."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autocoder_jupyter.run.events import AgentSaid, SuiteChanged, ToolCalled, ToolEnded, TurnBegun
from autocoder_jupyter.types import ToolUse, Trace

SAID_CHARACTERS = 2000
"""Characters kept of its text: the last ones."""

ARGUMENT_CHARACTERS = 500
"""Characters kept of a call's argument; the whole call is in the report."""


@dataclass(frozen=True)
class AgentState:
    """The state of an agent.

    Args:
        trace: the calls that have ended, and the turns.
        under_way: the calls that are running, each with its id.
        said: the last text of the agent between its calls.
    """

    trace: Trace = Trace()
    under_way: tuple[tuple[str, ToolUse], ...] = ()
    said: str = ""

    def begun(self, event: TurnBegun) -> AgentState:
        """A turn began."""
        said = f"{self.said.rstrip()}\n" if self.said.strip() else ""
        return replace(self._with(turns=event.turn, max_turns=event.of), said=said)

    def spoke(self, event: AgentSaid) -> AgentState:
        """The agent wrote text."""
        return replace(self, said=(self.said + event.text)[-SAID_CHARACTERS:])

    def called(self, event: ToolCalled) -> AgentState:
        """The agent calls a tool."""
        use = ToolUse(
            turn=event.turn,
            tool=event.tool,
            argument=event.argument[:ARGUMENT_CHARACTERS],
            kind=event.kind,
            reason=event.reason,
        )
        return replace(self, under_way=(*self.under_way, (event.call, use)))

    def ended(self, event: ToolEnded) -> AgentState:
        """A call has ended; one without a start event is not counted."""
        use = dict(self.under_way).get(event.call)
        if use is None:
            return self
        outcome = {"outcome": event.outcome, "seconds": event.seconds, "replayed": event.replayed}
        others = tuple((call, other) for call, other in self.under_way if call != event.call)
        calls = (*self.trace.calls, use.model_copy(update=outcome))
        return replace(self._with(calls=calls), under_way=others)

    def changed_suite(self, event: SuiteChanged) -> AgentState:
        """The agent changed tests that it had written."""
        return self._with(suite_changed=event.tests)

    def stopped(self) -> AgentState:
        """The run has ended; calls without an end were cancelled."""
        cancelled = (use.model_copy(update={"outcome": "cancelled"}) for _, use in self.under_way)
        return replace(self._with(calls=(*self.trace.calls, *cancelled)), under_way=())

    def _with(self, **fields: object) -> AgentState:
        return replace(self, trace=self.trace.model_copy(update=fields))
