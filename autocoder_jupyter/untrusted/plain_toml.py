"""Parse untrusted TOML, with limits on its keys and nesting."""

from __future__ import annotations

import tomllib
from typing import Any

from autocoder_jupyter.untrusted import plain_json

STEPS = 3_000_000
"""Most steps of the parser. A key takes the square of the number of its parts; a line below a header takes the number
of parts of the header. A key `a.a.a.…` of 500 kB took ten minutes."""


def parse(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: it is not TOML, is nested too deeply, or its keys may have too many parts.
    """
    dots = [line.count(".") for line in text.split("\n")]  # TOML's line end; str.splitlines() has more
    if sum(count * count for count in dots) + max(dots) * len(dots) > STEPS:
        raise ValueError("it has too many dots: its keys may have too many parts")
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    plain_json.bounded(parsed)
    return parsed
