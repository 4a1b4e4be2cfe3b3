"""Try operations that must fail in the local sandbox, and some that must work. Print the results as JSON.

Arguments: a file of the notebook's user, a path in the same folder, the path of a Unix socket, the name of an abstract
Unix socket, a port of this machine, and the process id of the notebook.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

SEEN = "see a file of the notebook's user"
"""This works in a tier without a mount namespace."""

MUST_WORK = ("write in its folder", "start a process", "end a process of its own")
"""A worker needs these. No other operation may work, except `SEEN` in some tiers."""


def works(action: Callable[[], object]) -> bool:
    """Whether the action does not raise."""
    try:
        action()
    except BaseException:
        return False
    return True


def child(action: Callable[[], object]) -> int:
    """Fork a child that performs the action and exits; returns its process id."""
    pid = os.fork()
    if not pid:
        action()
        os._exit(0)
    return pid


def notebook_pid(number: int) -> int:
    """Return `number`, the process id of the notebook.

    Raises:
        ProcessLookupError: this process has the same id, so it is in another PID namespace.
    """
    if number == os.getpid():
        raise ProcessLookupError
    return number


def connect(family: int, address: str | tuple[str, int]) -> None:
    """Connect a new socket."""
    with socket.socket(family) as link:
        link.connect(address)


def answers(canary: str, beside: str, path_socket: str, name: str, port: int, notebook: int) -> dict[str, bool]:
    """For each operation, described by a phrase, whether it worked."""
    return {
        "read a file of the notebook's user": works(lambda: Path(canary).read_bytes()),
        "write a file outside of its folder": works(lambda: Path(beside).write_bytes(b"")),
        "empty a file of the notebook's user": works(lambda: os.truncate(canary, 0)),
        "empty a file by opening it": works(lambda: os.open(canary, os.O_RDONLY | os.O_TRUNC)),
        "connect to a port": works(lambda: connect(socket.AF_INET, ("127.0.0.1", port))),
        "connect to a socket in a folder": works(lambda: connect(socket.AF_UNIX, path_socket)),
        "connect to a socket without a file": works(lambda: connect(socket.AF_UNIX, "\0" + name)),
        "send a signal to the notebook": works(lambda: os.kill(notebook_pid(notebook), 0)),
        "slow the notebook down": works(lambda: os.setpriority(os.PRIO_PROCESS, notebook_pid(notebook), 0)),
        SEEN: works(lambda: Path(canary).stat()),
        "write in its folder": works(lambda: Path("file").write_bytes(b"")),
        "start a process": works(lambda: os.waitpid(child(lambda: None), 0)),
        "end a process of its own": works(lambda: os.kill(child(signal.pause), signal.SIGKILL)),
    }


def main(canary: str, beside: str, path_socket: str, name: str, port: str, notebook: str) -> None:
    """Try all operations and print the results."""
    print(json.dumps(answers(canary, beside, path_socket, name, int(port), int(notebook))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
