"""Find out by a trial whether the kernel limits the memory and processes of a worker with a control group."""

from __future__ import annotations

from contextlib import ExitStack

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local.confinement.tiers import ConfinementTier
from autocoder_jupyter.sandbox.local.control_group import NotDelegated, delegated
from autocoder_jupyter.sandbox.local.trial_program import StartProgram, explain, read_all
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.programs.group_trial import REFUSED
from autocoder_jupyter.sandbox.protocol import WorkerLimits

_SMALL = WorkerLimits(memory=100 << 20, processes=8)
"""The program of the trial needs more. In the trial, only the kernel enforces these limits."""


def usable_group(start: StartProgram, tier: ConfinementTier) -> tuple[str, str]:
    """The folder for the control groups of workers, and ""; or "", and the reason why they cannot be used.

    Args:
        start: starts the trial program.
        tier: confines it.
    """
    try:
        folder = delegated()
    except NotDelegated as refused:
        return "", str(refused)
    try:
        process = start(tier, ["-I", "-S", "-B", "-c", program_text("group_trial")], _SMALL, folder)
        with ExitStack() as stack:
            stack.callback(process.kill)
            for stream in (process.requests, process.data, process.control):
                stack.callback(stream.close)
            forked = read_all(process.data.fileno())
            reason = process.exit_reason()
    except (SandboxUnavailable, OSError) as failure:
        return "", f"no control group can be used in {folder}: {failure}"
    if reason.out_of_memory and forked.decode("ascii", "replace").strip() == REFUSED:
        return folder, ""
    return "", f"a control group in {folder} does not enforce its limits: {explain(reason, '')}"
