"""What expressions of a module give, as far as tables matter, and what is known of its names."""

from __future__ import annotations

import ast
from collections import ChainMap
from enum import IntEnum

Scope = ChainMap[str, "Kind"]


class Kind(IntEnum):
    """What an expression gives. Where a name holds several, the highest counts."""

    NAMES = 0
    """Text that stands in the source."""
    OTHER = 1
    """A column, a number, a mask: nothing that matters here."""
    FOREIGN = 2
    """Of the caller's, or made of it: it may name a column that the source does not."""
    TABLE = 3
    """All columns: a table, a row, a group."""
    GROUPS = 4
    """A table that is grouped."""
    TABLES = 5
    """What gives tables when it is gone through."""


class AllColumns(Exception):
    """All columns of a table are looked at here, or nobody knows whether they are."""


def require(holds: bool) -> None:
    """Go on only where it holds.

    Raises:
        AllColumns: it does not.
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
        require(len(functions) == len(self.functions))  # else one takes the place of another
        require(not any(node.decorator_list for node in functions))  # whoever decorates gets the arguments too
        self.scopes: dict[ast.AST, dict[str, Kind]] = {}
        self.changed = True

    def scope(self, owner: ast.AST, outer: Scope | None = None) -> Scope:
        """The names of a function, lambda, comprehension or module, inside of another's."""
        return Scope(self.scopes.setdefault(owner, {}), *(outer.maps if outer else ()))

    def learn(self, scope: Scope, name: str, kind: Kind) -> None:
        """A name can be of this kind."""
        own = scope.maps[0]
        known = own.get(name)
        if known is None or kind > known:
            require(known is None or known < Kind.TABLE)  # else the name stands for two kinds of tables
            own[name] = kind
            self.changed = True


def parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names of the arguments, in order; of a function that takes any, nothing is known."""
    arguments = function.args
    require(arguments.vararg is None and arguments.kwarg is None)
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
