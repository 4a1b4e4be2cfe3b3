"""Source to take along: copied or put into a cell by a click where our extension listens, downloaded anywhere.

The buttons have a label and no text, and stay hidden without the extension, which shows them and acts on them by their
data attributes: where a host takes the buttons away and keeps their text (GitHub), nothing is left.
"""

from __future__ import annotations

import base64

from autocoder_jupyter.display import markup
from autocoder_jupyter.tasks.renamed import places

_BUTTON = (
    "display:none;border:none;background:none;padding:0;cursor:pointer;"
    "font:inherit;color:var(--jp-content-link-color,#1976d2)"
)
_BAR = "display:flex;justify-content:flex-end;align-items:baseline;column-gap:14px;margin-top:6px;font-size:.92em"


def source_block(code: str, filename: str = "", defines: str = "", *, coloured: bool = True) -> str:
    """Python in colours, with what can be done with it. Nothing when there is no code.

    Args:
        code: the source.
        filename: for the download; without one there is none.
        defines: the name that its function gets in a cell, where it can have that.
        coloured: whether it is in colours; they take five times its room.
    """
    if not code.strip():
        return ""
    actions = [action("copy", "Copy"), action("insert", "Insert as a cell")]
    if filename:
        actions.append(download(filename, code.encode(), "text/x-python"))
    return (
        f'<div class="{markup.NO_FORMULAS}" data-autocode-block=""{_renaming(code, defines)}>'
        f'<div style="{_BAR}">{" ".join(actions)}</div>'
        f'<div data-autocode-source="">{markup.python(code) if coloured else markup.code(code)}</div></div>'
    )


def _renaming(code: str, name: str) -> str:
    """For the button that inserts: the name, and where it goes in the text as it is shown."""
    found = places(markup.plain(code).rstrip(), name) if name else ()
    if not found:
        return ""
    return f' data-autocode-name="{markup.text(name)}" data-autocode-places="{",".join(map(str, found))}"'


def action(kind: str, words: str) -> str:
    """A button that our extension shows: `copy` or `insert`."""
    return (
        f'<button type="button" class="autocode-action" data-autocode-action="{kind}" style="{_BUTTON}" '
        f'aria-label="{markup.text(words)}"></button>'
    )


def download(filename: str, content: bytes, media_type: str, words: str = "") -> str:
    """A link that saves `content`, which travels inside of it."""
    style = "color:var(--jp-content-link-color,#1976d2);text-decoration:none"
    return (
        f'<a download="{markup.text(filename)}" href="{data_address(content, media_type)}" style="{style}">'
        f"{markup.text(words or f'Download {filename}')}</a>"
    )


def data_address(content: bytes, media_type: str) -> str:
    """An address that holds what it points at."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
