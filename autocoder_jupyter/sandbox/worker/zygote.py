"""The zygote: a running interpreter that forks a child for each program in advance, and reports its end.

It has three streams to the host: for requests, for the frames of programs, and for its own reports ("ready", "taken",
"done"). Programs have none of these. Each child has a link of its own to the host, which the host throws away with the
child. If the streams cannot carry links, it has pipes of the zygote, which forwards a counted number of bytes. So a
program cannot forge a report, and its late output does not reach the next call.

Children inherit the zygote's memory, including freed parts. So the zygote reads only the envelope of a request, and
never its content: tests, arguments and secrets of an earlier program must not be in its memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from . import frames, lockdown
from .child import Child, ChildExits, spawn
from .envelope import Envelope
from .request_pump import HostGone, MemoryKills, RequestPump, WorkerStreams
from .workplace import Workplace

_LEAST_FREE = 64 * 1024
"""Bytes. A file system with less is full."""


class Zygote:
    """Serves one request after the other, each in its own child, which was forked in advance.

    Args:
        requests: blocking descriptor of the requests.
        data: descriptor for the frames of programs.
        control: descriptor for the reports.
        workplace: the folders of programs.
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
        self._filter = lockdown.filter_of_children()

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
        call = RequestPump(self.streams, child, self.envelope.size, kills=self.kills, keep_text=self.keep_text)
        try:
            call.pump()
        except HostGone:
            child.kill()
            raise
        out_of_memory = call.out_of_memory
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
