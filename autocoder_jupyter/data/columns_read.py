"""Find the columns that a function reads, by static analysis of its source.

A column counts as read if its name is in the source: as a key, an attribute, a word of a longer text, or a text that
an f-string could produce. This is only valid if the code uses its tables by column names alone. Code that uses all
columns (`df.columns`, `df.dropna()`, `df.groupby("k").sum()`, a table passed to an unknown function) reads every
column; so does code that the analysis does not understand.
"""

from __future__ import annotations

import ast
import functools
import re
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

import pandas as pd

from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import InputSpec, TypeName
from autocoder_jupyter.untrusted.parsing import literal, parse

# Kinds of expressions and names

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
    """Raise `AllColumns` unless the condition holds."""
    if not holds:
        raise AllColumns


class Names:
    """The kinds of all names, scope by scope. `changed` says whether a name learned something new."""

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


# Methods of pandas, by the columns that they read

SAME_COLUMNS = {
    *("assign", "convert_dtypes", "copy", "explode", "head", "infer_objects", "join", "nlargest", "nsmallest", "pipe"),
    *("query", "reset_index", "sample", "set_index", "sort_index", "sort_values", "squeeze", "tail", "truncate"),
}
"""Methods that return a table with the same columns, and read only the columns that they name."""

IF_GIVEN: dict[str, tuple[str | int, ...]] = {
    "apply": ("axis",),
    "drop": ("columns",),
    "drop_duplicates": ("subset", 0),
    "duplicated": ("subset", 0),
    "dropna": ("subset",),
    "merge": ("on", "left_on", "left_index"),
    "melt": ("value_vars",),
    "pivot": ("values",),
    "pivot_table": ("values",),
}
"""Methods that read the columns in one of these arguments (keyword or position); without it they read all columns."""

BY_MAPPING = {"rename": "columns", "astype": "dtype", "fillna": "value"}
"""Methods that read the columns that are keys of a literal mapping."""

ONE_COLUMN = {"eval", "get", "insert", "pop"}
"""Methods that return or change one named column."""
OTHER_SHAPE = {*ONE_COLUMN, "duplicated", "melt", "pivot", "pivot_table"}
"""Those above that do not return a table with all its columns."""
ROWS = {"iterrows", "itertuples"}
"""Methods that return an iterator over rows."""
GROUPING = {"expanding", "groupby", "resample", "rolling"}
"""Methods that group rows."""
COUNTING = {"cumcount", "ngroup", "size"}
"""Methods of groups that read no column."""
HARMLESS = {"Index", "empty", "index", "name", "ndim", "shape", "size"}
"""Attributes that read no column."""
COMPARING = {"between", "contains", "endswith", "eq", "ge", "gt", "isin", "le", "lt", "match", "ne", "startswith"}
"""Methods of columns that return a mask for any argument."""
FILLING = {"add", "append", "extend", "insert", "setdefault", "update"}
"""Methods that add their arguments to their object."""
READS_NOTHING = {"bool", "id", "isinstance", "len", "type"}
"""Functions that read no column."""
CALLING = {"apply", "pipe"}
"""Methods that call their first argument with their object."""
ANYTHING = {"compile", "eval", "exec", "getattr", "globals", "locals", "operator", "vars"}
"""Names that give access to a table in ways that the analysis does not follow."""


# Calls: the kind of their result, and whether they read all columns


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
            case ast.Name(id=name) if name in READS_NOTHING:
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
            return self._combined(name, node, scope)
        if name in ("difference", "issubset") and all(self.is_columns(value, scope) for value in node.args):
            return kind
        given = self.plain(_arguments(node), scope)
        if name in FILLING and isinstance(owner, ast.Name) and owner.id in scope:
            self.bind(owner, given, scope)
        return max(kind, ExpressionKind.OTHER) if name in COMPARING else max(kind, given)

    def _combined(self, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        kinds = {self.kind(value, scope) for value in _arguments(node)}
        require(kinds.isdisjoint({ExpressionKind.FOREIGN, ExpressionKind.GROUPS}))
        require(name == "concat" or _given(node, IF_GIVEN["merge"]))
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
        if name in ROWS:
            return ExpressionKind.TABLES
        if name in IF_GIVEN:
            require(_given(node, IF_GIVEN[name]))
        elif name in BY_MAPPING:
            require(_is_mapped(node, BY_MAPPING[name], by_position=name != "rename"))
        else:
            require(name in SAME_COLUMNS | ONE_COLUMN | GROUPING)
        made = self._named(node, scope)
        if name in GROUPING:
            return ExpressionKind.GROUPS
        if name == "apply":
            return made
        return ExpressionKind.OTHER if name in OTHER_SHAPE else ExpressionKind.TABLE

    def _of_groups(self, name: str, node: ast.Call, scope: Scope) -> ExpressionKind:
        aggregated = name in ("agg", "aggregate") and _is_by_column(node)
        require(aggregated or name in COUNTING | GROUPING or name == "apply")
        made = self._named(node, scope)
        if name in GROUPING:
            return ExpressionKind.GROUPS
        return made if name == "apply" else ExpressionKind.OTHER

    def _named(self, node: ast.Call, scope: Scope) -> ExpressionKind:
        """Analyse the arguments of a table's method: column names, other tables, and functions that get tables.

        Returns the kind of what these functions return.
        """
        made = ExpressionKind.OTHER
        called = isinstance(node.func, ast.Attribute) and node.func.attr in CALLING
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


# Statements and expressions
#
# This is a small abstract interpreter of the syntax tree. It follows values with all columns of a table (the table, a
# copy, a filtered part, a row, a group) through assignments, functions and lambdas. It knows which operations do not
# read all columns, and assumes that every other one does. A name keeps every kind that it ever had; control flow is
# ignored.

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def reads_by_name_only(module: ast.Module, tables: Collection[str], foreign: Collection[str]) -> bool:
    """Whether every column is read only by its name in the source."""
    try:
        _Flow(module, tables, foreign).settle()
    except AllColumns:
        return False
    return True


class _Flow(CallAnalysis):
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
                require(name not in ANYTHING)
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
        require(kind is ExpressionKind.TABLE and (name in HARMLESS or not hasattr(pd.DataFrame, name)))
        return ExpressionKind.OTHER


# Names of columns in the source

MASKED = re.compile(r"<[\w-]+>")
"""What a masked name contains instead of the private part."""

_LONGEST_NAME = 200

Spelling = tuple[str, ...]
"""The constant parts of a composed text. Any text may be between two of them."""


@dataclass(frozen=True)
class ColumnsRead:
    """The columns that a source reads.

    Args:
        names: texts in the source that may be column names.
        spellings: the parts of texts that it may compose.
        numbers: whole numbers in the source.
        ranges: the first and the last number of each call that counts, such as `range(2019, 2024)`.
        is_known: whether the source could be read.
    """

    all: bool
    names: frozenset[str] = frozenset()
    spellings: frozenset[Spelling] = frozenset()
    numbers: frozenset[int] = frozenset()
    ranges: frozenset[tuple[int, int]] = frozenset()
    is_known: bool = False

    def covers(self, literal: str) -> bool:
        """Whether a column may be read."""
        if self.all:
            return True
        texts = _texts(literal)
        return not texts or any(text in self.names or any(_spells(s, text) for s in self.spellings) for text in texts)

    def states(self, text: str, number: int) -> bool:
        """Whether the source has a text, or a number itself or in a range."""
        return (
            text in self.names or number in self.numbers or any(first <= number <= last for first, last in self.ranges)
        )


EVERY_COLUMN = ColumnsRead(all=True)


def columns_read(code: str, inputs: Iterable[InputSpec]) -> ColumnsRead:
    """The columns that a generated module reads."""
    return _columns_read(code, tuple((spec.name, spec.type) for spec in inputs))


@functools.lru_cache(maxsize=64)
def _columns_read(code: str, inputs: tuple[tuple[str, TypeName], ...]) -> ColumnsRead:
    tables = [name for name, kind in inputs if kind == "DataFrame"]
    foreign = [name for name, kind in inputs if kind != "DataFrame" and KINDS[kind].names_columns]
    try:
        module = parse(code)
        every = not reads_by_name_only(module, tables, foreign)
    except (SyntaxError, RecursionError):
        return EVERY_COLUMN
    names = frozenset(_named(module))
    return ColumnsRead(
        every,
        names | frozenset(_before_suffixes(names)),
        frozenset(_composed_texts(module)),
        frozenset(_numbers(module)),
        frozenset(_ranges(module)),
        is_known=True,
    )


@functools.lru_cache(maxsize=10_000)
def _texts(written: str) -> Collection[str]:
    """The texts by which a source can name a label; empty if it can be used without a text."""
    try:
        label = literal(written)
    except ValueError:
        return ()
    parts = label if isinstance(label, tuple) else (label,)
    return parts if all(isinstance(part, str) and not MASKED.search(part) for part in parts) else ()


def _named(module: ast.Module) -> Iterator[str]:
    """Texts, the words in them, and the names of attributes and keywords."""
    docstrings = _docstrings(module)
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in docstrings:
                yield text
                yield from re.findall(r"\w+", text)
                yield from re.findall(r"`([^`]+)`", text)  # `query` quotes names with spaces like this
            case ast.Attribute(attr=name) | ast.keyword(arg=str() as name):
                yield name


def _numbers(node: ast.AST) -> Iterator[int]:
    """The whole numbers in a part of a module, also those in its texts."""
    for inner in ast.walk(node):
        match inner:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as number):
                yield number
            case ast.Constant(value=str() as text):
                yield from map(int, re.findall(r"(?<!\d)\d{2,4}(?!\d)", text[:_LONGEST_NAME]))


def _ranges(module: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if "range" in name:
                if len(numbers := list(_numbers(node))) > 1:
                    yield min(numbers), max(numbers)


def _before_suffixes(names: frozenset[str]) -> Iterator[str]:
    """Column names without the suffixes that a merge adds: `notes_x` was `notes`."""
    suffixes = {"_x", "_y", *(name for name in names if name.startswith("_"))}
    for name in names:
        places = [place for place, letter in enumerate(name[:_LONGEST_NAME]) if letter == "_"]
        yield from (name[:place] for place in places if name[place:] in suffixes)


def _composed_texts(module: ast.Module) -> Iterator[Spelling]:
    for node in ast.walk(module):
        match node:
            case ast.JoinedStr(values=parts):
                yield tuple(_literal(part) for part in parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if _literal(left) or _literal(right):
                yield (_literal(left), _literal(right))
            case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod()):
                yield tuple(re.split(r"%[^a-zA-Z%]*[a-zA-Z]", text))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")):
                yield tuple(re.split(r"\{[^{}]*\}", text))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="join")):
                yield ("", text, "")


def _docstrings(module: ast.Module) -> set[int]:
    owners = (node for node in ast.walk(module) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef))
    first = (owner.body[0] for owner in owners if owner.body)
    return {id(statement.value) for statement in first if isinstance(statement, ast.Expr)}


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _spells(parts: Spelling, text: str) -> bool:
    """Whether the text contains the parts in this order, the first at its start and the last at its end."""
    first, *between, last = parts if len(parts) > 1 else (*parts, "")
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in between:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True
