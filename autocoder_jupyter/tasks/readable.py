"""Code of a model or a file without hidden characters, for a place where a person reads it: a cell, or a script."""

from __future__ import annotations

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.parsing import TooLong, require_readable, visible_block
from autocoder_jupyter.untrusted.readable_code import readable_code


def readable(code: str, name: str) -> str:
    """Code without hidden characters: in strings and comments they become escapes with the same meaning.

    Raises:
        InvalidRequest: the escapes would change the code.
    """
    try:
        require_readable(code)
    except TooLong as error:
        raise InvalidRequest(f"The code of {name} is too long to be shown.", why=f"{error.msg}.") from None
    shown = readable_code(code)
    if visible_block(shown) != shown:
        raise InvalidRequest(
            f"The code of {name} contains invisible characters, or characters that change its direction.",
            hint=f"%autocode show {name} --code shows them.",
        )
    return shown
