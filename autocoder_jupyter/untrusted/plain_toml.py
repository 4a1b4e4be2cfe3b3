"""Read TOML that is not trusted."""

from __future__ import annotations

import tomllib
from typing import Any

from autocoder_jupyter.untrusted import plain_json

STEPS = 3_000_000
"""Of the reader's. A key takes it as many as the square of its parts, and a line below a header as many as that has:
`a.a.a.…` of 500 kB took ten minutes."""


def parse(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: it is no TOML, nested too deeply, or its keys may have very many parts.
    """
    dots = [line.count(".") for line in text.split("\n")]  # as TOML ends lines; str.splitlines() knows more ends
    if sum(count * count for count in dots) + max(dots) * len(dots) > STEPS:
        raise ValueError("it has too many dots, as keys of very many parts have")
    try:
        parsed = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    plain_json.bounded(parsed)
    return parsed
