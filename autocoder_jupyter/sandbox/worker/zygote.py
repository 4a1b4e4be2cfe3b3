"""The zygote: a running interpreter that forks a child for each program in advance, and reports its end.

It has three streams to the host: for requests, for the frames of programs, and for its own reports ("ready", "taken",
"done"). Programs have none of these. Each child has its own link to the host, which the host throws away with the
child. If the streams cannot carry links, it has pipes of the zygote, which forwards a counted number of bytes. So a
program cannot forge a report, and its late output does not reach the next call.

Children inherit the zygote's memory, including freed parts. So the zygote reads only the envelope of a request, and
never its content: tests, arguments and secrets of an earlier program must not be in its memory.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import frames, lockdown
from .child import Child, ChildExits, TimeTaken, spawn
from .frames import Envelope
from .relay import FLOOD, Capture, Relay
from .removal import Workplace

# One request

_SECONDS_TO_DIE = 5.0
"""How long to wait for the end of a child that closed its pipe. After this it counts as still running."""

_DEV_NULL = 1
"""The zygote's standard output, which is /dev/null."""

_POLL_MILLISECONDS = 1000
"""Time between two checks for memory kills, and of the time taken, when nothing else happens."""


@dataclass(frozen=True)
class WorkerStreams:
    """The zygote's descriptors: the three streams of the host, and the one that reports the end of a child."""

    requests: int
    data: int
    control: int
    exits: ChildExits


class MemoryKills:
    """The number of processes that the kernel killed for lack of memory in this control group, if it can be read.

    A program often waits forever for a subprocess that was killed, so the number is checked while a program runs.
    """

    def __init__(self) -> None:
        self._fd = -1
        for name in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
            with contextlib.suppress(OSError):
                self._fd = os.open(name, os.O_RDONLY)
                break

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The open descriptor, if there is one."""
        return () if self._fd < 0 else (self._fd,)

    def count(self) -> int:
        """The number so far; 0 if it cannot be read."""
        if self._fd >= 0:
            with contextlib.suppress(OSError, ValueError):
                for line in os.pread(self._fd, 4096, 0).splitlines():
                    key, _, number = line.partition(b" ")
                    if key == b"oom_kill":
                        return int(number)
        return 0


class HostGone(Exception):
    """The host has closed the connection, so the request needs no answer."""


class RequestPump:
    """Moves the payload to a child, its frames to the host, and keeps its text output, until it has answered or ended.

    A child with a link to the host exchanges its bytes there, and nothing is forwarded.

    Args:
        payload: number of bytes of the request.
        keep_text: bytes to keep of standard output, and of standard error.
        most_seconds: the limit of `taken`; None if there is none.

    Attributes:
        finished: whether the child has answered.
        flooded: the stream with too much output, else "".
        late: whether it has reached its limit of processor time.
    """

    def __init__(
        self,
        streams: WorkerStreams,
        child: Child,
        payload: int,
        *,
        kills: MemoryKills,
        keep_text: int,
        most_seconds: float | None,
    ) -> None:
        self.streams = streams
        self.child = child
        self.finished = False
        self.flooded = ""
        self.late = False
        self.taken = TimeTaken(child)
        self._most_seconds = most_seconds
        self._kills = kills
        self._kills_before = kills.count()
        inbox, outbox = child.boxes or (_DEV_NULL, _DEV_NULL)
        self.payload = payload if child.boxes else 0
        self.input = Relay(streams.requests, inbox, self.payload)
        self.output = Relay(outbox, streams.data, None if child.boxes else 0)
        self.stdout = Capture(child.stdout, keep_text)
        self.stderr = Capture(child.stderr, keep_text)

    @property
    def moved(self) -> int | None:
        """Number of bytes that were forwarded to the host; None if the child has a link."""
        return self.output.moved if self.child.boxes else None

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel has killed the child, or a process of it, since the request began."""
        return self._kills.count() > self._kills_before

    def pump(self) -> None:
        """Move bytes until the child has answered or ended, is out of memory or late, or has printed too much."""
        while True:
            ready = self._wait()
            if ready.get(self.streams.requests, 0) & (select.POLLHUP | select.POLLERR):
                raise HostGone
            if self.out_of_memory:
                return
            self.input.step()
            self.output.step()
            for name, capture in (("standard output", self.stdout), ("standard error", self.stderr)):
                if capture.source in ready and not capture.ended:
                    capture.step()
                    if capture.total > FLOOD:
                        self.flooded = name
                        return
            if self.child.done in ready:
                self.finished = bool(os.read(self.child.done, 1))
                if not self.finished:  # a process closes its descriptors shortly before its exit status is available
                    self.child.wait_for_exit(self.streams.exits, _SECONDS_TO_DIE)
                return
            self.streams.exits.clear()
            if not self.child.alive:
                return
            self.late = self._seconds_left() <= 0
            if self.late:
                return

    def drain(self) -> None:
        """Forward the remaining frames of the child, and skip the part of the payload that it has not read."""
        if self.child.boxes:
            self.output.stop_after_present()
        while self.output.open:
            _wait_for(*self.output.waits_for)
            self.output.step()
        for capture in (self.stdout, self.stderr):
            before = -1
            while before < capture.total <= FLOOD and not capture.ended:
                before = capture.total
                capture.step()
        rest = Relay(self.streams.requests, _DEV_NULL, self.payload - self.input.taken)
        while rest.open:
            _wait_for(*rest.waits_for)
            rest.step()
        if rest.moved < (rest.limit or 0):
            raise HostGone

    def _seconds_left(self) -> float:
        taken = self.taken.seconds()
        return math.inf if self._most_seconds is None else self._most_seconds - taken

    def _wait(self) -> dict[int, int]:
        wanted: dict[int, int] = {self.streams.requests: 0, self.child.done: select.POLLIN}
        wanted[self.streams.exits.fd] = select.POLLIN
        for capture in (self.stdout, self.stderr):
            if not capture.ended:
                wanted[capture.source] = select.POLLIN
        if self.input.open:
            fd, event = self.input.waits_for
            wanted[fd] = wanted.get(fd, 0) | event
        if self.output.open:
            fd, event = self.output.waits_for
            wanted[fd] = wanted.get(fd, 0) | event
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        return dict(poll.poll(min(_POLL_MILLISECONDS, max(self._seconds_left(), 0.0) * 1000 + 1)))


def _wait_for(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()


# The zygote

_LEAST_FREE = 64 * 1024
"""Bytes. A file system with less is full."""


class Zygote:
    """Serves one request after the other, each in its own child, which was forked in advance.

    Args:
        keep_text: bytes to keep of standard output, and of standard error.
        linked: whether the host sends a link for each child.
    """

    def __init__(
        self, requests: int, data: int, control: int, workplace: Workplace, *, keep_text: int, linked: bool
    ) -> None:
        exits = ChildExits()
        self.streams = WorkerStreams(requests, data, control, exits)
        self.kills = MemoryKills()
        self._not_for_child = (requests, data, control, *exits.descriptors, *self.kills.descriptors)
        self.workplace = workplace
        self.keep_text = keep_text
        self.spare: Child | None = None
        self.kept: Child | None = None
        self.envelope = Envelope()
        self.linked = linked
        self._filter = lockdown.child_filter()

    def serve(self) -> None:
        """Serve requests until the host closes the connection."""
        try:
            while self._step():
                pass
        except HostGone:
            return

    def report(self, kind: str, **facts: Any) -> None:
        """Send a report to the host."""
        frames.write_all(self.streams.control, [frames.pack({"kind": kind, "payload": 0, **facts})])

    def end(self) -> None:
        """Kill the remaining children, and remove their files."""
        for child in (self.kept, self.spare):
            if child is not None:
                child.kill()
        self.workplace.clear()

    def _step(self) -> bool:
        """Serve one request, or prepare for it. False at the end of the requests.

        All children are forked here, before a request is read, because a program can see the stack below its fork.
        """
        if self.spare is None and self.kept is None:  # the removal of a child checks that no other process is left
            if self.linked and not self.envelope.links and self.envelope.taken:
                raise HostGone  # it has sent a request before a link for it
            if self.envelope.links or not self.linked:
                self.spare = self._spawn()
        if not (self.envelope.taken or self.envelope.take(self.streams.requests, linked=self.linked)):
            return False
        if self.envelope.only_brings_link:
            self.envelope.forget()
            return True
        if self.spare is None and self.kept is None:
            return True  # the request stays for the next step
        if self.kept is not None and not self._is_for(self.kept):
            self._end_kept(self.kept)
            return True  # the request stays for the next step
        if self.envelope.empty:
            self.report("ready", kept=self.kept is not None)
        else:
            self._forward()
        self.envelope.forget()
        return True

    def _is_for(self, kept: Child) -> bool:
        if self.envelope.empty:
            return self.envelope.keep
        return self.envelope.again and kept.program == self.envelope.program

    def _end_kept(self, kept: Child) -> None:
        self.kept = None
        kept.kill()
        self._reap(kept)

    def _forward(self) -> None:
        """Send the current request to its child, and the child's frames to the host."""
        child = self.kept or self.spare
        assert child is not None
        ended_before = not child.alive
        self.report("taken", link=child.link)  # a failure after this report is one of the program
        self.kept = self.spare = None
        child.program = self.envelope.program
        call = RequestPump(
            self.streams,
            child,
            self.envelope.size,
            kills=self.kills,
            keep_text=self.keep_text,
            most_seconds=self.envelope.processor_seconds,
        )
        try:
            call.pump()
        except HostGone:
            child.kill()
            raise
        out_of_memory, taken = call.out_of_memory, call.taken.seconds()
        stays = call.finished and self.envelope.keep and not call.flooded and not out_of_memory
        if not call.finished:
            child.kill()  # one that has answered is killed after the report, because to free its memory takes a while
        call.drain()
        self.report(
            "done",
            data_bytes=call.moved,
            finished=call.finished,
            kept=stays,
            ended_before=ended_before,
            signal=child.signal,
            exit_code=child.exit_code,
            flooded=call.flooded,
            out_of_memory=out_of_memory,
            processor_seconds=taken,
            late=call.late,
            disk_full=child.signal == signal.SIGBUS and _is_full(child.folder),
            stdout=call.stdout.text(),
            stderr=call.stderr.text(),
        )
        if stays:
            self.kept = child
        else:
            child.kill()
            self._reap(child)

    def _spawn(self) -> Child:
        folder = self.workplace.new_folder()
        link, name = self.envelope.links.popleft() if self.linked else (None, "")
        others = (*self._not_for_child, *(each for each, _ in self.envelope.links))
        return spawn(folder, link, name, its_filter=self._filter, not_for_child=others, forget=self.envelope.forget)

    def _reap(self, child: Child) -> None:
        """Close, reap and clean up after a killed child. If a process or a file remains, the worker exits."""
        child.close()
        if not (child.reap(self.streams.exits) and self.workplace.clear()):
            os._exit(1)


def _is_full(folder: Path) -> bool:
    """Whether the file system of a folder, or the shared memory, is full. Then a mapped page finds no place."""
    for place in (folder, Path("/dev/shm")):
        with contextlib.suppress(OSError):
            space = os.statvfs(place)
            if space.f_bavail * space.f_frsize < _LEAST_FREE:
                return True
    return False
