"""One worker, as its supervisor watches it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.notices import Judge
from autocoder_jupyter.sandbox.local.confinement.throttle import Throttle
from autocoder_jupyter.sandbox.local.limits import Checks
from autocoder_jupyter.sandbox.local.messages import TreeEnding, report_to

_EXIT_CODE = 49
"""Index of the field in /proc/PID/stat, after the name of the process."""


class WatchedWorker:
    """Watches one worker.

    Args:
        pid: process id of its first process, which only this process or a loading process may reap.
        checks: of its limits.
        share_of_core: percent of one core, if it may use less than one.
        judge: decides about the system calls of its processes.
        lifeline: descriptor of the lifeline; see `supervisor`.
        report: descriptor for reports.
    """

    def __init__(
        self, pid: int, checks: Checks, share_of_core: int | None, judge: Judge, lifeline: int, report: int
    ) -> None:
        self.pid, self.judge, self.report = pid, judge, report
        self._checks, self._throttle = checks, Throttle(pid, share_of_core)
        self._lifeline, self._ended = lifeline, os.pidfd_open(pid)

    @property
    def folder(self) -> str:
        """The folder in which it may write."""
        return self._checks.bounds.folder

    @property
    def watched(self) -> tuple[int, int]:
        """The descriptors to poll: the lifeline, and the end of the first process."""
        return self._lifeline, self._ended

    @property
    def has_ended(self) -> bool:
        """Whether its first process has ended."""
        return is_readable(self._ended, 0)

    @property
    def due(self) -> float:
        """When to call `turn` next, by the monotonic clock."""
        return min(self._checks.due, self._throttle.due(self._checks.at_work))

    def turn(self, woken: set[int]) -> TreeEnding | None:
        """Check limits and the lifeline if they are due.

        Args:
            woken: the readable descriptors.

        Returns:
            Why the worker has ended or must be ended; None if it may continue.
        """
        if self._ended in woken:
            return self._own_end()
        if self._lifeline in woken:
            message = os.read(self._lifeline, 4096)
            if not message:
                return TreeEnding(text="the notebook closed the connection to the worker")
            self._checks.hear(message)
        self._throttle.act(self._checks.at_work)
        return self._checks.broken() if time.monotonic() >= self._checks.due else None

    def kill(self) -> None:
        """Kill the worker with all its processes. The first process is stopped, and killed last: it adopts orphans."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, signal.SIGSTOP)
            if not self.has_ended:
                process_tree.kill_descendants(self.pid)
            signal.pidfd_send_signal(self._ended, signal.SIGKILL)
            is_readable(self._ended, process_tree.SECONDS_TO_DIE)

    def end(self, ending: TreeEnding) -> None:
        """Report why it ended, and close its descriptors."""
        report_to(self.report, ending)
        for descriptor in (self._lifeline, self.report, self._ended):
            os.close(descriptor)

    def _own_end(self) -> TreeEnding:
        """How it ended. Its exit code can be read, because it was not reaped yet."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return TreeEnding(text="It ended.")
        code = os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))
        return TreeEnding(signal=-code) if code < 0 else TreeEnding(exit_code=code)


def is_readable(descriptor: int, seconds: float) -> bool:
    """Whether a descriptor is readable, or becomes so within `seconds`."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
