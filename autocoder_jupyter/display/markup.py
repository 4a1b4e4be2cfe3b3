"""Small pieces of HTML that cards and results are made of. Whatever comes from outside passes through `text`.

The markup has no script and no outside resource, and says the same without its colours: GitHub and an untrusted
notebook strip styles. Colours are JupyterLab's variables with a fallback that reads on light and on dark.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from autocoder_jupyter.untrusted.visible import visible, visible_block

FONT = (
    "font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:var(--jp-ui-font-size1,13px);"
    "color:var(--jp-ui-font-color1,inherit)"
)
MUTED = "color:var(--jp-ui-font-color2,#808080)"
GOOD = "var(--jp-success-color1,#388e3c)"
BAD = "var(--jp-error-color1,#d32f2f)"
WARN = "var(--jp-warn-color1,#c77700)"
BUSY = "var(--jp-brand-color1,#1976d2)"
QUIET = "var(--jp-ui-font-color2,#808080)"
LINE = "var(--jp-border-color2,#c0c0c0)"
SHADE = "var(--jp-cell-editor-background,rgba(128,128,128,.1))"
CODE_FAMILY = "font-family:var(--jp-code-font-family,monospace)"
CODE_FONT = f"{CODE_FAMILY};font-size:var(--jp-code-font-size,13px)"
CODE = (
    f"{CODE_FONT};color:var(--jp-content-font-color1,inherit);background:{SHADE};border:1px solid {LINE};"
    "border-radius:2px;line-height:1.35;padding:8px 10px;margin:4px 0 8px;overflow:auto;max-height:30em"
)

NO_FORMULAS = "mathjax_ignore tex2jax_ignore"
"""Classes that keep MathJax, in JupyterLab and in exports, from making a formula of what is between two dollars."""


def plain(value: object) -> str:
    """Text with its escape sequences, control characters and turns of direction spelled out: safe for a terminal."""
    return visible_block(value)


def line(*entries: str) -> str:
    """One line for a terminal; a line break in an entry is spelled out."""
    return visible(" · ".join(filter(None, entries)))


def lines(entries: Iterable[str]) -> str:
    """Lines for a terminal; what an entry holds beyond its first line is indented, so it begins no line of ours."""
    return "\n".join(plain(entry).replace("\n", "\n      ") for entry in entries)


def text(value: object) -> str:
    """Text that is safe inside HTML, in an element or an attribute."""
    return html.escape(plain(value), quote=True)


def clipped(value: object, most: int = 300) -> str:
    """At most `most` characters of a text, and how many more there are."""
    shown = plain(value)
    return shown if len(shown) <= most else f"{shown[:most]}… (+{len(shown) - most:,})"


def frame(kind: str, colour: str, *parts: str) -> str:
    """The outline of a card; `parts` are HTML."""
    style = (
        f"{FONT};line-height:1.5;border:1px solid {LINE};border-left:3px solid {colour};border-radius:2px;"
        "padding:8px 14px 10px;margin:4px 0;max-width:960px;overflow-wrap:anywhere"
    )
    return f'<div class="{kind} {NO_FORMULAS}" style="{style}">{"".join(parts)}</div>'


def head(name: str, state: str, colour: str, facts: Iterable[str]) -> str:
    """The first line: what it is, how it stands, and what it took."""
    return (
        '<div class="autocode-head" style="display:flex;flex-wrap:wrap;align-items:baseline;column-gap:12px">'
        f'<strong style="font-size:1.1em">{text(name)}</strong> {coloured(f"● {state}", colour)} '
        f'<span style="{MUTED};font-variant-numeric:tabular-nums">{text(" · ".join(facts))}</span></div>'
    )


def row(label: str, content: str) -> str:
    """A labelled line of the card; `content` is HTML. Nothing when there is no content."""
    if not content:
        return ""
    return (
        '<div style="display:flex;column-gap:12px;margin-top:6px">'
        f'<div style="flex:0 0 5.5em;{MUTED}">{text(label)}</div> '
        f'<div style="flex:1 1 0;min-width:0">{content}</div></div>'
    )


def details(summary: str, content: str, *, opened: bool = False) -> str:
    """A part that folds; `content` is HTML, `summary` text. Nothing when there is no content."""
    if not content:
        return ""
    return (
        f'<details{" open" if opened else ""} style="margin-top:4px"><summary style="cursor:pointer">{text(summary)}'
        f"</summary>{content}</details>"
    )


def code(source: str) -> str:
    """A block of text as it is; long lines wrap, which Python's must not."""
    shown = html.escape(plain(source), quote=False)
    return f'<pre style="{CODE};white-space:pre-wrap">{shown}</pre>' if source else ""


def python(source: str) -> str:
    """A block of Python in colours."""
    from autocoder_jupyter.display.highlight import VARIABLES
    from autocoder_jupyter.display.highlight import python as highlighted

    return f'<pre style="{CODE};{VARIABLES}">{highlighted(plain(source).rstrip())}</pre>' if source.strip() else ""


def inline_code(source: object, style: str = "") -> str:
    """A few words of code within a sentence."""
    return f'<span style="{CODE_FAMILY}{f";{style}" if style else ""}">{text(source)}</span>'


def items(entries: Iterable[str]) -> str:
    """A list of entries that are HTML already."""
    rows = "".join(f"<li>{entry}</li>" for entry in entries)
    return f'<ul style="margin:0;padding-left:1.2em">{rows}</ul>' if rows else ""


def line_up(entries: Iterable[str]) -> str:
    """Entries side by side, as many in a line as there is room for; each is HTML and stays in one piece."""
    return " ".join(f'<span style="display:inline-block;margin-right:18px">{entry}</span>' for entry in entries)


def muted(value: object) -> str:
    """Text of second rank."""
    return f'<span style="{MUTED}">{text(value)}</span>'


def coloured(value: object, colour: str) -> str:
    """Text in one of the colours above; the text itself must say it as well."""
    return f'<strong style="color:{colour}">{text(value)}</strong>'


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of text, every column to the left; a last column may be long and wraps."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    style = f"{FONT};border-collapse:collapse;margin:0"
    return f'<table class="{NO_FORMULAS}" style="{style}">{"".join(lines)}</table>'


def _row(tag: str, values: Iterable[object]) -> str:
    shown = [text(value) for value in values]
    if not any(shown):
        return ""
    # A heading without words would be read as an empty one.
    cells = (_cell(tag if value else "td", value, last=number == len(shown)) for number, value in enumerate(shown, 1))
    return f'<tr style="background:none">{"".join(cells)}</tr>'


def _cell(tag: str, value: str, *, last: bool) -> str:
    # pre-wrap keeps the blanks that indent a row under the one above it.
    wrapping = "pre-wrap" if last else "pre"
    style = f"text-align:left;vertical-align:top;padding:2px 16px 2px 0;white-space:{wrapping}"
    return f'<{tag} style="{style}{f";{MUTED}" if tag == "th" else ""}">{value}</{tag}>'


def columns(rows: Iterable[Iterable[object]]) -> str:
    """The same for a terminal: words in columns, as wide as they must be."""
    lines = [[visible(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
