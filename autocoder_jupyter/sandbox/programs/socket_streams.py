"""Put three connections to the host in place of the standard streams. In a container, before the program proper.

The order is that in which the host accepts them. After the third one nothing listens any more.
"""

import os
import socket

MOUNT = "/run/autocode"
"""The folder of the host's socket, inside the container."""

SOCKET = "worker"
"""The name of the socket in it."""

BUFFER = 1 << 20
"""Of a socket or pipe, in bytes. Large ones mean fewer switches between the two processes; the kernel may give less."""


def connect() -> None:
    """Connect standard input, output and error."""
    for descriptor in range(3):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"{MOUNT}/{SOCKET}")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            os.dup2(link.fileno(), descriptor)


if __name__ == "__main__":
    connect()
