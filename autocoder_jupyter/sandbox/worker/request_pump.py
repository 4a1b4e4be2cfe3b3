"""Pump the bytes of one request to a child, and its answer back."""

from __future__ import annotations

import contextlib
import os
import select
from dataclasses import dataclass

from .child import Child, ChildExits
from .relay import FLOOD, Capture, Relay

_SECONDS_TO_DIE = 5.0
"""How long a child that closed its channel may take to be gone, before it counts as one that lives on."""

_NOWHERE = 1
"""Standard output of the zygote, which is /dev/null since it took its streams."""

_LOOK_MILLISECONDS = 1000
"""How often the memory kills are looked at when nothing else happens."""


@dataclass(frozen=True)
class Streams:
    """The zygote's descriptors: the host's three, and the news of children that ended."""

    requests: int
    data: int
    control: int
    exits: ChildExits


class MemoryKills:
    """How often the kernel killed for lack of memory in our control group, as far as it lets itself be read.

    A program whose helper was killed often waits for it for ever, so the count is looked at while a program runs.
    """

    def __init__(self) -> None:
        self._fd = -1
        for name in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
            with contextlib.suppress(OSError):
                self._fd = os.open(name, os.O_RDONLY)
                break

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is held open, if anything."""
        return () if self._fd < 0 else (self._fd,)

    def count(self) -> int:
        """The number so far; 0 where it is not told."""
        if self._fd >= 0:
            with contextlib.suppress(OSError, ValueError):
                for line in os.pread(self._fd, 4096, 0).splitlines():
                    key, _, number = line.partition(b" ")
                    if key == b"oom_kill":
                        return int(number)
        return 0


class HostGone(Exception):
    """The host has hung up, so nobody reads the answer of this request."""


class RequestPump:
    """Payload in, frames out, text kept, until the child has finished or died."""

    def __init__(self, streams: Streams, child: Child, payload: int, *, kills: MemoryKills, keep_text: int) -> None:
        self.streams = streams
        self.child = child
        self.finished = False
        self.flooded = ""
        self._kills = kills
        self._kills_before = kills.count()
        self.payload = payload
        self.input = Relay(streams.requests, child.inbox, payload)
        self.output = Relay(child.outbox, streams.data)
        self.stdout = Capture(child.stdout, keep_text)
        self.stderr = Capture(child.stderr, keep_text)

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything since the request came, the child or a process of it."""
        return self._kills.count() > self._kills_before

    def pump(self) -> None:
        """Move everything that can be moved until the child says that it has finished, or is no more, or too large."""
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
                if not self.finished:  # it closes its descriptors a moment before it can be asked how it died
                    self.child.await_end(self.streams.exits, _SECONDS_TO_DIE)
                return
            self.streams.exits.clear()
            if not self.child.runs:
                return

    def drain(self) -> None:
        """Pass on what the child wrote before its end, and take the unread rest of its payload off the stream."""
        self.output.stop_after_present()
        while self.output.open:
            _wait_for(*self.output.waits_for)
            self.output.step()
        for capture in (self.stdout, self.stderr):
            before = -1
            while before < capture.total <= FLOOD and not capture.ended:
                before = capture.total
                capture.step()
        rest = Relay(self.streams.requests, _NOWHERE, self.payload - self.input.taken)
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
        return dict(poll.poll(_LOOK_MILLISECONDS))


def _wait_for(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()
