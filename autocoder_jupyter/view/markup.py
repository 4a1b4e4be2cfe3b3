"""Small pieces of HTML for cards and results.

The markup has no scripts and no external resources, and is readable without colours: GitHub and untrusted notebooks
remove styles. Colours are JupyterLab variables with a fallback for light and dark themes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from autocoder_jupyter.untrusted.visible import visible, visible_block
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

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
"""Classes that stop MathJax, in JupyterLab and in exports, from rendering text between two dollar signs."""


def plain(value: object) -> str:
    """Text with escape sequences, control characters and direction changes shown as escapes: safe for a terminal."""
    return visible_block(value)


def line(*entries: str) -> str:
    """One line for a terminal; a line break in an entry is shown as an escape."""
    return visible(" · ".join(filter(None, entries)))


def lines(entries: Iterable[str]) -> str:
    """Lines for a terminal. Further lines of an entry are indented, so they cannot imitate a line of the card."""
    return "\n".join(plain(entry).replace("\n", "\n      ") for entry in entries)


def clipped(value: object, most: int = 300) -> str:
    """At most `most` characters of a text, and the number of the others."""
    shown = plain(value)
    return shown if len(shown) <= most else f"{shown[:most]}… (+{len(shown) - most:,})"


def frame(kind: str, colour: str, *parts: Html) -> Html:
    """The outline of a card."""
    style = (
        f"{FONT};line-height:1.5;border:1px solid {LINE};border-left:3px solid {colour};border-radius:2px;"
        "padding:8px 14px 10px;margin:4px 0;max-width:960px;overflow-wrap:anywhere"
    )
    return element("div", *parts, class_=f"{kind} {NO_FORMULAS}", style=style)


def head(name: str, state: str, colour: str, facts: Iterable[str]) -> Html:
    """The first line: the name, the state, and facts such as time and cost."""
    shown = (
        element("strong", escape(name), style="font-size:1.1em"),
        coloured(f"● {state}", colour),
        element("span", escape(" · ".join(facts)), style=f"{MUTED};font-variant-numeric:tabular-nums"),
    )
    style = "display:flex;flex-wrap:wrap;align-items:baseline;column-gap:12px"
    return element("div", join(*shown, between=" "), class_="autocode-head", style=style)


def row(label: str, content: Html) -> Html:
    """A row with a label; empty if there is no content."""
    if not content:
        return EMPTY
    shown = (
        element("div", escape(label), style=f"flex:0 0 6.5em;{MUTED}"),
        element("div", content, style="flex:1 1 0;min-width:0"),
    )
    return element("div", join(*shown, between=" "), style="display:flex;column-gap:12px;margin-top:6px")


def details(summary: str, content: Html, *, opened: bool = False) -> Html:
    """A collapsible part; `summary` is text. Empty if there is no content."""
    if not content:
        return EMPTY
    title = element("summary", escape(summary), style="cursor:pointer")
    return element("details", title, content, open=opened, style="margin-top:4px")


def code(source: str) -> Html:
    """A block of preformatted text; long lines wrap."""
    return element("pre", escape(source, quotes=False), style=f"{CODE};white-space:pre-wrap") if source else EMPTY


def python(source: str) -> Html:
    """A block of Python in colours."""
    from autocoder_jupyter.view.highlight import VARIABLES
    from autocoder_jupyter.view.highlight import python as highlighted

    if not source.strip():
        return EMPTY
    return element("pre", highlighted(plain(source).rstrip()), style=f"{CODE};{VARIABLES}")


def inline_code(source: object, style: str = "") -> Html:
    """A few words of code within a sentence."""
    return element("span", escape(source), style=f"{CODE_FAMILY}{f';{style}' if style else ''}")


def items(entries: Iterable[Html]) -> Html:
    """A list of entries."""
    rows = join(*(element("li", entry) for entry in entries))
    return element("ul", rows, style="margin:0;padding-left:1.2em") if rows else EMPTY


def line_up(entries: Iterable[Html]) -> Html:
    """Entries side by side; a line breaks only between entries."""
    style = "display:inline-block;margin-right:18px"
    return join(*(element("span", entry, style=style) for entry in entries), between=" ")


def muted(value: object) -> Html:
    """Less important text."""
    return element("span", escape(value), style=MUTED)


def muted_line(value: object) -> Html:
    """Less important text on its own line."""
    return element("div", muted(value))


def text_lines(values: Iterable[object]) -> Html:
    """Texts below each other."""
    return join(*(element("div", escape(value)) for value in values))


def paragraphs(text: str, most: int) -> Html:
    """Text of several lines, cut after `most` characters; each line is a block, so line breaks stay."""
    return text_lines(line for line in clipped(text, most).splitlines() if line.strip())


def coloured(value: object, colour: str) -> Html:
    """Text in one of the colours above; it must be clear without the colour."""
    return element("strong", escape(value), style=f"color:{colour}")


def marked(sign: str, colour: str, value: object) -> Html:
    """Text after a coloured sign."""
    return join(coloured(sign, colour), escape(value), between=" ")


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> Html:
    """A table of text, aligned left; only the last column wraps."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    return element("table", *lines, class_=NO_FORMULAS, style=f"{FONT};border-collapse:collapse;margin:0")


def _row(tag: Literal["th", "td"], values: Iterable[object]) -> Html:
    shown = [escape(value) for value in values]
    if not any(shown):
        return EMPTY
    # A screen reader would read an empty heading.
    cells = (_cell(tag if value else "td", value, last=number == len(shown)) for number, value in enumerate(shown, 1))
    return element("tr", *cells, style="background:none")


def _cell(tag: Literal["th", "td"], value: Html, *, last: bool) -> Html:
    # pre-wrap keeps the spaces that indent a row.
    wrapping = "pre-wrap" if last else "pre"
    style = f"text-align:left;vertical-align:top;padding:2px 16px 2px 0;white-space:{wrapping}"
    return element(tag, value, style=f"{style}{f';{MUTED}' if tag == 'th' else ''}")


def scrolled(content: Html) -> Html:
    """Content that may be wider than the page, with its own scroll bar."""
    return element("div", content, style="overflow-x:auto")


def columns(rows: Iterable[Iterable[object]]) -> str:
    """A table for a terminal."""
    lines = [[visible(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
