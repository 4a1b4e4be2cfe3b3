from __future__ import annotations

import os
import socket
import stat
import struct
import threading

import pytest

from autocoder_jupyter.sandbox.docker.container import Attached, NotConnected, SocketListener


def frame(stream: int, content: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(content)) + content


def test_the_attach_stream_is_taken_apart() -> None:
    ours, engines = socket.socketpair()
    attached = Attached(ours)
    engines.sendall(frame(1, b"da") + frame(2, b"control") + frame(1, b"ta"))
    engines.shutdown(socket.SHUT_WR)
    assert attached.streams.data.readall() == b"data"
    assert attached.streams.control.readall() == b"control"
    attached.streams.requests.write(b"a request")
    attached.streams.requests.close()
    assert engines.makefile("rb").read() == b"a request"
    attached.streams.close()
    attached.close()
    engines.close()


def test_a_frame_may_come_in_pieces() -> None:
    ours, engines = socket.socketpair()
    attached = Attached(ours)
    for byte in frame(1, b"slow"):
        engines.send(bytes([byte]))
    engines.close()
    assert attached.streams.data.readall() == b"slow"
    attached.streams.close()
    attached.close()


def test_a_large_frame_passes_through_the_pipes() -> None:
    ours, engines = socket.socketpair()
    attached = Attached(ours)
    content = os.urandom(5 << 20)

    def send() -> None:
        engines.sendall(frame(1, content))
        engines.close()

    threading.Thread(target=send).start()
    assert attached.streams.data.readall() == content
    attached.streams.close()
    attached.close()


def test_the_end_of_the_connection_ends_all_streams() -> None:
    ours, engines = socket.socketpair()
    attached = Attached(ours)
    attached.close()
    assert attached.streams.data.readall() == b"" and attached.streams.control.readall() == b""
    attached.streams.close()
    engines.close()


def test_other_users_cannot_reach_the_meeting_place() -> None:
    place = SocketListener()
    try:
        assert stat.S_IMODE(place.folder.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(place.folder.stat().st_mode) == 0o711
    finally:
        place.close()
    assert not place.folder.parent.exists()


def test_nobody_comes_to_the_meeting_place() -> None:
    place = SocketListener()
    try:
        with pytest.raises(NotConnected, match="ended at once"):
            place.accept(seconds=5, gone=lambda: True)
        with pytest.raises(NotConnected, match="did not connect"):
            place.accept(seconds=0.1, gone=lambda: False)
    finally:
        place.close()
