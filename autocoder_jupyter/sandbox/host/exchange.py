"""Send one request to a process and read the answer, without deadlock and with a time limit.

All streams are polled together, so a program that writes while it is sent a gigabyte does not block. The data stream is
written by generated code: lengths, sizes and JSON are checked before use.

If the stream of requests is a Unix socket, each child of the worker has a link instead of the data stream: a pair of
sockets that is made here. The worker gets one end ahead of time, so that its next child is forked with it. Bytes then
need not be forwarded inside, and what a child sends late is thrown away with its link. A large answer is copied from
the child's memory (`in_place`).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autocoder_jupyter.codec.bounded_json import Allowance, parse
from autocoder_jupyter.sandbox.host import in_place
from autocoder_jupyter.sandbox.worker import frames
from autocoder_jupyter.sandbox.worker.frames import READ, SEND

# The process that a sandbox provides
#
# A sandbox starts `bundle.worker_command(python)` inside, connects the three standard streams to a `Process`, and
# passes it to `channel.connect`. The sandbox does not interpret the bytes of the streams.


@dataclass(frozen=True)
class ExitReason:
    """Why the process tree ended, as far as the sandbox knows.

    Args:
        out_of_memory: a process of the tree has reached the memory limit.
        signal: number of the signal that ended the first process, if any.
        exit_code: its exit code, if it exited.
        text: a message of the engine or the supervisor, for the user.
        engine_gone: the sandbox itself failed (the daemon was restarted, the container was removed), not the program.
        limit: another limit that was reached ("disk", "files"), or "".
    """

    out_of_memory: bool = False
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    engine_gone: bool = False
    limit: str = ""


class Stream(Protocol):
    """One end of a pipe or a socket. The channel makes its descriptor non-blocking, and reads or writes it."""

    def fileno(self) -> int:
        """The open file descriptor. A sandbox without descriptors must copy its stream through an `os.pipe()`."""
        ...

    def close(self) -> None:
        """Close it. May be called repeatedly."""
        ...


class Process(Protocol):
    """A process tree in a sandbox, running the worker's loader.

    The streams must be unbuffered (`Popen(..., bufsize=0)`), and must not be shared with the process inside, because
    the channel makes them non-blocking. When the tree ends, `data` and `control` must reach their end.
    """

    @property
    def requests(self) -> Stream:
        """Written by the host: the worker's standard input."""
        ...

    @property
    def data(self) -> Stream:
        """Read by the host: the worker's standard output."""
        ...

    @property
    def control(self) -> Stream:
        """Read by the host: the worker's standard error."""
        ...

    def watch(self, at_work: bool) -> None:
        """Called with True when a request begins, and with False when it has ended and no process of it is kept.

        A sandbox that checks limits need not check them while it is False.
        """
        ...

    def kill(self) -> None:
        """Kill the whole tree and release its resources. May be called repeatedly and from any thread.

        It does not close the three streams; the channel closes them later.
        """
        ...

    def exit_reason(self) -> ExitReason:
        """Why it ended. Called only after the streams have ended or after `kill`. It may wait for the sandbox."""
        ...


# Frames

HEADER_LIMIT = 1 << 20
"""Most bytes of one JSON header from a program."""

REPORT_LIMIT = 64 << 20
"""Most bytes of one JSON header from the zygote, which has two captured texts."""

_CREDENTIALS = 12
"""Bytes of the process, user and group of a sender."""

_LINK_BUFFER = 1 << 20
"""Bytes of the buffer to a child. The kernel usually allows less. The child's own end keeps the size that counts."""

_EARLY = "an answer before the request was read"
_SHORT = 1 << 16


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
    """Reads frames from a non-blocking descriptor as bytes arrive. Each payload gets its own buffer.

    Args:
        header_limit: most bytes of a header.
        payload_limit: most bytes of a payload.
        link: the socket of a child, if `fd` is its descriptor. The child may offer frames in its memory.
    """

    def __init__(
        self,
        fd: int,
        *,
        header_limit: int,
        payload_limit: int,
        link: socket.socket | None = None,
        name: bytes = b"",
    ) -> None:
        self._fd = fd
        self._link, self._name = link, name
        self._sender = 0
        self._in_place: in_place.AnswerInPlace | None = None
        self._declined = False
        self._reply: dict[str, Any] | None = None
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
        return self._in_length and not self._filled and self._in_place is None

    @property
    def reads_memory(self) -> bool:
        """Whether the next bytes are in the memory of the child. They can be read at once."""
        return self._in_place is not None

    def take_reply(self) -> bytes:
        """The frame that answers an offer of the child, if one is due; else b""."""
        reply, self._reply = self._reply, None
        return frames.pack(reply) if reply else b""

    def close(self) -> None:
        """Forget the memory of the child."""
        if self._in_place is not None:
            self._in_place.close()
            self._in_place = None

    def read(self, on_frame: OnFrame) -> None:
        """Read the available bytes, and call `on_frame` for every complete frame."""
        while self._reply is None:
            room = self._room[self._filled :]
            try:
                count = self._receive(room) if self._in_place is None else self._in_place.read(room)
            except BlockingIOError:
                return
            except (OSError, in_place.ChildEnded):
                raise StreamEnded from None
            except in_place.BadOffer as error:
                raise Malformed(str(error)) from None
            if not count:
                raise StreamEnded
            self._filled += count
            while self._filled == len(self._room):
                self._advance(on_frame)
                if self._in_length:
                    break
            if self._in_place is not None:
                self._end_offer()
                return  # the time limit is checked between two steps

    def _receive(self, room: memoryview) -> int:
        """Read from the descriptor. The sender is needed of an offer only, and is read with the length of its frame."""
        if self._link is None or not self._in_length:
            count = os.readv(self._fd, [room])
        else:
            # There is room for the sender only, so a descriptor that is sent here is closed by the kernel.
            count, messages, _, _ = self._link.recvmsg_into([room], socket.CMSG_SPACE(_CREDENTIALS))
            self._sender = in_place.sender_of(messages)
        self.consumed += count
        return count

    def _take_offer(self, places: Any) -> None:
        """Begin to read an answer in the memory of the child, or let the child send it."""
        if self._link is None or self._in_place is not None or self._declined:
            raise Malformed("an offer that was not expected")
        try:
            limit = self._payload_limit + self._header_limit
            self._in_place = in_place.AnswerInPlace(self._sender, self._name, places, limit)
        except in_place.ChildEnded:
            raise StreamEnded from None
        except in_place.BadOffer as error:
            raise Malformed(str(error)) from None
        except OSError:  # the system has no such call, or allows it to nobody
            self._declined, self._reply = True, SEND

    def _end_offer(self) -> None:
        """After the last byte of an offer: release the child."""
        if self._in_place is not None and not self._in_place.left:
            self.close()
            if not self.between_frames:
                raise Malformed("a frame that breaks off")
            self._reply = READ

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
            if self._header["kind"] == "in place":
                places, self._header = self._header.get("places"), None
                self._expect(4, in_length=True)
                self._take_offer(places)
                return
            size = self._header.get("payload")
            if type(size) is not int or not 0 <= size <= self._payload_limit:
                raise Malformed(f"a payload of {str(size)[:30]} bytes, {self._payload_limit} are allowed")
            self._expect(size, in_length=False)
        else:
            header, payload, self._header = self._header, self._room, None
            self._expect(4, in_length=True)
            self._declined = False
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


# Streams


class Route:
    """How the bytes of a child travel.

    Args:
        payload_limit: most bytes of one payload.
        link: the socket, if both are its descriptor.

    Attributes:
        ended: whether the child has closed its link.
    """

    def __init__(
        self, sink: int, source: int, payload_limit: int, link: socket.socket | None = None, name: bytes = b""
    ) -> None:
        self.sink, self.source, self.link = sink, source, link
        self.frames = FrameReader(source, header_limit=HEADER_LIMIT, payload_limit=payload_limit, link=link, name=name)
        self.ended = False

    def read(self, on_frame: OnFrame) -> None:
        """Read the available bytes."""
        try:
            self.frames.read(on_frame)
        except StreamEnded:
            if self.link is None:
                raise
            self.frames.close()
            self.ended = True

    def present(self) -> int:
        """Number of bytes that can be read now."""
        import fcntl
        import termios

        waiting = bytearray(4)
        fcntl.ioctl(self.source, termios.FIONREAD, waiting)
        return 0 if self.ended else int.from_bytes(waiting, sys.byteorder)

    def close(self) -> None:
        """Close the link."""
        self.frames.close()
        if self.link is not None:
            self.link.close()


class ProcessStreams:
    """The streams of a process: non-blocking and polled together. Another thread can interrupt the wait.

    Attributes:
        linked: whether its children have links.
    """

    def __init__(self, process: Process, *, payload_limit: int) -> None:
        self._process = process
        self._requests, data, control = (s.fileno() for s in (process.requests, process.data, process.control))
        for fd in (self._requests, data, control):
            os.set_blocking(fd, False)
            _enlarge(fd)
        self._control_fd = control
        self._payload_limit = payload_limit
        self._data = Route(self._requests, data, payload_limit)
        self.linked = _is_unix_socket(self._requests)
        self._links: dict[str, Route] = {}  # that of the child which has taken a request last, and later ones
        self._last_link = ""
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
            self._forget_links()
            os.close(self._woken)
            os.close(self._wake)

    def exchange(
        self,
        pieces: Iterable[Any],
        on_frame: OnFrame,
        *,
        body: Sequence[Any] = (),
        to_kept: bool = False,
        until: str,
        seconds: float,
        take_seconds: float,
    ) -> dict[str, Any]:
        """Send `pieces` to the zygote and `body` to its child, call `on_frame` for every data frame, and return the
        zygote's report of the kind `until`.

        It returns when the report has come and all data bytes before it have been read. The zygote sends a report
        "taken" before the program runs.
        """
        outgoing = frames.views(pieces)
        reports: list[dict[str, Any]] = []
        taken = False
        deadline = time.monotonic() + take_seconds
        route = self._data
        kept = self._links.get(self._last_link) if to_kept else None
        end: int | None = None
        poll, polled = select.poll(), None

        def on_report(header: dict[str, Any], _payload: memoryview) -> None:
            nonlocal taken, deadline, route, end
            if header["kind"] == "taken" and not taken:
                taken = True
                deadline = time.monotonic() + seconds
                before, route, end = route, self._route_to(header.get("link")), None
                if before.link is None:
                    outgoing.extend(frames.views(body))
                elif before is not route:
                    raise Malformed("another child than the kept one took its request")
            else:
                reports.append(header)

        start = self._data.frames.consumed
        try:
            if self._links:  # else the worker is starting
                self.send_links()
            if kept is not None:
                self._send(outgoing, route)
                if not outgoing:
                    route = kept
                    outgoing.extend(frames.views(body))
            while True:
                if reports:
                    report = reports[-1]
                    if end is None:
                        sent = report.get("data_bytes", 0)
                        end = start + sent if sent is not None else route.frames.consumed + route.present()
                    if _is_last(report, until, route.frames, end):
                        if route.link is not None:
                            self._settle(report, route, unsent=bool(outgoing))
                        return report
                reads = taken or route.link is None  # what the kept child sends before counts if it takes the request
                if polled != (state := (route.source, reads and not route.ended, bool(outgoing))):
                    poll, polled = self._poll(route, reading=state[1], sending=state[2]), state
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Expired
                in_memory = route.frames.reads_memory
                ready = dict(poll.poll(0 if in_memory else min(left, 3600) * 1000 + 1))
                if self._woken in ready:
                    raise StreamEnded
                if outgoing and ready.get(route.sink, 0) & ~select.POLLIN:
                    self._send(outgoing, route)
                if reads and (in_memory or ready.get(route.source, 0) & ~select.POLLOUT):
                    route.read(on_frame)
                    if reply := route.frames.take_reply():
                        if outgoing:
                            raise Malformed(_EARLY)
                        outgoing.extend(frames.views([reply]))
                if self._control_fd in ready:
                    self._control.read(on_report)
        except (StreamEnded, Expired) as error:
            with contextlib.suppress(StreamEnded):  # the report "taken" may just have come
                self._control.read(on_report)
            if taken:
                raise
            late = isinstance(error, Expired)
            raise NotTaken(f"It was not ready after {take_seconds:g} s." if late else "") from None

    def send_links(self) -> None:
        """Make the links of the next two children, and send the worker its ends.

        The second child is forked while no request is under way. Its link is sent before, because a descriptor that
        waits in a socket while a program runs counts as a file of unknown size.
        """
        while self.linked and (unused := len(self._links.keys() - {self._last_link})) < 2:
            try:
                self._send_link()
            except OSError:
                if not unused:
                    raise
                return  # there is one for the next child

    def _send_link(self) -> None:
        with socket.socket(fileno=os.dup(self._requests)) as requests:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            name = secrets.token_bytes(32)
            self._links[name.hex()] = Route(ours.fileno(), ours.fileno(), self._payload_limit, ours, name)
            ours.setblocking(False)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LINK_BUFFER)
            try:
                socket.send_fds(requests, [frames.pack_link(name)], [theirs.fileno()])
            except OSError:
                raise StreamEnded from None
            finally:
                theirs.close()

    def _route_to(self, link: Any) -> Route:
        """The route to the child that has taken a request. The links of earlier children are closed."""
        if not self.linked:
            return self._data
        if link not in self._links:
            raise Malformed("a child without a link")
        while (first := next(iter(self._links))) != link:
            self._links.pop(first).close()
        self._last_link = link
        return self._links[link]

    def _settle(self, report: dict[str, Any], route: Route, *, unsent: bool) -> None:
        """Close the link of a child that has ended. Of one that is kept, the next request uses it."""
        if not report.get("kept"):
            self._links.pop(self._last_link).close()
        elif unsent:
            raise Malformed(_EARLY)

    def _forget_links(self) -> None:
        while self._links:
            self._links.popitem()[1].close()

    def _poll(self, route: Route, *, reading: bool, sending: bool) -> select.poll:
        """Waits for what an exchange needs. It is made anew only when that changes: a large frame takes many waits."""
        wanted = {self._control_fd: select.POLLIN, self._woken: select.POLLIN}
        if reading:
            wanted[route.source] = select.POLLIN
        if sending and not route.ended:
            wanted[route.sink] = wanted.get(route.sink, 0) | select.POLLOUT
        poll = select.poll()
        for fd, events in wanted.items():
            poll.register(fd, events)
        return poll

    def _send(self, outgoing: deque[memoryview], route: Route) -> None:
        try:
            frames.write_some(route.sink, outgoing)
        except BlockingIOError:
            return
        except OSError:
            if route.link is None:
                raise StreamEnded from None
            outgoing.clear()  # the child has closed its link; the zygote will report its end
            return


def _is_last(report: dict[str, Any], until: str, source: FrameReader, end: int) -> bool:
    """Whether everything has come that a report announces."""
    if report["kind"] != until:
        raise Malformed(str(report.get("text") or f"an unexpected report {report['kind'][:30]!r}"))
    if source.consumed > end:
        raise Malformed("more bytes than were reported")
    if source.consumed == end and not source.between_frames and report.get("finished"):
        raise Malformed("a frame that breaks off")
    return source.consumed == end


def _is_unix_socket(fd: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return False
    with socket.socket(fileno=os.dup(fd)) as link:
        return link.family == socket.AF_UNIX


def _enlarge(fd: int) -> None:
    """Set the buffer of a pipe to 1 MiB. It has no effect on a socket, or if the user has too many large pipes."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (ImportError, AttributeError, OSError):
        pass
