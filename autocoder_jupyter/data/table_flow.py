"""Find out whether a module uses its tables only by column names, or reads all columns somewhere.

It is a small abstract interpreter of the syntax tree. It follows values with all columns of a table (the table, a copy,
a filtered part, a row, a group) through assignments, functions and lambdas. It knows which operations do not read all
columns, and assumes that every other one does. A name keeps every kind that it ever had; control flow is ignored.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

import pandas as pd

from autocoder_jupyter.data import table_methods as methods
from autocoder_jupyter.data.table_calls import CallAnalysis
from autocoder_jupyter.data.table_kinds import AllColumns, ExpressionKind, Scope, parameters, require

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def reads_by_name_only(module: ast.Module, tables: Collection[str], foreign: Collection[str]) -> bool:
    """Whether every column is read only by its name in the source.

    Args:
        module: the source's tree, with a function `run`.
        tables: the parameters of `run` that are DataFrames.
        foreign: its parameters whose values may be column names.

    Raises:
        RecursionError: the module is nested too deeply.
    """
    try:
        _Flow(module, tables, foreign).settle()
    except AllColumns:
        return False
    return True


class _Flow(CallAnalysis):
    """Analyses statements and expressions."""

    def __init__(self, module: ast.Module, tables: Collection[str], foreign: Collection[str]) -> None:
        super().__init__(module)
        self._module = module
        require("run" in self.functions)
        inner = self.scope(self.functions["run"])
        for name in tables:
            self.learn(inner, name, ExpressionKind.TABLE)
        for name in foreign:
            self.learn(inner, name, ExpressionKind.FOREIGN)

    def settle(self) -> None:
        """Analyse the module until the kinds of all names are stable."""
        while self.changed:
            self.changed = False
            self._body(self._module.body, self.scope(self._module))

    def bind(self, target: ast.expr, kind: ExpressionKind, scope: Scope) -> None:
        """Assign a kind to the target of an assignment."""
        match target:
            case ast.Name(id=name):
                self.learn(scope, name, kind)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self.bind(part, ExpressionKind.TABLE if kind is ExpressionKind.TABLES else kind, scope)
            case ast.Subscript(value=owner, slice=key):
                self._subscript(owner, key, scope)
                if isinstance(owner, ast.Name) and scope.get(owner.id, ExpressionKind.OTHER) < ExpressionKind.TABLE:
                    require(kind < ExpressionKind.TABLE)
                    self.learn(scope, owner.id, kind)
            case _:
                require(kind < ExpressionKind.TABLE and self.kind(target, scope) < ExpressionKind.TABLE)

    def enter(
        self, function: ast.FunctionDef | ast.Lambda, outer: Scope, first: ExpressionKind = ExpressionKind.OTHER
    ) -> Scope:
        """The scope of a function whose first argument is of this kind."""
        self.plain([value for value in (*function.args.defaults, *function.args.kw_defaults) if value], outer)
        inner = self.scope(function, outer)
        for place, name in enumerate(parameters(function)):
            self.learn(inner, name, first if place == 0 else ExpressionKind.OTHER)
        return inner

    # Statements

    def _body(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.FunctionDef(body=body):
                self._body(body, self.enter(node, scope))
            case ast.Assign(targets=targets, value=value):
                kind = self.kind(value, scope)
                for target in targets:
                    self.bind(target, kind, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.kind(value, scope), scope)
            case ast.AugAssign(target=target, value=value):
                self.bind(target, self.plain([value], scope), scope)
                require(self.kind(target, scope) < ExpressionKind.TABLE)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                self._loop(target, values, scope)
                self._body([*body, *orelse], scope)
            case ast.Return(value=ast.expr() as value):
                self.learn(scope, "return", self.kind(value, scope))  # passing a value on does not read it
            case ast.Expr(value=value):
                self.kind(value, scope)
            case ast.If() | ast.While() | ast.With() | ast.Try() | ast.Raise() | ast.Assert():
                self._parts(node, scope)
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Break() | ast.Continue():
                pass
            case ast.Return() | ast.AnnAssign() | ast.Delete():
                pass
            case _:
                raise AllColumns  # a class, async, match: few solutions need them

    def _parts(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.stmt():
                    self._statement(child, scope)
                case ast.expr():
                    self.plain([child], scope)
                case ast.withitem() | ast.ExceptHandler():
                    self._parts(child, scope)

    def _loop(self, target: ast.expr, values: ast.expr, scope: Scope) -> None:
        kind = self.kind(values, scope)
        require(kind is not ExpressionKind.TABLE)  # iteration yields the names of all columns
        match values, target:
            case (
                ast.Call(func=ast.Attribute(attr="groupby" | "resample" | "iterrows")),
                ast.Tuple(elts=[label, table]),
            ):
                self.bind(label, ExpressionKind.OTHER, scope)
                self.bind(table, ExpressionKind.TABLE if kind >= ExpressionKind.TABLE else kind, scope)
            case _:
                require(kind is not ExpressionKind.GROUPS)
                self.bind(target, ExpressionKind.TABLE if kind is ExpressionKind.TABLES else kind, scope)

    # Expressions

    def kind(self, node: ast.expr, scope: Scope) -> ExpressionKind:
        """The kind of an expression."""
        match node:
            case ast.Name(id=name):
                require(name not in methods.ANYTHING)
                return scope.get(name, ExpressionKind.OTHER)
            case ast.Constant(value=value):
                return ExpressionKind.NAMES if isinstance(value, str) else ExpressionKind.OTHER
            case ast.JoinedStr(values=parts):
                return (
                    ExpressionKind.FOREIGN
                    if self.plain(parts, scope) is ExpressionKind.FOREIGN
                    else ExpressionKind.NAMES
                )
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                kind = max((self.kind(part, scope) for part in parts), default=ExpressionKind.NAMES)
                require(kind <= ExpressionKind.TABLE)
                return ExpressionKind.TABLES if kind is ExpressionKind.TABLE else kind
            case ast.Subscript(value=owner, slice=key):
                return self._subscript(owner, key, scope)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self.kind(owner, scope), name)
            case ast.Call():
                return self.call(node, scope)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if self.is_columns(right, scope):
                return self.plain([left], scope)
            case ast.Lambda(body=body):
                return self.kind(body, self.enter(node, scope))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.plain([test], scope)
                return max(self.kind(body, scope), self.kind(orelse, scope))
            case ast.NamedExpr(target=target, value=value):
                self.bind(target, self.kind(value, scope), scope)
                return self.kind(value, scope)
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part):
                kind = self.kind(part, self._comprehension(node, scope))
                require(kind <= ExpressionKind.TABLE)
                return ExpressionKind.TABLES if kind is ExpressionKind.TABLE else kind
            case ast.DictComp(key=key, value=value):
                return self.plain([key, value], self._comprehension(node, scope))
            case _:
                return self.plain((child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)), scope)

    def plain(self, parts: Iterable[ast.expr], scope: Scope) -> ExpressionKind:
        """The kind of an expression with these parts, none of which may be a table."""
        kind = max((self.kind(part, scope) for part in parts), default=ExpressionKind.OTHER)
        require(kind < ExpressionKind.TABLE)
        return max(kind, ExpressionKind.OTHER)

    def _comprehension(self, node: Comprehension, scope: Scope) -> Scope:
        inner = self.scope(node, scope)
        for generator in node.generators:
            self._loop(generator.target, generator.iter, inner)
            self.plain(generator.ifs, inner)
        return inner

    def _compare(self, node: ast.Compare, scope: Scope) -> ExpressionKind:
        if not isinstance(node.ops[0], ast.Is | ast.IsNot):
            self.plain([node.left], scope)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn | ast.Lt | ast.LtE) and self.is_columns(other, scope):
                continue
            kind = self.kind(other, scope)
            require(
                kind < ExpressionKind.TABLE or (kind is ExpressionKind.TABLE and isinstance(op, ast.In | ast.NotIn))
            )
        return ExpressionKind.OTHER

    def is_columns(self, node: ast.expr, scope: Scope) -> bool:
        """`df.columns`, `set(df.columns)`. Testing whether a name is in it does not read all columns."""
        match node:
            case ast.Attribute(value=owner, attr="columns"):
                return self.kind(owner, scope) is ExpressionKind.TABLE
            case ast.Call(func=ast.Name(id="set" | "list"), args=[inner], keywords=[]):
                return self.is_columns(inner, scope)
        return False

    def _subscript(self, owner: ast.expr, key: ast.expr, scope: Scope) -> ExpressionKind:
        match owner:
            case ast.Attribute(value=table, attr="loc" | "at" | "iloc" as name):
                if self.kind(table, scope) is ExpressionKind.TABLE:
                    return self._located(key, scope, by_label=name != "iloc")
        kind = self.kind(owner, scope)
        if kind < ExpressionKind.TABLE:
            self.plain([key], scope)
            return kind
        names = self._key(key, scope)
        require(kind is ExpressionKind.TABLE or (kind is ExpressionKind.GROUPS and names))
        return ExpressionKind.OTHER if names else ExpressionKind.TABLE

    def _located(self, key: ast.expr, scope: Scope, by_label: bool) -> ExpressionKind:
        """`df.loc[rows]` and `df.loc[rows, columns]`."""
        if not isinstance(key, ast.Tuple):
            self.plain([key], scope)
            return ExpressionKind.TABLE
        require(by_label and len(key.elts) == 2)
        rows, columns = key.elts
        self.plain([rows], scope)
        if isinstance(columns, ast.Slice):
            require(columns.lower is None and columns.upper is None)
            return ExpressionKind.TABLE
        return ExpressionKind.OTHER if self._key(columns, scope) else ExpressionKind.TABLE

    def _key(self, key: ast.expr, scope: Scope) -> bool:
        """Whether a key is names in the source. If not, it selects rows, unless it is the caller's."""
        kind = self.kind(key, scope)
        require(kind < ExpressionKind.FOREIGN and not (isinstance(key, ast.Constant) and isinstance(key.value, int)))
        return kind is ExpressionKind.NAMES

    def _attribute(self, kind: ExpressionKind, name: str) -> ExpressionKind:
        if kind < ExpressionKind.TABLE:
            return max(kind, ExpressionKind.OTHER)
        require(kind is ExpressionKind.TABLE and (name in methods.HARMLESS or not hasattr(pd.DataFrame, name)))
        return ExpressionKind.OTHER
