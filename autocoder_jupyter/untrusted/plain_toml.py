"""Parse untrusted TOML, with limits on its keys and nesting."""

from __future__ import annotations

import tomllib
from typing import Any

from autocoder_jupyter.untrusted import plain_json

CHARACTERS = 4 * 2**20
"""Most characters of a text."""

LINE = 2**20
"""Most characters of a line. The parser holds the GIL while it reads a number, however long it is."""

STEPS = 3_000_000
"""Most steps of the parser. A key takes the square of the number of its parts; a line below a header takes the number
of parts of the header. A key `a.a.a.…` of 500 kB took ten minutes."""


def parse(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: it is not TOML, is nested too deeply, is too long, has a very long line, or its keys may have
            too many parts.
    """
    if len(text) > CHARACTERS:
        raise ValueError(f"it has more than {CHARACTERS:,} characters")
    lines = text.split("\n")  # TOML's line end; str.splitlines() has more
    if max(map(len, lines)) > LINE:
        raise ValueError(f"it has a line of more than {LINE:,} characters")
    dots = [line.count(".") for line in lines]
    if sum(count * count for count in dots) + max(dots) * len(dots) > STEPS:
        raise ValueError("it has too many dots: its keys may have too many parts")
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    plain_json.bounded(parsed)
    return parsed
