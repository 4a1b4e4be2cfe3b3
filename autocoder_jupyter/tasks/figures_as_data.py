"""Figures as the tests of a function get them. Written beside exported tests, below the source of `codec.figure_data`.

The tests were written for figures that come back from a sandbox: as a picture and as data. A script returns the figure
of its library, so its tests get its function through `as_tested`. Like `script_parts`, this is read as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autocoder_jupyter.codec.figure_data import data_of, specification


class FigureAsData:
    """A figure with the attributes that tests use: `png`, `width`, `height`, `kind`, `spec` and `data`."""

    def __init__(self, figure: Any) -> None:
        self.figure = figure
        self.kind, self.spec = specification(figure)
        self.data = data_of(self.kind, self.spec)
        self.png, self.width, self.height, self.svg = b"", 0, 0, b""
        if self.kind == "matplotlib":
            self.png, self.svg = _drawn(figure, "png"), _drawn(figure, "svg")
            self.width, self.height = int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")


def as_tested(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its figures as data. Other values are as they are."""
    import functools

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        returned = function(*arguments, **named)
        return tuple(map(_shown, returned)) if isinstance(returned, tuple) else _shown(returned)

    return run


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_shown, value))
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return FigureAsData(value) if specification(value)[0] else value


def _drawn(figure: Any, form: str) -> bytes:
    import io

    drawn = io.BytesIO()
    (figure if hasattr(figure, "savefig") else figure.figure).savefig(drawn, format=form, bbox_inches="tight")
    return drawn.getvalue()
