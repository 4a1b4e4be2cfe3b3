"""The frame of the live part below a card: a clock that beats, and a window of a fixed height.

It is replaced as a whole on every update, so what moves (the beat) finds its place by the clock, and what grows (an
answer, a list) is shown from its end without any scrolling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.amounts import clock, so_far

LINES = 6
"""How many lines of text the window holds."""

LINE_EM = 1.35

QUIET_SECONDS = 3.0
"""From when on it is said how long nothing happened."""

SHOWN_CHARACTERS = 1200
"""The most that is sent of an answer; more does not fit into the window."""

_STYLE = (
    "<style>@keyframes autocode-beat{0%,100%{opacity:1}50%{opacity:.3}}"
    "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}"
    # JupyterLab's cells take no part in keeping what a person reads in its place when something above it grows.
    ".jp-Notebook:has(.autocode-live) .jp-Cell{overflow-anchor:auto !important}</style>"
)

LAST_HTML = f'<div class="autocode-live">{_STYLE}</div>'
"""What is left at the end, for a moment and without any height: nobody's place in the notebook moves when it goes."""


@dataclass(frozen=True)
class Column:
    """One side of the window; `content` is HTML of the window's height."""

    heading: str
    content: str


def frame(columns: Sequence[Column], progress: float, seconds: float, quiet: float, *, is_waiting: bool) -> str:
    """The clock and the window. The height is the same in every state, and what does not fit is cut.

    Args:
        columns: side by side; one or two.
        progress: between 0 and 1.
        seconds: since the start.
        quiet: seconds since something happened.
        is_waiting: whether it waits for the person.
    """
    cells = "".join(
        f'<div style="min-width:0"><div style="{_HEADING}">{markup.text(column.heading)}</div>{column.content}</div>'
        for column in columns
    )
    grid = f"display:grid;grid-template-columns:repeat({len(columns)},minmax(0,1fr));column-gap:16px"
    return (
        f'<div class="autocode-live" style="{markup.FONT};line-height:{LINE_EM}">{_STYLE}'
        f'<div style="display:flex;align-items:center;column-gap:10px;height:20px">{_bar(progress)}'
        f"{_pulse(seconds, quiet, is_waiting=is_waiting)}</div>"
        f'<div style="{grid};border:1px solid {markup.LINE};border-radius:2px;padding:4px 10px 6px">{cells}</div></div>'
    )


def newest(text: str) -> str:
    """The end of a text that grows."""
    said = "\n".join(text[-SHOWN_CHARACTERS:].rstrip().split("\n")[-LINES:])
    # Auto margins take what room is left, so a short text stands at the top; a long one overflows upwards.
    shape = f"{_CODE};white-space:pre-wrap;overflow-wrap:anywhere;margin-bottom:auto"
    return f'<div style="{shape}">{markup.text(said)}</div>'


def window(content: str) -> str:
    """The window; what overflows is cut at the top."""
    shape = f"{_CODE};height:{LINES * LINE_EM:g}em;overflow:hidden"
    return f'<div style="{shape};display:flex;flex-direction:column;justify-content:flex-end">{content}</div>'


def lines(entries: Iterable[str]) -> str:
    """The window with lines in it, from the top."""
    return window(f'<div style="margin-bottom:auto">{"".join(entries)}</div>')


def line(words: str, style: str = "") -> str:
    """One line of text."""
    return row(markup.text(words), style)


def row(content: str, style: str = "") -> str:
    """One line of HTML."""
    return f'<div style="{_CODE};{_ONE_LINE}{f";{style}" if style else ""}">{content}</div>'


def _bar(progress: float) -> str:
    percent = round(100 * progress)
    shape = f"flex:0 0 140px;height:8px;border-radius:4px;overflow:hidden;background:{markup.LINE}"
    return (
        f'<span role="progressbar" aria-label="progress" aria-valuenow="{percent}" style="{shape}">'
        f'<span style="display:block;height:100%;width:{percent}%;background:{markup.BUSY}"></span></span>'
    )


def _pulse(seconds: float, quiet: float, *, is_waiting: bool) -> str:
    """The beat and the clock. The beat ends by itself soon after the last update: it tells that the kernel lives."""
    colour = markup.WARN if is_waiting else markup.BUSY
    beat = f"color:{colour};animation:autocode-beat 2s ease-in-out 2;animation-delay:-{seconds % 2:.2f}s"
    told = f"last sign of life {so_far(quiet)} ago" if quiet >= QUIET_SECONDS else ""
    if is_waiting:
        told = f"waits for you since {so_far(quiet)}"
    words = " · ".join(filter(None, (clock(seconds), told)))
    return (
        f'<span class="autocode-beat" aria-hidden="true" style="{beat}">●</span>'
        f'<span style="{_ONE_LINE};{markup.MUTED};font-variant-numeric:tabular-nums">{markup.text(words)}</span>'
    )


_ONE_LINE = "white-space:pre;overflow:hidden;text-overflow:ellipsis"
_HEADING = f"{_ONE_LINE};height:{LINE_EM}em;{markup.MUTED}"
_CODE = f"{markup.CODE_FONT};line-height:{LINE_EM}"
