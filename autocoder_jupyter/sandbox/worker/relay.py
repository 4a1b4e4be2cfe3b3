"""Forward a counted number of bytes between a program and the host, and keep a part of the program's text output.

The program has its own pipes and no descriptor of the host. So it cannot read the input of another program, its late
output does not reach the next call, and the host knows how many bytes belong to this call.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios

FLOOD = 16 * 2**20
"""A program that writes more bytes to its standard output or error is killed."""

_CHUNK = 1 << 20


class Relay:
    """Moves bytes from one descriptor to another without blocking. It uses `splice` (no copy) if that works.

    Args:
        limit: number of bytes to move; None moves until the end of the source.

    Attributes:
        taken: number of bytes read from the source.
        moved: number of bytes written to the sink.
        ended: whether all bytes were moved.
        sink_gone: whether the reader of the sink has closed it.
    """

    def __init__(self, source: int, sink: int, limit: int | None = None) -> None:
        self.source = source
        self.sink = sink
        self.limit = limit
        self.taken = 0
        self.moved = 0
        self.ended = limit == 0
        self.sink_gone = False
        self._wait_for_sink = False
        self._pending = b""
        self._splice = hasattr(os, "splice")

    @property
    def waits_for(self) -> tuple[int, int]:
        """The descriptor and the poll event to wait for before the next step."""
        return (self.sink, select.POLLOUT) if self._wait_for_sink else (self.source, select.POLLIN)

    @property
    def open(self) -> bool:
        """Whether there may be more bytes to move, and the sink is open."""
        return not self.ended and not self.sink_gone

    def stop_after_present(self) -> None:
        """Set the limit to the bytes that are in the source now."""
        waiting = bytearray(4)
        fcntl.ioctl(self.source, termios.FIONREAD, waiting)
        self.limit = self.taken + int.from_bytes(waiting, sys.byteorder)
        self.ended = self.moved == self.limit

    def step(self) -> None:
        """Move the bytes that can be moved without blocking."""
        while self.open:
            try:
                count = self._move(_CHUNK if self.limit is None else min(_CHUNK, self.limit - self.moved))
            except BlockingIOError:
                self._wait_for_sink = _readable(self.source) or bool(self._pending)
                return
            except BrokenPipeError:
                self.sink_gone = True
                return
            self._wait_for_sink = False
            self.moved += count
            self.ended = count == 0 or self.moved == self.limit
            if not self._splice:
                return  # the source may be a blocking descriptor; only the first read after a poll cannot block

    def _move(self, size: int) -> int:
        if self._splice:
            try:
                count = os.splice(self.source, self.sink, size, flags=os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE)
            except (BlockingIOError, BrokenPipeError):
                raise
            except OSError:  # neither end is a pipe, or the kernel has no splice
                self._splice = False
            else:
                self.taken += count
                return count
        if not self._pending:
            self._pending = os.read(self.source, min(size, 1 << 16))
            self.taken += len(self._pending)
            if not self._pending:
                return 0
        count = os.write(self.sink, self._pending)
        self._pending = self._pending[count:]
        return count


class Capture:
    """Keeps the head and the tail of a program's output.

    Args:
        keep: number of bytes to keep, head and tail together.

    Attributes:
        total: number of bytes read.
        ended: whether the source has ended.
    """

    def __init__(self, source: int, keep: int) -> None:
        self.source = source
        self.total = 0
        self.ended = False
        self._half = max(keep // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()

    def step(self) -> None:
        """Read the available bytes, at most one chunk."""
        try:
            chunk = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        self.ended = not chunk
        self.total += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        del self._tail[: -self._half]

    def text(self) -> str:
        """The kept output. A line in the middle says how many bytes are missing."""
        missing = self.total - len(self._head) - len(self._tail)
        middle = f"\n[... {missing} bytes left out ...]\n".encode() if missing else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")


def _readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))
