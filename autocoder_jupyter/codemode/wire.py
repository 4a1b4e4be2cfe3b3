"""Messages between the kernel and the process of the sandbox: a length, then JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import IO, Any, BinaryIO

_LENGTH = struct.Struct(">Q")

Parse = Callable[[bytes], Any]


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write one message.

    Raises:
        OSError: the other process has ended.
    """
    text = json.dumps(message).encode()
    stream.write(_LENGTH.pack(len(text)))
    stream.write(text)
    stream.flush()


def receive(stream: BinaryIO, parse: Parse = json.loads) -> Any:
    """Read one message; None if there is no further one."""
    if len(length := stream.read(_LENGTH.size)) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(length)[0]
    text = stream.read(size)
    return parse(text) if len(text) == size else None
