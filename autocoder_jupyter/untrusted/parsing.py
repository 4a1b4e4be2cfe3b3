"""Parse Python source that a model or a person wrote. All source is parsed here; the only failure is SyntaxError.

In Python 3.11, threads that build syntax trees at the same time share one counter. When the garbage collector runs
something in the middle, and another thread parses meanwhile (the notebook's own does for every cell), the parser fails
with `SystemError: AST constructor recursion depth mismatch`. Nothing is wrong with the source then, and a lock of
ours would not keep the notebook away; so it is parsed again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TRIES = 10
"""Attempts at most; each makes it less likely that another thread disturbed all of them."""


def parse(source: str) -> ast.Module:
    """The syntax tree of a module.

    Raises:
        SyntaxError: it is no Python, or more deeply nested than the parser goes.
    """
    return _retried(lambda: ast.parse(source))


def parse_expression(source: str) -> ast.expr:
    """The syntax tree of one expression.

    Raises:
        SyntaxError: as `parse`.
    """
    return _retried(lambda: ast.parse(source.strip(), mode="eval")).body


def require_expression(source: str) -> None:
    """See to it that a text is one expression that compiles.

    Raises:
        SyntaxError: as `parse`.
    """
    _retried(lambda: compile(source.strip(), "<expression>", "eval"))


def same_substance(one: str, other: str) -> bool:
    """Whether two modules differ in nothing but comments and formatting.

    Raises:
        SyntaxError: as `parse`.
    """
    trees = parse(one), parse(other)
    try:
        return ast.dump(trees[0]) == ast.dump(trees[1])
    except RecursionError:  # a tree can be built that is too deep to be written down
        return one == other


def complaint(error: SyntaxError) -> str:
    """`invalid syntax (line 3)`."""
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
