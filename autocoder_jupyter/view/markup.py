"""The type of safe HTML, and small pieces of HTML for cards and results.

The markup has no scripts and no external resources, and is readable without colours: GitHub and untrusted notebooks
remove styles. Colours are JupyterLab variables with a fallback for light and dark themes.
"""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NewType, Protocol

from autocoder_jupyter.untrusted.visible import visible, visible_block

# Styles

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]*)\}")


@cache
def style(look: str) -> str:
    """The declarations of some classes.

    Raises:
        KeyError: a class has no rule.
    """
    return ";".join(_rules()[name] for name in look.split())


@cache
def _rules() -> dict[str, str]:
    text = _COMMENT.sub("", Path(__file__).with_name("styles.css").read_text("utf-8"))
    return {name: _compact(declarations) for name, declarations in _RULE.findall(text)}


def _compact(declarations: str) -> str:
    """Without spaces, because a saved card has a declaration for each of its elements."""
    pairs = (declaration.partition(":") for declaration in declarations.split(";") if declaration.strip())
    return ";".join(f"{name.strip()}:{value.strip()}" for name, _, value in pairs)


# Safe HTML
#
# HTML has a type of its own, so mypy rejects text that was not escaped. Only this module creates `Html`: `escape` from
# text, `element` from a tag, attributes and other HTML, `join` from parts. `html_output` and `html_widget`, which show
# it, take no `str`.

Html = NewType("Html", str)
"""Well-formed HTML in which all text was escaped. `+`, f-strings and `str.join` give a plain `str` again."""

Tag = Literal[
    "a", "button", "del", "details", "div", "img", "ins", "li", "pre", "span", "strong", "style", "summary", "table",
    "tbody", "td", "th", "tr", "ul",
]  # fmt: skip

EMPTY = Html("")


def escape(value: object, *, quotes: bool = True) -> Html:
    """Any text as HTML. Control and invisible characters are shown as escapes."""
    return Html(html.escape(visible_block(value), quote=quotes))


def element(tag: Tag, /, *content: Html, look: str = "", **attributes: str | bool | None) -> Html:
    """An element."""
    if look:
        own = attributes.pop("style", None)
        attributes["style"] = f"{style(look)};{own}" if own else style(look)
    named = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    start = "".join(_attribute(name, value) for name, value in named if value is not None and value is not False)
    if tag == "img":
        return Html(f"<{tag}{start}>")
    return Html(f"<{tag}{start}>{''.join(content)}</{tag}>")


def _attribute(name: str, value: str | bool) -> str:
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def join(*parts: Html, between: str = "") -> Html:
    """The parts in order, separated by the text `between`."""
    return Html(escape(between).join(parts))


def html_output(shown: Html, text: str) -> dict[str, str]:
    """An output by mime type: HTML, and text for terminals."""
    return {"text/html": shown, "text/plain": text}


class HtmlWidget(Protocol):
    """A widget of ipywidgets that shows its `value`."""

    value: Html

    def close(self) -> None:
        """Close it on the page and in the kernel."""
        ...


def html_widget(value: Html = EMPTY, layout: Mapping[str, str] | None = None) -> HtmlWidget:
    """A widget that shows HTML. ipywidgets is imported here, because it may be missing."""
    ipywidgets: Any = importlib.import_module("ipywidgets")
    shown: HtmlWidget = ipywidgets.HTML(value, **({} if layout is None else {"layout": dict(layout)}))
    return shown


# Pieces of HTML and lines of text

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


def frame(kind: str, tone: str, *parts: Html) -> Html:
    """The outline of a card; its left edge has the colour of a tone."""
    return element("div", *parts, class_=f"{kind} {NO_FORMULAS}", look=f"text card edge-{tone}")


def row(label: str, content: Html) -> Html:
    """A row with a label; empty if there is no content."""
    if not content:
        return EMPTY
    shown = (
        element("div", escape(label), look="label muted"),
        element("div", content, look="content"),
    )
    return element("div", join(*shown, between=" "), look="row")


def details(summary: str, content: Html, *, opened: bool = False, look: str = "fold") -> Html:
    """A collapsible part; `summary` is text. Empty if there is no content."""
    if not content:
        return EMPTY
    title = element("summary", escape(summary), look="summary")
    return element("details", title, content, open=opened, look=look)


def code(source: str) -> Html:
    """A block of preformatted text; long lines wrap."""
    return _block(escape(source, quotes=False), "code-font source kept-lines") if source else EMPTY


def python(source: str) -> Html:
    """A block of Python in colours."""
    from autocoder_jupyter.view.source import python as highlighted

    if not source.strip():
        return EMPTY
    return _block(highlighted(plain(source).rstrip()), "code-font source python")


def _block(content: Html, look: str) -> Html:
    """A block that the keyboard can scroll too."""
    return element("pre", content, look=look, tabindex="0")


def inline_code(source: object) -> Html:
    """A few words of code within a sentence."""
    return element("span", escape(source), look="code")


def chart(place: str, description: str) -> Html:
    """A chart of Plotly or Altair, which our lab extension draws; elsewhere its text."""
    return element("div", muted(description), class_="autocode-chart", data_autocode_chart=place or None)


def items(entries: Iterable[Html]) -> Html:
    """A list of entries."""
    rows = join(*(element("li", entry) for entry in entries))
    return element("ul", rows, look="bullets") if rows else EMPTY


def muted(value: object) -> Html:
    """Less important text."""
    return element("span", escape(value), look="muted")


def muted_line(value: object) -> Html:
    """Less important text on its own line."""
    return element("div", muted(value))


def text_lines(values: Iterable[object]) -> Html:
    """Texts below each other."""
    return join(*(element("div", escape(value)) for value in values))


def coloured(value: object, tone: str) -> Html:
    """Text in the colour of a tone; it must be clear without the colour."""
    return element("strong", escape(value), look=tone)


def marked(sign: str, tone: str, value: object) -> Html:
    """Text after a coloured sign."""
    return join(coloured(sign, tone), escape(value), between=" ")


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> Html:
    """A table of text, aligned left; only the last column wraps."""
    lines = [_row("th", headings), *(_row("td", row) for row in rows)]
    return element("table", *lines, class_=NO_FORMULAS, look="text plain-table")


def _row(tag: Literal["th", "td"], values: Iterable[object]) -> Html:
    shown = [escape(value) for value in values]
    if not any(shown):
        return EMPTY
    # A screen reader would read an empty heading.
    cells = (_cell(tag if value else "td", value, last=number == len(shown)) for number, value in enumerate(shown, 1))
    return element("tr", *cells, look="table-row")


def _cell(tag: Literal["th", "td"], value: Html, *, last: bool) -> Html:
    look = "cell-last" if last else "cell"  # they keep the spaces that indent a row
    return element(tag, value, look=f"{look} muted" if tag == "th" else look)


def scrolled(content: Html, label: str = "table") -> Html:
    """Content that may be wider than the page; it scrolls, with the keyboard too."""
    return element("div", content, look="wide", tabindex="0", role="group", aria_label=label)


def columns(rows: Iterable[Iterable[object]], numeric: Sequence[bool] = ()) -> str:
    """A table for a terminal. The columns for which `numeric` is true are aligned right."""
    lines = [[visible(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(map(_padded, line, widths, (*numeric, *[False] * len(widths)))).rstrip() for line in lines
    )


def _padded(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
