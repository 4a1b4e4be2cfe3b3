"""Large buffers whose memory is used again.

The kernel clears memory before it gives it to a process, which takes nearly as long as to fill it: 7 ms of 80 MB. So
the memory of a buffer that nobody uses any more is kept for the next buffer of about this size. Meanwhile the kernel
may take it back when it needs memory.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref

MOST_KEPT = 256 << 20
"""Most bytes of all memory that is kept."""

_kept: list[mmap.mmap] = []  # the garbage collector adds to it at any time, so nothing may need a lock


def buffer(size: int) -> memoryview:
    """A writable buffer of `size` bytes with any content. Its memory is kept when the last view of it is gone.

    New memory is used only for pages that are written. It requests huge pages, because page faults take most of the
    time of a transfer.
    """
    import numpy as np  # the host imports it with the first table

    pages = _taken(size)
    if pages is None:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without huge pages
                pages.madvise(mmap.MADV_HUGEPAGE)
    room = np.frombuffer(pages, np.uint8, size)
    weakref.finalize(room, _keep, pages).atexit = False
    return room.data


def _taken(size: int) -> mmap.mmap | None:
    """Kept memory that is large enough and not twice as large. If there is none, what is kept is given back."""
    for pages in list(_kept):
        if size <= len(pages) <= 2 * size:
            with contextlib.suppress(ValueError):  # another thread has just taken it
                _kept.remove(pages)
                return pages
    _kept.clear()
    return None


def _keep(pages: mmap.mmap) -> None:
    if not hasattr(mmap, "MADV_FREE") or sum(map(len, [*_kept, pages])) > MOST_KEPT:
        return
    with contextlib.suppress(OSError):  # a kernel that cannot take it back while it is kept
        pages.madvise(mmap.MADV_FREE)
        _kept.append(pages)
