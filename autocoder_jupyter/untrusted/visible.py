"""Escape hidden characters of text that is shown, and of source that a person reads."""

from __future__ import annotations

import re

from autocoder_jupyter.untrusted.parsing import same_code

# Hidden characters of text that is shown
#
# Text of a program, a file or a model may have escape sequences for a terminal, characters that change the direction of
# the text, characters without width, or a line break before a line that imitates our output. Each such character is
# replaced by Python's escape for it: `\x1b`, `\u202e`, `\n`. Other text is not changed. Joiners and the two variation
# selectors of emoji are kept where one stands alone after a character that can have it; a row of them can hide a
# message.

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters: ESC, the C1 set, the bell, and those that move the cursor
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"  # no width, or blank letters
    "\u3164\ufeff\uffa0"  # the same
    "\u2028\u2029"  # line separators
    "\u202a-\u202e\u2060-\u206f"  # direction, and invisible operators
    "\ufe00-\ufe0d"  # variation selectors; those of emoji are below
    "\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff"  # surrogates, which cannot be encoded
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # controls of shorthand and of music
    "\U000e0000-\U000e0fff"  # tag characters and variation selectors, which are invisible
)
_MAYBE_HIDDEN = "\u200c\u200d\ufe0e\ufe0f"
_IN_BLOCK = re.compile(f"[{_HIDDEN}{_MAYBE_HIDDEN}]++")
_IN_LINE = re.compile(f"[\t\n{_HIDDEN}{_MAYBE_HIDDEN}]++")

# The form of an emoji, then a joiner to the next part of it. Joiners are also used between letters of some scripts.
_IN_USE = re.compile("[\ufe0e\ufe0f]?[\u200c\u200d]?")
_KEYCAP = "0123456789#*"
_BLANK = "\u2800"  # a pattern of Braille: charts of text have it, names do not


def visible(text: object) -> str:
    """`text` in one line: hidden characters, tabs and line breaks are escaped."""
    return _IN_LINE.sub(_escape, str(text))


def hides(text: str) -> bool:
    """Whether a name has hidden or blank characters other than a space, so that it can look like another name."""
    return not text.isprintable() or visible(text) != text or _BLANK in text


def visible_block(text: object) -> str:
    r"""`text` with escaped hidden characters. Line breaks and tabs are kept; `\r\n` becomes `\n`."""
    shown = str(text)
    if shown.isascii() and shown.isprintable():  # fast for most text; a data URL may have millions of characters
        return shown
    return _IN_BLOCK.sub(_escape, shown.replace("\r\n", "\n"))


def readable_code(source: str) -> str:
    """Source for files that a person reads, with escapes for hidden characters.

    It is the same code: in strings they have the same meaning, in comments none. If the escapes would change the code,
    because it is broken or has such characters elsewhere, it is unchanged.
    """
    shown = visible_block(source)
    try:
        return shown if shown == source or same_code(shown, source) else source
    except SyntaxError:
        return source


def _escape(match: re.Match[str]) -> str:
    return match[0] if _is_in_use(match) else ascii(match[0])[1:-1]


def _is_in_use(match: re.Match[str]) -> bool:
    """Whether the characters belong to an emoji or to letters of some scripts. Next to ASCII they have no use."""
    found, text = match[0], match.string
    if len(found) > 2 or not _IN_USE.fullmatch(found):
        return False
    before, behind = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    if found[-1] in "\u200c\u200d" and (not behind or behind.isascii()):
        return False
    return bool(before) and (not before.isascii() or (found == "\ufe0f" and before in _KEYCAP and behind == "\u20e3"))
