"""The part of `table_flow` for calls: the kind of their result, and whether they read all columns."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Collection, Iterable

from autocoder_jupyter.data import table_methods as methods
from autocoder_jupyter.data.table_kinds import ExpressionKind, Names, Scope, parameters, require


class CallAnalysis(Names):
    """Analyses calls. A subclass analyses the other expressions."""

    @abstractmethod
    def kind(self, node: ast.expr, scope: Scope) -> ExpressionKind:
        """The kind of an expression."""

    @abstractmethod
    def plain(self, parts: Iterable[ast.expr], scope: Scope) -> ExpressionKind:
        """The kind of an expression with these parts, none of which may be a table."""

    @abstractmethod
    def bind(self, target: ast.expr, kind: ExpressionKind, scope: Scope) -> None:
        """Assign a kind to the target of an assignment."""

    @abstractmethod
    def enter(
        self, function: ast.FunctionDef | ast.Lambda, outer: Scope, first: ExpressionKind = ExpressionKind.OTHER
    ) -> Scope:
        """The scope of a function whose first argument is of this kind."""

    @abstractmethod
    def is_columns(self, node: ast.expr, scope: Scope) -> bool:
        """Whether the expression is the list of the columns."""

    def call(self, node: ast.Call, scope: Scope) -> ExpressionKind:
        """The kind of a call's result."""
        match node.func:
            case ast.Attribute(value=owner, attr=name):
                return self._method(owner, name, node, scope)
            case ast.Name(id=name) if name in methods.NO_LOOK:
                for argument in node.args:
                    self.kind(argument, scope)
                return ExpressionKind.OTHER
            case ast.Name(id=name) if name in self.functions:
                return self._own(self.functions[name], node, scope)
            case func:
                return self.plain([func, *_arguments(node)], scope)

    def _method(self, owner: ast.expr, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        kind = self.kind(owner, scope)
        if kind is ExpressionKind.TABLE:
            return self._of_table(name, node, scope)
        if kind is ExpressionKind.GROUPS:
            return self._of_groups(name, node, scope)
        require(kind < ExpressionKind.TABLE)
        if name in ("concat", "merge") and any(
            self.kind(value, scope) >= ExpressionKind.TABLE for value in _arguments(node)
        ):
            return self._put_together(name, node, scope)
        if name in ("difference", "issubset") and all(self.is_columns(value, scope) for value in node.args):
            return kind
        given = self.plain(_arguments(node), scope)
        if name in methods.FILLING and isinstance(owner, ast.Name) and owner.id in scope:
            self.bind(owner, given, scope)
        return max(kind, ExpressionKind.OTHER) if name in methods.COMPARING else max(kind, given)

    def _put_together(self, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        kinds = {self.kind(value, scope) for value in _arguments(node)}
        require(kinds.isdisjoint({ExpressionKind.FOREIGN, ExpressionKind.GROUPS}))
        require(name == "concat" or _given(node, methods.IF_GIVEN["merge"]))
        return ExpressionKind.TABLE

    def _own(self, function: ast.FunctionDef, node: ast.Call, scope: Scope) -> ExpressionKind:
        """Analyse a call of a function of the module, with the kinds of its arguments."""
        inner = self.scope(function)
        names = parameters(function)
        require(len(node.args) <= len(names))
        given = [*zip(names, node.args, strict=False), *((keyword.arg, keyword.value) for keyword in node.keywords)]
        for name, value in given:
            require(name in names and not isinstance(value, ast.Starred))
            self.learn(inner, str(name), self.kind(value, scope))
        return self.scopes[function].get("return", ExpressionKind.OTHER)

    def _of_table(self, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        if name in methods.ROWS:
            return ExpressionKind.TABLES
        if name in methods.IF_GIVEN:
            require(_given(node, methods.IF_GIVEN[name]))
        elif name in methods.BY_MAPPING:
            require(_is_mapped(node, methods.BY_MAPPING[name], by_position=name != "rename"))
        else:
            require(name in methods.SAME_COLUMNS | methods.ONE_COLUMN | methods.GROUPING)
        made = self._named(node, scope)
        if name in methods.GROUPING:
            return ExpressionKind.GROUPS
        if name == "apply":
            return made
        return ExpressionKind.OTHER if name in methods.OTHER_SHAPE else ExpressionKind.TABLE

    def _of_groups(self, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        aggregated = name in ("agg", "aggregate") and _is_by_column(node)
        require(aggregated or name in methods.COUNTING | methods.GROUPING or name == "apply")
        made = self._named(node, scope)
        if name in methods.GROUPING:
            return ExpressionKind.GROUPS
        return made if name == "apply" else ExpressionKind.OTHER

    def _named(self, node: ast.Call, scope: Scope) -> ExpressionKind:
        """Analyse the arguments of a table's method: column names, other tables, and functions that get tables.

        Returns the kind of what these functions return.
        """
        made = ExpressionKind.OTHER
        called = isinstance(node.func, ast.Attribute) and node.func.attr in methods.CALLING
        require(not called or (bool(node.args) and self._is_own(node.args[0])))
        for value in _arguments(node):
            if isinstance(value, ast.Lambda):
                made = max(made, self.kind(value.body, self.enter(value, scope, ExpressionKind.TABLE)))
            elif isinstance(value, ast.Name) and value.id in self.functions:
                function = self.functions[value.id]
                self.learn(self.scope(function), next(iter(parameters(function)), ""), ExpressionKind.TABLE)
                made = max(made, self.scopes[function].get("return", ExpressionKind.OTHER))
            else:
                require(self.kind(value, scope) in (ExpressionKind.NAMES, ExpressionKind.OTHER, ExpressionKind.TABLE))
        return made

    def _is_own(self, value: ast.expr) -> bool:
        """Whether it is a function whose source is in the module."""
        return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in self.functions)


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _given(node: ast.Call, arguments: Collection[str | int]) -> bool:
    return any(keyword.arg in arguments for keyword in node.keywords) or any(
        place in arguments for place in range(len(node.args))
    )


def _is_mapped(node: ast.Call, keyword: str, by_position: bool) -> bool:
    values = [given.value for given in node.keywords if given.arg == keyword] + (node.args[:1] if by_position else [])
    return bool(values) and all(isinstance(value, ast.Dict) for value in values)


def _is_by_column(node: ast.Call) -> bool:
    """`agg(total=("revenue", "sum"))` and `agg({"revenue": "sum"})`."""
    if node.args:
        return isinstance(node.args[0], ast.Dict)
    values = [keyword.value for keyword in node.keywords]
    return (
        bool(values)
        and all(keyword.arg for keyword in node.keywords)
        and all(
            isinstance(value, ast.Tuple)
            or (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "NamedAgg")
            for value in values
        )
    )
