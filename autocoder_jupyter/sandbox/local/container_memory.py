"""The memory that is left in the container around the notebook, such as a pod with a memory limit.

If a container needs more than its limit, the kernel kills one of its processes, which may be the notebook. In a pod it
may kill all of them. So the supervisor ends a worker before. The same holds for the other control groups around the
notebook, such as a job of a cluster or a scope of systemd. Linux only; the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
            found.append(max(most - int(_text(group / names.used)) + _cache(names, group), 0))
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
            left = most - int(_text(group / names.used))
            if left < reserve and left + _cache(names, group) < reserve and uses_more_than(reserve):
                return most
    return None


def _limits() -> Iterator[tuple[_Names, Path, int]]:
    for names in _VERSIONS:
        for group in _groups(names):
            with suppress(OSError, ValueError):
                most = int(_text(group / names.limit))  # "max" if there is none
                if most < _MOST:
                    yield names, group, most


def _groups(names: _Names) -> list[Path]:
    """The group of this process and those around it. In a container often only the last one is mounted."""
    top, own = _GROUPS / names.place, ""
    with suppress(OSError, ValueError):
        lines = (line.split(":", 2) for line in _text(_OWN).splitlines())
        own = next((path for _, kinds, path in lines if names.controller in kinds.split(",")), "")
    group = top / own.strip("/")
    return [top] if ".." in group.parts else [group, *(one for one in group.parents if one.is_relative_to(top))]


def _cache(names: _Names, group: Path) -> int:
    lines = (line.split() for line in _text(group / names.statistics).splitlines())
    return sum(int(size) for name, size in lines if name in names.cache)


def _text(file: Path) -> str:
    return file.read_text("utf-8", "replace")
