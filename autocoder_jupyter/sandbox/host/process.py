"""The process that a sandbox provides for a worker: three byte streams, a kill, the reason of its end.

A sandbox starts `bundle.worker_command(python)` inside, with the three standard streams connected to `Process`, and
hands the process to `channel.connect`. It needs to know nothing of what goes over the streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ExitReason:
    """Why the process tree ended, as far as the sandbox knows.

    Args:
        out_of_memory: the memory limit was hit, by whichever process of the tree.
        signal: number of the signal that ended the first process, if one did.
        exit_code: its exit code, if it ended by itself.
        text: last words of the sandbox, for a person: an engine's message, a supervisor's note.
        engine_gone: the sandbox itself failed (daemon restarted, container removed), so the program is not to blame.
        limit: which other limit ended it ("disk", "files"), or "".
    """

    out_of_memory: bool = False
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    engine_gone: bool = False
    limit: str = ""


class Stream(Protocol):
    """One end of a pipe or a socket. The channel makes its descriptor non-blocking and reads or writes that."""

    def fileno(self) -> int:
        """The open file descriptor. A sandbox without descriptors pumps its stream through an `os.pipe()`."""
        ...

    def close(self) -> None:
        """Close it. Idempotent."""
        ...


class Process(Protocol):
    """A process tree in a sandbox, running the worker's loader.

    The streams must be the host's own ends: unbuffered (`Popen(..., bufsize=0)`), and not shared with the process
    inside, because the channel switches them to non-blocking. When the tree ends, `data` and `control` reach their end.
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
        """Called when a request begins and when it has ended. A sandbox that watches limits may pause in between."""
        ...

    def kill(self) -> None:
        """End the whole tree at once and release what the sandbox holds for it. Idempotent, from any thread.

        It does not close the three streams; the channel does, when they are not read any more.
        """
        ...

    def exit_reason(self) -> ExitReason:
        """Why it ended. Called only when the streams ended or after `kill`; may wait a moment for the sandbox."""
        ...
