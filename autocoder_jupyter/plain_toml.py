"""TOML that a stranger may have written."""

from __future__ import annotations

import tomllib
from typing import Any

DOTS = 500
"""In a line. Reading a key takes time by the square of its parts: `a.a.a.…` of 500 kB took ten minutes."""


def parse(text: str) -> dict[str, Any]:
    """What the TOML says.

    Raises:
        ValueError: it is no TOML, nested too deeply, or has a line that may be a key of very many parts.
    """
    if any(line.count(".") > DOTS for line in text.splitlines()):
        raise ValueError(f"a line has more than {DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
