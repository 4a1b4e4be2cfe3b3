"""Find out by a real run whether the kernel holds memory and processes of a worker in a control group of its own."""

from __future__ import annotations

from contextlib import ExitStack

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local.confinement.tiers import Tier
from autocoder_jupyter.sandbox.local.control_group import NotDelegated, delegated
from autocoder_jupyter.sandbox.local.trial_program import StartProgram, explain, read_all
from autocoder_jupyter.sandbox.protocol import Limits

_GREEDY = """
import os, time
try:
    for _ in range(20):
        if not os.fork():
            time.sleep(600)
except BlockingIOError:
    print("refused", flush=True)
held = b"x" * (200 << 20)
time.sleep(600)
"""
_SMALL = Limits(memory=100 << 20, processes=8)
"""For a program that wants more of both. Nobody but the kernel counts them in its trial."""


def usable_group(start: StartProgram, tier: Tier) -> tuple[str, str]:
    """The folder for the workers' control groups, or "" and why the kernel counts nothing here."""
    try:
        folder = delegated()
    except NotDelegated as refused:
        return "", str(refused)
    try:
        process = start(tier, ["-I", "-S", "-B", "-c", _GREEDY], _SMALL, folder)
        with ExitStack() as stack:
            stack.callback(process.kill)
            for stream in (process.requests, process.data, process.control):
                stack.callback(stream.close)
            forked = read_all(process.data.fileno())
            reason = process.exit_reason()
    except (SandboxUnavailable, OSError) as failure:
        return "", f"no control group can be used in {folder}: {failure}"
    if reason.out_of_memory and forked.strip() == b"refused":
        return folder, ""
    return "", f"a control group in {folder} holds no limit: {explain(reason, '')}"
