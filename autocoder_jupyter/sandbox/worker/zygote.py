"""The resident interpreter: loads libraries, locks itself down, forks one child for each program, and reports on it.

Its three streams are the host's: requests come in on descriptor 0, the programs' frames go out on 1, and its own
reports ("ready", "done") on 2. A program holds none of them: it reads and writes pipes of the zygote, which passes the
bytes on by count. So a report cannot be forged, and nothing that a program does late reaches the next call.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import select
import shutil
import signal
import sys
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import frames, lockdown
from .child import Child, spawn
from .relay import Capture, Relay

FLOOD = 16 * 2**20
"""Bytes of text, on standard output or error, at which a program is killed."""


def main() -> None:
    """Serve until the host hangs up. Never returns."""
    requests, data, control = _take_streams()
    start = frames.read_header(requests)
    if start is None:
        os._exit(0)
    setup = json.loads(start)
    root = Path(tempfile.mkdtemp(prefix="autocode-"))
    try:
        _load(setup)
        lock = lockdown.lock_worker(
            network=setup["network"],
            file_bytes=setup["file_bytes"],
            address_space=setup["address_space"],
            hide_memory=setup["hide_memory"],
        )
    except BaseException:
        failed = {"kind": "failed", "text": traceback.format_exc(limit=-3), "payload": 0}
        frames.write_all(control, [frames.pack(failed)])
        os._exit(1)
    zygote = Zygote(requests, data, control, root, keep_text=setup["text_bytes"])
    zygote.report(
        "ready",
        python=list(sys.version_info[:3]),
        machine=platform.machine(),
        pid=os.getpid(),
        folder=str(root),
        lockdown=asdict(lock),
    )
    try:
        zygote.serve()
    finally:
        zygote.end()
        os._exit(0)


class Zygote:
    """One request after the other, each in its own child, which has been forked ahead of time."""

    def __init__(self, requests: int, data: int, control: int, root: Path, *, keep_text: int) -> None:
        self.requests = requests
        self.data = data
        self.control = control
        self.root = root
        self.keep_text = keep_text
        self.spare: Child | None = None
        self.kept: Child | None = None
        self._folders = 0
        self.deaths, wake = os.pipe()
        os.set_blocking(self.deaths, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._wake = wake

    def serve(self) -> None:
        """Take requests until there are no more."""
        while True:
            if self.spare is None:
                self.spare = self._spawn()
            raw = frames.read_header(self.requests)
            if raw is None:
                return
            self._one(raw, json.loads(raw))

    def report(self, kind: str, **facts: Any) -> None:
        """Tell the host."""
        frames.write_all(self.control, [frames.pack({"kind": kind, "payload": 0, **facts})])

    def end(self) -> None:
        """Kill what is left and remove what it wrote."""
        for child in (self.kept, self.spare):
            if child is not None:
                child.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def _one(self, raw: bytes, header: dict[str, Any]) -> None:
        child = self._child_for(header)
        call = Call(self, child, raw, header["payload"])
        call.pump()
        again = call.finished and header.get("reuse", False) and not call.flooded
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
            out_of_memory=child.signal == signal.SIGKILL and _memory_kills() > call.memory_kills,
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
            shutil.rmtree(spare.folder, ignore_errors=True)

    def _spawn(self) -> Child:
        self._folders += 1
        folder = self.root / str(self._folders)
        folder.mkdir()
        return spawn(folder, not_for_child=(self.requests, self.data, self.control, self.deaths, self._wake))

    def _bury(self, child: Child) -> None:
        """Close, reap and clean up after a killed child; what escaped its group ends the whole worker."""
        child.close()
        if not child.reap():
            self.report("escaped")
            os._exit(1)
        shutil.rmtree(child.folder, ignore_errors=True)


class Call:
    """One request on its way through a child: payload in, frames out, text kept, until the child has finished or died."""

    def __init__(self, zygote: Zygote, child: Child, raw: bytes, payload: int) -> None:
        self.zygote = zygote
        self.child = child
        self.finished = False
        self.flooded = ""
        self.memory_kills = _memory_kills()
        self.payload = payload
        self.input = Relay(zygote.requests, child.inbox, payload)
        self.output = Relay(child.outbox, zygote.data)
        self.stdout = Capture(child.stdout, zygote.keep_text)
        self.stderr = Capture(child.stderr, zygote.keep_text)
        self._head = memoryview(len(raw).to_bytes(4, "big") + raw)

    def pump(self) -> None:
        """Move everything that can be moved until the child says that it has finished, or is no more."""
        while True:
            ready = self._wait()
            if ready.get(self.zygote.requests, 0) & (select.POLLHUP | select.POLLERR):
                self.zygote.end()  # the host is gone
                os._exit(0)
            self._move_input()
            self.output.step()
            for name, capture in (("standard output", self.stdout), ("standard error", self.stderr)):
                if capture.source in ready and not capture.ended:
                    capture.step()
                    if capture.total > FLOOD:
                        self.flooded = name
                        return
            if self.child.done in ready:
                self.finished = bool(os.read(self.child.done, 1))
                return
            _empty(self.zygote.deaths)
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
        rest = self.payload - self.input.taken
        while rest > 0:
            part = os.read(self.zygote.requests, min(rest, 1 << 20))
            if not part:
                os._exit(0)
            rest -= len(part)

    def _wait(self) -> dict[int, int]:
        wanted: dict[int, int] = {self.zygote.requests: 0, self.child.done: select.POLLIN}
        wanted[self.zygote.deaths] = select.POLLIN
        for capture in (self.stdout, self.stderr):
            if not capture.ended:
                wanted[capture.source] = select.POLLIN
        if self._head:
            wanted[self.child.inbox] = select.POLLOUT
        elif self.input.open:
            fd, event = self.input.waits_for
            wanted[fd] = wanted.get(fd, 0) | event
        if self.output.open:
            fd, event = self.output.waits_for
            wanted[fd] = wanted.get(fd, 0) | event
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        return dict(poll.poll())

    def _move_input(self) -> None:
        try:
            if self._head:
                self._head = self._head[os.write(self.child.inbox, self._head) :]
            if not self._head:
                self.input.step()
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._head = memoryview(b"")
            self.input.sink_gone = True


def _take_streams() -> tuple[int, int, int]:
    """Move the host's streams out of the way of everything that prints, and put nothing in their place."""
    streams = tuple(os.dup(fd) for fd in range(3))
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.close(nothing)
    os.set_blocking(streams[1], False)
    return streams[0], streams[1], streams[2]


def _load(setup: dict[str, Any]) -> None:
    """Import what programs are likely to need, and use it once, so that no child has to."""
    threads = str(setup["threads"])
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB", "ARROW_IO", "POLARS", "RAYON"):
        suffix = {"ARROW_IO": "THREADS", "POLARS": "MAX_THREADS", "VECLIB": "MAXIMUM_THREADS"}.get(name, "NUM_THREADS")
        os.environ[f"{name}_{suffix}"] = threads
    os.environ["MPLBACKEND"] = "Agg"
    importlib.import_module("autocoder_worker.warmup").warm_up()
    for name in setup["preload"]:
        with contextlib.suppress(ImportError):  # a program that needs it will say so itself
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _memory_kills() -> int:
    """How often the kernel killed for lack of memory in our control group, as far as it lets itself be read."""
    for name in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError):
            for line in Path(name).read_text("ascii").splitlines():
                key, _, number = line.partition(" ")
                if key == "oom_kill":
                    return int(number)
    return 0


def _wait_for(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()


def _empty(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass
