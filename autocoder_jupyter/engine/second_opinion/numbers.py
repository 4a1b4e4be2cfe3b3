"""The numbers in code and in arguments, and the same code and arguments with others in their place."""

from __future__ import annotations

import ast
import copy
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autocoder_jupyter.untrusted.parsing import parse

Number = int | float

_DEEPEST = 8
"""How many operations of a constant expression are computed, one in the other, and how deep arguments are looked at."""

_LARGEST = 10**18
"""The largest number that is computed."""

_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}

_QUERIES = frozenset({"query", "eval"})
"""Methods of tables whose argument is an expression in a text."""

_IN_QUERY = re.compile(r"(?<![\w.])\d[\d_]{0,17}(?![\w.])")


def numbers_in(code: str) -> list[Number]:
    """The numbers in a module. Of an operation with constants, such as `10**5`, also the result.

    Raises:
        SyntaxError: it does not parse.
    """
    return list(_numbers(parse(code)))


def numbers_of(value: Any, depth: int = _DEEPEST) -> Iterator[Number]:
    """The numbers in an argument, also those in lists and dicts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | tuple | dict) and depth:
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(part, depth - 1)


def code_with(code: str, others: Mapping[Number, Number]) -> str:
    """A module with other numbers.

    Args:
        code: the source.
        others: by number, the one that takes its place. Signs are no part of a number.

    Raises:
        SyntaxError: it does not parse, or is nested too deeply.
    """
    try:
        return ast.unparse(_Replaced(others).visit(copy.deepcopy(parse(code))))
    except RecursionError:
        raise SyntaxError("it is nested too deeply") from None


def value_with(value: Any, others: Mapping[Number, Number], depth: int = _DEEPEST) -> Any:
    """An argument with other numbers; see `code_with`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        other = type(value)(others.get(abs(value), abs(value)))
        return -other if value < 0 else other
    if isinstance(value, list | tuple) and depth:
        return type(value)([value_with(part, others, depth - 1) for part in value])
    if isinstance(value, dict) and depth:
        return {key: value_with(part, others, depth - 1) for key, part in value.items()}
    return value


class _Replaced(ast.NodeTransformer):
    def __init__(self, others: Mapping[Number, Number]) -> None:
        self._others = others

    def generic_visit(self, node: ast.AST) -> ast.AST:
        number = _number(node)
        if number is None or number not in self._others:
            return super().generic_visit(node)
        return ast.Constant(type(number)(self._others[number]))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for text in _queries(node):
            text.value = _IN_QUERY.sub(self._in_query, text.value)
        return self.generic_visit(node)

    def _in_query(self, found: re.Match[str]) -> str:
        number = int(found[0].replace("_", ""))
        return str(self._others.get(number, number))


def _numbers(tree: ast.Module) -> Iterator[Number]:
    for node in ast.walk(tree):
        if (number := _number(node)) is not None:
            yield number
        for text in _queries(node):
            yield from (int(each.replace("_", "")) for each in _IN_QUERY.findall(text.value))


def _queries(node: ast.AST) -> Iterator[Any]:
    """The expressions in texts that a call evaluates for a table."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _QUERIES:
        for argument in node.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument


def _number(node: ast.AST, depth: int = _DEEPEST) -> Number | None:
    """The number that a constant expression is; None if it is none, or not of reasonable size."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left=left, op=op, right=right) if depth and type(op) in _OPERATIONS:
            one, other = _number(left, depth - 1), _number(right, depth - 1)
            if one is None or other is None or (isinstance(op, ast.Pow | ast.LShift) and not 0 <= other <= 64):
                return None
            try:
                result = _OPERATIONS[type(op)](one, other) if max(abs(one), abs(other)) <= _LARGEST else None
            except (ArithmeticError, TypeError):
                return None
            return result if isinstance(result, int | float) and abs(result) <= _LARGEST else None
        case _:
            return None
