"""Source code with buttons: copy and insert with our lab extension, download anywhere.

The buttons have a label and no text, and are hidden. The extension shows them and handles clicks by their data
attributes. A host that removes the buttons and keeps their text (GitHub) shows nothing.
"""

from __future__ import annotations

import base64

from autocoder_jupyter.tasks.renamed import places
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

_BUTTON = (
    "display:none;border:none;background:none;padding:0;cursor:pointer;"
    "font:inherit;color:var(--jp-content-link-color,#1976d2)"
)
_BAR = "display:flex;justify-content:flex-end;align-items:baseline;column-gap:14px;margin-top:6px;font-size:.92em"


def source_block(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> Html:
    """Python code with buttons; empty if there is no code.

    Args:
        code: the source.
        filename: the name of the download; "" for no download.
        defines: the name that the function gets when it is inserted into a cell, if that is possible.
        coloured: whether the code is in colours, which takes five times as many characters.
    """
    if not code.strip():
        return EMPTY
    actions = [action("copy", "Copy"), action("insert", "Insert as a cell")]
    if filename:
        actions.append(download(filename, code.encode(), "text/x-python"))
    # For the button *Insert*: the positions of the name in the text as it is shown.
    found = places(markup.plain(code).rstrip(), defines) if defines else ()
    return element(
        "div",
        element("div", join(*actions, between=" "), style=_BAR),
        element("div", markup.python(code) if coloured else markup.code(code), data_autocode_source=""),
        class_=markup.NO_FORMULAS,
        data_autocode_block="",
        data_autocode_name=defines if found else None,
        data_autocode_places=",".join(map(str, found)) if found else None,
    )


def action(kind: str, words: str) -> Html:
    """A button that our lab extension shows: `copy`, `insert` or `grant`."""
    return element(
        "button",
        type="button",
        class_="autocode-action",
        data_autocode_action=kind,
        style=_BUTTON,
        aria_label=words,
    )


def download(filename: str, content: bytes, media_type: str, words: str = "") -> Html:
    """A link that saves `content`, which is part of the link."""
    style = "color:var(--jp-content-link-color,#1976d2);text-decoration:none"
    address = data_address(content, media_type)
    return element("a", escape(words or f"Download {filename}"), download=filename, href=address, style=style)


def data_address(content: bytes, media_type: str) -> str:
    """A `data:` URL with the content."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
