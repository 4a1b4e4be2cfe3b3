"""The prompt at which a terminal asks whether a call is allowed."""

from __future__ import annotations

from autocoder_jupyter.jobs.code_job import CodeJob
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view import markup


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
