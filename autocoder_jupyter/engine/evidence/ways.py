"""The way of a call through the code: the outcome of each condition.

A function may be split only if no condition has another outcome for a piece than for the whole, or if the answers are
the same all the same. `watched` changes the code so that it tells its way, and says which conditions depend on the
values of a table.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.engine.evidence.code_numbers import first_place
from autocoder_jupyter.engine.evidence.mutants import LONGEST_CODE
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.untrusted import plain_json
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.untrusted.visible import visible

OUTPUT = "the way through the code"
"""The name of the output that a watched program has besides its own."""

LONGEST = 80
"""Characters of a condition that is shown."""

_LONGEST_WAY = 200_000
"""Characters of what a watched program tells."""

_MOST_OUTCOMES = 20_000

_NAME = "_way_"

_SOURCE = f"""
class {_NAME}:
    seen = {{}}

    @classmethod
    def mark(cls, place, outcome):
        key = f"{{place}} {{outcome:d}}"
        cls.seen[key] = cls.seen.get(key, 0) + 1

    @classmethod
    def test(cls, place, value):
        value = bool(value)
        cls.mark(place, value)
        return value

    @classmethod
    def value(cls, place, value):
        if type(value).__name__ in ("bool", "bool_"):
            cls.mark(place, bool(value))
        return value

    @classmethod
    def pick(cls, place, function, *values):
        picked = function(*values)
        cls.mark(place, next((number for number, value in enumerate(values) if value is picked), 0))
        return picked
"""

_WRAPPER = """
def _recording_(function):
    import functools, json

    @functools.wraps(function)
    def recorded(*given, **named):
        {name}.seen.clear()
        answer = function(*given, **named)
        way = json.dumps({name}.seen)
        return (*answer, way) if {several} and isinstance(answer, tuple) else (answer, way)

    return recorded


{function} = _recording_({function})
"""


@dataclass(frozen=True)
class BranchCondition:
    """A place in the code with several outcomes.

    Args:
        line: of the code, from 1.
        text: the condition, in one short line.
        asks_if_empty: whether it only asks if there is anything.
    """

    line: int
    text: str
    asks_if_empty: bool = False

    @property
    def words(self) -> str:
        """The condition, as a message names it."""
        return visible(f"`{self.text}` (line {self.line})")


@dataclass(frozen=True)
class Watched:
    """A program that tells its way.

    Args:
        conditions: those whose outcome may depend on the values of a table, by their numbers.
    """

    program: Program
    conditions: Mapping[int, BranchCondition]


Way = Mapping[int, Mapping[int, int]]
"""How often each condition had each outcome."""


def way_of(text: Any) -> Way:
    """The way of a call, as a watched program tells it.

    Raises:
        SolutionStopped: the program, which is not trusted, has told something else.
    """
    found: dict[int, dict[int, int]] = {}
    try:
        for key, count in plain_json.parse(text[:_LONGEST_WAY], values=_MOST_OUTCOMES).items():
            place, outcome = map(int, key.split())
            found.setdefault(place, {})[outcome] = int(count)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
        raise SolutionStopped("the code interferes with the record of its conditions") from None
    return found


def watched(program: Program, tables: Collection[str]) -> Watched:
    """A program that also tells its way.

    Raises:
        SyntaxError: the code cannot be read, or is too long.
    """
    if len(program.code) > LONGEST_CODE:
        raise SyntaxError("it is too long")
    try:
        tree = copy.deepcopy(parse(program.code))
        watch = _Watch(_Values(tree, program.function, tables))
        tree = ast.fix_missing_locations(watch.visit(tree))
        place = first_place(tree)
        tree.body[place:place] = copy.deepcopy(parse(_SOURCE)).body
        wrapper = _WRAPPER.format(name=_NAME, function=program.function, several=len(program.outputs) > 1)
        code = f"{ast.unparse(tree)}\n{wrapper}"
    except RecursionError:
        raise SyntaxError("it is nested too deeply") from None
    outputs = (*program.outputs, OutputSpec(name=OUTPUT, type="str"))
    return Watched(replace(program, code=code, outputs=outputs), watch.conditions)


class _Watch(ast.NodeTransformer):
    """Adds to each condition that its outcome is noted."""

    def __init__(self, values: _Values) -> None:
        self._values = values
        self._is_test = False
        self._count = 0
        self.conditions: dict[int, BranchCondition] = {}

    def _noted(self, what: str, shown: ast.AST, *given: ast.expr, text: str | None = None) -> ast.Call:
        self._count += 1
        if text != "" and self._values.depend(shown):
            text = " ".join((text or ast.unparse(shown)).split())
            text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
            self.conditions[self._count] = BranchCondition(shown.lineno, text, self._values.ask_if_empty(shown))  # type: ignore[attr-defined]
        return ast.Call(
            ast.Attribute(ast.Name(_NAME, ast.Load()), what, ast.Load()), [_constant(self._count), *given], []
        )

    def _test(self, test: ast.expr) -> ast.expr:
        before, self._is_test = self._is_test, True
        call = self._noted("test", test)
        call.args.append(self.visit(test))
        self._is_test = before
        return call

    def _visited(self, nodes: list[Any]) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            visited = self.visit(node)
            found += visited if isinstance(visited, list) else [visited]
        return found

    def visit_If(self, node: ast.If) -> ast.AST:
        if not (_only_refuses(node.body) and not node.orelse):
            node.test = self._test(node.test)
        node.body, node.orelse = self._visited(node.body), self._visited(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self._visited(node.body), self._visited(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.ifs = [self._test(test) for test in node.ifs]
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        handlers = [handler for handler in node.handlers if not _only_refuses(handler.body)]
        entered = self._marked(node, 0, "; ".join(f"except {ast.unparse(each.type or _ANY)}" for each in handlers))
        number = self._count
        self.generic_visit(node)
        for handler in handlers:
            handler.body.insert(0, ast.Expr(self._mark(number, 1)))
        node.body.insert(0, ast.Expr(entered))
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        entered = self._marked(node.subject, 0, f"match {ast.unparse(node.subject)}")
        number = self._count
        self.generic_visit(node)
        for outcome, case in enumerate(node.cases, 1):
            case.body.insert(0, ast.Expr(self._mark(number, outcome)))
        return [ast.Expr(entered), node]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        before, self._is_test = self._is_test, False
        self.generic_visit(node)
        self._is_test = before
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        picks = isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and not node.keywords
        picks = picks and len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args)
        shown = copy.deepcopy(node) if picks else node
        node.func = self.visit(node.func)
        node.args = [self._value(each) for each in node.args]
        for keyword in node.keywords:
            keyword.value = self._value(keyword.value)
        return self._noted("pick", shown, node.func, *node.args) if picks else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        node.left, node.right = self._value(node.left), self._value(node.right)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value, node.slice = self.visit(node.value), self._value(node.slice)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not node.decorator_list:  # one that compiles it may not know what is added
            node.body = self._visited(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def _value(self, node: ast.expr) -> ast.expr:
        """An expression whose value is noted if it is one truth value, such as that of `flags.any()`."""
        is_one = isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Name | ast.Attribute | ast.Call)
        if self._is_test or not is_one or not self._values.depend(node):
            return self.visit(node)  # type: ignore[no-any-return]
        call = self._noted("value", node)
        call.args.append(self.visit(node))
        return call

    def _marked(self, shown: ast.AST, outcome: int, text: str) -> ast.Call:
        return self._noted("mark", shown, _constant(outcome), text=text)

    def _mark(self, number: int, outcome: int) -> ast.Call:
        return ast.Call(
            ast.Attribute(ast.Name(_NAME, ast.Load()), "mark", ast.Load()), [_constant(number), _constant(outcome)], []
        )


_ANY = ast.Name("Exception", ast.Load())


def _constant(value: int) -> ast.Constant:
    return ast.Constant(value)


def _only_refuses(body: list[ast.stmt]) -> bool:
    """Whether nothing but an error comes of it."""
    return isinstance(body[-1], ast.Raise) and not any(
        isinstance(node, ast.Return) for one in body for node in ast.walk(one)
    )


# What depends on values
#
# The columns of the table that is given, and their types, are the same in each piece.

_OF_TYPES = frozenset({"columns", "dtypes", "dtype", "ndim", "name", "names"})
"""Attributes of a table that is given, or of a column of it, that are the same in each piece."""

_KEEP_ROWS = frozenset({"copy", "rename", "rename_axis", "reset_index", "sort_values", "sort_index", "assign", "items"})
"""Methods whose result has the columns of the table, and is only empty if the table is: a piece never is."""

_KEEP_TYPES = _KEEP_ROWS | {"dropna", "drop_duplicates", "query", "head", "tail", "drop", "sample", "fillna"}
"""Methods whose result has columns of the table."""

_ASK_TYPES = frozenset({"isinstance", "issubclass", "hasattr", "callable", "type"})

_FIXED = frozenset({"to_datetime", "to_timedelta", "astype", "fillna", "round", "abs", "clip", "to_numeric"})
"""Functions whose result has a dtype that does not depend on the values."""


class _Values:
    """Decides whether an expression depends on the values of a table. A name has one meaning in a module."""

    def __init__(self, tree: ast.Module, function: str, tables: Collection[str]) -> None:
        nodes = list(ast.walk(tree))
        self._functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        self._called = {called.id for called in calls if isinstance(called, ast.Name)}
        self._changed = set(_changed_columns(nodes))
        bound = [binding for node in nodes for binding in self._bindings(node, function)]
        containers = ast.List | ast.ListComp | ast.Dict | ast.DictComp
        self._containers = {name for name, value in bound if isinstance(value, containers)}
        self._of_types, self._of_rows = set(tables), set(tables)
        self._of_types = self._fixpoint(bound, tables, rows=False)
        self._of_rows = self._fixpoint(bound, tables, rows=True)
        self._names, before = set(tables), -1
        while before != len(self._names):
            before = len(self._names)
            self._names |= {name for name, value in bound if value is None or self.depend(value)}

    def depend(self, node: ast.AST) -> bool:
        """Whether the value of this may be another one for another table."""
        match node:
            case ast.Name(id=name):
                return name in self._names
            case ast.Attribute(value=value, attr=attr) if attr == "tz" or (attr in _OF_TYPES and self._has(value)):
                return False
            case ast.Attribute(value=value, attr="empty") if self._has(value, rows=True):
                return False
            case ast.Subscript(value=ast.Attribute(value=value, attr="shape"), slice=ast.Constant(value=1)):
                return not self._has(value) and self.depend(value)
            case ast.Call(func=ast.Name(id=name)) if name in _ASK_TYPES:
                return False
            case ast.Call(func=ast.Attribute(attr=attr), args=[one]) if attr.startswith("is_") and "dtype" in attr:
                return not self._has(one) and self.depend(one)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()]) if self._has(left):
                return False
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[other]) if self._has(other):
                return self.depend(left)
            case ast.Call(func=ast.Name(id="len"), args=[one]) if self._has(one, rows=True):
                return True
            case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[one])) if self.ask_if_empty(node):
                return not self._has(one, rows=True) and self.depend(one)
            case _:
                return any(self.depend(child) for child in ast.iter_child_nodes(node))

    def ask_if_empty(self, node: ast.AST) -> bool:
        """Whether this only asks if there is anything."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.ask_if_empty(operand)
            case ast.BoolOp(values=values):
                return all(self.ask_if_empty(value) or not self.depend(value) for value in values)
            case ast.Attribute(attr="empty"):
                return True
            case ast.Name(id=name):
                return name in self._containers
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int() as limit)]):
                nothing = {ast.Eq: 0, ast.NotEq: 0, ast.Gt: 0, ast.LtE: 0, ast.Lt: 1, ast.GtE: 1}.get(type(op))
                return _is_size(left) and limit == nothing
            case _:
                return _is_size(node)

    def _bindings(self, node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST | None]]:
        """The names that are bound here, with what they get; None for what may be anything."""
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((name, value) for target in targets for name in _bound(target))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
                yield from ((name, value) for name in _bound(target))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield from ((name, value) for name in _bound(target))
            case ast.NamedExpr(target=target, value=value):
                yield from ((name, value) for name in _bound(target))
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                yield from ((name, value) for name in _bound(target))
            case ast.Lambda(args=arguments):
                yield from ((each.arg, None) for each in _parameters(arguments))
            case ast.Call(func=ast.Name(id=name)) if name in self._functions:
                yield from _given(node, self._functions[name].args)
            case ast.FunctionDef(name=name, args=arguments):
                returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value)
                yield from ((name, each) for each in returned)
                if name != function and name not in self._called:  # it is given to `apply`
                    yield from ((each.arg, None) for each in _parameters(arguments))

    def _fixpoint(self, bound: list[tuple[str, ast.AST | None]], tables: Collection[str], *, rows: bool) -> set[str]:
        """The names of which everything that they get is a part of a table that is given; see `_has`."""
        found, before = {name for name, _ in bound} | {*tables}, set[str]()
        while found != before:
            before = found
            if rows:
                self._of_rows = found
            else:
                self._of_types = found
            found = found - {name for name, value in bound if value is None or not self._has(value, rows=rows)}
        return found

    def _has(self, node: ast.AST, *, rows: bool = False) -> bool:
        """Whether this has columns of a table that is given, with their dtypes, or, with `rows`, with all rows."""
        match node:
            case ast.Name(id=name):
                return name in (self._of_rows if rows else self._of_types)
            case ast.Attribute(value=value, attr="loc" | "iloc"):
                return not rows and self._has(value)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() as name)):
                return name not in self._changed and self._has(value, rows=rows)
            case ast.Subscript(value=value, slice=ast.List(elts=names)):
                changed = (isinstance(each, ast.Constant) and each.value in self._changed for each in names)
                return not any(changed) and self._has(value, rows=rows)
            case ast.Subscript(value=value, slice=ast.Name()):  # a loop over columns, or a mask
                return not rows and None not in self._changed and self._has(value)
            case ast.Subscript(
                value=value, slice=ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.Call() | ast.Slice()
            ):
                return not rows and self._has(value)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in (_KEEP_ROWS if rows else _KEEP_TYPES):
                return self._has(value, rows=rows)
            case ast.Call(func=ast.Attribute(attr="DataFrame"), args=[value], keywords=[]):
                return self._has(value, rows=rows)
            case ast.Call() if not rows:
                return _has_fixed_dtype(node)
            case _:
                return False


def _is_size(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Attribute(attr="size") | ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
            return True
        case _:
            return False


def _bound(target: ast.AST) -> Iterator[str]:
    yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    match target:
        case ast.Subscript(value=ast.Name(id=name), slice=key) if not isinstance(key, ast.Constant):
            yield name  # a dict that is filled


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    more = [each for each in (arguments.vararg, arguments.kwarg) if each]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _given(call: ast.Call, arguments: ast.arguments) -> Iterator[tuple[str, ast.AST | None]]:
    """What the parameters of a function get in a call of it."""
    places = [*arguments.posonlyargs, *arguments.args]
    yield from ((parameter.arg, value) for parameter, value in zip(places, call.args, strict=False))
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def _changed_columns(nodes: Iterable[ast.AST]) -> Iterator[Any]:
    """Columns that get values whose dtype may depend on all values; None for one that a variable names."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value) if not _has_fixed_dtype(value):
                for target in targets:
                    if isinstance(target, ast.Subscript):
                        constants = [each.value for each in ast.walk(target.slice) if isinstance(each, ast.Constant)]
                        yield from constants or [None]
            case ast.Call(func=ast.Attribute(attr="assign"), keywords=keywords):
                yield from (each.arg for each in keywords if not _has_fixed_dtype(each.value))


def _has_fixed_dtype(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="str" | "dt"))):
            return True
        case ast.Call(func=ast.Attribute(attr=attr), keywords=keywords):
            ignored = any(isinstance(each.value, ast.Constant) and each.value.value == "ignore" for each in keywords)
            return attr in _FIXED and not ignored
        case _:
            return False
