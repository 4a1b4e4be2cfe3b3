"""The user's own files, which no folder can bring: in the user's configuration, writable only by that user."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def own_folder() -> Path:
    """The folder of these files; it may not exist. On Linux it follows `XDG_CONFIG_HOME`."""
    import platformdirs

    return platformdirs.user_config_path("autocoder-jupyter")


def is_ones_own(status: os.stat_result, others: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    """Whether it is a regular file of this user.

    Args:
        status: of the open file.
        others: what no other user may do with it, as bits of its mode. By default, write.
    """
    if not stat.S_ISREG(status.st_mode):
        return False
    return os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & others)


def write_own(path: Path, content: bytes) -> None:
    """Write a file in one atomic step, for this user only.

    Raises:
        OSError: it cannot be written.
    """
    descriptor, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(staged).replace(path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
