"""A word about a call that goes on: columns changed that are not read (once), a function from before (each time)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autocoder_jupyter.errors import DriftWarning, EarlierVersionWarning
from autocoder_jupyter.tasks.function import Function

_told: set[tuple[str, str]] = set()
"""Code and sentence, in this process."""


def warn_of_unread(function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Warn, on the line of whoever calls us from outside of this package, of what was not said before."""
    if function.caution:
        warnings.warn(function.caution, EarlierVersionWarning, stacklevel=_frames_of_ours() + 1)
    for sentence in _changes(function, positional, keywords):
        if (function.code, sentence) not in _told:
            _told.add((function.code, sentence))
            warnings.warn(sentence, DriftWarning, stacklevel=_frames_of_ours() + 1)


def _changes(function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Iterator[str]:
    shapes = {name: shape for name, shape in function.shapes.items() if shape.get("type") == "DataFrame"}
    if not shapes:
        return
    import pandas as pd

    from autocoder_jupyter.data.columns_read import columns_read
    from autocoder_jupyter.data.drift import unread_drift

    reads = columns_read(function.code, function.inputs)
    given = {**dict(zip((spec.name for spec in function.inputs), positional, strict=False)), **keywords}
    for name, shape in shapes.items():
        value = _of_pandas(given.get(name))
        if isinstance(value, pd.DataFrame) and not reads.all and (sentence := unread_drift(name, value, shape, reads)):
            yield sentence


def _of_pandas(value: Any) -> Any:
    """Of a table of another library, its columns without a row: it is not converted twice."""
    from autocoder_jupyter.data.foreign import converted

    head = getattr(value, "slice", None)
    return converted(head(0, 0)) if callable(head) else value


def _frames_of_ours() -> int:
    """How many frames of this package are on top of the stack of whoever asks, that one included."""
    frame, count = sys._getframe(1), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("autocoder_jupyter."):
        frame, count = frame.f_back, count + 1
    return count
