"""Prepare code for a new cell: hidden characters are escaped, and the function gets the name of its result."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.tasks.renamed import renamed
from autocoder_jupyter.untrusted.parsing import same_code
from autocoder_jupyter.untrusted.visible import visible_block


def insertable(code: str, name: str) -> str:
    """The code of a result as a cell: it defines `growth`, not `run`.

    Raises:
        InvalidRequest: as for `readable`.
    """
    return renamed(readable(code, name), name)


def readable(code: str, name: str) -> str:
    """Code without hidden characters: in strings and comments they become escapes with the same meaning.

    Raises:
        InvalidRequest: the escapes would change the code.
    """
    shown = visible_block(code)
    try:
        same = shown == code or same_code(shown, code)
    except SyntaxError:
        same = False
    if not same:
        raise InvalidRequest(
            f"The code of {name} contains invisible characters, or characters that change its direction.",
            hint=f"%autocode show {name} --code shows them.",
        )
    return shown
