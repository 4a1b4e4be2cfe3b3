"""Cancel a build or a call from another thread.

A build waits for subprocesses, an engine, a worker and the builds of other kernels. None of them notices by itself that
it was cancelled. So a `CancellationToken` is passed down, and each long step registers a function that ends it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from autocoder_jupyter.errors import Cancelled


class CancellationToken:
    """Cancels the steps that registered with it. `cancel` may be called from any thread.

    Args:
        message: text of the `Cancelled` that is raised.
    """

    def __init__(self, message: str = "The build of the environment was cancelled.") -> None:
        self._message = message
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """End the running steps, and prevent new ones. Returns at once."""
        with self._lock:
            self._cancelled.set()
            for end in self._callbacks:
                end()

    def raise_if_cancelled(self) -> None:
        """Raise if `cancel` was called.

        Raises:
            Cancelled: `cancel` was called.
        """
        if self._cancelled.is_set():
            raise Cancelled(self._message)

    def wait(self, seconds: float) -> None:
        """Sleep until `cancel` is called, or the time is over.

        Args:
            seconds: the longest time.
        """
        self._cancelled.wait(seconds)

    @contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """Register a function that ends the step inside this context.

        Args:
            end: called by `cancel`, from its thread. It makes the step return or raise soon. It must not raise.

        Raises:
            Cancelled: `cancel` was called. It replaces the exception of the step.
        """
        with self._lock:
            self._callbacks.append(end)
            if self._cancelled.is_set():
                end()
        try:
            self.raise_if_cancelled()
            yield
        except Exception:
            self.raise_if_cancelled()
            raise
        finally:
            with self._lock:
                self._callbacks.remove(end)
        self.raise_if_cancelled()


def _tell_nobody(line: str) -> None:
    """The `tell` of a build that nobody watches."""


@dataclass(frozen=True)
class BuildWatch:
    """Who waits for a build, reads of its steps, and may cancel it.

    Args:
        tell: called with a line before each slow step.
        token: cancels the build and kills its processes.
    """

    tell: Callable[[str], None] = _tell_nobody
    token: CancellationToken = field(default_factory=CancellationToken)


UNWATCHED = BuildWatch()
"""The watch of a build of which nobody reads, and which is never cancelled."""


def run_cancellable(
    command: Sequence[str],
    *,
    token: CancellationToken,
    input: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Its process group is killed if the token is cancelled.

    Args:
        command: program and arguments.
        token: cancels the command.
        input: text for its standard input.
        env: its environment variables; by default those of this process.
        folder: its working directory; by default that of this process.

    Raises:
        Cancelled: `cancel` was called; the command was killed.
        OSError: the command could not be started.
    """
    token.raise_if_cancelled()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=env,
        cwd=folder,
        start_new_session=True,  # its processes form one group, and a Ctrl-C for the kernel does not reach them
    )
    with process, token.on_cancel(lambda: _kill(process)):
        try:
            output, errors = process.communicate(input)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(process: subprocess.Popen[str]) -> None:
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # a system without process groups
        process.kill()
    except ProcessLookupError:
        return
