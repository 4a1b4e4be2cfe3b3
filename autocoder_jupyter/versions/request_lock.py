"""A lock for each request: one process at a time works on it; a second one waits and finds what the first has made.

The lock file is in the cache of this machine, not in the `.autocode` folder, which may be shared. So it does not work
between machines. A process that is stopped keeps its lock: others wait for a while, and then end with an error instead
of asking the model for the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.errors import RequestInUse

# The holder of a lock
#
# It writes itself into the file of the lock, and sets the time of the file again and again: its heartbeat. The system
# releases the locks of a process that ends, but not those of one that is stopped, nor of one whose forked child still
# runs.

State = Literal["alive", "stopped", "gone", "unknown"]

_LONGEST = 200
_STOPPED = frozenset({"T", "t"})
_ENDED = frozenset({"Z", "X", "x"})


@dataclass(frozen=True)
class Holder:
    """A process.

    Args:
        started: when it started, in the system's ticks; "" if that is unknown. The system reuses process numbers.
        namespace: the namespace that its number belongs to; "" if that is unknown.
    """

    pid: int
    started: str = ""
    namespace: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """The current process."""
        return cls(os.getpid(), _stat(os.getpid())[1], _namespace())

    @classmethod
    def read(cls, descriptor: int) -> Holder | None:
        """The process that a lock file names; None if it names none."""
        try:
            words = os.pread(descriptor, _LONGEST, 0).decode("ascii").split(" ")
            pid, started, namespace = words
            return cls(int(pid), started, namespace.strip()) if 0 < int(pid) < 2**31 else None
        except (OSError, ValueError):
            return None

    def write(self, descriptor: int) -> None:
        """Name this process in a lock file that it has locked. A full disk does no harm: the lock counts without it."""
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{self.pid} {self.started} {self.namespace}\n".encode(), 0)

    @property
    def is_this_process(self) -> bool:
        """Whether it is the current process."""
        return self == Holder.this_process()

    @property
    def state(self) -> State:
        """Whether it runs. Unknown without `/proc`, and for a process of another container."""
        if not self.started or self.namespace != _namespace():
            return "unknown"
        state, started = _stat(self.pid)
        if started != self.started or state in _ENDED:
            return "gone"
        return "stopped" if state in _STOPPED else "alive"


def beat(descriptor: int) -> None:
    """Set the time of a lock file: the heartbeat of its holder, and the time of its last use."""
    with contextlib.suppress(OSError):
        os.utime(descriptor)


class Silence:
    """How long a holder shows no sign of life, by the clock of the process that waits.

    The time of the file is only compared with itself, so a machine that slept, or a wrong clock, does no harm.
    """

    def __init__(self) -> None:
        self._seen: object = None
        self._since = time.monotonic()

    def seconds(self, descriptor: int) -> float:
        """Look at the file. Returns the seconds since it last changed."""
        status = os.fstat(descriptor)
        if self._seen != (status.st_ino, status.st_mtime_ns):
            self._seen, self._since = (status.st_ino, status.st_mtime_ns), time.monotonic()
        return time.monotonic() - self._since


def _stat(pid: int) -> tuple[str, str]:
    """State and start of a process, from `/proc`; empty if there is no such process, or no `/proc`."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    return "", ""


def _namespace() -> str:
    """The namespace of process numbers, with the boot of the machine."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii", "replace").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}".replace(" ", "")
    return ""


# The lock

POLL_SECONDS = 0.2
_GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class LockPatience:
    """How long the process that holds a lock may show no sign of life. A process that works is waited for.

    Args:
        beat: seconds between two heartbeats of the holder.
        stopped: seconds without one until a process that is stopped is given up. A debugger may stop it for a while.
        silent: the same for a process of which nothing else is known. A library may hold Python's lock for minutes.
    """

    beat: float = 5.0
    stopped: float = 60.0
    silent: float = 600.0


PATIENCE = LockPatience()


@contextlib.asynccontextmanager
async def hold_lock(
    lock: Path, on_wait: Callable[[str], object], *, patience: LockPatience = PATIENCE
) -> AsyncIterator[bool]:
    """Hold the lock of a request; wait until no other process holds it. Gives whether it is held.

    If the file system has no locks, or the file cannot be opened, there is no lock and no wait. `on_wait` gets what is
    waited for, in a sentence, when that changes, and "" when the wait is over.

    Raises:
        RequestInUse: the holder is stopped, or shows no sign of life.
    """
    descriptor = _opened(lock)
    told, silence = "", Silence()
    try:
        while descriptor is not None and not _is_taken(descriptor):
            silent = silence.seconds(descriptor)
            if os.fstat(descriptor).st_nlink and not _is_abandoned(lock, descriptor, silent):
                if (words := waiting_words(Holder.read(descriptor))) != told:
                    on_wait(words)
                    told = words
                _require_life(lock, descriptor, silent, patience)
                await asyncio.sleep(POLL_SECONDS)
            else:  # it was removed meanwhile; another process locks the file that has its name now
                os.close(descriptor)
                descriptor = _opened(lock)
        if told:
            on_wait("")
        if descriptor is None:
            yield False
            return
        Holder.this_process().write(descriptor)
        beating = asyncio.create_task(_beat(descriptor, patience.beat))
        try:
            yield True
        finally:
            beating.cancel()
    finally:
        if descriptor is not None:
            os.close(descriptor)


async def _beat(descriptor: int, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        beat(descriptor)


def _is_abandoned(lock: Path, descriptor: int, silent: float) -> bool:
    """Whether the holder has ended, and only a process that it forked still has the lock. Then the file is removed.

    A process that has just taken the lock may not have replaced the name of the one before it, so this takes a moment.
    """
    holder = Holder.read(descriptor)
    if holder is None or holder.state != "gone" or silent < _GRACE_SECONDS:
        return False
    with _alone(lock.parent) as alone:
        if alone and _is_file_of(lock, descriptor):
            with contextlib.suppress(OSError):
                lock.unlink()
                return True
    return False


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """A context that gives whether no other process removes a file of this folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield file_locks.try_exclusive(descriptor)
    finally:
        os.close(descriptor)


def _is_file_of(lock: Path, descriptor: int) -> bool:
    """Whether the name of the lock still is that of the open file, and not of a newer one."""
    with contextlib.suppress(OSError):
        return os.path.samestat(lock.stat(), os.fstat(descriptor))
    return False


def _require_life(lock: Path, descriptor: int, silent: float, patience: LockPatience) -> None:
    """Check that the holder still works. Its work is not taken over: it may continue, and pay for it twice."""
    holder = Holder.read(descriptor)
    is_stopped = holder is not None and holder.state == "stopped"
    if silent <= (patience.stopped if is_stopped else patience.silent):
        return
    words = f"process {holder.pid}" if holder is not None else "another process"
    if holder is not None and is_stopped:
        raise RequestInUse(
            f"The same request is in progress in {words}, which is stopped.",
            why="This run did not ask the model, because that process may continue and would pay for the same answers.",
            hint=f"Resume it (kill -CONT {holder.pid}) or end it (kill -9 {holder.pid}), and run the cell again.",
        )
    raise RequestInUse(
        f"The same request is in progress in {words}, which has shown no sign of life for {silent:.0f} s.",
        why="This run did not ask the model, because that process may continue and would pay for the same answers. "
        "It may be a kernel of another container.",
        hint=f"End that kernel, or remove {lock} if it does not exist any more, and run the cell again.",
    )


def waiting_words(holder: Holder | None) -> str:
    """What a run waits for, in a sentence: another kernel, or an earlier run of this process."""
    if holder is not None and holder.is_this_process:
        return "Your earlier run of this request has not ended yet. This one waits for that, and uses what it recorded."
    stopped = ", which is stopped" if holder is not None and holder.state == "stopped" else ""
    who = f" (process {holder.pid}{stopped})" if holder is not None else ""
    return f"Another kernel{who} works on the same request. This one waits for it, and uses what it records."


def lock_of(cache: Path, root: Path, name: str, request_key: str) -> Path:
    """The lock file of a request."""
    what = f"{root.resolve()}\n{name}\n{request_key}"
    return _folder(cache) / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.lock"


def remove_old(cache: Path, before: float) -> None:
    """Remove the lock files of requests on which no process works."""
    for lock in _folder(cache).glob("*.lock"):
        with contextlib.suppress(OSError):
            if lock.stat().st_mtime < before:
                with file_locks.lock_if_unused(lock) as unused:
                    if unused:
                        lock.unlink()


def is_held(lock: Path) -> bool:
    """Whether a process currently works on a request."""
    if file_locks.SUPPORTED and lock.exists():
        with contextlib.suppress(OSError), file_locks.lock_if_unused(lock) as unused:
            return not unused
    return False


def _folder(cache: Path) -> Path:
    return cache / "request_locks"


def _is_taken(descriptor: int) -> bool:
    """Try to take the lock on an open file. A file that was removed is of no use: its name may be locked again."""
    if not file_locks.try_exclusive(descriptor) or not os.fstat(descriptor).st_nlink:
        return False
    beat(descriptor)
    return True


def _opened(lock: Path) -> int | None:
    if file_locks.SUPPORTED:
        with contextlib.suppress(OSError):
            return file_locks.open_lock(lock)
    return None
