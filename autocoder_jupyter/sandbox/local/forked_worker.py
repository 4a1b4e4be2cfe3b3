"""One forked worker, which is watched by the supervisor of its loading process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.notices import Judge
from autocoder_jupyter.sandbox.local.confinement.throttle import Throttle
from autocoder_jupyter.sandbox.local.supervisor import Checks, TreeEnding, WorkerBounds, tell

_EXIT_CODE = 49
"""Index of the field in /proc/PID/stat, after the name of the process."""


@dataclass(frozen=True)
class Share:
    """The limits of a forked worker.

    Args:
        memory: bytes.
        disk: bytes in its folder.
        processes: processes and threads.
        cores: numbers of the CPU cores; all if empty.
        share_of_core: percent of one core, if it may use less than one.
    """

    memory: int
    disk: int
    processes: int
    cores: list[int]
    share_of_core: int | None


@dataclass(frozen=True)
class Arrival:
    """The first report about a worker: it was forked, and `folder` is its folder."""

    folder: str


class ForkedWorker:
    """Watches one worker.

    Args:
        pid: process id of its first process.
        share: its limits.
        folder: the folder in which it may write.
        judge: decides about the system calls of its processes.
        lifeline: descriptor of the lifeline; see `supervisor`.
        report: descriptor for the `Arrival` and then the `TreeEnding`, each as one line of JSON.
    """

    def __init__(self, pid: int, share: Share, folder: str, judge: Judge, lifeline: int, report: int) -> None:
        self.pid, self.folder, self.judge = pid, folder, judge
        self._checks = Checks(WorkerBounds(share.memory, share.disk, folder), pid)
        self._lifeline, self._report, self._ended = lifeline, report, os.pidfd_open(pid)
        self._throttle = Throttle(pid, share.share_of_core)
        if share.cores:
            os.sched_setaffinity(pid, share.cores)
        with contextlib.suppress(BrokenPipeError):
            os.write(report, json.dumps(asdict(Arrival(folder))).encode() + b"\n")

    @property
    def watched(self) -> tuple[int, int]:
        """The descriptors to poll: the lifeline, and the end of the first process."""
        return self._lifeline, self._ended

    @property
    def has_ended(self) -> bool:
        """Whether its first process has ended."""
        return self._ends_within(0)

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
            self._ends_within(process_tree.SECONDS_TO_DIE)

    def end(self, ending: TreeEnding) -> None:
        """Report why it ended, and close its descriptors."""
        tell(self._report, ending)
        for descriptor in (self._lifeline, self._report, self._ended):
            os.close(descriptor)

    def _ends_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _own_end(self) -> TreeEnding:
        """How it ended. Its exit code can be read, because its parent has not reaped it yet."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return TreeEnding(text="It ended.")
        code = os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))
        return TreeEnding(signal=-code) if code < 0 else TreeEnding(exit_code=code)
