"""The memory that is left in the container around the notebook, such as a pod with a memory limit.

If a container needs more than its limit, the kernel kills one of its processes, which may be the notebook. In a pod it
may kill all of them. So the supervisor ends a worker before. Linux only; the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_LARGEST_RESERVE = 256 << 20
_MOST = 1 << 60
"""Control groups of version 1 have a larger number as limit if they have none."""


@dataclass(frozen=True)
class _Names:
    """The files of a control group, and the lines in `statistics` with the file cache, which the kernel can free."""

    limit: str
    used: str
    statistics: str
    cache: tuple[str, str]


_VERSIONS = (
    _Names("memory.max", "memory.current", "memory.stat", ("active_file", "inactive_file")),
    _Names(
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        ("total_active_file", "total_inactive_file"),
    ),
)


def limit() -> int | None:
    """The memory limit of the container in bytes; None if there is none."""
    return next((most for _, most in _limits()), None)


def exceeded_by(uses_more_than: Callable[[int], bool]) -> int | None:
    """Check whether the container has nearly no memory left, and a worker uses a considerable part of it.

    Args:
        uses_more_than: whether the worker uses more than so many bytes. It is called only if little memory is left.

    Returns:
        The limit of the container in bytes if the worker must end; else None, also if there is no limit.
    """
    for names, most in _limits():
        with suppress(OSError, ValueError):
            reserve = min(most // 8, _LARGEST_RESERVE)
            left = most - int(_text(names.used))
            if left < reserve and left + _cache(names) < reserve and uses_more_than(reserve):
                return most
    return None


def _limits() -> Iterator[tuple[_Names, int]]:
    for names in _VERSIONS:
        with suppress(OSError, ValueError):
            most = int(_text(names.limit))  # "max" if there is none
            if most < _MOST:
                yield names, most


def _cache(names: _Names) -> int:
    lines = (line.split() for line in _text(names.statistics).splitlines())
    return sum(int(size) for name, size in lines if name in names.cache)


def _text(name: str) -> str:
    return (_GROUPS / name).read_text("ascii")
