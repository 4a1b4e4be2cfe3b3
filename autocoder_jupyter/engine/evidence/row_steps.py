"""Instruments a function's source, so that a run can follow its rows, and puts its filters into words.

The words are made of the source alone; a run of the instrumented copy adds numbers (see `programs.row_counts`).
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autocoder_jupyter.engine.evidence.mutants import LONGEST_CODE, MASKS, WIDEST
from autocoder_jupyter.untrusted.parsing import parse, parse_expression

NAME = "autocode_rows"
"""The name by which the instrumented source calls `programs.row_counts`. A source that has it is not followed."""

MOST_PLACES = 1_000
LONGEST_WORDS = 80
"""Characters of an expression in words."""

MOST_LINES = 5
"""Lines of an expression that is put into words. One may stand in many others."""

MODULES = frozenset(("pd", "np", "pandas", "numpy", "math", "re", "datetime", "dt"))
CONVERSIONS = frozenset(("to_datetime", "to_numeric"))
ACCESSORS = frozenset(("str", "dt", "cat", "loc", "iloc"))
JOINING = frozenset(("and", "or", "&", "|"))
MUTATORS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "update",
        "add",
        "discard",
        "setdefault",
    ]
)
"""Methods that change a list, set, dictionary or Series."""

OF_ONE_ROW = (MASKS - {"duplicated"}) | frozenset(
    [
        "lower",
        "upper",
        "strip",
        "casefold",
        "abs",
        "round",
        "len",
        "astype",
        "fillna",
        "to_datetime",
        "to_numeric",
        "Timestamp",
        "Timedelta",
        "normalize",
    ]
)
"""Methods that take each value for itself."""

SKIPPING = frozenset(("sum", "mean", "median", "std", "var"))
"""Methods that skip missing values. A bound, as of `max`, is often no answer."""

ITERATORS = frozenset(
    [
        "zip",
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "sum",
        "min",
        "max",
        "enumerate",
        "map",
        "filter",
        "iter",
        "any",
        "all",
        "reversed",
    ]
)


@dataclass(frozen=True)
class Place:
    """An expression that may change the rows of a table.

    Args:
        method: the method that is called; "" for brackets.
        parts: for each condition, the rows that it drops: "with status cancelled".
        labels: for each condition, what must not be missing; "" if it is another one.
        tables: the arguments that are tables.
        by_value: whether the values of a row decide alone, so that the share of rows may be compared with another's.
        skips: for each column that is aggregated, its name and the method, which skips missing values.
        of: the column or variable whose values are compared or converted; "" if it has no name.
    """

    line: int
    method: str
    parts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    by_value: bool = False
    skips: tuple[tuple[str, str], ...] = ()
    of: str = ""


@dataclass(frozen=True)
class InstrumentedCode:
    """The instrumented source.

    Args:
        places: what the numbers in it stand for.
        converted: by the number of a conversion, what its values are assigned to.
    """

    code: str
    places: Sequence[Place]
    converted: Mapping[int, str] = field(default_factory=dict)


def instrumented(code: str) -> InstrumentedCode | None:
    """The instrumented source; None if it is too long or cannot be followed."""
    if len(code) > LONGEST_CODE or NAME in code:
        return None
    try:
        tree = parse(code)
        inserting = _Inserting(tree)
        changed = inserting.visit(copy.deepcopy(tree))
        text = ast.unparse(ast.fix_missing_locations(changed))
    except (SyntaxError, ValueError, RecursionError, MemoryError, _NotFollowed):
        return None
    return InstrumentedCode(text, inserting.places, inserting.converted)


# The instrumented source


class _NotFollowed(Exception):
    """There are more places than are followed, or the rows would be taken for others."""


class _Inserting(ast.NodeTransformer):
    """Replaces what may change rows by calls of the follower."""

    def __init__(self, tree: ast.Module) -> None:
        self.places: list[Place] = []
        self.converted: dict[int, str] = {}
        self._words = _Words(tree)
        self._targets: list[str] = [""]
        self._in_test = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]  # neither annotations nor defaults
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self._assigned(_label_of_target(node.target), node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        label = _label_of_target(node.targets[0]) if len(node.targets) == 1 else ""
        node.targets = [self.visit(target) for target in node.targets]
        node.value = self._assigned(label, node.value)
        return node

    def _assigned(self, label: str, value: ast.expr) -> ast.expr:
        conversion = _converted(value)
        self._targets.append(label if conversion is not None else "")
        changed: ast.expr = self.visit(value)
        self._targets.pop()
        return changed

    def visit_For(self, node: ast.For) -> ast.AST:
        place = Place(node.lineno, "for")
        self.generic_visit(node)
        node.iter = self._call("over", place, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        place = Place(node.iter.lineno, "for")
        self.generic_visit(node)
        node.iter = self._call("over", place, node.iter)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._tested(node.test)
        node.body, node.orelse = ([self.visit(one) for one in body] for body in (node.body, node.orelse))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        kind = type(node.ops[0]) if len(node.ops) == 1 else None
        is_word = kind in (ast.Eq, ast.NotEq) and self._words.is_text(node.comparators[0])
        place = Place(node.lineno, "==" if kind is ast.Eq else "!=", of=base_column(node.left))
        self._in_test += 1
        self.generic_visit(node)
        self._in_test -= 1
        if not is_word:
            return node
        return self._call("compared", place, node.left, ast.Constant(kind is ast.Eq), node.comparators[0])

    def _tested(self, test: ast.expr) -> ast.expr:
        """A condition of the code: what it counts is no answer."""
        self._in_test += 1
        changed: ast.expr = self.visit(test)
        self._in_test -= 1
        return changed

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        place = Place(node.lineno, node.attr)
        if node.attr == "index" and isinstance(node.ctx, ast.Store):  # rows are followed by their index
            raise _NotFollowed
        self.generic_visit(node)
        if node.attr in ("shape", "size") and isinstance(node.ctx, ast.Load) and not self._in_test:
            node.value = self._call("counted", place, node.value)
        if node.attr == "values" and isinstance(node.ctx, ast.Load):
            node.value = self._call("array", place, node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in ("exec", "eval"):
            raise _NotFollowed
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        parts = list(_conjunction(node))
        if len(parts) == 1:
            return self.generic_visit(node)
        place = self._place_of(node.lineno, "", parts)
        return self._call("every", place, *(self.visit(part) for part in parts))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        rows = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        place = self._place_of(node.lineno, "", [rows], whole=node)
        self.generic_visit(node)
        return self._call("item", place, node.value, self._key(node.slice))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "range":  # what a loop does with the numbers is not known
            node.args = [self._tested(argument) for argument in node.args]
            return node
        if isinstance(function, ast.Name) and function.id == "len" and len(node.args) == 1 and not self._in_test:
            place = Place(node.lineno, "len")
            self.generic_visit(node)
            node.args = [self._call("counted", place, node.args[0])]
            return node
        if isinstance(function, ast.Name) and function.id in ITERATORS:
            places = [Place(node.lineno, function.id) for _ in node.args]
            self.generic_visit(node)
            node.args = [
                argument if isinstance(argument, ast.Starred) else self._call("over", place, argument)
                for place, argument in zip(places, node.args, strict=True)
            ]
            return node
        if not isinstance(function, ast.Attribute) or function.attr.startswith("__"):
            return self.generic_visit(node)
        place = self._words.place_of_call(node, function)
        number = len(self.places)
        if function.attr in CONVERSIONS and self._targets[-1]:
            self.converted[number] = self._targets[-1]
        if not self._in_test:
            place = replace(place, skips=_aggregated(node, function))
        owner = self._call("method", place, None, ast.Constant(function.attr))
        owner.args[1] = self.visit(function.value)
        fills = function.attr == "fillna"  # with a value that may be of the others
        node.args = [self._tested(argument) if fills else self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            is_new = function.attr == "assign" and keyword.arg
            keyword.value = self._assigned(keyword.arg or "", keyword.value) if is_new else self.visit(keyword.value)
        node.func = owner
        return node

    def _place_of(self, line: int, method: str, conditions: Sequence[ast.expr], whole: ast.expr | None = None) -> Place:
        words, labels = zip(*(self._words.dropped_by(one, whole) for one in conditions), strict=True)
        by_value = self._words.takes_rows_alone(*conditions)
        return Place(line, method, tuple(words), tuple(labels), by_value=by_value)

    def _call(self, name: str, place: Place, *arguments: ast.expr | None) -> ast.Call:
        if len(self.places) >= MOST_PLACES:
            raise _NotFollowed
        self.places.append(place)
        number = ast.Constant(len(self.places) - 1)
        function = ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())
        return ast.Call(function, [number, *(one if one is not None else number for one in arguments)], [])

    def _key(self, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Tuple):
            return ast.Tuple([self._key(one) for one in key.elts], ast.Load())
        if not isinstance(key, ast.Slice):
            return key
        ends = [one if one is not None else ast.Constant(None) for one in (key.lower, key.upper, key.step)]
        return ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), "slice", ast.Load()), ends, [])


def _aggregated(call: ast.Call, function: ast.Attribute) -> tuple[tuple[str, str], ...]:
    """The columns whose values a call aggregates, and how: `df["price"].mean()`, `agg(total=("price", "sum"))`."""
    owner, method = function.value, function.attr
    is_attribute = isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name)
    column = owner.attr if isinstance(owner, ast.Attribute) and is_attribute else ""
    column = column or (_text(owner.slice) if isinstance(owner, ast.Subscript) else "")
    first = call.args[0] if len(call.args) == 1 and not call.keywords else None
    pairs = list[tuple[str, str]]()
    if method in SKIPPING and not call.args and not call.keywords:
        pairs = [(column, method)]
    elif method in ("agg", "aggregate") and isinstance(first, ast.Dict):
        pairs = [(_text(key), _text(value)) for key, value in zip(first.keys, first.values, strict=True)]
    elif method in ("agg", "aggregate") and first is not None:
        pairs = [(column, _text(first))]
    elif method in ("agg", "aggregate") and not call.args:
        values = [keyword.value for keyword in call.keywords]
        named = [value.elts for value in values if isinstance(value, ast.Tuple) and len(value.elts) == 2]
        pairs = [(_text(of), _text(how)) for of, how in named]
    return tuple((of, how) for of, how in pairs if of and how in SKIPPING)


def _conjunction(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of `a & b & c`."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        found = [node.right]
        node = node.left
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            found.append(node.right)
            node = node.left
        yield node
        yield from reversed(found)
        return
    yield node


def _label_of_target(target: ast.expr) -> str:
    """`date` for `df["date"] = …`, `=dates` for `dates = …`."""
    if isinstance(target, ast.Name):
        return f"={target.id}"
    return _text(target.slice) if isinstance(target, ast.Subscript) else ""


def _parsed(text: str) -> ast.expr | None:
    """The condition of a query; None if it is none of Python."""
    try:
        return parse_expression(text)
    except SyntaxError:
        return None


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


# Words


class _Words:
    """Puts conditions of a module into words, or those of the text of a query, in which names are columns."""

    def __init__(self, tree: ast.Module | None = None) -> None:
        self._is_query = tree is None
        tree = tree if tree is not None else ast.Module([], [])
        stored = Counter[str]()
        values: dict[str, ast.expr] = {}
        self._made: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            for name, made in _made_by(node):
                self._made.setdefault(name, []).append(made)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stored[node.id] += 1
            elif isinstance(node, ast.arg):
                stored[node.arg] += 1
            elif (changed := _changed_name(node)) is not None:
                stored[changed] += 2
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
        self._values = {name: value for name, value in values.items() if stored[name] == 1}

    def dropped_by(self, condition: ast.expr, whole: ast.expr | None = None) -> tuple[str, str]:
        """The rows that a condition drops, and what it wants not to be missing. What is no condition, such as a slice,
        is shown with the `whole` expression in brackets.
        """
        condition = self._resolved(condition)
        if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Invert):
            inner = self._resolved(condition.operand)
            if _method(inner) in ("isna", "isnull"):
                return self._missing(inner)
            return self._holding(inner), ""
        if _method(condition) in ("notna", "notnull"):
            return self._missing(condition)
        if (equality := self._equality(condition)) is not None:
            column, is_not, value = equality
            return f"with {column} {value}" if is_not else f"whose {column} is not {value}", ""
        if isinstance(condition, ast.Compare) or _method(condition) in MASKS:
            return f"where not {self._source(condition)}", ""
        if _is_logic(condition):
            return f"where not ({self._source(condition)})", ""
        return f"outside of {self._source(whole if whole is not None else condition)}", ""

    def takes_rows_alone(self, *expressions: ast.AST) -> bool:
        """Whether expressions take each row for itself. A name or a column stands for all that is assigned to it."""
        left, seen = list(expressions), set[str]()
        while left:
            node = left.pop()
            if isinstance(node, ast.Call) and _method(node) not in OF_ONE_ROW:
                return False
            name = _text(node.slice) if isinstance(node, ast.Subscript) else ""
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.attr
            elif isinstance(node, ast.Name):
                name = node.id
            if name and name not in seen:
                left += self._made.get(name, ())
            seen.add(name)
            left += ast.iter_child_nodes(node) if not name else ()
        return True

    def is_text(self, node: ast.expr) -> bool:
        """Whether an expression is a text, or the name of one."""
        return bool(_text(self._resolved(node)))

    def _holding(self, condition: ast.expr) -> str:
        """The rows for which a condition holds."""
        equality = self._equality(condition)
        if equality is not None and not equality[1]:
            return f"with {equality[0]} {equality[2]}"
        if _method(condition) in ("isna", "isnull"):
            return self._missing(condition)[0]
        return f"where {self._source(condition)}"

    def _equality(self, condition: ast.expr) -> tuple[str, bool, object] | None:
        """The column of a comparison with a literal, whether it must differ, and the literal."""
        compared = _comparison(condition)
        if compared is None:
            return None
        owner, value = self._resolved(compared[0]), self._resolved(compared[2])
        if isinstance(owner, ast.Name) and not self._is_query:  # a variable may be called as another column
            return None
        column = self._source(owner)
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str | int | float):
            return None
        return (column, compared[1] is ast.NotEq, value.value) if column.isidentifier() else None

    def place_of_call(self, call: ast.Call, function: ast.Attribute) -> Place:
        """The place of a call of a method."""
        method, line = function.attr, call.end_lineno or call.lineno
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        first = call.args[0] if call.args else None
        parts: tuple[str, ...] = (f"left out by {method}",)
        labels: tuple[str, ...] = ()
        tables: tuple[str, ...] = ()
        if method == "dropna":
            labels = self._names(given.get("subset"))
            owner = self.column(function.value)
            if labels and _text(given.get("how")) != "all" and "thresh" not in given:
                parts = tuple(f"where {label} is missing" for label in labels)
            elif not given and owner and self._is_column(function.value):
                parts, labels = (f"where {owner} is missing",), (owner,)
            else:
                parts, labels = ("with missing values",), ()
        elif method == "drop":
            dropped = _rows_of_index(given.get("index", first), function.value)
            parts = (self._holding(self._resolved(dropped)) if dropped is not None else parts[0], parts[0])
        elif method == "drop_duplicates":
            names = self._names(given.get("subset", first))
            parts = (f"with a repeated {_and(names)}" if names else "that are repeated",)
        elif method in ("groupby", "pivot_table", "value_counts", "resample"):
            is_by_place = method == "pivot_table" and len(call.args) > 1
            labels = self._keys(method, function, given, first) if not is_by_place else ()
            unknown = "with missing values" if method == "value_counts" else "without a group"
            parts = (f"where {_and(labels, 'or')} is missing" if labels else unknown,)
        elif method == "query" and (text := _text(first if first is not None else given.get("expr"))):
            parts = (self._query(text),)
        elif method in ("head", "tail", "nlargest", "nsmallest", "sample", "truncate", "between_time"):
            shown = ", ".join([*map(self._source, call.args), *(f"{k}={self._source(v)}" for k, v in given.items())])
            parts = (f"outside of {method}({shown})"[:LONGEST_WORDS],)
        elif method in ("merge", "join", "merge_asof", "merge_ordered"):
            is_of_pandas = isinstance(function.value, ast.Name) and function.value.id in MODULES
            left = (first if first is not None else given.get("left")) if is_of_pandas else function.value
            others = call.args[1:] if is_of_pandas else call.args
            right = others[0] if others else given.get("right", given.get("other"))
            tables = tuple(one.id if isinstance(one, ast.Name) else "" for one in (left, right))
        read: list[ast.expr] = [ast.Name(label) for label in labels]
        if method == "query" and (condition := _parsed(_text(first))) is not None:
            read = [condition]
        by_value = bool(read or tables) and self.takes_rows_alone(*read)
        of = base_column(first if method in CONVERSIONS and first is not None else function.value)
        return Place(_line_of(call, function, line), method, parts, labels, tables, by_value, of=of)

    def column(self, node: ast.expr) -> str:
        """The name of a column: `date` for `df["date"]`, `df.date` and what was read from it."""
        if isinstance(node, ast.Subscript):
            return _text(node.slice)
        if isinstance(node, ast.Attribute):
            is_module = isinstance(node.value, ast.Name) and node.value.id in MODULES
            return "" if is_module else node.attr
        return node.id if isinstance(node, ast.Name) else ""

    def _is_column(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and bool(_text(node.slice)))

    def _missing(self, call: ast.expr) -> tuple[str, str]:
        """The words for `X.notna()`."""
        if not isinstance(call, ast.Call):
            return "", ""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or (isinstance(owner, ast.Name) and owner.id in MODULES):
            owner = call.args[0] if call.args else call
        name = self.column(owner)
        label = f"={name}" if isinstance(owner, ast.Name) else name
        source = self._values.get(name) if isinstance(owner, ast.Name) else None
        converted = _converted(source) if source is not None else None
        if converted is not None and converted.args:
            name = self.column(converted.args[0]) or name
        return f"where {name or self._source(owner)} is missing", label

    def _keys(
        self, method: str, function: ast.Attribute, given: Mapping[str, ast.expr], first: ast.expr | None
    ) -> tuple[str, ...]:
        if method == "value_counts":
            names = self._names(first if first is not None else given.get("subset"))
            return names or ((self.column(function.value),) if self._is_column(function.value) else ())
        if method == "resample":
            return self._names(given.get("on"))
        if method == "pivot_table":
            keys = [self._names(given[one]) for one in ("index", "columns") if one in given]
            return tuple(name for names in keys for name in names) if all(keys) else ()
        return self._names(first if first is not None else given.get("by"))

    def _names(self, node: ast.expr | None) -> tuple[str, ...]:
        """The names of columns, if all of them are known from the source."""
        if node is None:
            return ()
        node = self._resolved(node)
        listed = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        names = [_text(one) or (self.column(one) if not isinstance(one, ast.Name) else "") for one in listed]
        for place, one in enumerate(listed):
            if isinstance(one, ast.Call) and _method(one) == "Grouper":
                names[place] = next((_text(k.value) for k in one.keywords if k.arg == "key"), "")
        return tuple(names) if all(names) else ()

    def _query(self, text: str) -> str:
        parsed = _parsed(text)
        words = _Words().dropped_by(parsed)[0] if parsed is not None else ""  # its names are columns
        if words and not words.startswith("outside"):
            return words
        is_logic = any(one in JOINING for one in text.split())
        return f"where not ({_short(text)})" if is_logic else f"where not {_short(text)}"

    def _resolved(self, node: ast.expr) -> ast.expr:
        """The value of a name that is assigned once."""
        return self._values.get(node.id, node) if isinstance(node, ast.Name) else node

    def _source(self, node: ast.expr) -> str:
        """A condition in one short line, with the names of columns alone."""
        lines, width = (node.end_lineno or node.lineno) - node.lineno, (node.end_col_offset or 0) - node.col_offset
        if lines > MOST_LINES or width > WIDEST:
            return "a long expression"
        plain = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        columns = _Columns()
        short = columns.visit(copy.deepcopy(node))
        is_clear = len(columns.owners) < 2 and plain.isdisjoint(columns.names)
        return _short(ast.unparse(short if is_clear else node))


class _Columns(ast.NodeTransformer):
    """Replaces `df["price"]` by `price`.

    Attributes:
        names: the names of the columns.
        owners: the names of their tables.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.owners: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name = _text(node.slice)
        if name.isidentifier() and isinstance(node.value, ast.Name):
            return self._column(name, node.value)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):  # the name of a method is no column
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id in MODULES or node.attr in ("loc", "iloc"):
            return self.generic_visit(node)
        return self._column(node.attr, node.value)

    def _column(self, name: str, owner: ast.Name) -> ast.Name:
        self.names.add(name)
        self.owners.add(owner.id)
        return ast.Name(name, ast.Load())


def base_column(node: ast.expr) -> str:
    """The column from which an expression is made: `fare` for `df["fare"].str.strip()`; "" if that is not clear."""
    while True:
        if isinstance(node, ast.Subscript):
            return _text(node.slice)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.args[0] if node.func.attr in CONVERSIONS and node.args else node.func.value
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id not in MODULES:
                return node.attr if node.attr not in ACCESSORS else node.value.id
            node = node.value
        else:
            return ""


def _rows_of_index(node: ast.expr | None, table: ast.expr) -> ast.expr | None:
    """The condition in `df[condition].index`, of the same `df`."""
    if not isinstance(node, ast.Attribute) or node.attr != "index" or not isinstance(node.value, ast.Subscript):
        return None
    owner = node.value.value
    if not isinstance(owner, ast.Name) or not isinstance(table, ast.Name) or owner.id != table.id:
        return None
    condition = node.value.slice
    return condition if isinstance(condition, ast.Compare | ast.Call | ast.BinOp | ast.Name) else None


def _changed_name(node: ast.AST) -> str | None:
    """The name whose value may be another one after this: `keep[0] = …`, `names.append(…)`, `except … as error`."""
    if isinstance(node, ast.Subscript | ast.Attribute):
        return None if isinstance(node.ctx, ast.Load) else _root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_changed = node.func.attr in MUTATORS or any(one.arg == "inplace" for one in node.keywords)
        return _root(node.func) if is_changed else None
    if isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler | ast.FunctionDef | ast.ClassDef):
        return node.name
    return node.asname or node.name if isinstance(node, ast.alias) else None


def _made_by(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The variables and columns that get a value, and the value."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            of = target.slice if isinstance(target, ast.Subscript) else target
            for one in ast.walk(of):
                name = one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
                name = name or _text(one if isinstance(one, ast.Constant) else None)
                if name:
                    yield name, node.value
    elif isinstance(node, ast.Call) and _method(node) == "assign":
        for keyword in node.keywords:
            if keyword.arg:
                yield keyword.arg, keyword.value
    elif isinstance(node, ast.NamedExpr):
        yield node.target.id, node.value


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _converted(node: ast.expr) -> ast.Call | None:
    """The conversion that gives a value: `pd.to_datetime(…)`, also with methods after it."""
    node = node.body if isinstance(node, ast.Lambda) else node
    while True:
        if isinstance(node, ast.Call) and _method(node) in CONVERSIONS:
            return node
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return None


def _comparison(node: ast.expr) -> tuple[ast.expr, type[ast.cmpop], ast.expr] | None:
    """`a == b` and `a.eq(b)`, `a != b` and `a.ne(b)`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return node.left, type(node.ops[0]), node.comparators[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        kind = {"eq": ast.Eq, "ne": ast.NotEq}.get(node.func.attr)
        return (node.func.value, kind, node.args[0]) if kind is not None else None
    return None


def _is_logic(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)


def _method(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _line_of(call: ast.Call, function: ast.Attribute, line: int) -> int:
    """The line in which the name of the method stands, in a chain of several lines."""
    return function.end_lineno or call.lineno or line


def _and(names: Sequence[str], last: str = "and") -> str:
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1]}…"
