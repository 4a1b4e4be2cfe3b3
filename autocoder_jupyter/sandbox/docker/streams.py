"""The three byte streams between the host and a container's worker, two ways.

On the same machine they are unix sockets in a private folder, bind-mounted read-only, so that data never passes through
the engine. Elsewhere (Docker Desktop, a remote engine, a policy that forbids the mount) they go through the engine's
attach stream, which is one connection with a small header before every piece.
"""

from __future__ import annotations

import io
import os
import select
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.programs.socket_streams import BUFFER, SOCKET

PIECE = 1 << 18

PRELUDE = program_text("socket_streams")
"""Runs in the container before the loader."""


@dataclass(frozen=True)
class Streams:
    """The host's ends: requests to the worker, data and control from it. Real file descriptors."""

    requests: io.FileIO
    data: io.FileIO
    control: io.FileIO

    @property
    def ended(self) -> bool:
        """Whether the worker's side is gone, whatever is still unread."""
        watched = select.poll()
        try:
            watched.register(self.control, 0)  # a hang-up is always told
        except ValueError:
            return False  # closed by us
        return bool(watched.poll(0))

    def hang_up(self) -> None:
        """Shut down the connections, even if other processes hold the descriptors; the worker then ends by itself."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError, ValueError), socket.socket(fileno=os.dup(stream.fileno())) as link:
                link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close all three; the worker sees its input hang up and ends."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError):
                stream.close()


class NotConnected(Exception):
    """The worker did not connect to the socket."""


class SocketListener:
    """A listening unix socket in a folder that only this user and the container can reach.

    The outer folder is closed to other users of the machine. The inner one is what gets mounted, so the
    container's user, who is nobody here, needs no right on the outer one.
    """

    def __init__(self) -> None:
        self._outer = Path(tempfile.mkdtemp(prefix="autocode-"))
        self.folder = self._outer / "meet"
        self.folder.mkdir()
        self.folder.chmod(0o711)
        self._listener = socket.socket(socket.AF_UNIX)
        # Through the descriptor of the folder, because a socket's path may have only about a hundred characters.
        folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)
        (self.folder / SOCKET).chmod(0o666)
        self._listener.listen(3)

    def accept(self, *, seconds: float, gone: Callable[[], bool]) -> Streams:
        """Wait for the worker's three connections, or until `gone()` says that it has ended.

        Raises:
            NotConnected: it did not come.
        """
        deadline = time.monotonic() + seconds
        self._listener.settimeout(0.25)
        links: list[socket.socket] = []
        try:
            while len(links) < 3:
                try:
                    links.append(self._listener.accept()[0])
                except TimeoutError:
                    if gone():
                        raise NotConnected("the container ended at once") from None
                    if time.monotonic() > deadline:
                        raise NotConnected(f"the container did not connect within {seconds:.0f} s") from None
        except BaseException:
            for link in links:
                link.close()
            raise
        for link in links:
            link.setblocking(True)
        links[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        return Streams(
            requests=io.FileIO(links[0].detach(), "wb"),
            data=io.FileIO(links[1].detach(), "rb"),
            control=io.FileIO(links[2].detach(), "rb"),
        )

    def close(self) -> None:
        """Stop listening and remove the folder."""
        self._listener.close()
        shutil.rmtree(self._outer, ignore_errors=True)


class Attached:
    """The engine's attach stream, taken apart into pipes by two threads."""

    def __init__(self, link: Any) -> None:
        self._link = _Link(link)
        from_host, requests = os.pipe()
        data, to_data = os.pipe()
        control, to_control = os.pipe()
        self.streams = Streams(io.FileIO(requests, "wb"), io.FileIO(data, "rb"), io.FileIO(control, "rb"))
        for work, arguments in ((self._send, (from_host,)), (self._receive, (to_data, to_control))):
            threading.Thread(target=work, args=arguments, name="autocode-attach", daemon=True).start()

    def _send(self, source: int) -> None:
        with io.FileIO(source, "rb") as requests, suppress(OSError):
            while piece := requests.read(PIECE):
                self._link.send(piece)
        self._link.hang_up()

    def _receive(self, to_data: int, to_control: int) -> None:
        with io.FileIO(to_data, "wb") as data, io.FileIO(to_control, "wb") as control, suppress(OSError, EOFError):
            while True:
                stream, left = struct.unpack(">BxxxL", self._link.receive_exactly(8))
                while left:
                    piece = self._link.receive(left)
                    left -= len(piece)
                    _write_all(control if stream == 2 else data, piece)

    def close(self) -> None:
        """Drop the connection; the engine then closes the worker's standard input."""
        self._link.close()


class _Link:
    """What docker-py returns as a raw connection differs by transport; this is what they have in common."""

    def __init__(self, link: Any) -> None:
        self._keep = link  # docker-py hangs the HTTP response on it, and closes the connection when that is collected
        self._socket = getattr(link, "_sock", link)
        self._unread = memoryview(b"")
        with suppress(AttributeError):
            self._socket.settimeout(None)

    def send(self, piece: bytes) -> None:
        self._socket.sendall(piece)

    def receive(self, size: int) -> memoryview:
        """Some bytes, at least one. The engine's frames are small, so several are read at a time."""
        if not self._unread:
            self._unread = memoryview(self._socket.recv(PIECE))
            if not self._unread:
                raise EOFError
        piece, self._unread = self._unread[:size], self._unread[size:]
        return piece

    def receive_exactly(self, size: int) -> bytes:
        whole = b""
        while len(whole) < size:
            whole += self.receive(size - len(whole))
        return whole

    def hang_up(self) -> None:
        """Say that nothing more will be sent."""
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._socket.close()
        with suppress(OSError, AttributeError):
            self._keep._response.close()


def _write_all(stream: io.FileIO, view: memoryview) -> None:
    while view:
        view = view[stream.write(view) :]
