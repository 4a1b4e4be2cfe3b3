"""Print the progress of a run in a terminal while its cell waits."""

from __future__ import annotations

import os
import sys
from typing import Any

from autocoder_jupyter.display.live import LiveCard, Shown, card_text, current_step, ended_calls, status_line
from autocoder_jupyter.magics.terminal import columns, drawn
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.view import markup


class TerminalProgress:
    """Prints a line when a step begins or a tool call has ended, and the card at the end.

    Pictures of outputs follow the card if the terminal can draw them.

    Call it only on the thread that waits.

    Args:
        card: the card of the run.
        has_prompt: whether a prompt asks for consent. If not, the card is printed, which says how to give it.
    """

    def __init__(self, card: LiveCard[Any], *, has_prompt: bool = False) -> None:
        self._card = card
        self._has_prompt = has_prompt
        self._step: object = None
        self._printed: set[str] = set()

    def __call__(self) -> None:
        """Print what is new."""
        state: Shown = self._card.state
        for call, words in ended_calls(state).items():
            if call not in self._printed:
                self._printed.add(call)
                print(markup.lines([f"  {words}"]))
        step = current_step(state)
        if step != self._step:
            self._step = step
            asks = bool(state.question) and not self._has_prompt
            is_whole = (state.finished and not _error_says_all(state)) or asks
            print(card_text(state, columns()) if is_whole else status_line(state))
            if state.finished and isinstance(state, FunctionRun):
                print(drawn(_pictures(state), os.environ, sys.stdout), end="")


def _error_says_all(state: Shown) -> bool:
    """Whether the error that the cell raises next has all that a card would show: there is no code to tell of."""
    return isinstance(state, FunctionRun) and state.phase in ("failed", "over_budget") and not state.solution


def _pictures(run: FunctionRun) -> list[bytes]:
    """The pictures of the outputs, those that a card shows."""
    glimpses = run.outputs.glimpses if run.outputs is not None else ()
    return [glimpse.picture for glimpse in glimpses if glimpse.picture]
