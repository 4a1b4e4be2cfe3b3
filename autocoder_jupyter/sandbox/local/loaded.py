"""Check from outside whether a worker may be forked from a loading process.

The process waits in the system call that forks, so it cannot change between the check and the fork.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from autocoder_jupyter.sandbox.local import usage


def impurity(pid: int, workers: Collection[int]) -> str:
    """What a worker must not inherit from the process, or what would connect its workers, in words; "" if nothing."""
    if len(usage.thread_ids(pid)) != 1:
        return "further threads"
    others = (child for child in usage.children(pid) if child not in workers)
    if any(not usage.is_zombie(child) for child in others):
        return "processes of its own"
    try:
        if not all(map(_is_null, Path(f"/proc/{pid}/fd").iterdir())):
            return "open files"
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return "entries in /proc that cannot be read"
    return "shared memory" if any(map(_is_shared, maps.splitlines())) else ""


def _is_null(descriptor: Path) -> bool:
    """Whether the descriptor is /dev/null."""
    status = descriptor.stat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev


def _is_shared(mapping: bytes) -> bool:
    """Whether processes could exchange data through the mapping. A file that they cannot write does not count."""
    rights = mapping.split(maxsplit=2)[1]
    return rights[3:4] == b"s" and (rights[1:2] == b"w" or mapping.endswith(b" (deleted)"))
