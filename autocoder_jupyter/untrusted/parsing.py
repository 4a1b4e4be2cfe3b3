"""Parse Python source that a model or a user wrote, and escape hidden characters of text that is shown.

All source is parsed here; the only error is SyntaxError.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

# Python source
#
# The parser does not let other threads run before it has read all of a source, so the size of a source is limited, here
# and nowhere else. Many stages look at the same source, so the newest trees are kept; nobody changes a tree.
#
# In Python 3.11, threads that build syntax trees at the same time share one counter. If the garbage collector runs
# during a parse and another thread parses meanwhile (the notebook does for every cell), the parser fails with
# `SystemError: AST constructor recursion depth mismatch`, although the source is correct. A lock would not help,
# because the notebook would not take it. So the source is parsed again.

T = TypeVar("T")

CHARACTERS = 2**20
"""Most characters of a source."""

TOKENS = 50_000
"""Most tokens of a source, by an estimate that is never too low. To parse as many takes up to 0.2 s."""

EXPRESSION_TOKENS = 2_000
"""Most tokens of an expression that is compiled or evaluated. To compile takes up to ten times as long as to parse."""

TESTS = 2_000
"""Most test functions of a module."""

_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~\n"
_FILE = "<source>"
# The parser warns of each doubtful literal. Nobody could use the warning, and a hostile source could cause thousands.
warnings.filterwarnings("ignore", module=f"^{_FILE}$")

TRIES = 10
"""Most attempts. With each it is less likely that another thread disturbed all of them."""


class TooLong(SyntaxError):
    """A source is larger than the limits, and was not read."""


def require_readable(source: str, tokens: int = TOKENS) -> None:
    """Check the size of a source.

    Raises:
        TooLong: it has more than `CHARACTERS` characters, or may have more than `tokens` tokens.
    """
    if len(source) > CHARACTERS:
        raise TooLong(f"it has {len(source):,} characters, at most {CHARACTERS:,} can be read")
    # A sign can end the word before it and begin the next one. Words in comments and strings are counted, too.
    estimate = len(source.split()) + 2 * sum(map(source.count, _SIGNS))
    if estimate > tokens:
        raise TooLong(f"it has about {estimate:,} words and signs, at most {tokens:,} can be read")


def parse(source: str) -> ast.Module:
    """The syntax tree of a module. It is shared, and must not be changed.

    Raises:
        SyntaxError: it is not Python, or it is nested too deeply for the parser; `TooLong` if it is too large.
    """
    if (tree := _trees.find(source)) is not None:
        return tree
    require_readable(source)
    tree = _retried(lambda: ast.parse(source, _FILE))
    _trees.keep(source, tree)
    return tree


def parse_expression(source: str) -> ast.expr:
    """The syntax tree of one expression.

    Raises:
        SyntaxError: it is not one expression; see `parse`.
    """
    require_readable(source)
    return _retried(lambda: ast.parse(source.strip(), _FILE, mode="eval")).body


def literal(source: str) -> Any:
    """The value of a short Python literal.

    Raises:
        ValueError: it is none, is nested too deeply, or may have more than `EXPRESSION_TOKENS` tokens. A dict of many
            numbers could take very long to build, because their hashes can be equal.
    """
    try:
        require_readable(source, EXPRESSION_TOKENS)
        return ast.literal_eval(parse_expression(source))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"it is not a literal: {error}") from None


def require_expression(source: str) -> None:
    """Check that a text is one expression, and that it compiles.

    Raises:
        SyntaxError: it is not, or does not; see `parse`.
    """
    require_readable(source, EXPRESSION_TOKENS)
    _retried(lambda: compile(source.strip(), _FILE, "eval"))


def same_code(one: str, other: str) -> bool:
    """Whether two modules differ only in comments and formatting.

    Raises:
        SyntaxError: one of them cannot be parsed; see `parse`.
    """
    trees = parse(one), parse(other)
    try:
        return ast.dump(trees[0]) == ast.dump(trees[1])
    except RecursionError:  # a tree can be too deep for `ast.dump`
        return one == other


def complaint(error: SyntaxError) -> str:
    """The message and the line of a syntax error: `invalid syntax (line 3)`."""
    return f"{error.msg} (line {error.lineno})" if error.lineno else error.msg


def _retried(work: Callable[[], T]) -> T:
    for _ in range(TRIES):
        try:
            return work()
        except SystemError:
            continue
        except ValueError as error:  # a zero byte, up to Python 3.11.3
            raise SyntaxError(str(error)) from None
        except (RecursionError, MemoryError):
            raise SyntaxError("it is nested too deeply") from None
    raise SyntaxError("the interpreter's parser failed, again and again")


class _Trees:
    """The newest syntax trees by source. The length of all sources together is limited."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, ast.Module] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, source: str) -> ast.Module | None:
        with self._lock:
            if source in self._kept:
                self._kept.move_to_end(source)
            return self._kept.get(source)

    def keep(self, source: str, tree: ast.Module) -> None:
        with self._lock:
            self._kept[source] = tree
            while sum(map(len, self._kept)) > self._most:
                self._kept.popitem(last=False)


_trees = _Trees(most=200_000)


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
