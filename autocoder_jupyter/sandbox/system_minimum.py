"""Read the minimum that an administrator sets for all sandboxes of a machine or an environment.

    /etc/jupyter/autocode_config.json      {"Autocode": {"sandbox_minimum": "full"}}

The file is data, not code. If there are several files, all of their minimums apply, so none can weaken another. The
configuration folders of a user (`~/.jupyter`, `JUPYTER_CONFIG_DIR`) are not read.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.settings.choices import MinimumTier, SandboxMinimum
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_json import parse

FILE = "autocode_config.json"
SECTION = "Autocode"
SETTING = "sandbox_minimum"

MOST_BYTES = 2**16
"""A larger file is refused."""


def config_folders() -> tuple[Path, ...]:
    """Jupyter's configuration folders for all users. `jupyter --paths` lists them after the user's own."""
    environment = Path(sys.prefix, "etc", "jupyter")
    if sys.platform == "win32":
        data = os.environ.get("PROGRAMDATA")
        return (*((Path(data, "jupyter"),) if data else ()), environment)
    return (Path("/etc/jupyter"), Path("/usr/local/etc/jupyter"), environment)


def system_minimums() -> tuple[SandboxMinimum, ...]:
    """The minimums of all files.

    Raises:
        SandboxUnavailable: a file cannot be read or is invalid, so its minimum is unknown.
    """
    return tuple(_minimums(dict.fromkeys(config_folders())))


def _minimums(folders: dict[Path, None]) -> Iterator[SandboxMinimum]:
    for folder in folders:
        path = folder / FILE
        try:
            settings = _settings(_content(path))
        except (FileNotFoundError, NotADirectoryError) as error:
            if path.is_symlink() or folder.is_symlink():  # it leads nowhere, perhaps to a disk that is not mounted
                raise _unusable(path, "it is a link to a file that does not exist") from error
            continue
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else visible(error)
            raise _unusable(path, why) from None
        if SETTING in settings:
            yield SandboxMinimum(settings[SETTING], by=f"the administrator, in {path}")


def _content(path: Path) -> bytes:
    """The first bytes of a file.

    Raises:
        OSError: it cannot be read, or is a folder.
        ValueError: it is a FIFO or a device. Without `O_NONBLOCK` a FIFO would be waited for without end.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return file.read(MOST_BYTES + 1)


def _unusable(path: Path, why: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"{path} cannot be used, and it may require a sandbox_minimum.",
        why=why,
        hint=f'Ask an administrator to correct it; an example: {{"{SECTION}": {{"{SETTING}": "full"}}}}.',
    )


def _settings(text: bytes) -> dict[str, Any]:
    """The settings in our section of the file.

    Raises:
        ValueError: the file is invalid or has unknown keys. A misspelled minimum must not be ignored.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    content = parse(text)
    if any(text.count(f'"{key}"'.encode()) > 1 for key in (SECTION, SETTING)):
        raise ValueError("it has a key twice")
    if not isinstance(content, dict) or set(content) - {SECTION}:
        raise ValueError(f"it must be an object with the one key {SECTION}")
    settings = content.get(SECTION, {})
    if not isinstance(settings, dict) or set(settings) - {SETTING}:
        raise ValueError(f"{SECTION} takes {SETTING} and nothing else")
    allowed = get_args(MinimumTier)
    if SETTING in settings and settings[SETTING] not in allowed:
        raise ValueError(f"{SETTING} takes {' or '.join(allowed)}, not {str(settings[SETTING])[:40]!r}")
    return settings
