"""The resident interpreter: forks one child for each program, ahead of time, and reports on it.

Its three streams are the host's: requests come in on one, the programs' frames go out on another, and its own reports
("ready", "taken", "done") on the third. A program holds none of them: it reads and writes pipes of the zygote, which
passes the bytes on by count. So a report cannot be forged, and nothing that a program does late reaches the next call.

Children inherit the zygote's memory, freed parts too. So it reads of a request only the envelope, which says how many
bytes are for whom, and never what is in them: not the tests, not the arguments, not a secret of the program before.
"""

from __future__ import annotations

import os
from typing import Any

from . import frames
from .child import Child, ChildExits, spawn
from .envelope import Envelope
from .request_pump import HostGone, MemoryKills, RequestPump, Streams
from .workplace import Workplace


class Zygote:
    """One request after the other, each in its own child, which has been forked ahead of time."""

    def __init__(self, requests: int, data: int, control: int, workplace: Workplace, *, keep_text: int) -> None:
        exits = ChildExits()
        self.streams = Streams(requests, data, control, exits)
        self.kills = MemoryKills()
        self._not_for_child = (requests, data, control, *exits.descriptors, *self.kills.descriptors)
        self.workplace = workplace
        self.keep_text = keep_text
        self.spare: Child | None = None
        self.kept: Child | None = None
        self.envelope = Envelope()

    def serve(self) -> None:
        """Take requests until there are no more."""
        try:
            while self._turn():
                pass
        except HostGone:
            return

    def report(self, kind: str, **facts: Any) -> None:
        """Tell the host."""
        frames.write_all(self.streams.control, [frames.pack({"kind": kind, "payload": 0, **facts})])

    def end(self) -> None:
        """Kill what is left and remove what it wrote."""
        for child in (self.kept, self.spare):
            if child is not None:
                child.kill()
        self.workplace.clear()

    def _turn(self) -> bool:
        """One step; False when there are no more requests.

        All children are forked here, before anything is known of a request: what is below them on the stack is part
        of what a program sees.
        """
        if self.spare is None and self.kept is None:  # the removal of a child checks that no other process is left
            self.spare = self._spawn()
        if not (self.envelope.taken or self.envelope.take(self.streams.requests)):
            return False
        if self.kept is not None and not self._is_for(self.kept):
            self._end_kept(self.kept)
            return True  # with the same request
        if self.envelope.empty:
            self.report("ready", kept=self.kept is not None)
        else:
            self._pass_on()
        self.envelope.forget()
        return True

    def _is_for(self, kept: Child) -> bool:
        if self.envelope.empty:
            return self.envelope.keep
        return self.envelope.again and kept.program == self.envelope.program and kept.runs

    def _end_kept(self, kept: Child) -> None:
        self.kept = None
        kept.kill()
        self._reap(kept)

    def _pass_on(self) -> None:
        """Hand the present request to its child, and what the child writes to the host."""
        child = self.kept or self.spare
        assert child is not None
        self.report("taken")  # from here on the program is to blame
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
        if not stays:
            child.kill()
        call.drain()
        self.report(
            "done",
            data_bytes=call.output.moved,
            finished=call.finished,
            kept=stays,
            signal=child.signal,
            exit_code=child.exit_code,
            flooded=call.flooded,
            out_of_memory=out_of_memory,
            stdout=call.stdout.text(),
            stderr=call.stderr.text(),
        )
        if stays:
            self.kept = child
        else:
            self._reap(child)

    def _spawn(self) -> Child:
        folder = self.workplace.new_folder()
        return spawn(folder, not_for_child=self._not_for_child, forget=self.envelope.forget)

    def _reap(self, child: Child) -> None:
        """Close, reap and clean up after a killed child; what does not go away ends the whole worker."""
        child.close()
        if not (child.reap(self.streams.exits) and self.workplace.clear()):
            os._exit(1)
