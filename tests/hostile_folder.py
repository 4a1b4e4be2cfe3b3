"""Objects that an attacker can put in the place of a file: none is a regular file that should be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

HOSTILE: dict[str, Callable[[Path, Path], object]] = {
    "a link to a file": lambda place, outside: place.symlink_to(outside),
    "a link to a device": lambda place, outside: place.symlink_to("/dev/zero"),
    "a link to nowhere": lambda place, outside: place.symlink_to(outside.with_name("not there yet")),
    "a FIFO": lambda place, outside: os.mkfifo(place),
    "a folder": lambda place, outside: place.mkdir(),
}
"""How each is made, by name. The second path is a file of the user outside of the folder."""
