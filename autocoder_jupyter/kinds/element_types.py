"""The element types of lists and dicts: `str` in `list[str]`, `float` in `dict[str, float]`. Keys are always texts.

An output may also be a list or dict of tables or figures: `list[Figure]`, `dict[str, DataFrame]`.
"""

from __future__ import annotations

import ast
from typing import Any

from autocoder_jupyter.untrusted.parsing import parse_expression

_SCALARS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}
_SAME = {
    "string": "str",
    "text": "str",
    "integer": "int",
    "number": "float",
    "double": "float",
    "boolean": "bool",
    "List": "list",
    "Dict": "dict",
    "Mapping": "dict",
    "Sequence": "list",
    "array": "list",
}
WHOLE = ("DataFrame", "Series", "Figure")
"""Types that only the elements of an output itself may have, not those of a list inside it."""

_DEEPEST = 8
LONGEST = 200
"""Maximum length of a type annotation."""


def elements_of(text: str) -> str:
    """The type of the elements of a list, or of the values of a dict, in canonical form; "" if it is not given.

    Args:
        text: such as `list[str]`, `dict[str, list[float]]`, `Dict[str, Any]`.
    """
    try:
        node = parse_expression(text) if len(text) <= LONGEST else None
        return _inner(node, 0) if isinstance(node, ast.Subscript) else ""
    except (SyntaxError, ValueError):
        return ""


def _inner(node: ast.Subscript, depth: int) -> str:
    """The type between the brackets.

    Raises:
        ValueError: it is not a JSON type.
    """
    name = _name(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "dict" and len(parts) == 2 and _written(parts[0], depth + 1) == "str":
        return _written(parts[1], depth + 1)
    if name == "list" and len(parts) == 1:
        return _written(parts[0], depth + 1)
    raise ValueError(name)


def _written(node: ast.expr, depth: int) -> str:
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return " | ".join(dict.fromkeys(_written(side, depth + 1) for side in (node.left, node.right)))
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.Subscript):
        inner = _inner(node, depth)
        return f"list[{inner}]" if _name(node.value) == "list" else f"dict[str, {inner}]"
    name = _name(node)
    if name in WHOLE and depth == 1:
        return name
    if name not in (*_SCALARS, "list", "dict"):
        raise ValueError(name)
    return name


def _name(node: ast.expr) -> str:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return _SAME.get(name, name)


def canonical(elements: str) -> str:
    """The element type of a record, in canonical form; "" if it is not valid, because the record is not trusted."""
    return elements_of(f"list[{elements}]") if elements else ""


def python_type(kind: type, elements: str) -> Any:
    """The class with its element type, for a signature: `list[str]`."""
    if not elements:
        return kind
    if elements in WHOLE:
        from autocoder_jupyter.kinds.table import KINDS

        inner: Any = next(found.python_type for name, found in KINDS.items() if name == elements)
    else:
        inner = _python(parse_expression(elements))
    return dict[str, inner] if kind is dict else list[inner]


def _python(node: ast.expr) -> Any:
    match node:
        case ast.BinOp(left=left, right=right):
            return _python(left) | _python(right)
        case ast.Constant():
            return None
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return list[_python(inner)]  # type: ignore[misc]
        case ast.Subscript(slice=ast.Tuple(elts=[_, inner])):
            return dict[str, _python(inner)]  # type: ignore[misc]
        case ast.Name(id=name):
            return {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}[name]
    raise ValueError(elements_of(ast.unparse(node)))


def written(kind: str, elements: str) -> str:
    """A type with its element type as text: `dict[str, float]`."""
    if not elements:
        return kind
    return f"dict[str, {elements}]" if kind == "dict" else f"list[{elements}]"


def misfit(value: Any, elements: str) -> str:
    """The first element of a wrong type, described without its value; "" if all have the right type.

    An int is accepted as a float.
    """
    if not elements:
        return ""
    node = parse_expression(elements)
    what, items = ("value", value.values()) if isinstance(value, dict) else ("element", value)
    for number, item in enumerate(items, start=1):
        if not _is(item, node):
            return f"{what} {number} is of type {type(item).__name__}, not {elements}"
    return ""


def _is(value: Any, node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) if name in WHOLE:
            return name in (kind.__name__ for kind in type(value).__mro__)
        case ast.BinOp(left=left, right=right):
            return _is(value, left) or _is(value, right)
        case ast.Constant():
            return value is None
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return isinstance(value, list) and all(_is(item, inner) for item in value)
        case ast.Subscript(slice=ast.Tuple(elts=[_, inner])):
            return isinstance(value, dict) and all(_is(item, inner) for item in value.values())
        case ast.Name(id="list"):
            return isinstance(value, list)
        case ast.Name(id="dict"):
            return isinstance(value, dict)
        case ast.Name(id=name):
            return isinstance(value, _SCALARS[name]) and (name == "bool" or not isinstance(value, bool))
    return False
