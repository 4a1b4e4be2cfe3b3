"""Applies a regular expression to texts."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd


def run(pattern: str, texts: pd.Series[Any]) -> pd.Series[Any]:
    """Whether the pattern is found at the start of each text."""
    compiled = re.compile(pattern)
    return texts.map(lambda text: compiled.match(text) is not None).astype(bool)
