"""Mutations of a function's source: small changes, as somebody makes them by mistake in work with data.

A change replaces one expression. It is made in the text, so all other lines stay as they are.
"""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, takewhile, zip_longest
from typing import Any

from autocoder_jupyter.engine.evidence.sql_mutants import select_mutants
from autocoder_jupyter.engine.evidence.variations import MOST_PART_ROWS
from autocoder_jupyter.engine.prompt import FUNCTION
from autocoder_jupyter.untrusted.parsing import parse

MOST_MUTANTS = 200
"""The maximum number of changes of one function."""

LONGEST_CODE = 20_000
"""Longer code is not changed."""

WIDEST = 1_000
"""Characters of an expression that is replaced."""

LONGEST = 80
"""Characters of an expression that is shown."""

_Operator = Callable[[ast.expr], Iterator[ast.expr]]
"""Yields the expressions that may replace one."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Args:
        line: of the source, from 1.
        was: the expression that is replaced, in one short line.
    """

    line: int
    was: str
    now: str
    code: str


def mutants(code: str, tables: Collection[str] = ()) -> tuple[Mutant, ...]:
    """The changes of a module, of different kinds in turn, so that the first ones are of many kinds."""
    if len(code) > LONGEST_CODE:
        return ()
    module = parse(code)
    places, masks = list(_expressions(module)), _names_of_masks(module)
    operators: tuple[_Operator, ...] = (_bounds, partial(_filters, masks), *_OTHERS)
    source, found = _Source(code), dict[str, Mutant]()
    by_kind = (source.with_others(places, operator) for operator in operators)
    selects = _of_selects(source, places)
    in_turn = chain.from_iterable(zip_longest(_of_inputs(source, module, tables), selects, *by_kind))
    for changed in filter(None, islice(in_turn, 2 * MOST_MUTANTS)):
        found.setdefault(changed.code, changed)
    found.pop(code, None)
    return tuple(found.values())[:MOST_MUTANTS]


def row_count_mutants(code: str) -> tuple[Mutant, ...]:
    """The module with a condition that is always true, or always false, where it may depend on the number of rows: it
    has a length, or a number that is larger than a small part.
    """
    if len(code) > LONGEST_CODE:
        return ()
    source = _Source(code)
    conditions = (node for node in _expressions(parse(code)) if isinstance(node, ast.Compare) and _may_count_rows(node))
    fixed = (source.with_other(node, ast.Constant(value)) for node in conditions for value in (True, False))
    return tuple(islice(filter(None, fixed), MOST_MUTANTS))


def _may_count_rows(condition: ast.Compare) -> bool:
    return any(
        (isinstance(node, ast.Constant) and type(node.value) is int and node.value > MOST_PART_ROWS)
        or (isinstance(node, ast.Name) and (node.id == "len" or node.id.isupper()))
        or (isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "count"))
        for node in ast.walk(condition)
    )


class _Source:
    """A source in which expressions are replaced."""

    def __init__(self, code: str) -> None:
        self._lines = code.encode().splitlines(keepends=True)

    def with_others(self, places: Iterable[ast.expr], operator: _Operator) -> Iterator[Mutant]:
        """The sources with one expression that an operator yields."""
        found = (self.with_other(node, new) for node in places for new in operator(node))
        return (mutant for mutant in found if mutant is not None)

    def with_other(self, node: ast.expr, new: ast.expr) -> Mutant | None:
        """The source with another expression; None if the expression is too long."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        if sum(map(len, self._lines[first : last + 1])) > WIDEST:
            return None
        before = b"".join(self._lines[:first]) + self._lines[first][: node.col_offset]
        after = self._lines[last][node.end_col_offset :] + b"".join(self._lines[last + 1 :])
        text = ast.unparse(new)
        is_plain = isinstance(new, ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript | ast.Slice)
        written = text if is_plain and not text.startswith("-") else f"({text})"
        code = (before + written.encode() + after).decode()
        return Mutant(node.lineno, *_short(ast.unparse(node), text), code)

    def with_line(self, before: ast.stmt, name: str, value: str) -> Mutant:
        """The source in which a name has another value from a statement on."""
        place = before.lineno - 1
        indent = self._lines[place][: before.col_offset]
        line = indent + f"{name} = {value}\n".encode()
        code = b"".join([*self._lines[:place], line, *self._lines[place:]]).decode()
        return Mutant(before.lineno, name, value, code)


_OTHER_TABLE = (
    "{0}.iloc[::-1].reset_index(drop=True)",
    "{0}.fillna(dict.fromkeys({0}.select_dtypes('number'), 0))",
)
"""Other tables in place of one."""


def _of_inputs(source: _Source, module: ast.Module, tables: Collection[str]) -> Iterator[Mutant]:
    """Rows in reverse order, and missing numbers that are 0: the code may handle them without an expression for it."""
    found = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION)
    if (run := next(found, None)) is None:
        return
    first = run.body[1] if ast.get_docstring(run) is not None and len(run.body) > 1 else run.body[0]
    if first.lineno == run.lineno:
        return  # all in one line
    for value in _OTHER_TABLE:
        yield from (source.with_line(first, name, value.format(name)) for name in tables)


def _of_selects(source: _Source, places: Iterable[ast.expr]) -> Iterator[Mutant]:
    """The source with a change in the text of a SELECT."""
    for node in places:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= WIDEST:
            for was, now, whole in select_mutants(node.value):
                if (mutant := source.with_other(node, ast.Constant(whole))) is not None:
                    was, now = _short(was, now)
                    yield replace(mutant, was=was, now=now)


def _short(was: str, now: str) -> tuple[str, str]:
    """Two expressions, without a long beginning that they share."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    start = same - LONGEST // 4 if max(len(was), len(now)) > LONGEST and same > LONGEST // 2 else 0
    return _cut(was, start), _cut(now, start)


def _cut(text: str, start: int) -> str:
    end = "…" if len(text) > start + LONGEST else ""
    return f"{'…' if start else ''}{text[start : start + LONGEST]}{end}"


def _expressions(module: ast.Module) -> Iterator[ast.expr]:
    """The expressions that may be replaced, in the order of the source.

    Loops with `while` are left out, because a change could make them endless, and so is all that computes no answer:
    annotations, defaults, imports, text with values in it, errors that are raised.
    """
    stack: list[ast.AST] = list(reversed(module.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.While | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack.extend(reversed(node.body))
            continue
        if isinstance(node, ast.AnnAssign):
            stack.extend(reversed([part for part in (node.target, node.value) if part is not None]))
            continue
        if isinstance(node, ast.expr):
            yield node
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _names_of_masks(module: ast.Module) -> set[str]:
    """Names to which something like `a > b` was assigned."""
    named = (node for node in ast.walk(module) if isinstance(node, ast.Assign) and _is_mask(node.value))
    return {target.id for node in named for target in node.targets if isinstance(target, ast.Name)}


MASKS = frozenset(
    (
        "isin",
        "between",
        "isna",
        "notna",
        "isnull",
        "notnull",
        "duplicated",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "contains",
        "startswith",
        "endswith",
    )
)
"""Methods that give a mask."""


def _is_mask(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr)
    return isinstance(node, ast.Compare) or _method(node) in MASKS


def _method(node: ast.AST) -> str:
    """The name of the method that a call calls; "" if it is no such call."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


_OTHER_BOUND: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


_IN_QUERIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_LOGIC_IN_QUERIES = {"and": "or", "or": "and", "&": "|", "|": "&"}
_TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[<>=!]=|[<>&|]|\b(?:and|or)\b")
"""Texts and names in quotes, and the operators of a query."""


def _queries(node: ast.expr, others: Mapping[str, str]) -> Iterator[ast.expr]:
    """Another operator in the text of `query`."""
    text = node.args[0] if isinstance(node, ast.Call) and node.args and _method(node) == "query" else None
    if not isinstance(node, ast.Call) or not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return
    for token in _TOKENS.finditer(text.value):
        if (other := others.get(token[0])) is not None:
            now = f"{text.value[: token.start()]}{other}{text.value[token.end() :]}"
            yield ast.Call(node.func, [ast.Constant(now), *node.args[1:]], node.keywords)


def _bounds(node: ast.expr) -> Iterator[ast.expr]:
    """`<` and `<=`, also as methods and in a query; the bounds of `between`."""
    yield from _queries(node, _IN_QUERIES)
    if isinstance(node, ast.Compare):
        for place, kind in enumerate(map(type, node.ops)):
            if kind in _OTHER_BOUND:
                ops = [*node.ops[:place], _OTHER_BOUND[kind](), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif _method(node) == "between":
        given = _keyword(node, "inclusive")
        both = given is None or (isinstance(given, ast.Constant) and given.value == "both")
        yield _with_keyword(node, "inclusive", "left" if both else "both")


_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Div,
}


def _arithmetic(node: ast.expr) -> Iterator[ast.expr]:
    """Another operator, and a quotient without its denominator."""
    if not isinstance(node, ast.BinOp):
        return
    if isinstance(node.op, ast.Div):
        yield node.left
    if (other := _ARITHMETIC.get(type(node.op))) and not any(map(_is_text, (node.left, node.right))):
        yield ast.BinOp(node.left, other(), node.right)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """One of two numbers that are put together, alone."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return
    if not any(map(_is_text, (node.left, node.right))):
        yield node.left


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _logic(node: ast.expr) -> Iterator[ast.expr]:
    """`and` and `or`, `&` and `|`, also in a query, and a negation that is dropped."""
    yield from _queries(node, _LOGIC_IN_QUERIES)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield ast.BinOp(node.left, ast.BitOr() if isinstance(node.op, ast.BitAnd) else ast.BitAnd(), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
        yield node.operand


def _conditions(node: ast.expr) -> Iterator[ast.expr]:
    """One of several conditions that is left out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            left = [*node.values[:place], *node.values[place + 1 :]]
            yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


_NAMES = """\
sum mean|mean sum|median mean|first last|last first|min max|max min|idxmin idxmax|idxmax idxmin|std var|var std
head tail|tail head|ffill bfill|bfill ffill|floor ceil|ceil floor|any all|all any|nunique count|size nunique
count nunique|cumsum cumprod|nlargest nsmallest|nsmallest nlargest|cummax cummin|cummin cummax|lt le|le lt|gt ge|ge gt
eq ne|ne eq|notna isna|isna notna|union intersection|intersection union"""
_OTHER_NAME = dict(pair.split() for line in _NAMES.splitlines() for pair in line.split("|"))

_AGGREGATES = frozenset(
    ("agg", "aggregate", "transform", "apply", "pivot_table", "NamedAgg", "groupby", "resample", "rolling")
)


def _aggregates(node: ast.expr) -> Iterator[ast.expr]:
    """Another function over the values: sum and mean, first and last, also as text in `agg`."""
    if not isinstance(node, ast.Call):
        return
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _OTHER_NAME:
        other = ast.Attribute(function.value, _OTHER_NAME[function.attr], ast.Load())
        keywords = [k for k in node.keywords if k.arg in ("axis", "skipna", "numeric_only")]
        yield ast.Call(other, node.args, keywords)
        if function.attr == "mean":
            yield ast.Call(ast.Attribute(function.value, "median", ast.Load()), node.args, keywords)
    elif isinstance(function, ast.Name) and function.id in ("sum", "min", "max", "any", "all"):
        yield ast.Call(ast.Name({"sum": "max"}.get(function.id, _OTHER_NAME[function.id])), node.args, node.keywords)
    elif _method(node) in _AGGREGATES:
        yield from _replaced_texts(node)


def _replaced_texts(call: ast.Call) -> Iterator[ast.expr]:
    """The call with another name of a function in its arguments, one at a time."""
    given_texts = chain.from_iterable(map(ast.walk, (*call.args, *(keyword.value for keyword in call.keywords))))
    for text in given_texts:
        if not isinstance(text, ast.Constant) or text.value not in _OTHER_NAME:
            continue
        new = ast.Constant(_OTHER_NAME[str(text.value)])
        if any(text is given for given in call.args):
            yield ast.Call(call.func, [new if given is text else given for given in call.args], call.keywords)
        for place, keyword in enumerate(call.keywords):
            if (value := _with_text(keyword.value, text, new)) is not None:
                others = [*call.keywords]
                others[place] = ast.keyword(keyword.arg, value)
                yield ast.Call(call.func, call.args, others)
        for place, given in enumerate(call.args):
            if given is not text and (value := _with_text(given, text, new)) is not None:
                yield ast.Call(call.func, [*call.args[:place], value, *call.args[place + 1 :]], call.keywords)


def _with_text(value: ast.expr, text: ast.Constant, new: ast.Constant) -> ast.expr | None:
    """An argument with another text; None if it does not contain it in a place that names a function."""
    if value is text:
        return new
    if isinstance(value, ast.Tuple | ast.List) and any(entry is text for entry in value.elts):
        entries = [new if entry is text else entry for entry in value.elts]
        return ast.Tuple(entries, ast.Load()) if isinstance(value, ast.Tuple) else ast.List(entries, ast.Load())
    if isinstance(value, ast.Dict) and any(entry is text for entry in value.values):
        return ast.Dict(value.keys, [new if entry is text else entry for entry in value.values])
    return None


_OTHER_VALUE: dict[str, dict[Any, Any]] = {
    "how": {"left": "inner", "inner": "left", "right": "inner", "outer": "inner", "any": "all", "all": "any"},
    "keep": {"first": "last", "last": "first", False: "first"},
    "inclusive": {"both": "left", "left": "right", "right": "left", "neither": "both"},
    "closed": {"left": "right", "right": "left"},
    "label": {"left": "right", "right": "left"},
    "method": {"min": "dense", "dense": "min", "first": "min", "average": "min", "max": "min"},
    "ddof": {0: 1, 1: 0},
    **{name: {True: False, False: True} for name in ("ascending", "dropna", "skipna", "normalize", "right")},
}

_UNWRITTEN: dict[str, tuple[str, Any]] = {
    "merge": ("how", "left"),
    "join": ("how", "inner"),
    "std": ("ddof", 0),
    "var": ("ddof", 0),
    "sort_values": ("ascending", False),
    "sort_index": ("ascending", False),
    "rank": ("ascending", False),
    "drop_duplicates": ("keep", "last"),
    "groupby": ("dropna", False),
    "value_counts": ("dropna", False),
}
"""For methods: a keyword that is often meant and not written, with a value that is not the default."""


def _keywords(node: ast.expr) -> Iterator[ast.expr]:
    """Another value of a keyword: how to join, `ddof`, `ascending`, `keep`."""
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        others = _OTHER_VALUE.get(keyword.arg or "", {})
        if isinstance(keyword.value, ast.Constant) and (now := others.get(keyword.value.value)) is not None:
            yield _with_keyword(node, str(keyword.arg), now)
    owner = _owner(node)
    is_text_join = _method(node) == "join" and _is_text(owner)
    if (unwritten := _UNWRITTEN.get(_method(node))) and _keyword(node, unwritten[0]) is None and not is_text_join:
        name, value = unwritten
        is_numpy = name == "ddof" and isinstance(owner, ast.Name) and owner.id in ("np", "numpy")
        yield _with_keyword(node, name, 1 if is_numpy else value)


_LEFT_OUT = frozenset(
    ("limit", "min_count", "min_periods", "subset", "tolerance", "center", "fill_value", "dayfirst", "na_rep")
)


def _left_out(node: ast.expr) -> Iterator[ast.expr]:
    """A keyword that is left out: a limit, how many values are needed."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in _LEFT_OUT:
                yield ast.Call(node.func, node.args, [other for other in node.keywords if other is not keyword])


def _owner(node: ast.Call) -> ast.expr:
    return node.func.value if isinstance(node.func, ast.Attribute) else node.func


def _keyword(node: ast.expr, name: str) -> ast.expr | None:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((keyword.value for keyword in keywords if keyword.arg == name), None)


def _with_keyword(node: ast.expr, name: str, value: Any) -> ast.expr:
    assert isinstance(node, ast.Call)
    new = ast.keyword(name, ast.Constant(value))
    if _keyword(node, name) is None:
        return ast.Call(node.func, node.args, [*node.keywords, new])
    return ast.Call(node.func, node.args, [new if keyword.arg == name else keyword for keyword in node.keywords])


def _filters(masks: Collection[str], node: ast.expr) -> Iterator[ast.expr]:
    """A filter of rows that is dropped."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return
    whole = ast.Slice()
    is_loc = isinstance(node.value, ast.Attribute) and node.value.attr == "loc"
    if isinstance(node.slice, ast.Tuple) and is_loc and _is_mask(node.slice.elts[0]):
        yield ast.Subscript(node.value, ast.Tuple([whole, *node.slice.elts[1:]], ast.Load()), ast.Load())
    elif _is_mask(node.slice) or (isinstance(node.slice, ast.Name) and node.slice.id in masks):
        yield ast.Subscript(node.value, whole, ast.Load()) if is_loc else node.value


_DROPPED = frozenset(
    (
        "dropna",
        "fillna",
        "drop_duplicates",
        "sort_values",
        "sort_index",
        "query",
        "abs",
        "clip",
        "round",
        "strip",
        "lower",
        "upper",
        "casefold",
        "normalize",
        "rolling",
        "shift",
        "diff",
        "unique",
        "replace",
        "mask",
        "where",
        "ffill",
        "bfill",
        "interpolate",
        "explode",
        "reindex",
        "tz_convert",
    )
)


def _dropped(node: ast.expr) -> Iterator[ast.expr]:
    """A step in a chain that is dropped: `dropna`, `fillna`, `drop_duplicates`, a sort."""
    if isinstance(node, ast.Call) and _method(node) in _DROPPED:
        owner = _owner(node)
        if isinstance(owner, ast.Attribute) and owner.attr in ("str", "dt"):
            owner = owner.value
        yield owner


def _numbers(node: ast.expr) -> Iterator[ast.expr]:
    """A constant: one more, or one less; a window, a shift, a limit that is off by one."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return
    if isinstance(node.value, int) and abs(node.value) < 10**9:
        yield ast.Constant(node.value + 1)
        if node.value > 1:
            yield ast.Constant(node.value - 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 1.1 if node.value else 1.0)


def _dates(node: ast.expr) -> Iterator[ast.expr]:
    """The boundary of a date: a day later."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and 10 <= len(node.value) <= 20:
        try:
            moment = dt.date.fromisoformat(node.value[:10])
            yield ast.Constant(f"{moment + dt.timedelta(days=1)}{node.value[10:]}")
        except (ValueError, OverflowError):
            return


_OTHERS: tuple[_Operator, ...] = (
    _aggregates,
    _keywords,
    _dropped,
    _arithmetic,
    _logic,
    _numbers,
    _dates,
    _conditions,
    _operands,
    _left_out,
)
