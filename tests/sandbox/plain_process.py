"""NOT a sandbox: a worker in an ordinary subprocess, for tests of what runs inside and of the channel to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from autocoder_jupyter.sandbox.bundle import worker_command
from autocoder_jupyter.sandbox.process import ExitReason


class PlainProcess:
    """An unprotected subprocess that speaks the worker's wire. Only for sources that a test itself wrote."""

    def __init__(self, folder: Path, command: list[str] | None = None) -> None:
        self.told = ExitReason()
        self._popen = subprocess.Popen(
            command or worker_command(sys.executable),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
            cwd=folder,
            start_new_session=True,
        )
        assert self._popen.stdin and self._popen.stdout and self._popen.stderr
        self.requests = self._popen.stdin
        self.data = self._popen.stdout
        self.control = self._popen.stderr

    @property
    def pid(self) -> int:
        return self._popen.pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(signal.SIGKILL)

    def exit_reason(self) -> ExitReason:
        code = self._popen.wait(5)
        if self.told != ExitReason():
            return self.told
        return ExitReason(signal=-code) if code < 0 else ExitReason(exit_code=code)
