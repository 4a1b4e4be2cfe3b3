"""Code in which large products of whole numbers are small ones.

The value of `n * factor` is not in the code, so a table may be too small to show that it limits rows. A helper is added
to the code and gets the value of each such operation; it leaves other values, such as columns, as they are.
"""

from __future__ import annotations

import ast
import copy

from autocoder_jupyter.untrusted.parsing import parse

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

    Raises:
        SyntaxError: it does not parse, or is nested too deeply.
    """
    return _with_helper(code, reach, _REPLACE.format(small=small, bits=int(reach).bit_length()))


def with_refused_products(code: str, reach: float, label: str) -> str:
    """A module that raises an error with this text at a product of whole numbers beyond `reach`.

    Returns:
        The module; "" if it has no products.

    Raises:
        SyntaxError: see `with_small_products`.
    """
    return _with_helper(code, reach, _FAIL.format(label=label))


def _with_helper(code: str, reach: float, then: str) -> str:
    try:
        tree = copy.deepcopy(parse(code))
        wrapped = _Wrapped()
        tree = wrapped.visit(tree)
        if not wrapped.count:
            return ""
        place, helper = _first(tree), parse(_SOURCE.format(reach=reach, then=then))
        tree.body[place:place] = copy.deepcopy(helper).body
        return ast.unparse(ast.fix_missing_locations(tree))
    except RecursionError:
        raise SyntaxError("it is nested too deeply") from None


def _first(tree: ast.Module) -> int:
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
