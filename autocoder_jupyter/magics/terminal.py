"""What a terminal shows: its width, and pictures if it can draw them.

Two ways to draw. The graphics protocol of kitty, which Ghostty, WezTerm and Konsole have too: a PNG as base64 between
escape codes. And sixels (`sixel.py`), which are older and in more terminals, and have 256 colours.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

_KITTY_TERMINALS = ("xterm-kitty", "xterm-ghostty")
_KITTY_PROGRAMS = ("ghostty", "WezTerm")
_KONSOLE = 220400
"""The first version of Konsole that draws pictures, 22.04, in the form of its variable."""

_SIXEL_TERMINALS = ("foot", "mlterm", "contour")
"""Each also with a suffix, as `foot-extra` and `mlterm-256color`."""

_ITERM = (3, 3)
"""The first version of iTerm2 that has sixels."""

_CHUNK = 4096
"""Characters of one escape code; the protocol allows no more."""


def columns() -> int:
    """The width of the terminal in characters; 0 if the output is not a terminal."""
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0


def drawn(pictures: Iterable[bytes], environ: Mapping[str, str], stream: TextIO) -> str:
    """The escape codes that draw PNG pictures, one below the other.

    They are empty if the stream is not a terminal, or if its environment does not show that it draws pictures. The
    terminal is not asked: its answer would arrive between the keys that the user types. Inside of tmux or screen no
    picture is drawn, because these do not forward pictures.
    """
    codes = None
    if stream.isatty() and "TMUX" not in environ and "STY" not in environ:
        codes = _way_to_draw(environ)
    return "".join(f"{text}\n" for text in map(codes, pictures) if text) if codes is not None else ""


def _way_to_draw(environ: Mapping[str, str]) -> Callable[[bytes], str] | None:
    """How the terminal draws a PNG; None if its environment does not show that it can.

    Two terminals have sixels but are not used. Windows Terminal has them from 1.22 on, but no variable with its
    version, and a program that it has started inherits `WT_SESSION`. In VS Code pictures are switched off until the
    user changes a setting, `terminal.integrated.enableImages`.
    """
    terminal, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    # Each terminal sets TERM. The other variables may be inherited, from the terminal in which this one was started.
    if terminal in _KITTY_TERMINALS:
        return _kitty
    if terminal.split("-")[0] in _SIXEL_TERMINALS:
        return _sixel
    if (
        program in _KITTY_PROGRAMS
        or "KITTY_WINDOW_ID" in environ
        or _version(environ, "KONSOLE_VERSION") >= (_KONSOLE,)
    ):
        return _kitty
    is_iterm = program == "iTerm.app" and _version(environ, "TERM_PROGRAM_VERSION") >= _ITERM
    return _sixel if is_iterm or "MLTERM" in environ or environ.get("TERMINAL_NAME") == "contour" else None


def _version(environ: Mapping[str, str], name: str) -> tuple[int, ...]:
    """The numbers of a version, as 3 and 5 of "3.5.0beta1"; none if the variable is missing."""
    found = re.match(r"(\d{1,9})(?:\.(\d{1,9}))?", environ.get(name, ""))
    return tuple(int(number) for number in found.groups() if number) if found else ()


def _sixel(picture: bytes) -> str:
    from autocoder_jupyter.magics.sixel import sixels

    return sixels(picture)


def _kitty(picture: bytes) -> str:
    data = base64.b64encode(picture).decode()
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    # q=2: the terminal sends no answer, which would be read as typed by the user.
    heads = ["a=T,f=100,q=2,"] + [""] * (len(chunks) - 1)
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{head}m={int(place < last)};{chunk}\x1b\\"
        for place, (head, chunk) in enumerate(zip(heads, chunks, strict=True))
    )
