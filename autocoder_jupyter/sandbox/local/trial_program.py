"""Start a trial program in the local sandbox, read its output, and describe how it ended."""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

from autocoder_jupyter.sandbox.host.process import ExitReason
from autocoder_jupyter.sandbox.local.confinement.tiers import ConfinementTier
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.protocol import WorkerLimits

_SECONDS = 60.0
"""Time limit of a program. It is enough for an emulated processor."""


class StartProgram(Protocol):
    """Starts a Python program in the sandbox, confined like a worker of that tier."""

    def __call__(
        self, tier: ConfinementTier, arguments: list[str], limits: WorkerLimits | None = None, group: str = ""
    ) -> LocalProcess:
        """`group` is the folder of the control group in which its own is created; "" for none."""


def explain(reason: ExitReason, errors: str) -> str:
    """Why a program ended, and the end of its error output."""
    ended = f"killed by signal {reason.signal}" if reason.signal else f"exit code {reason.exit_code}"
    return "; ".join(filter(None, (reason.text or ended, errors[-300:])))


def read_all(descriptor: int) -> bytes:
    """Read until the stream ends.

    Raises:
        TimeoutError: it did not end within 60 s.
    """
    deadline = time.monotonic() + _SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    while poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
    raise TimeoutError(f"the trial program did not end within {_SECONDS:g} seconds; the machine may be busy")
