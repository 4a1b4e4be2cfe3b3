"""The numbers in a function's code that may limit rows, and the same code with smaller numbers in their place."""

from __future__ import annotations

import ast
import copy
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autocoder_jupyter.engine.evidence.variations import ENLARGED_ROWS
from autocoder_jupyter.untrusted.parsing import parse

# Numbers in code and in arguments

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
    """The numbers in a module. Of an operation with constants, such as `10**5`, also the result."""
    return list(_numbers(parse(code)))


def numbers_of(value: Any, depth: int = _DEEPEST) -> Iterator[Number]:
    """The numbers in an argument, also those in lists and dicts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | tuple | dict) and depth:
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(part, depth - 1)


def code_with(code: str, others: Mapping[Number, Number]) -> str:
    """A module with other numbers."""
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


# Numbers as limits of rows
#
# *The first 300,000 rows* may not be split by rows, which no table of a moderate size shows.

MOST_ROWS = 200_000
LEAST_ROWS = 2_500

REACH = 5
"""How often the large tables have as many rows as the largest number in the code: *the 500 largest* of 240 rows are
all rows."""

SMALL = 40
"""In place of a number that is out of reach: more than most samples' groups have rows, and fewer than all tables."""

_OF_ROWS = frozenset({"len", "shape", "size", "head", "tail", "sample", "nlargest", "nsmallest", "iloc", "take"})


def largest_number(*codes: str) -> int:
    """The largest whole number in these modules that is at most `ENLARGED_ROWS`; 0 if there is none."""
    numbers = (number for code in codes for number in numbers_in(code))
    return max((number for number in numbers if isinstance(number, int) and number <= ENLARGED_ROWS), default=0)


def large_enough(numbers: Iterable[int | float]) -> int:
    """How many rows a table needs, so that none of these numbers is a limit that it does not reach; at most
    `MOST_ROWS`.
    """
    largest = max((abs(number) for number in numbers if not is_out_of_reach(number)), default=0)
    return int(max(REACH * largest + 1, LEAST_ROWS))


def is_out_of_reach(number: int | float) -> bool:
    """Whether no table is large enough to show what a number does that limits rows."""
    return not REACH * abs(number) < MOST_ROWS


def small_numbers(numbers: Iterable[int | float]) -> dict[int | float, int]:
    """For each number that is out of reach a small one, in the same order."""
    large = sorted({abs(number) for number in numbers if is_out_of_reach(number) and number == number})
    return {number: SMALL + place for place, number in enumerate(large)}


def counts_rows(code: str) -> str:
    """Names in code for which the number of rows may count; "" if there are none."""
    nodes = (node for node in ast.walk(parse(code)) if isinstance(node, ast.Name | ast.Attribute))
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in nodes}
    return ", ".join(sorted(names & _OF_ROWS)[:3])


# Products of numbers
#
# The value of `n * factor` is not in the code, so a table may be too small to show that it limits rows. A helper is
# added to the code and gets the value of each such operation; it leaves other values, such as columns, as they are.

_HELPER = "_small_product_"

_GROW = (ast.Mult, ast.Pow, ast.LShift)

_SOURCE = f"""
def {_HELPER}(value):
    if type(value) not in (int, float) or not {{reach}} < abs(value) < float("inf") or value != int(value):
        return value
    {{then}}
"""

_FAIL = 'raise RuntimeError("{label}")'
_REPLACE = "return type(value)(({small} + abs(int(value)).bit_length() - {bits}) * (-1 if value < 0 else 1))"


def with_small_products(code: str, reach: float, small: int) -> str:
    """A module that gets a number a little larger than `small` for a product of whole numbers beyond `reach`.

    Larger products get larger numbers, or the same.
    """
    return _with_helper(code, reach, _REPLACE.format(small=small, bits=int(reach).bit_length()))


def with_refused_products(code: str, reach: float, label: str) -> str:
    """A module that raises an error with this text at a product of whole numbers beyond `reach`."""
    return _with_helper(code, reach, _FAIL.format(label=label))


def _with_helper(code: str, reach: float, then: str) -> str:
    try:
        tree = copy.deepcopy(parse(code))
        wrapped = _Wrapped()
        tree = wrapped.visit(tree)
        if not wrapped.count:
            return ""
        place, helper = first_place(tree), parse(_SOURCE.format(reach=reach, then=then))
        tree.body[place:place] = copy.deepcopy(helper).body
        return ast.unparse(ast.fix_missing_locations(tree))
    except RecursionError:
        raise SyntaxError("it is nested too deeply") from None


def first_place(tree: ast.Module) -> int:
    """Where the helper stands: after the docstring and the imports of the future."""
    for place, node in enumerate(tree.body):
        is_docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return place
    return len(tree.body)


class _Wrapped(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._small(node) if isinstance(node.op, _GROW) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, _GROW) or not isinstance(node.target, ast.Name):
            return node
        value = self._small(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        return ast.Assign([node.target], value)

    def _small(self, node: ast.expr) -> ast.expr:
        self.count += 1
        return ast.Call(ast.Name(_HELPER, ast.Load()), [node], [])
