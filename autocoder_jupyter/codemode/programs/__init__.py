"""What the sandbox of code mode gets as text: a program that is run first, and what the type checker is told."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def text(file: str) -> str:
    """The text of a file of this folder."""
    return Path(__file__).with_name(file).read_text("utf-8")
