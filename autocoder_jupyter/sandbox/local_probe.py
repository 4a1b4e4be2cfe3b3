"""Find out by a real run whether the local sandbox holds on this machine, and say in words why not.

A program in the sandbox tries what must fail (read a canary, write beside it, reach a socket, signal the notebook) and
what must work (write in its folder, fork). A kernel's version or a library's promise is not asked.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.local_process import LocalProcess
from autocoder_jupyter.sandbox.process import ExitReason
from autocoder_jupyter.sandbox.protocol import Probe

NEEDED_LANDLOCK = 6
_SECONDS = 20.0
_SYS_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_CREATE_RULESET_VERSION = 1

_PROGRAM = """
import json, os, socket, sys
canary, beside, port, notebook = sys.argv[1:]
def works(action):
    try:
        action()
    except BaseException:
        return False
    return True
def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
print(json.dumps({
    "read a file of the notebook's user": works(lambda: open(canary).read()),
    "write a file outside of its folder": works(lambda: open(beside, "w").close()),
    "connect to a socket": works(lambda: socket.create_connection(("127.0.0.1", int(port)), 1).close()),
    "send a signal to the notebook": works(lambda: os.kill(int(notebook), 0)),
    "write in its folder": works(lambda: open("file", "w").close()),
    "fork": works(fork),
}), flush=True)
"""
_MUST_WORK = ("write in its folder", "fork")

_lock = threading.Lock()
_answer: Probe | None = None

StartProgram = Callable[[list[str]], LocalProcess]
"""Starts a program in the sandbox, as a worker would be started."""


def probe(start: StartProgram) -> Probe:
    """Whether the sandbox holds; found out once a process."""
    global _answer
    with _lock:
        _answer = _answer or _find_out(start)
        return _answer


def _find_out(start: StartProgram) -> Probe:
    if not sys.platform.startswith("linux"):
        return _no("The local sandbox needs Linux (Landlock and seccomp).")
    version = landlock_version()
    details = {"landlock": str(version)}
    if version < NEEDED_LANDLOCK:
        return _no(
            f"The kernel offers Landlock version {version}, {NEEDED_LANDLOCK} is needed (Linux 6.12 or later)."
            if version > 0
            else "The kernel has no Landlock, or the container around this notebook forbids it.",
            details,
        )
    began = time.perf_counter()
    try:
        answers, error = _run(start)
    except (SandboxUnavailable, OSError) as failure:
        return _no(str(failure), details)
    details["milliseconds"] = f"{(time.perf_counter() - began) * 1000:.0f}"
    if answers is None:
        return _no(f"A trial run in the sandbox failed: {error}", details)
    wrong = [what for what, worked in answers.items() if worked != (what in _MUST_WORK)]
    if wrong:
        details["trial"] = ", ".join(wrong)
        could = "cannot" if wrong[0] in _MUST_WORK else "can"
        return _no(f"The sandbox does not hold here: a program in it {could} {wrong[0]}.", details)
    details["limits"] = (
        "memory, disk and threads are watched every 50 ms, not enforced by the kernel; "
        "buffers of pipes and sockets are not counted"
    )
    return Probe("local", True, "limits of memory and disk are best effort", details)


def _run(start: StartProgram) -> tuple[dict[str, bool] | None, str]:
    """The program's answers, or None and the reason."""
    with tempfile.TemporaryDirectory(prefix="autocode-canary-") as folder, closing(_listener()) as listener:
        canary = Path(folder, "canary")
        canary.write_text("nobody may read this", "utf-8")
        arguments = [str(canary), str(Path(folder, "beside")), str(listener.getsockname()[1]), str(os.getpid())]
        process = start(["-I", "-S", "-B", "-c", _PROGRAM, *arguments])
        try:
            printed = _read_all(process.data.fileno())
            complaint = _read_all(process.control.fileno()).decode("utf-8", "replace").strip()
            reason = process.exit_reason()
        finally:
            process.kill()
            for stream in (process.requests, process.data, process.control):
                stream.close()
    try:
        return json.loads(printed), ""
    except ValueError:
        return None, _explain(reason, complaint)


def _listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def _explain(reason: ExitReason, complaint: str) -> str:
    ended = f"killed by signal {reason.signal}" if reason.signal else f"exit code {reason.exit_code}"
    return "; ".join(filter(None, (reason.text or ended, complaint[-300:]))) + (
        ". Inside a container, its seccomp profile may forbid Landlock or seccomp notification."
    )


def _read_all(descriptor: int) -> bytes:
    """What comes until the stream ends, or until the patience does."""
    deadline = time.monotonic() + _SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    while poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
        part = os.read(descriptor, 65536)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 or less when it offers none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(_SYS_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION)), 0)


def _no(reason: str, details: dict[str, str] | None = None) -> Probe:
    return Probe("local", False, reason, details or {})
