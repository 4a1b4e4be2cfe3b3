"""The live part below a card: a clock and a window of fixed height.

Each update replaces all of it. So the animation of the pulse is positioned by the clock, and text that grows is shown
from its end, without scrolling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autocoder_jupyter.view.amounts import clock, so_far
from autocoder_jupyter.view.markup import Html, element, escape

LINES = 6
"""Lines of text in the window, whose height is in `styles.css`."""

QUIET_SECONDS = 3.0
"""Seconds without an event after which the strip shows the time since the last one."""

SHOWN_CHARACTERS = 1200
"""Characters of an answer that are shown; more do not fit into the window."""

_STYLE = element(
    "style",
    escape(
        "@keyframes autocode-beat{0%,100%{opacity:1}50%{opacity:.3}}"
        "@media (prefers-reduced-motion:reduce){.autocode-beat{animation:none !important}}"
        # JupyterLab turns scroll anchoring off for its cells; on, the page does not jump when something above grows.
        ".jp-Notebook:has(.autocode-live) .jp-Cell{overflow-anchor:auto !important}"
    ),
)

LAST_HTML = element("div", _STYLE, class_="autocode-live")
"""The last content. It has no height, so nothing on the page moves when the strip is removed."""


@dataclass(frozen=True)
class WindowColumn:
    """One side of the window; `content` has the window's height."""

    heading: str
    content: Html


def frame(columns: Sequence[WindowColumn], progress: float, seconds: float, quiet: float, *, is_waiting: bool) -> Html:
    """The clock and the window. The height is the same in every state; content that does not fit is cut.

    Args:
        columns: one or two columns.
        progress: between 0 and 1.
        seconds: seconds since the start.
        quiet: seconds since the last event.
        is_waiting: whether the run waits for the user.
    """
    cells = (
        element(
            "div",
            element("div", escape(column.heading), look="one-line window-heading muted"),
            column.content,
            look="window-column",
        )
        for column in columns
    )
    grid = f"grid-template-columns:repeat({len(columns)},minmax(0,1fr))"
    return element(
        "div",
        _STYLE,
        element(
            "div",
            _bar(progress),
            *_pulse(seconds, quiet, is_waiting=is_waiting),
            look="window-head",
        ),
        element("div", *cells, look="window-columns", style=grid),
        class_="autocode-live",
        look="text window-lines within",
    )


def newest(text: str) -> Html:
    """The end of a text that grows."""
    shown = "\n".join(text[-SHOWN_CHARACTERS:].rstrip().split("\n")[-LINES:])
    # Auto margins take what room is left, so a short text stands at the top; a long one overflows upwards.
    return element("div", escape(shown), look="code-font window-lines window-text")


def window(*content: Html) -> Html:
    """The window; content that does not fit is cut at the top."""
    return element("div", *content, look="code-font window-lines window")


def lines(entries: Iterable[Html]) -> Html:
    """The window with lines in it, from the top."""
    return window(element("div", *entries, look="from-top"))


def line(words: str, look: str = "") -> Html:
    """One line of text."""
    return row(escape(words), look)


def text(words: str, look: str = "") -> Html:
    """A text to read, which may take several lines."""
    return element("div", escape(words), look=f"code-font window-lines kept-lines {look}")


def row(content: Html, look: str = "") -> Html:
    """One line."""
    return element("div", content, look=f"code-font window-lines one-line {look}")


def _bar(progress: float) -> Html:
    percent = round(100 * progress)
    done = element("span", look="progress-done", style=f"width:{percent}%")
    return element("span", done, role="progressbar", aria_label="progress", aria_valuenow=str(percent), look="progress")


def _pulse(seconds: float, quiet: float, *, is_waiting: bool) -> tuple[Html, Html]:
    """The pulse and the clock. The pulse stops soon after the last update, so it shows that the kernel is alive."""
    beat = f"animation-delay:-{seconds % 2:.2f}s"
    tone = "warn" if is_waiting else "busy"
    text = f"last update {so_far(quiet)} ago" if quiet >= QUIET_SECONDS else ""
    if is_waiting:
        text = f"waiting for {so_far(quiet)}"
    words = " · ".join(filter(None, (clock(seconds), text)))
    return (
        element("span", escape("●"), class_="autocode-beat", aria_hidden="true", look=f"beat {tone}", style=beat),
        element("span", escape(words), look="one-line muted digits"),
    )


WAITING = WindowColumn("Waiting for you", lines((text("The question above has buttons.", "muted"),)))
