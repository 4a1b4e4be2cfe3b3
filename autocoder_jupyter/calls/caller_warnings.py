"""Warnings about calls that succeeded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.errors import DriftWarning, EarlierVersionWarning, NotVerifiedWarning, UncheckedContractWarning

_MOST = 10_000

_shown: set[str] = set()
"""Texts that were shown in this process."""


def warn_once(notes: Iterable[str], category: type[Warning] = DriftWarning) -> None:
    """Warn once per text, with the line of the caller outside of this package."""
    for note in notes:
        if note not in _shown and len(_shown) < _MOST:
            _shown.add(note)
            warn(note, category)


def warn_of(function: Function) -> None:
    """Warn of each call, with the line of the caller outside of this package; of missing evidence only once."""
    if function.caution:
        warn(function.caution, EarlierVersionWarning)
    if function.unchecked:
        warn(function.unchecked, UncheckedContractWarning)
    if function.unverified:
        warn_once([function.unverified], NotVerifiedWarning)


def warn(note: str, category: type[Warning]) -> None:
    """Warn with the line of the caller outside of this package."""
    warnings.warn(note, category, stacklevel=_own_frames() + 1)


def _own_frames() -> int:
    """The number of frames of this package on top of the caller's stack, the caller's own included."""
    frame, count = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("autocoder_jupyter."):
        frame, count = frame.f_back, count + 1
    return count
