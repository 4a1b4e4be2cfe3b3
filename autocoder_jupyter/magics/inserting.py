"""Prepare code for a new cell: hidden characters are escaped, and the function gets the name of its result."""

from __future__ import annotations

from autocoder_jupyter.tasks.export import readable, renamed


def insertable(code: str, name: str) -> str:
    """The code of a result as a cell: it defines `growth`, not `run`.

    Raises:
        InvalidRequest: as for `readable`.
    """
    return renamed(readable(code, name), name)
