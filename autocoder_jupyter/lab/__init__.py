"""The kernel's side of the lab extension: a comm that sends jobs and variables, and answers requests of pages.

    page  ─ hello, settings, request ─▶  link ─▶ requests
    page  ◀─ welcome, jobs, data, reply ─  link ◀─ messages

Nothing is sent before a page has sent `hello`, and nothing in a run without a user. Everything else works without this
package, which may import all others.

- `link`: the comm, and the thread that sends and answers
- `messages`: what is sent: jobs, variables, options and subcommands
- `requests`: actions on results, problems of a cell, settings of the page
- `server`: whether the Jupyter server can serve the extension
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.lab.link import PageLink
    from autocoder_jupyter.magics.notebook import Notebook

_links: dict[int, PageLink] = {}
"""The link of each shell, by the shell's id."""


def connect(notebook: Notebook) -> None:
    """Open the link to the pages of a notebook. Does nothing in a terminal."""
    disconnect(notebook.shell)
    if notebook.is_terminal:
        return
    from autocoder_jupyter.lab.link import PageLink

    link = PageLink(notebook)
    _links[id(notebook.shell)] = link
    link.start()


def disconnect(shell: Any) -> None:
    """Close the link of a shell, if there is one. The pages then drop its data."""
    link = _links.pop(id(shell), None)
    if link is not None:
        link.stop()
