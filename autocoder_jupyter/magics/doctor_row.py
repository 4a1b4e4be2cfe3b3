"""A row of `%autocode doctor`, and the table of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view import as_text, markup
from autocoder_jupyter.view.markup import Html


class DoctorRow(NamedTuple):
    """What was checked, its state, and the reason or the next step.

    `level` is 0 for a subject, and more for its parts. `used` is true for what the next generation would use, and
    `bad` if it could not.
    """

    name: str
    state: str
    more: str = ""
    level: int = 0
    used: bool = False
    bad: bool = False


def shown(rows: Sequence[DoctorRow]) -> tuple[Html, str]:
    """A table of rows for a page, and for a terminal, in its width. Parts are indented."""
    cells = [("  " * row.level + row.name, row.state, row.more) for row in rows]
    return markup.table(("", "", ""), cells), as_text.wrapped(markup.columns(cells), columns())


def fault_of(look: Callable[[], None]) -> str:
    """The error that a check raises and what to do next; "" if it raises none."""
    try:
        look()
    except AutocodeError as error:
        return visible(f"{error.what} {error.hint}")
    return ""
