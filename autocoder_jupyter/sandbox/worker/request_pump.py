"""Watch over one request: until the child has answered, keep its text output, and forward the bytes of both sides.

A child with a link to the host exchanges its bytes there, and nothing is forwarded.
"""

from __future__ import annotations

import contextlib
import os
import select
from dataclasses import dataclass

from .child import Child, ChildExits
from .relay import FLOOD, Capture, Relay

_SECONDS_TO_DIE = 5.0
"""How long to wait for the end of a child that closed its pipe. After this it counts as still running."""

_DEV_NULL = 1
"""The zygote's standard output, which is /dev/null."""

_POLL_MILLISECONDS = 1000
"""Time between two checks for memory kills when nothing else happens."""


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

    Args:
        streams: of the zygote.
        child: receives the request.
        payload: number of bytes of the request.
        kills: counts memory kills.
        keep_text: bytes to keep of standard output, and of standard error.

    Attributes:
        finished: whether the child has answered.
        flooded: the stream with too much output, else "".
    """

    def __init__(
        self, streams: WorkerStreams, child: Child, payload: int, *, kills: MemoryKills, keep_text: int
    ) -> None:
        self.streams = streams
        self.child = child
        self.finished = False
        self.flooded = ""
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
        """Move bytes until the child has answered or ended, is out of memory, or has printed too much.

        Raises:
            HostGone: the host has closed the connection.
        """
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

    def drain(self) -> None:
        """Forward the remaining frames of the child, and skip the part of the payload that it has not read.

        Raises:
            HostGone: the host has closed the connection.
        """
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
        return dict(poll.poll(_POLL_MILLISECONDS))


def _wait_for(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()
