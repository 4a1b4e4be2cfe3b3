"""Source with buttons: copy and insert where our extension is installed, download anywhere.

The buttons have a label and no text, and stay hidden without the extension, which shows them and acts on them by their
data attributes: where a host takes the buttons away and keeps their text (GitHub), nothing is left.
"""

from __future__ import annotations

import base64

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.html import EMPTY, Html, element, escape, join
from autocoder_jupyter.tasks.renamed import places

_BUTTON = (
    "display:none;border:none;background:none;padding:0;cursor:pointer;"
    "font:inherit;color:var(--jp-content-link-color,#1976d2)"
)
_BAR = "display:flex;justify-content:flex-end;align-items:baseline;column-gap:14px;margin-top:6px;font-size:.92em"


def source_block(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> Html:
    """Python in colours, with what can be done with it. Nothing when there is no code.

    Args:
        code: the source.
        filename: for the download; without one there is none.
        defines: the name that its function gets in a cell, where it can have that.
        coloured: whether it is in colours; they take five times its room.
    """
    if not code.strip():
        return EMPTY
    actions = [action("copy", "Copy"), action("insert", "Insert as a cell")]
    if filename:
        actions.append(download(filename, code.encode(), "text/x-python"))
    # For the button that inserts: where the name goes in the text as it is shown.
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
    """A button that our extension shows: `copy` or `insert`."""
    return element(
        "button",
        type="button",
        class_="autocode-action",
        data_autocode_action=kind,
        style=_BUTTON,
        aria_label=words,
    )


def download(filename: str, content: bytes, media_type: str, words: str = "") -> Html:
    """A link that saves `content`, which travels inside of it."""
    style = "color:var(--jp-content-link-color,#1976d2);text-decoration:none"
    address = data_address(content, media_type)
    return element("a", escape(words or f"Download {filename}"), download=filename, href=address, style=style)


def data_address(content: bytes, media_type: str) -> str:
    """A `data:` address with the content in it."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
