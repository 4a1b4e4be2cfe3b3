"""Replace the standard streams of a process in a container by three connections to the host.

It runs in front of the actual program. The host accepts the connections in the order of the descriptors, and stops
listening after the third.
"""

import os
import socket

MOUNT = "/run/autocode"
"""The folder of the host's socket, inside the container."""

SOCKET = "worker"
"""The name of the socket in it."""

BUFFER = 1 << 20
"""Buffer of a socket or pipe in bytes. Large buffers need fewer context switches. The kernel may allow less."""


def connect() -> None:
    """Connect standard input, output and error."""
    for descriptor in range(3):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"{MOUNT}/{SOCKET}")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            os.dup2(link.fileno(), descriptor)


if __name__ == "__main__":
    connect()
