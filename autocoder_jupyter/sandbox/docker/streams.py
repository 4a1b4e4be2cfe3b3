"""The three byte streams between the host and the worker in a container. There are two implementations.

On the same machine, they are unix sockets in a private folder that is bind-mounted read-only, so the data does not pass
through the engine. Otherwise (Docker Desktop, a remote engine, a policy that forbids the mount) they use the engine's
attach stream: one connection with a small header before each piece.
"""

from __future__ import annotations

import io
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.programs.socket_streams import BUFFER, SOCKET
from autocoder_jupyter.sandbox.temporary_folder import make_folder

PIECE = 1 << 18

PRELUDE = program_text("socket_streams")
"""Runs in the container before the loader."""


@dataclass(frozen=True)
class ContainerStreams:
    """The host's ends, as file descriptors: requests to the worker, data and control from it."""

    requests: io.FileIO
    data: io.FileIO
    control: io.FileIO

    @property
    def ended(self) -> bool:
        """Whether the worker has closed its end. There may still be unread bytes."""
        watched = select.poll()
        try:
            watched.register(self.control, 0)  # poll always reports a hang-up
        except ValueError:
            return False  # already closed on this side
        return bool(watched.poll(0))

    def hang_up(self) -> None:
        """Shut down the connections, even if other processes have copies of them. The worker then ends by itself."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError, ValueError), socket.socket(fileno=os.dup(stream.fileno())) as link:
                link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close all three. The worker then ends by itself, because its input has ended."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError):
                stream.close()


class NotConnected(Exception):
    """The worker did not connect to the socket."""


class SocketListener:
    """A listening unix socket in a folder that only this user and the container can reach.

    Other users of the machine cannot enter the outer folder. Only the inner folder is mounted, so the container's user
    needs no permission for the outer one.

    Attributes:
        folder: the inner folder.
        hosts: a file for a container without a network, in which `localhost` is the only name.
    """

    def __init__(self) -> None:
        self._outer = make_folder("meeting")
        self.folder = self._outer.path / "meet"
        self.folder.mkdir()
        self.folder.chmod(0o711)
        self.hosts = self._outer.path / "hosts"
        self.hosts.write_text("127.0.0.1\tlocalhost\n::1\tlocalhost\n", "utf-8")
        self.hosts.chmod(0o644)
        self._listener = socket.socket(socket.AF_UNIX)
        # The folder's descriptor is used, because the path of a socket is limited to about a hundred characters.
        folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)
        (self.folder / SOCKET).chmod(0o666)
        self._listener.listen(3)

    def accept(self, *, seconds: float, gone: Callable[[], bool]) -> ContainerStreams:
        """Wait for the three connections of the worker.

        Args:
            seconds: time limit.
            gone: returns whether the container has ended.

        Raises:
            NotConnected: the container ended, or did not connect in time.
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
        return ContainerStreams(
            requests=io.FileIO(links[0].detach(), "wb"),
            data=io.FileIO(links[1].detach(), "rb"),
            control=io.FileIO(links[2].detach(), "rb"),
        )

    def close(self) -> None:
        """Stop listening and remove the folder."""
        self._listener.close()
        self._outer.remove()


class Attached:
    """The engine's attach stream. Two threads copy its parts from and to pipes.

    Args:
        link: the raw connection from docker-py.
    """

    def __init__(self, link: Any) -> None:
        self._link = _Link(link)
        from_host, requests = os.pipe()
        data, to_data = os.pipe()
        control, to_control = os.pipe()
        self.streams = ContainerStreams(io.FileIO(requests, "wb"), io.FileIO(data, "rb"), io.FileIO(control, "rb"))
        for work, arguments in ((self._send, (from_host,)), (self._receive, (to_data, to_control))):
            start_thread(partial(work, *arguments), "autocode-attach")

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
        """Close the connection. The engine then closes the worker's standard input."""
        self._link.close()


class _Link:
    """A common interface for the raw connections of docker-py, whose types depend on the transport."""

    def __init__(self, link: Any) -> None:
        self._keep = link  # it refers to the HTTP response; the connection is closed when that is garbage-collected
        self._socket = getattr(link, "_sock", link)
        self._unread = memoryview(b"")
        with suppress(AttributeError):
            self._socket.settimeout(None)

    def send(self, piece: bytes) -> None:
        self._socket.sendall(piece)

    def receive(self, size: int) -> memoryview:
        """Receive between one and `size` bytes. Several of the engine's small frames are read at a time."""
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
        """Signal that nothing more will be sent."""
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
