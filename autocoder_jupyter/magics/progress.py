"""Print the progress of a generation in a terminal while its cell waits."""

from __future__ import annotations

from autocoder_jupyter.display import tool_calls
from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.display.shown import card_text, status_line
from autocoder_jupyter.display.state import CardState
from autocoder_jupyter.view import markup


class TerminalProgress:
    """Prints a line when a stage begins or a tool call of an agent has ended, and the card at the end.

    Call it only on the thread that waits.

    Args:
        card: the card of the run.
    """

    def __init__(self, card: LiveCard[CardState]) -> None:
        self._card = card
        self._shown: object = None
        self._calls = 0

    def __call__(self) -> None:
        """Print what is new."""
        state = self._card.state
        calls = state.trace.calls if state.trace else ()
        for call in calls[self._calls :]:
            print(markup.lines([f"  {tool_calls.call_line(call)}"]))
        self._calls = len(calls)
        key = (state.stage, state.attempt, state.phase)
        if key != self._shown:
            self._shown = key
            print(card_text(state) if state.finished or state.approval else status_line(state))
