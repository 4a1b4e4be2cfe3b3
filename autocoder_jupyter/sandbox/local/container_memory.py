"""The memory that is left in the container around the notebook, such as a pod with a memory limit.

If a container needs more than its limit, the kernel kills one of its processes, which may be the notebook. In a pod it
may kill all of them. So the supervisor ends a worker before. The same holds for the other control groups around the
notebook, such as a job of a cluster or a scope of systemd. Linux only; the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from autocoder_jupyter.sandbox.local.process_tree import content

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_LARGEST_RESERVE = 256 << 20
_MOST = 1 << 60
"""Control groups of version 1 have a larger number as limit if they have none."""


@dataclass(frozen=True)
class _Names:
    """The files of a control group, and the lines in `statistics` with the file cache, which the kernel can free.

    `controller` is the word for the group in `/proc/self/cgroup`, and `place` where the groups are mounted.
    """

    controller: str
    place: str
    limit: str
    used: str
    statistics: str
    cache: tuple[str, str]


_VERSIONS = (
    _Names("", ".", "memory.max", "memory.current", "memory.stat", ("active_file", "inactive_file")),
    _Names(
        "memory",
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "memory.stat",
        ("total_active_file", "total_inactive_file"),
    ),
)


def limit() -> int | None:
    """The smallest memory limit of the groups around this process in bytes; None if there is none."""
    return min((most for _, _, most in _limits()), default=None)


def left() -> int | None:
    """The bytes that the container may still use, with the file cache that can be freed; None if there is no limit."""
    found = []
    for names, group, most in _limits():
        with suppress(OSError, ValueError):
            found.append(max(most - int(content(f"{group}/{names.used}")) + _cache(names, group), 0))
    return min(found, default=None)


def exceeded_by(uses_more_than: Callable[[int], bool]) -> int | None:
    """Check whether the container has nearly no memory left, and a worker uses a considerable part of it.

    Args:
        uses_more_than: whether the worker uses more than so many bytes. It is called only if little memory is left.

    Returns:
        The limit of the container in bytes if the worker must end; else None, also if there is no limit.
    """
    for names, group, most in _limits():
        with suppress(OSError, ValueError):
            reserve = min(most // 8, _LARGEST_RESERVE)
            left = most - int(content(f"{group}/{names.used}"))
            if left < reserve and left + _cache(names, group) < reserve and uses_more_than(reserve):
                return most
    return None


def _limits() -> Iterator[tuple[_Names, str, int]]:
    try:
        own = content(str(_OWN))
    except OSError:
        own = b""
    for names, group in _groups(own, _GROUPS):
        with suppress(OSError, ValueError):
            most = int(content(f"{group}/{names.limit}"))  # "max" if there is none
            if most < _MOST:
                yield names, group, most


@lru_cache(maxsize=1)  # supervisors look twenty times a second, and to split paths takes longer than to read the limits
def _groups(own: bytes, mounted: Path) -> list[tuple[_Names, str]]:
    """The group of this process and those around it. In a container often only the last one is mounted.

    Args:
        own: the groups of this process, as in `/proc/self/cgroup`.
        mounted: where groups are mounted.
    """
    found = []
    for names in _VERSIONS:
        top = mounted / names.place
        lines = (line.split(":", 2) for line in own.decode("utf-8", "replace").splitlines() if line.count(":") > 1)
        path = next((path for _, kinds, path in lines if names.controller in kinds.split(",")), "")
        group = top / path.strip("/")
        around = [top] if ".." in group.parts else [group, *(one for one in group.parents if one.is_relative_to(top))]
        found += [(names, str(one)) for one in around]
    return found


def _cache(names: _Names, group: str) -> int:
    lines = (line.split() for line in content(f"{group}/{names.statistics}").decode("utf-8", "replace").splitlines())
    return sum(int(size) for name, size in lines if name in names.cache)
