"""Progress of a run of code mode in a terminal, and the prompt that asks for consent."""

from __future__ import annotations

from autocoder_jupyter.display.codemode.card import call_line
from autocoder_jupyter.display.codemode.state import CodeState
from autocoder_jupyter.display.live import LiveCard
from autocoder_jupyter.display.shown import card_text, status_line
from autocoder_jupyter.jobs.code_job import CodeJob
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view import markup


class CodeProgress:
    """Prints a line when a step begins or a call has ended, and the card at the end.

    Call it only on the thread that waits.

    Args:
        card: the card of the run.
    """

    def __init__(self, card: LiveCard[CodeState]) -> None:
        self._card = card
        self._shown: object = None
        self._told: set[str] = set()

    def __call__(self) -> None:
        """Print what is new."""
        state = self._card.state
        if not state.finished:
            for call in state.calls:
                if call.outcome and call.call not in self._told:
                    self._told.add(call.call)
                    print(markup.lines([f"  {call_line(call)}"]))
        key = (state.phase, state.turn, len(state.blocks))
        if key != self._shown:
            self._shown = key
            print(card_text(state) if state.finished else status_line(state))


def ask_consent_at_prompt(job: CodeJob) -> None:
    """Ask with `input` whether the waiting call is allowed. `s` shows the complete arguments. At the end of input it is
    not made, which is no decision of the user.
    """
    waiting = job.pending_approval
    if waiting is None:
        return
    shown = job.shown_arguments
    answers = "y or n" if all(argument.is_short for argument in shown) else "y, n, or s to show the arguments"
    try:
        word = input(f"{job.name}: may it call {visible(waiting[0])}? {answers}: ").strip().casefold()
    except EOFError:
        job.leave_undecided()
        return
    if word == "s":
        for argument in shown:
            print(markup.plain(f"{argument.name}: {argument.facts}\n{argument.text}"))
    elif word in ("y", "yes"):
        job.approve()
    elif word:
        job.decline()
