"""Namespaces: the worker gets its own file tree, processes, network and IPC, if the user may create namespaces.

The file tree has only the paths of the policy, so the worker cannot even see the size of another file. It has no /proc,
because root could write the settings of the machine there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from autocoder_jupyter.sandbox.local.confinement.kernel import call_number, mount, system_call, unshare

_NEW_MOUNTS, _NEW_UTS, _NEW_IPC = 0x00020000, 0x04000000, 0x08000000
_NEW_USER, _NEW_PIDS, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT = 1, 2, 4, 32
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_KEPT_FLAGS = 0xF  # read-only, no setuid, no devices, no exec: a remount by a user must repeat them
_DETACH = 2


def leave_shared(readable: Sequence[str], writable: Sequence[str], folder: str, *, network: bool) -> None:
    """Move this process into new namespaces. The next process that it forks is the first one of a new PID namespace.

    Args:
        readable: files and folders of the new file tree.
        writable: further files and folders that may be written.
        folder: the worker's folder. The new tree is assembled below it.
        network: whether to keep the network.

    Raises:
        OSError: this user is not permitted, or a container around this process forbids a part of it.
    """
    user, group = os.geteuid(), os.getegid()
    network_too = 0 if network else _NEW_NETWORK
    unshare(_NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_IPC | _NEW_UTS | network_too)
    _map_user(user, group)
    _enter_tree(readable, [folder, *writable], folder)


def _map_user(user: int, group: int) -> None:
    """Map user and group to themselves, so that the owners of files do not change."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, "ascii")


def _enter_tree(readable: Sequence[str], writable: Sequence[str], folder: str) -> None:
    mount("none", "/", "", _RECURSIVE | _PRIVATE)
    own = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    mount("tmpfs", folder, "tmpfs", _NO_SUID | _NO_DEVICES, "size=1m,mode=755")
    reals = {os.path.realpath(path): path in writable for path in (*readable, *writable)}
    placed: list[str] = []
    for real in sorted(reals, key=lambda path: path.count("/")):  # folders before their content
        if not _is_below(real, placed):
            if real == os.path.realpath(folder):
                # The new tree covers this folder now, so it is reached by its descriptor, and bound without the tree.
                _place(folder, real, f"/proc/self/fd/{own}", _BIND, read_only=False)
            else:
                _place(folder, real, real, _BIND | _RECURSIVE, read_only=not reals[real])
            placed.append(real)
    for path in (*readable, *writable):
        _link(folder, path)
    for path in writable:  # the parent folder cannot be listed, so a process must know the name of a writable path
        Path(folder + os.path.realpath(path)).parent.chmod(0o111)
    _pivot(folder)


def _link(root: str, path: str) -> None:
    """If a path contains symbolic links, create a link in the new tree that leads to the same file."""
    link, real = Path(root + path), os.path.realpath(path)
    if path != real and not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(real)


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _place(root: str, real: str, source: str, flags: int, *, read_only: bool) -> None:
    target = Path(root + real)
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(source, str(target), "", flags)
    if read_only:
        for place in _mounts_below(str(target)):
            kept = os.statvfs(place).f_flag & _KEPT_FLAGS
            mount("", place, "", _BIND | _REMOUNT | _READ_ONLY | kept)


def _mounts_below(target: str) -> list[str]:
    """The mount points at and below a path. In mountinfo, blanks in names are written as octal escapes."""
    lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    points = (line.split()[4].encode("utf-8", "surrogateescape").decode("unicode_escape") for line in lines)
    return [point for point in points if _is_below(point, [target])]


def _pivot(root: str) -> None:
    old = f"{root}/old"
    Path(old).mkdir()
    system_call(call_number("pivot_root"), root.encode() + b"\0", old.encode() + b"\0")
    os.chdir("/")
    system_call(call_number("umount2"), b"/old\0", _DETACH)
    Path("/old").rmdir()
    mount("", "/", "", _BIND | _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEVICES)
