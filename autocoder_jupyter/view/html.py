"""HTML as a type of its own, so that mypy rejects text that was not escaped.

Only this module creates `Html`: `escape` from any text, `element` from a tag, attributes and other HTML, `join` from
parts. `html_output` and `widgets.html_widget`, which show HTML, take `Html` and no `str`.
"""

from __future__ import annotations

import html
from typing import Literal, NewType

from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.view.styles import style

Html = NewType("Html", str)
"""Well-formed HTML in which all text was escaped. `+`, f-strings and `str.join` give a plain `str` again."""

Tag = Literal[
    "a", "button", "del", "details", "div", "img", "ins", "li", "pre", "span", "strong", "style", "summary", "table",
    "tbody", "td", "th", "tr", "ul",
]  # fmt: skip

EMPTY = Html("")


def escape(value: object, *, quotes: bool = True) -> Html:
    """Any text as HTML. Control and invisible characters are shown as escapes.

    Args:
        value: an object; its `str` is the text.
        quotes: whether quotation marks are escaped too. Between tags they need no escape, and source has many.
    """
    return Html(html.escape(visible_block(value), quote=quotes))


def element(tag: Tag, /, *content: Html, look: str = "", **attributes: str | bool | None) -> Html:
    """An element.

    Args:
        tag: its name.
        content: the HTML inside the element.
        look: classes of `styles.css`, separated by spaces; their declarations come before those of a `style`.
        attributes: in order. `class_` is written `class`, `aria_label` is written `aria-label`. A string is escaped
            here; True gives the name without a value; False and None leave the attribute out.
    """
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
