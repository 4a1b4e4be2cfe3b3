"""Cancelling a build or a call from another thread.

A build waits for subprocesses, an engine, a worker and the builds of other kernels. None of them notices by itself that
it was cancelled. So a `CancellationToken` is passed down, and each step that takes long registers how it is ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from autocoder_jupyter.errors import Cancelled


class CancellationToken:
    """Cancels what is under way, once, from any thread.

    Args:
        message: of the `Cancelled` that is raised.
    """

    def __init__(self, message: str = "The build of the environment was cancelled.") -> None:
        self._message = message
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """End what is under way, and let nothing further begin. Returns at once."""
        with self._lock:
            self._cancelled.set()
            for end in self._callbacks:
                end()

    def raise_if_cancelled(self) -> None:
        """Do nothing, unless `cancel` was called.

        Raises:
            Cancelled: it was.
        """
        if self._cancelled.is_set():
            raise Cancelled(self._message)

    def wait(self, seconds: float) -> None:
        """Sleep, until `cancel` is called at most.

        Args:
            seconds: at most.
        """
        self._cancelled.wait(seconds)

    @contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """While this lasts, `cancel` calls `end`, which makes the step return soon, in whatever way, and never raises.

        Raises:
            Cancelled: `cancel` was called; in place of whatever the step then returned or raised.
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


def run_cancellable(
    command: Sequence[str],
    *,
    token: CancellationToken,
    input: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a folder of choice, and end all that it started when it is cancelled.

    Raises:
        Cancelled: `cancel` was called; no process of it lives.
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
        start_new_session=True,  # its processes are then one group; nor is a Ctrl-C for the kernel one for it
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
