"""HTML as a type of its own, so that mypy refuses text that was not escaped.

Only this module makes `Html`: by `escape` from any text, by `element` from a tag, attributes and other HTML, by `join`
from parts. What shows HTML (`html_output`, `widgets.html_widget`) takes `Html` and no `str`.
"""

from __future__ import annotations

import html
from typing import Literal, NewType

from autocoder_jupyter.untrusted.visible import visible_block

Html = NewType("Html", str)
"""Well-formed HTML in which all text was escaped. `+`, f-strings and `str.join` give a plain `str` again."""

Tag = Literal[
    "a", "button", "del", "details", "div", "img", "ins", "li", "pre", "span", "strong", "style", "summary", "table",
    "tbody", "td", "th", "tr", "ul",
]  # fmt: skip

EMPTY = Html("")


def escape(value: object, *, quotes: bool = True) -> Html:
    """Any text as HTML. Control and invisible characters are spelled out.

    Args:
        value: its `str` is the text.
        quotes: whether quotation marks are escaped too; source is full of them, and between tags they need no escape.
    """
    return Html(html.escape(visible_block(value), quote=quotes))


def element(tag: Tag, /, *content: Html, **attributes: str | bool | None) -> Html:
    """An element.

    Args:
        tag: its name.
        content: what stands inside of it.
        attributes: in their order. `class_` is written `class`, `aria_label` is written `aria-label`. A text is escaped
            here; True gives the name without a value; False and None give nothing.
    """
    named = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    start = "".join(_attribute(name, value) for name, value in named if value is not None and value is not False)
    if tag == "img":
        return Html(f"<{tag}{start}>")
    return Html(f"<{tag}{start}>{''.join(content)}</{tag}>")


def _attribute(name: str, value: str | bool) -> str:
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def join(*parts: Html, between: str = "") -> Html:
    """The parts in order, with the text `between` after each but the last."""
    return Html(escape(between).join(parts))


def html_output(shown: Html, words: str) -> dict[str, str]:
    """A notebook's output by mime type: `shown`, and `words` for terminals."""
    return {"text/html": shown, "text/plain": words}
