"""The kinds of expressions in the analysis of `table_flow`, and the kinds of names."""

from __future__ import annotations

import ast
from collections import ChainMap
from enum import IntEnum

Scope = ChainMap[str, "ExpressionKind"]


class ExpressionKind(IntEnum):
    """The kind of an expression. If a name has several, the highest is used."""

    NAMES = 0
    """A text of the source."""
    OTHER = 1
    """A column, a number, a mask: not relevant for the analysis."""
    FOREIGN = 2
    """A value of the caller, or derived from it. It may name a column that is not in the source."""
    TABLE = 3
    """All columns: a table, a row, a group."""
    GROUPS = 4
    """A grouped table."""
    TABLES = 5
    """An iterable of tables."""


class AllColumns(Exception):
    """All columns of a table are read here, or this cannot be excluded."""


def require(holds: bool) -> None:
    """Raise unless the condition holds.

    Raises:
        AllColumns: the condition does not hold.
    """
    if not holds:
        raise AllColumns


class Names:
    """The kinds of all names, scope by scope. `changed` says whether a name learned something new.

    Args:
        module: the syntax tree.
    """

    def __init__(self, module: ast.Module) -> None:
        functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
        self.functions = {node.name: node for node in functions}
        require(len(functions) == len(self.functions))  # otherwise one definition replaces another
        require(not any(node.decorator_list for node in functions))  # the decorator gets the arguments too
        self.scopes: dict[ast.AST, dict[str, ExpressionKind]] = {}
        self.changed = True

    def scope(self, owner: ast.AST, outer: Scope | None = None) -> Scope:
        """The scope of a function, lambda, comprehension or module, inside an outer scope."""
        return Scope(self.scopes.setdefault(owner, {}), *(outer.maps if outer else ()))

    def learn(self, scope: Scope, name: str, kind: ExpressionKind) -> None:
        """Record that a name can have this kind."""
        own = scope.maps[0]
        known = own.get(name)
        if known is None or kind > known:
            require(known is None or known < ExpressionKind.TABLE)  # otherwise the name has two kinds of tables
            own[name] = kind
            self.changed = True


def parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names of the parameters, in order. A function with *args or **kwargs is not supported."""
    arguments = function.args
    require(arguments.vararg is None and arguments.kwarg is None)
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
