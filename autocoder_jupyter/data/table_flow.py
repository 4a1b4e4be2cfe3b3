"""Whether a module uses its tables by names of columns alone, or looks at all columns somewhere.

A small interpreter over the syntax tree. It follows what holds all columns of a table (the table, a copy, a filtered
part, a row, a group) through assignments, functions and lambdas. It knows what may be done with that, and takes
everything else for a look at all columns. Names keep what they ever held: where control goes does not matter here.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Collection, Iterable
from enum import IntEnum

import pandas as pd

from autocoder_jupyter.data import table_methods as methods

Scope = ChainMap[str, "Kind"]

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


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


def reads_by_name_only(module: ast.Module, tables: Collection[str], foreign: Collection[str]) -> bool:
    """Whether no column is read but by its name in the source.

    Args:
        module: the source's tree, with a function `run`.
        tables: the parameters of `run` that are DataFrames.
        foreign: its parameters whose values may name columns.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        _Flow(module, tables, foreign).settle()
    except _AllColumns:
        return False
    return True


class _AllColumns(Exception):
    """All columns of a table are looked at here, or nobody knows whether they are."""


def _require(holds: bool) -> None:
    if not holds:
        raise _AllColumns


class _Flow:
    """The kinds of all names, and the walk that finds them."""

    def __init__(self, module: ast.Module, tables: Collection[str], foreign: Collection[str]) -> None:
        self._module = module
        self._functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
        self._scopes: dict[ast.AST, dict[str, Kind]] = {}
        self._changed = True
        _require("run" in self._functions)
        inner = self._scope(self._functions["run"])
        for name in tables:
            self._set(inner, name, Kind.TABLE)
        for name in foreign:
            self._set(inner, name, Kind.FOREIGN)

    def settle(self) -> None:
        """Go through the module until no name learns anything new."""
        while self._changed:
            self._changed = False
            self._body(self._module.body, self._scope(self._module))

    # Names

    def _scope(self, owner: ast.AST, outer: Scope | None = None) -> Scope:
        return Scope(self._scopes.setdefault(owner, {}), *(outer.maps if outer else ()))

    def _set(self, scope: Scope, name: str, kind: Kind) -> None:
        own = scope.maps[0]
        known = own.get(name)
        if known is None or kind > known:
            _require(known is None or known < Kind.TABLE)  # else the name stands for two kinds of tables
            own[name] = kind
            self._changed = True

    def _bind(self, target: ast.expr, kind: Kind, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                self._set(scope, name, kind)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._bind(part, Kind.TABLE if kind is Kind.TABLES else kind, scope)
            case ast.Subscript(value=owner, slice=key):
                self._subscript(owner, key, scope)
                if isinstance(owner, ast.Name) and scope.get(owner.id, Kind.OTHER) < Kind.TABLE:
                    _require(kind < Kind.TABLE)
                    self._set(scope, owner.id, kind)
            case _:
                _require(kind < Kind.TABLE and self._kind(target, scope) < Kind.TABLE)

    def _enter(self, function: ast.FunctionDef | ast.Lambda, outer: Scope, first: Kind = Kind.OTHER) -> Scope:
        self._plain([value for value in (*function.args.defaults, *function.args.kw_defaults) if value], outer)
        inner = self._scope(function, outer)
        for place, name in enumerate(_parameters(function)):
            self._set(inner, name, first if place == 0 else Kind.OTHER)
        return inner

    # Statements

    def _body(self, statements: Iterable[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.FunctionDef(body=body):
                self._body(body, self._enter(node, scope))
            case ast.Assign(targets=targets, value=value):
                kind = self._kind(value, scope)
                for target in targets:
                    self._bind(target, kind, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, self._kind(value, scope), scope)
            case ast.AugAssign(target=target, value=value):
                self._bind(target, self._plain([value], scope), scope)
                _require(self._kind(target, scope) < Kind.TABLE)
            case ast.For(target=target, iter=values, body=body, orelse=orelse):
                self._loop(target, values, scope)
                self._body([*body, *orelse], scope)
            case ast.Return(value=ast.expr() as value):
                self._set(scope, "return", self._kind(value, scope))  # what is only handed on is not read
            case ast.Expr(value=value):
                self._kind(value, scope)
            case ast.If() | ast.While() | ast.With() | ast.Try() | ast.Raise() | ast.Assert():
                self._parts(node, scope)
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Break() | ast.Continue():
                pass
            case ast.Return() | ast.AnnAssign() | ast.Delete():
                pass
            case _:
                raise _AllColumns  # a class, async, match: few solutions need them

    def _parts(self, node: ast.AST, scope: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.stmt():
                    self._statement(child, scope)
                case ast.expr():
                    self._plain([child], scope)
                case ast.withitem() | ast.ExceptHandler():
                    self._parts(child, scope)

    def _loop(self, target: ast.expr, values: ast.expr, scope: Scope) -> None:
        kind = self._kind(values, scope)
        _require(kind is not Kind.TABLE)  # it gives the names of all columns
        match values, target:
            case (
                ast.Call(func=ast.Attribute(attr="groupby" | "resample" | "iterrows")),
                ast.Tuple(elts=[label, table]),
            ):
                self._bind(label, Kind.OTHER, scope)
                self._bind(table, Kind.TABLE if kind >= Kind.TABLE else kind, scope)
            case _:
                _require(kind is not Kind.GROUPS)
                self._bind(target, Kind.TABLE if kind is Kind.TABLES else kind, scope)

    # Expressions

    def _kind(self, node: ast.expr, scope: Scope) -> Kind:
        match node:
            case ast.Name(id=name):
                return scope.get(name, Kind.OTHER)
            case ast.Constant(value=value):
                return Kind.NAMES if isinstance(value, str) else Kind.OTHER
            case ast.JoinedStr(values=parts):
                return Kind.FOREIGN if self._plain(parts, scope) is Kind.FOREIGN else Kind.NAMES
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                kind = max((self._kind(part, scope) for part in parts), default=Kind.NAMES)
                _require(kind <= Kind.TABLE)
                return Kind.TABLES if kind is Kind.TABLE else kind
            case ast.Subscript(value=owner, slice=key):
                return self._subscript(owner, key, scope)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(self._kind(owner, scope), name)
            case ast.Call():
                return self._call(node, scope)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if self._is_columns(right, scope):
                return self._plain([left], scope)
            case ast.Lambda(body=body):
                return self._kind(body, self._enter(node, scope))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._plain([test], scope)
                return max(self._kind(body, scope), self._kind(orelse, scope))
            case ast.NamedExpr(target=target, value=value):
                self._bind(target, self._kind(value, scope), scope)
                return self._kind(value, scope)
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part):
                kind = self._kind(part, self._comprehension(node, scope))
                _require(kind <= Kind.TABLE)
                return Kind.TABLES if kind is Kind.TABLE else kind
            case ast.DictComp(key=key, value=value):
                return self._plain([key, value], self._comprehension(node, scope))
            case _:
                return self._plain(
                    (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)), scope
                )

    def _plain(self, parts: Iterable[ast.expr], scope: Scope) -> Kind:
        """Of something that is made of these, none of which may be a table."""
        kind = max((self._kind(part, scope) for part in parts), default=Kind.OTHER)
        _require(kind < Kind.TABLE)
        return max(kind, Kind.OTHER)

    def _comprehension(self, node: Comprehension, scope: Scope) -> Scope:
        inner = self._scope(node, scope)
        for generator in node.generators:
            self._loop(generator.target, generator.iter, inner)
            self._plain(generator.ifs, inner)
        return inner

    def _compare(self, node: ast.Compare, scope: Scope) -> Kind:
        if not isinstance(node.ops[0], ast.Is | ast.IsNot):
            self._plain([node.left], scope)
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn | ast.Lt | ast.LtE) and self._is_columns(other, scope):
                continue
            kind = self._kind(other, scope)
            _require(kind < Kind.TABLE or (kind is Kind.TABLE and isinstance(op, ast.In | ast.NotIn)))
        return Kind.OTHER

    def _is_columns(self, node: ast.expr, scope: Scope) -> bool:
        """`df.columns`, `set(df.columns)`: no look at all of them where one asks whether a name is there."""
        match node:
            case ast.Attribute(value=owner, attr="columns"):
                return self._kind(owner, scope) is Kind.TABLE
            case ast.Call(func=ast.Name(id="set" | "list"), args=[inner], keywords=[]):
                return self._is_columns(inner, scope)
        return False

    def _subscript(self, owner: ast.expr, key: ast.expr, scope: Scope) -> Kind:
        match owner:
            case ast.Attribute(value=table, attr="loc" | "at" | "iloc" as name):
                if self._kind(table, scope) is Kind.TABLE:
                    return self._located(key, scope, by_label=name != "iloc")
        kind = self._kind(owner, scope)
        if kind < Kind.TABLE:
            self._plain([key], scope)
            return kind
        names = self._key(key, scope)
        _require(kind is Kind.TABLE or (kind is Kind.GROUPS and names))
        return Kind.OTHER if names else Kind.TABLE

    def _located(self, key: ast.expr, scope: Scope, by_label: bool) -> Kind:
        """`df.loc[rows]` and `df.loc[rows, columns]`."""
        if not isinstance(key, ast.Tuple):
            self._plain([key], scope)
            return Kind.TABLE
        _require(by_label and len(key.elts) == 2)
        rows, columns = key.elts
        self._plain([rows], scope)
        if isinstance(columns, ast.Slice):
            _require(columns.lower is None and columns.upper is None)
            return Kind.TABLE
        return Kind.OTHER if self._key(columns, scope) else Kind.TABLE

    def _key(self, key: ast.expr, scope: Scope) -> bool:
        """Whether it is names in the source; if not, it is taken for a choice of rows, but never for the caller's."""
        kind = self._kind(key, scope)
        _require(kind < Kind.FOREIGN and not (isinstance(key, ast.Constant) and isinstance(key.value, int)))
        return kind is Kind.NAMES

    def _attribute(self, kind: Kind, name: str) -> Kind:
        if kind < Kind.TABLE:
            return max(kind, Kind.OTHER)
        _require(kind is Kind.TABLE and (name in methods.HARMLESS or not hasattr(pd.DataFrame, name)))
        return Kind.OTHER

    # Calls

    def _call(self, node: ast.Call, scope: Scope) -> Kind:
        match node.func:
            case ast.Attribute(value=owner, attr=name):
                return self._method(owner, name, node, scope)
            case ast.Name(id=name) if name in methods.NO_LOOK:
                for argument in node.args:
                    self._kind(argument, scope)
                return Kind.OTHER
            case ast.Name(id=name) if name in self._functions:
                return self._own(self._functions[name], node, scope)
            case func:
                return self._plain([func, *_arguments(node)], scope)

    def _method(self, owner: ast.expr, name: str, node: ast.Call, scope: Scope) -> Kind:
        kind = self._kind(owner, scope)
        if kind is Kind.TABLE:
            return self._of_table(name, node, scope)
        if kind is Kind.GROUPS:
            return self._of_groups(name, node, scope)
        _require(kind < Kind.TABLE)
        if name in ("concat", "merge") and any(self._kind(value, scope) >= Kind.TABLE for value in _arguments(node)):
            return self._put_together(name, node, scope)
        if name in ("difference", "issubset") and all(self._is_columns(value, scope) for value in node.args):
            return kind
        given = self._plain(_arguments(node), scope)
        if name in methods.FILLING and isinstance(owner, ast.Name) and owner.id in scope:
            self._bind(owner, given, scope)
        return max(kind, Kind.OTHER) if name in methods.COMPARING else max(kind, given)

    def _put_together(self, name: str, node: ast.Call, scope: Scope) -> Kind:
        kinds = {self._kind(value, scope) for value in _arguments(node)}
        _require(kinds.isdisjoint({Kind.FOREIGN, Kind.GROUPS}))
        _require(name == "concat" or _given(node, methods.IF_GIVEN["merge"]))
        return Kind.TABLE

    def _own(self, function: ast.FunctionDef, node: ast.Call, scope: Scope) -> Kind:
        """A function of the module gets what it is given, and is gone through in its place."""
        inner = self._scope(function)
        names = _parameters(function)
        _require(len(node.args) <= len(names))
        given = [*zip(names, node.args, strict=False), *((keyword.arg, keyword.value) for keyword in node.keywords)]
        for name, value in given:
            _require(name in names and not isinstance(value, ast.Starred))
            self._set(inner, str(name), self._kind(value, scope))
        return self._scopes[function].get("return", Kind.OTHER)

    def _of_table(self, name: str, node: ast.Call, scope: Scope) -> Kind:
        if name in methods.ROWS:
            return Kind.TABLES
        if name in methods.IF_GIVEN:
            _require(_given(node, methods.IF_GIVEN[name]))
        elif name in methods.BY_MAPPING:
            _require(_is_mapped(node, methods.BY_MAPPING[name], by_position=name != "rename"))
        else:
            _require(name in methods.SAME_COLUMNS | methods.ONE_COLUMN | methods.GROUPING)
        made = self._named(node, scope)
        if name in methods.GROUPING:
            return Kind.GROUPS
        if name == "apply":
            return made
        return Kind.OTHER if name in methods.OTHER_SHAPE else Kind.TABLE

    def _of_groups(self, name: str, node: ast.Call, scope: Scope) -> Kind:
        aggregated = name in ("agg", "aggregate") and _is_by_column(node)
        _require(aggregated or name in methods.COUNTING | methods.GROUPING or name == "apply")
        made = self._named(node, scope)
        if name in methods.GROUPING:
            return Kind.GROUPS
        return made if name == "apply" else Kind.OTHER

    def _named(self, node: ast.Call, scope: Scope) -> Kind:
        """Arguments of a table's method: names of columns, other tables, and functions that are called with tables.

        What these functions make is given back.
        """
        made = Kind.OTHER
        for value in _arguments(node):
            if isinstance(value, ast.Lambda):
                made = max(made, self._kind(value.body, self._enter(value, scope, Kind.TABLE)))
            elif isinstance(value, ast.Name) and value.id in self._functions:
                function = self._functions[value.id]
                self._set(self._scope(function), next(iter(_parameters(function)), ""), Kind.TABLE)
                made = max(made, self._scopes[function].get("return", Kind.OTHER))
            else:
                _require(self._kind(value, scope) in (Kind.NAMES, Kind.OTHER, Kind.TABLE))
        return made


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    arguments = function.args
    _require(arguments.vararg is None and arguments.kwarg is None)
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


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
