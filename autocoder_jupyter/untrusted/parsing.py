"""Parse Python source that a model or a user wrote.

All source is parsed here; the only error is SyntaxError.
"""

from __future__ import annotations

import ast
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
