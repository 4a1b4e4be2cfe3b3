"""Send one request over the three streams of a process and read the answer, without deadlock and with a time limit.

All streams are polled together, so a program that writes while it is sent a gigabyte does not block. The data stream is
written by generated code: lengths, sizes and JSON are checked before use.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from autocoder_jupyter.codec.bounded_json import Allowance, parse
from autocoder_jupyter.sandbox.host.process import Process
from autocoder_jupyter.sandbox.worker import frames

HEADER_LIMIT = 1 << 20
"""Most bytes of one JSON header from a program."""

REPORT_LIMIT = 64 << 20
"""Most bytes of one JSON header from the zygote, which has two captured texts."""

_SHORT = 1 << 16
_PIECES = 64


class Expired(Exception):
    """The program exceeded its time limit."""


class StreamEnded(Exception):
    """A stream ended, so the worker has ended."""


class NotTaken(StreamEnded):
    """The worker ended, or was not ready, before it took the request. The program is not the cause."""


class Malformed(Exception):
    """The bytes of a stream are not a valid frame. The text says why."""


OnFrame = Callable[[dict[str, Any], memoryview], None]


class FrameReader:
    """Reads frames from a non-blocking descriptor as bytes arrive. Each payload gets its own buffer."""

    def __init__(self, fd: int, *, header_limit: int, payload_limit: int) -> None:
        self._fd = fd
        self._header_limit = header_limit
        self._payload_limit = payload_limit
        self._room: memoryview = memoryview(bytearray(4))
        self._filled = 0
        self._header: dict[str, Any] | None = None
        self._in_length = True
        self.consumed = 0

    @property
    def between_frames(self) -> bool:
        """Whether no frame is partly read."""
        return self._in_length and not self._filled

    def read(self, on_frame: OnFrame) -> None:
        """Read the available bytes, and call `on_frame` for every complete frame.

        Raises:
            StreamEnded: the stream has ended.
            Malformed: the bytes are not a frame.
        """
        while True:
            try:
                count = os.readv(self._fd, [self._room[self._filled :]])
            except BlockingIOError:
                return
            except OSError:
                raise StreamEnded from None
            if not count:
                raise StreamEnded
            self.consumed += count
            self._filled += count
            while self._filled == len(self._room):
                self._advance(on_frame)
                if self._in_length:
                    break

    def _advance(self, on_frame: OnFrame) -> None:
        """Handle a complete part of a frame, and prepare for the next part."""
        if self._in_length:
            length = int.from_bytes(self._room, "big")
            if not 2 <= length <= self._header_limit:
                raise Malformed(
                    f"bytes that are no message: by the first four, a header of {length:,} bytes would follow. "
                    "Perhaps a process that the program started wrote into its stream."
                )
            self._expect(length, in_length=False)
        elif self._header is None:
            self._header = _parse(self._room)
            size = self._header.get("payload")
            if type(size) is not int or not 0 <= size <= self._payload_limit:
                raise Malformed(f"a payload of {str(size)[:30]} bytes, {self._payload_limit} are allowed")
            self._expect(size, in_length=False)
        else:
            header, payload, self._header = self._header, self._room, None
            self._expect(4, in_length=True)
            on_frame(header, payload)

    def _expect(self, size: int, *, in_length: bool) -> None:
        try:
            self._room = frames.allocate(size)
        except (OSError, MemoryError):
            raise Malformed(f"{size} bytes, for which this machine has no memory") from None
        self._filled = 0
        self._in_length = in_length


def _parse(room: memoryview) -> dict[str, Any]:
    try:
        # The parser of the standard library holds the GIL until it is done.
        header = json.loads(bytes(room)) if len(room) <= _SHORT else parse(room, Allowance())
    except (ValueError, RecursionError):
        raise Malformed("a header that is not JSON, of too many parts, or nested too deeply") from None
    if not isinstance(header, dict) or not isinstance(header.get("kind"), str):
        raise Malformed("a header without a kind")
    return header


class ProcessStreams:
    """The three streams of a process: non-blocking and polled together. Another thread can interrupt the wait."""

    def __init__(self, process: Process, *, payload_limit: int) -> None:
        self._process = process
        self._requests, data, control = (s.fileno() for s in (process.requests, process.data, process.control))
        for fd in (self._requests, data, control):
            os.set_blocking(fd, False)
            _enlarge(fd)
        self._data_fd, self._control_fd = data, control
        self._data = FrameReader(data, header_limit=HEADER_LIMIT, payload_limit=payload_limit)
        self._control = FrameReader(control, header_limit=REPORT_LIMIT, payload_limit=0)
        self._woken, self._wake = os.pipe()
        self._closed = False
        self._closing = threading.Lock()

    @property
    def ended(self) -> bool:
        """Whether the worker has ended. Only valid between exchanges, when it sends nothing."""
        if self._closed:
            return True
        poll = select.poll()
        poll.register(self._control_fd, select.POLLIN)
        return bool(poll.poll(0))

    def wake(self) -> None:
        """Make a waiting `exchange` in another thread raise `StreamEnded`."""
        with self._closing:
            if not self._closed:
                os.write(self._wake, b".")

    def close(self) -> None:
        """Close all streams. No exchange may be running."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            for stream in (self._process.requests, self._process.data, self._process.control):
                stream.close()
            os.close(self._woken)
            os.close(self._wake)

    def exchange(
        self, pieces: Iterable[Any], on_frame: OnFrame, *, until: str, seconds: float, take_seconds: float
    ) -> dict[str, Any]:
        """Send `pieces`, call `on_frame` for every data frame, and return the zygote's report of the kind `until`.

        It returns when the report has come and all data bytes that the report announces have been read. The zygote
        sends a report "taken" before the program runs.

        Args:
            pieces: bytes-like objects, sent one after the other without a copy. Do not change them meanwhile.
            on_frame: called with header and payload of each data frame. It may raise to stop the exchange.
            until: kind of the last report.
            seconds: time limit from the report "taken" to the end. The wait for that report does not count.
            take_seconds: time limit until the request is taken.

        Raises:
            Expired: the time limit is over.
            StreamEnded: the worker ended, or `wake` was called.
            NotTaken: the worker did not take the request.
            Malformed: a frame is invalid. After each of these errors the worker cannot be used any more.
        """
        outgoing = deque(view for view in (memoryview(piece).cast("B") for piece in pieces) if view.nbytes)
        reports: list[dict[str, Any]] = []
        taken = False
        deadline = time.monotonic() + take_seconds

        def on_report(header: dict[str, Any], _payload: memoryview) -> None:
            nonlocal taken, deadline
            if header["kind"] == "taken" and not taken:
                taken = True
                deadline = time.monotonic() + seconds
            else:
                reports.append(header)

        start = self._data.consumed
        try:
            while True:
                if reports and self._is_last(reports[-1], until, start):
                    return reports[-1]
                ready = self._poll(deadline, sending=bool(outgoing))
                if self._woken in ready:
                    raise StreamEnded
                if self._requests in ready and outgoing:
                    self._send(outgoing)
                if self._data_fd in ready:
                    self._data.read(on_frame)
                if self._control_fd in ready:
                    self._control.read(on_report)
        except (StreamEnded, Expired) as error:
            with contextlib.suppress(StreamEnded):  # the report "taken" may just have come
                self._control.read(on_report)
            if taken:
                raise
            late = isinstance(error, Expired)
            raise NotTaken(f"It was not ready after {take_seconds:g} s." if late else "") from None

    def _is_last(self, report: dict[str, Any], until: str, start: int) -> bool:
        if report["kind"] != until:
            raise Malformed(str(report.get("text") or f"an unexpected report {report['kind'][:30]!r}"))
        left = report.get("data_bytes", 0) - (self._data.consumed - start)
        if left < 0:
            raise Malformed("more bytes than were reported")
        if left == 0 and not self._data.between_frames and report.get("finished"):
            raise Malformed("a frame that breaks off")
        return bool(left == 0)

    def _poll(self, deadline: float, *, sending: bool) -> dict[int, int]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Expired
        poll = select.poll()
        for fd in (self._data_fd, self._control_fd, self._woken):
            poll.register(fd, select.POLLIN)
        if sending:
            poll.register(self._requests, select.POLLOUT)
        return dict(poll.poll(min(left, 3600) * 1000 + 1))

    def _send(self, outgoing: deque[memoryview]) -> None:
        try:
            count = os.writev(self._requests, [outgoing[place] for place in range(min(len(outgoing), _PIECES))])
        except BlockingIOError:
            return
        except OSError:
            raise StreamEnded from None
        while count:
            piece = outgoing.popleft()
            if count < piece.nbytes:
                outgoing.appendleft(piece[count:])
                return
            count -= piece.nbytes


def _enlarge(fd: int) -> None:
    """Set the buffer of a pipe to 1 MiB. It has no effect on a socket, or if the user has too many large pipes."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (ImportError, AttributeError, OSError):
        pass
