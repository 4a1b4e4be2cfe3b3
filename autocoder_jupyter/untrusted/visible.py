r"""Escape the hidden characters of untrusted text before it is shown.

Text of a program, a file or a model may have escape sequences for a terminal, characters that change the direction of
the text, characters without width, or a line break before a line that imitates our output. Each such character is
replaced by Python's escape for it: `\x1b`, `\u202e`, `\n`. Other text is not changed.
"""

from __future__ import annotations

import re

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters: ESC, the C1 set, the bell, and those that move the cursor
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u3164\ufeff\uffa0"  # no width, or blank letters
    "\u2028\u2029"  # line separators
    "\u202a-\u202e\u2060-\u206f"  # direction, and invisible operators
    "\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff"  # surrogates, which cannot be encoded
    "\U000e0000-\U000e007f"  # tag characters, which are invisible
)
# Joiners are used between letters of some scripts and parts of an emoji. Next to ASCII they have no use.
_JOINER = r"(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
_IN_BLOCK = re.compile(f"[{_HIDDEN}]++|{_JOINER}")
_IN_LINE = re.compile(f"[\t\n{_HIDDEN}]++|{_JOINER}")


def visible(text: object) -> str:
    """`text` in one line: hidden characters, tabs and line breaks are escaped."""
    return _IN_LINE.sub(_escape, str(text))


def visible_block(text: object) -> str:
    r"""`text` with escaped hidden characters. Line breaks and tabs are kept; `\r\n` becomes `\n`."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():  # fast for most text; a data URL may have millions of characters
        return shown
    return _IN_BLOCK.sub(_escape, shown.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
