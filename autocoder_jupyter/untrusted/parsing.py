"""Parse Python source that a model or a user wrote. All source is parsed here; the only error is SyntaxError.

In Python 3.11, threads that build syntax trees at the same time share one counter. If the garbage collector runs
during a parse and another thread parses meanwhile (the notebook does for every cell), the parser fails with
`SystemError: AST constructor recursion depth mismatch`, although the source is correct. A lock would not help, because
the notebook would not take it. So the source is parsed again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TRIES = 10
"""Most attempts. With each it is less likely that another thread disturbed all of them."""


def parse(source: str) -> ast.Module:
    """The syntax tree of a module.

    Raises:
        SyntaxError: it is not Python, or it is nested too deeply for the parser.
    """
    return _retried(lambda: ast.parse(source))


def parse_expression(source: str) -> ast.expr:
    """The syntax tree of one expression.

    Raises:
        SyntaxError: it is not one expression; see `parse`.
    """
    return _retried(lambda: ast.parse(source.strip(), mode="eval")).body


def require_expression(source: str) -> None:
    """Check that a text is one expression, and that it compiles.

    Raises:
        SyntaxError: it is not, or does not; see `parse`.
    """
    _retried(lambda: compile(source.strip(), "<expression>", "eval"))


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
