"""The minimum that an administrator sets for all sandboxes of a machine or an environment, in Jupyter's folders for it.

    /etc/jupyter/autocode_config.json      {"Autocode": {"sandbox_minimum": "full"}}

The file is data and never code. Each one that is found holds, so none can take back what another demands; the folders
of a person (`~/.jupyter`, `JUPYTER_CONFIG_DIR`) are not looked at.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.settings.tiers import MinimumTier, SandboxMinimum
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible

FILE = "autocode_config.json"
SECTION = "Autocode"
SETTING = "sandbox_minimum"

MOST_BYTES = 2**16
"""A larger file is refused."""


def config_folders() -> tuple[Path, ...]:
    """Where Jupyter keeps what holds for everybody: `jupyter --paths` lists them after those of the person."""
    environment = Path(sys.prefix, "etc", "jupyter")
    if sys.platform == "win32":
        data = os.environ.get("PROGRAMDATA")
        return (*((Path(data, "jupyter"),) if data else ()), environment)
    return (Path("/etc/jupyter"), Path("/usr/local/etc/jupyter"), environment)


def system_minimums() -> tuple[SandboxMinimum, ...]:
    """What is demanded, one for each file.

    Raises:
        SandboxUnavailable: a file cannot be read or understood. What it was meant to demand is not known then.
    """
    return tuple(_demands(dict.fromkeys(config_folders())))


def _demands(folders: dict[Path, None]) -> Iterator[SandboxMinimum]:
    for folder in folders:
        path = folder / FILE
        try:
            with path.open("rb") as file:
                text = file.read(MOST_BYTES + 1)
            settings = _settings(text)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else visible(error)
            raise SandboxUnavailable(
                f"{path} cannot be used, and it may demand a sandbox_minimum.",
                why=why,
                hint=f'An administrator can mend it; it holds {{"{SECTION}": {{"{SETTING}": "full"}}}}.',
            ) from None
        if SETTING in settings:
            yield SandboxMinimum(settings[SETTING], by=f"the administrator, in {path}")


def _settings(text: bytes) -> dict[str, Any]:
    """The section for us.

    Raises:
        ValueError: a misspelled demand must not be one that silently does not hold.
    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    content = parse(text)
    if not isinstance(content, dict) or set(content) - {SECTION}:
        raise ValueError(f"it must be an object with the one key {SECTION}")
    settings = content.get(SECTION, {})
    if not isinstance(settings, dict) or set(settings) - {SETTING}:
        raise ValueError(f"{SECTION} takes {SETTING} and nothing else")
    allowed = get_args(MinimumTier)
    if SETTING in settings and settings[SETTING] not in allowed:
        raise ValueError(f"{SETTING} takes {' or '.join(allowed)}, not {str(settings[SETTING])[:40]!r}")
    return settings
