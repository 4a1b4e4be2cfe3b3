"""Check from outside whether a loading process is fit for forking a worker from it.

It waits in the system call that forks, so that nothing changes between the look and the fork.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree


def impurity(pid: int, workers: Collection[int]) -> str:
    """What it has that a worker may not inherit, or that would connect workers with each other; "" when nothing.

    Args:
        pid: the loading process.
        workers: process ids of the workers that were forked from it.
    """
    if len(process_tree.thread_ids(pid)) != 1:
        return "further threads"
    others = (child for child in process_tree.children(pid) if child not in workers)
    if any(not process_tree.is_zombie(child) for child in others):
        return "processes of its own"
    try:
        if not all(map(_leads_nowhere, Path(f"/proc/{pid}/fd").iterdir())):
            return "open files"
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return "what cannot be looked at"
    return "shared memory" if any(map(_is_shared, maps.splitlines())) else ""


def _leads_nowhere(descriptor: Path) -> bool:
    """Whether it is /dev/null."""
    held = descriptor.stat()
    return stat.S_ISCHR(held.st_mode) and held.st_rdev == Path(os.devnull).stat().st_rdev


def _is_shared(mapping: bytes) -> bool:
    """Whether processes could exchange data by it. A file that they may not write does not count."""
    rights = mapping.split(maxsplit=2)[1]
    return rights[3:4] == b"s" and (rights[1:2] == b"w" or mapping.endswith(b" (deleted)"))
