"""The process that a sandbox provides for a worker: three byte streams, a kill, and the reason of its end.

A sandbox starts `bundle.worker_command(python)` inside, connects the three standard streams to a `Process`, and passes
it to `channel.connect`. The sandbox does not interpret the bytes of the streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
