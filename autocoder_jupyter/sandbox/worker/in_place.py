"""Hand over a large answer in place: the host copies it from the memory of this process, without a socket between.

The bytes are then copied once and not twice. The host finds the process by what the kernel says of the sender, and
knows it by the name of its link, which it reads first. Where it may not read the memory, it asks for the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import frames

LEAST = 1 << 20
"""Bytes from which an answer is offered. A smaller one is sent faster."""

MOST_PLACES = 1024
"""Most pieces of one answer: as many as one system call reads."""

READ, SEND = {"kind": "read", "payload": 0}, {"kind": "send", "payload": 0}
"""The replies of the host: it has copied the answer, or it must be sent."""

_name = b""


def keep_name(name: bytes) -> None:
    """Keep the name of the link of this process in its memory, where the host will look for it."""
    global _name
    _name = name


def handed_over(link: int, pieces: Iterable[Any]) -> bool:
    """Offer the pieces of an answer to the host, and wait until it has copied them.

    Returns:
        False if they must be sent: they are too small or too many, or the host cannot read them.
    """
    parts = frames.views(pieces)
    if sum(part.nbytes for part in parts) < LEAST or len(parts) >= MOST_PLACES:
        return False
    places = [[_address(part), part.nbytes] for part in (memoryview(_name), *parts)]
    frames.write_all(link, [frames.pack({"kind": "in place", "places": places, "payload": 0})])
    reply = frames.read(link)
    if reply is None:
        os._exit(0)
    return bool(reply[0]["kind"] == READ["kind"])


def _address(part: memoryview) -> int:
    import numpy as np  # the host, which imports this module for its constants, may have no use for it

    return int(np.frombuffer(part, np.uint8).__array_interface__["data"][0])  # `.ctypes` would import that first
