"""The kernel's side of the lab extension: one comm that says what there is, and does what a page asks for.

    page  ─ hello, settings, request ─▶  channel ─▶ link ─▶ requests, settings
    page  ◀─ welcome, jobs, data, reply ─  channel ◀─ link ◀─ vocabulary, results, data

Nothing is sent before a page said hello, nothing at all in a run without a person, and everything works without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.lab.link import Link
    from autocoder_jupyter.magics.notebook import Notebook

_links: dict[int, Link] = {}
"""The link of each shell, by the shell's id."""


def connect(notebook: Notebook) -> None:
    """Offer a link to the pages of a notebook's kernel; in a terminal there is none."""
    disconnect(notebook.shell)
    if notebook.is_terminal:
        return
    from autocoder_jupyter.lab.link import Link

    link = Link(notebook)
    _links[id(notebook.shell)] = link
    link.start()


def disconnect(shell: Any) -> None:
    """Close the link of a shell, if it has one; the pages forget what they knew."""
    link = _links.pop(id(shell), None)
    if link is not None:
        link.stop()
