r"""Escape, in untrusted text that is shown, what acts on a terminal, is invisible, or changes direction or line.

A program, a file or a model can put into a word what a terminal obeys (escape sequences), what turns the direction of
the words after it, what has no width, or a line break that begins a line which looks like ours. Here each such
character becomes the escape that Python writes for it, `\x1b`, `\u202e`, `\n`; all other text stays as it is.
"""

from __future__ import annotations

import re

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: ESC, the C1 set, what rings, and what moves the cursor
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u3164\ufeff\uffa0"  # no width, or blank letters
    "\u2028\u2029"  # line separators
    "\u202a-\u202e\u2060-\u206f"  # direction, and invisible operators
    "\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff"  # halves of characters, which cannot be written
    "\U000e0000-\U000e007f"  # letters that nothing shows
)
# Joiners belong between the letters of some scripts and the parts of an emoji, and nowhere next to ASCII.
_JOINER = r"(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
_IN_BLOCK = re.compile(f"[{_HIDDEN}]++|{_JOINER}")
_IN_LINE = re.compile(f"[\t\n{_HIDDEN}]++|{_JOINER}")


def visible(text: object) -> str:
    """One line: tabs and line breaks are spelled out too."""
    return _IN_LINE.sub(_escape, str(text))


def visible_block(text: object) -> str:
    """Text of several lines, which keeps its line breaks and tabs; the line ends of Windows become plain ones."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():  # most text; a picture in an address has millions of characters
        return shown
    return _IN_BLOCK.sub(_escape, shown.replace("\r\n", "\n"))


def is_visible(text: str) -> bool:
    """Whether `visible_block` would change nothing but the kind of line ends."""
    return _IN_BLOCK.search(text.replace("\r\n", "\n")) is None


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
