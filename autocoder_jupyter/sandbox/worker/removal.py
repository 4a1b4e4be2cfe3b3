"""Remove what a program wrote: also paths longer than PATH_MAX, folders without permissions, and links.

No process may change the folder meanwhile: the program that wrote it has ended. Links are removed and never followed.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def remove(folder: str | Path, *, seconds: float = math.inf) -> bool:
    """Remove a folder with all that is in it. False when something of it stays.

    Args:
        folder: need not be there.
        seconds: how long it may take; what was done until then is done.
    """
    if not clear(folder, seconds=seconds):
        return False
    with suppress(OSError):
        Path(folder).rmdir()
    return not os.path.lexists(folder)


def discard(path: Path) -> bool:
    """Remove a file, a link or a folder with all that is in it. False when something of it stays."""
    try:
        path.unlink(missing_ok=True)
    except (IsADirectoryError, PermissionError):  # some systems say of a folder that it may not be unlinked
        return remove(path)
    except OSError:
        return False
    return True


def clear(folder: str | Path, *, seconds: float = math.inf) -> bool:
    """Remove all that is in a folder; see `remove`. False when something of it stays."""
    until = time.monotonic() + seconds
    try:
        top = _open(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return _clear(top, until)
    except OSError:
        return False
    finally:
        os.close(top)


def _clear(top: int, until: float) -> bool:
    """Empty the folders one after the other into the topmost: no path gets long, and no stack deep."""
    mark = secrets.token_hex(8)
    free_names = (f"{mark}-{number}" for number in itertools.count())
    while folders := _unlink_files(top, until):
        if not sum(_dissolve(top, name, free_names, until) for name in folders):
            return False
    return not os.listdir(top)


def _dissolve(top: int, name: str, free_names: Iterator[str], until: float) -> bool:
    """Remove the folder `name`; the folders in it come to lie beside it. Whether that worked."""
    try:
        folder = _open(name, top)
    except OSError:
        return False
    try:
        for inner in _unlink_files(folder, until):
            with suppress(OSError):
                os.close(_open(inner, folder))  # moving a folder takes the right to write in it
                os.rename(inner, next(free_names), src_dir_fd=folder, dst_dir_fd=top)
        os.rmdir(name, dir_fd=top)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _unlink_files(folder: int, until: float) -> list[str]:
    """Remove all that is no folder, and give the names of the folders."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.monotonic() > until:
                raise TimeoutError
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=folder)
    return folders


def _open(name: str | Path, parent: int | None = None) -> int:
    """A descriptor of a folder that we may list and change, also when its owner had closed it to themselves."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    usable = 0o700
    try:
        folder = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        os.chmod(name, usable, dir_fd=parent)
        return os.open(name, flags, dir_fd=parent)
    if os.fstat(folder).st_mode & usable != usable:
        with suppress(OSError):
            os.fchmod(folder, usable)
    return folder
