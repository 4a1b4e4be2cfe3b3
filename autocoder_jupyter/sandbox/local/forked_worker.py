"""One forked worker, as the supervisor of its loading process watches it."""

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
from autocoder_jupyter.sandbox.local.supervisor import (
    AT_WORK,
    DISK_EVERY,
    REST_SECONDS,
    WATCH_SECONDS,
    Bounds,
    Ending,
    broken_limit,
    counted_from,
    tell,
)

_EXIT_CODE = 49
"""Place in a line of /proc/PID/stat, behind the name."""


@dataclass(frozen=True)
class Share:
    """What a worker may use of what its loading process may: bytes, numbers of processes and of cores."""

    memory: int
    disk: int
    processes: int
    cores: list[int]
    share_of_core: int | None


@dataclass(frozen=True)
class Arrival:
    """The first report about a worker: it has been forked."""

    folder: str


class ForkedWorker:
    """Watches one worker.

    Args:
        pid: its first process.
        share: what it may use.
        folder: what it may write.
        judge: answers what its processes ask.
        lifeline: as `supervisor.main` has it.
        report: takes the `Arrival` and then the `Ending`, each a line of JSON.
    """

    def __init__(self, pid: int, share: Share, folder: str, judge: Judge, lifeline: int, report: int) -> None:
        self.pid, self.folder, self.judge = pid, folder, judge
        self._bounds = Bounds(share.memory, share.disk, folder)
        self._lifeline, self._report, self._ended = lifeline, report, os.pidfd_open(pid)
        self._throttle = Throttle(pid, share.share_of_core)
        self._at_work, self._looks, self._looked = True, 0, time.monotonic()
        if share.cores:
            os.sched_setaffinity(pid, share.cores)
        with contextlib.suppress(BrokenPipeError):
            os.write(report, json.dumps(asdict(Arrival(folder))).encode() + b"\n")

    @property
    def watched(self) -> tuple[int, int]:
        """Descriptors on which something may happen."""
        return self._lifeline, self._ended

    @property
    def has_ended(self) -> bool:
        """Whether its first process has ended."""
        return self._ends_within(0)

    @property
    def due(self) -> float:
        """When it is to be looked at next, by the monotonic clock."""
        return min(self._next_look, self._throttle.due(self._at_work))

    def turn(self, woken: set[int]) -> Ending | None:
        """Do what is due. Returns why the worker has to end, or has ended."""
        if self._ended in woken:
            return self._own_end()
        if self._lifeline in woken:
            said = os.read(self._lifeline, 4096)
            if not said:
                return Ending(text="the notebook let go of the worker")
            self._at_work = said.endswith(AT_WORK)
        self._throttle.act(self._at_work)
        began = time.monotonic()
        if began < self._next_look:
            return None
        self._looks += 1
        broken = broken_limit(self._bounds, self.pid, with_disk=self._looks % DISK_EVERY == 0)
        self._looked = counted_from(began)
        return broken

    def kill(self) -> None:
        """Kill all of it. It is stopped first and killed last, because its orphans become its children."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, signal.SIGSTOP)
            if not self.has_ended:
                process_tree.kill_descendants(self.pid)
            signal.pidfd_send_signal(self._ended, signal.SIGKILL)
            self._ends_within(process_tree.SECONDS_TO_DIE)

    def end(self, ending: Ending) -> None:
        """Report why it ended, and close its descriptors."""
        tell(self._report, ending)
        for descriptor in (self._lifeline, self._report, self._ended):
            os.close(descriptor)

    @property
    def _next_look(self) -> float:
        return self._looked + (WATCH_SECONDS if self._at_work else REST_SECONDS)

    def _ends_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._ended, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _own_end(self) -> Ending:
        """How it ended by itself. Its parent has not collected it: it waits for the next worker."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:
            return Ending(text="It ended.")
        code = os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))
        return Ending(signal=-code) if code < 0 else Ending(exit_code=code)
