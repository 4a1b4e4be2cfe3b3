"""Ending a build or a call from another thread: whoever works says how its present step is ended at once.

It waits for subprocesses, an engine, a worker and other kernels' builds. None of them notices by itself that nobody
wants the outcome any more, so a `Stop` goes down with the work and each step that takes long names its own end.
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

_POLL_SECONDS = 0.1
"""How often somebody who waits for another's lock looks whether to go on waiting."""


class Stop:
    """A wish that may be uttered once, from any thread, and is heard by what is under way.

    Args:
        said: what was stopped, as a sentence.
    """

    def __init__(self, said: str = "The build of the environment was cancelled.") -> None:
        self._said = said
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._ends: list[Callable[[], None]] = []

    def ask(self) -> None:
        """End what is under way, and let nothing further begin. Returns at once."""
        with self._lock:
            self._asked.set()
            for end in self._ends:
                end()

    def require_going(self) -> None:
        """Raise when the stop was asked for.

        Raises:
            Cancelled: it was.
        """
        if self._asked.is_set():
            raise Cancelled(self._said)

    def wait(self, seconds: float) -> None:
        """Let time pass, until the stop is asked for at most."""
        self._asked.wait(seconds)

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """While this lasts, `ask` calls `end`, which makes the step return soon, in whatever way, and never raises.

        Raises:
            Cancelled: the stop was asked for, in place of whatever the step then returned or raised.
        """
        with self._lock:
            self._ends.append(end)
            if self._asked.is_set():
                end()
        try:
            self.require_going()
            yield
        except Exception:
            self.require_going()
            raise
        finally:
            with self._lock:
                self._ends.remove(end)
        self.require_going()


def run_stoppable(
    command: Sequence[str],
    *,
    stop: Stop,
    input: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a folder of choice, and end all that it started when the stop is asked for.

    Raises:
        Cancelled: it was stopped; no process of it lives.
    """
    stop.require_going()
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
    with process, stop.ends(lambda: _kill(process)):
        try:
            output, errors = process.communicate(input)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


@contextmanager
def build_lock(file: Path, stop: Stop) -> Iterator[None]:
    """Let one build on this machine have its turn; the others wait, and find what it made.

    Raises:
        Cancelled: the stop was asked for while another had its turn.
    """
    from filelock import FileLock, Timeout  # takes its time, and a call in a known environment needs none

    file.parent.mkdir(parents=True, exist_ok=True)
    turn = FileLock(file)
    while True:
        stop.require_going()
        try:
            turn.acquire(timeout=_POLL_SECONDS)
            break
        except Timeout:
            continue
    try:
        yield
    finally:
        turn.release()


def _kill(process: subprocess.Popen[str]) -> None:
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # a system without process groups
        process.kill()
    except ProcessLookupError:
        return
