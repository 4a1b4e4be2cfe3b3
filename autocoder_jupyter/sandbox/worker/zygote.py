"""The resident interpreter: forks one child for each program, ahead of time, and reports on it.

Its three streams are the host's: requests come in on one, the programs' frames go out on another, and its own reports
("ready", "taken", "done") on the third. A program holds none of them: it reads and writes pipes of the zygote, which
passes the bytes on by count. So a report cannot be forged, and nothing that a program does late reaches the next call.
"""

from __future__ import annotations

import json
import os
from typing import Any

from . import frames
from .child import Child, Deaths, spawn
from .passage import HostGone, MemoryKills, Passage, Streams
from .workplace import Workplace


class Zygote:
    """One request after the other, each in its own child, which has been forked ahead of time."""

    def __init__(self, requests: int, data: int, control: int, workplace: Workplace, *, keep_text: int) -> None:
        deaths = Deaths()
        self.streams = Streams(requests, data, control, deaths)
        self.kills = MemoryKills()
        self._not_for_child = (requests, data, control, *deaths.descriptors, *self.kills.descriptors)
        self.workplace = workplace
        self.keep_text = keep_text
        self.spare: Child | None = None
        self.kept: Child | None = None

    def serve(self) -> None:
        """Take requests until there are no more."""
        while True:
            if self.spare is None:
                self.spare = self._spawn()
            raw = frames.read_header(self.streams.requests)
            if raw is None:
                return
            header = json.loads(raw)
            if header.get("kind") == "ping":
                self.report("ready")
                continue
            try:
                self._one(raw, header)
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

    def _one(self, raw: bytes, header: dict[str, Any]) -> None:
        child = self._child_for(header)
        self.report("taken")  # from here on the program is to blame
        call = Passage(self.streams, child, raw, header["payload"], kills=self.kills, keep_text=self.keep_text)
        try:
            call.pump()
        except HostGone:
            child.kill()
            raise
        out_of_memory = call.out_of_memory
        again = call.finished and header.get("reuse", False) and not call.flooded and not out_of_memory
        if not again:
            child.kill()
        call.drain()
        self.report(
            "done",
            data_bytes=call.output.moved,
            finished=call.finished,
            signal=child.signal,
            exit_code=child.exit_code,
            flooded=call.flooded,
            out_of_memory=out_of_memory,
            stdout=call.stdout.text(),
            stderr=call.stderr.text(),
        )
        if again:
            self.kept = child
        else:
            self._bury(child)

    def _child_for(self, header: dict[str, Any]) -> Child:
        """The child that ran the same program before, if it may be used again; else the one that waits."""
        kept, self.kept = self.kept, None
        if kept is not None:
            if header.get("reuse") and kept.program == header["program"] and kept.runs:
                return kept
            kept.kill()
            self._discard_spare()  # a burial wants to see that nobody else is left
            self._bury(kept)
        spare, self.spare = self.spare, None
        if spare is None:
            spare = self._spawn()
        spare.program = header["program"]
        return spare

    def _discard_spare(self) -> None:
        spare, self.spare = self.spare, None
        if spare is not None:
            spare.kill()
            spare.close()

    def _spawn(self) -> Child:
        return spawn(self.workplace.new_folder(), not_for_child=self._not_for_child)

    def _bury(self, child: Child) -> None:
        """Close, reap and clean up after a killed child; what does not go away ends the whole worker."""
        child.close()
        if not (child.reap(self.streams.deaths) and self.workplace.clear()):
            os._exit(1)
