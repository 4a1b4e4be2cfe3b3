"""A word about a call that worked: the person may want to know."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.errors import DriftWarning, EarlierVersionWarning, UncheckedContractWarning

_MOST = 10_000

_told: set[str] = set()
"""In this process."""


def warn_once(notes: Iterable[str]) -> None:
    """Warn, on the line of whoever calls us from outside of this package, of what was not said before."""
    for note in notes:
        if note not in _told and len(_told) < _MOST:
            _told.add(note)
            warnings.warn(note, DriftWarning, stacklevel=_frames_of_ours() + 1)


def warn_of(function: Function) -> None:
    """Warn, there too and each time, of what whoever calls a function should know."""
    if function.caution:
        warnings.warn(function.caution, EarlierVersionWarning, stacklevel=_frames_of_ours() + 1)
    if function.unchecked:
        warnings.warn(function.unchecked, UncheckedContractWarning, stacklevel=_frames_of_ours() + 1)


def _frames_of_ours() -> int:
    """How many frames of this package are on top of the stack of whoever asks, that one included."""
    frame, count = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("autocoder_jupyter."):
        frame, count = frame.f_back, count + 1
    return count
