"""What a terminal shows: its width, and pictures if it can draw them.

The graphics protocol of kitty, which Ghostty and WezTerm have too: a PNG as base64 between escape codes.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TextIO

_TERMINALS = ("xterm-kitty", "xterm-ghostty")
_PROGRAMS = ("ghostty", "WezTerm")

_CHUNK = 4096
"""Characters of one escape code; the protocol allows no more."""


def columns() -> int:
    """The width of the terminal in characters; 0 if the output is no terminal."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0


def draws_pictures(environ: Mapping[str, str], stream: TextIO) -> bool:
    """Whether a stream is a terminal whose environment says that it draws pictures.

    The terminal is not asked: its answer would arrive between the keys that the user types. Inside of tmux or screen no
    picture is drawn, because these pass none on.

    Args:
        environ: the environment variables.
        stream: where the pictures would be written.
    """
    if not stream.isatty() or "TMUX" in environ or "STY" in environ:
        return False
    named = environ.get("TERM") in _TERMINALS or environ.get("TERM_PROGRAM") in _PROGRAMS
    return named or "KITTY_WINDOW_ID" in environ


def drawn(pictures: Iterable[bytes]) -> str:
    """The escape codes that draw PNG pictures, one below the other."""
    return "".join(f"{_codes(base64.b64encode(picture).decode())}\n" for picture in pictures)


def _codes(data: str) -> str:
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    # q=2: the terminal sends no answer, which would be read as typed by the user.
    heads = ["a=T,f=100,q=2,"] + [""] * (len(chunks) - 1)
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{head}m={int(place < last)};{chunk}\x1b\\"
        for place, (head, chunk) in enumerate(zip(heads, chunks, strict=True))
    )
