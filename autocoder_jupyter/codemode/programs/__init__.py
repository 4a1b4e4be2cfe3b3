"""Texts for the sandbox of code mode: a program that is run first, and stubs for the type checker."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def text(file: str) -> str:
    """The text of a file in this folder."""
    return Path(__file__).with_name(file).read_text("utf-8")
