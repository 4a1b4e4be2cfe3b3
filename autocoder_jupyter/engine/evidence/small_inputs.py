"""Finds a small input on which two solutions still differ: removes rows, then replaces values by simpler ones.

Removing halves, then quarters, then single rows is the idea of delta debugging (Zeller and Hildebrandt, 2002).
"""

from __future__ import annotations

import ast
import copy
import math
import operator
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.variations import (
    SEED,
    Profile,
    Tables,
    Variation,
    enlarged,
    main_table,
    taken,
    trimmed_tables,
    variations,
    with_rows,
)
from autocoder_jupyter.equality.scalars import is_missing
from autocoder_jupyter.untrusted.parsing import parse

# Values that are made up for a small input. They tell the order of the data's values, and no value.


Form = Callable[[int], Any]
"""Makes a value from its rank among the values of its column, from 0."""


def forms(dtype: Any) -> list[Form]:
    """The ways to make up the values of a column, the simplest first."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        first = pd.Timestamp("2024-01-01", tz=getattr(dtype, "tz", None))
        return [
            lambda rank: first + pd.Timedelta(days=rank),
            lambda rank: first + pd.DateOffset(months=rank),
            lambda rank: first + pd.DateOffset(years=rank),
        ]
    if pd.api.types.is_numeric_dtype(dtype):
        return [lambda rank: 1, lambda rank: rank + 1, lambda rank: 10 * (rank + 1)]
    if pd.api.types.is_timedelta64_dtype(dtype):
        return [lambda rank: pd.Timedelta(days=rank + 1)]
    return [lambda rank: "a", lambda rank: chr(97 + rank) if rank < 26 else f"a{rank}"]


def is_made_up(column: Any) -> bool:
    """Whether all values of a column are missing, are truth values of a boolean dtype, or have one of the forms."""
    present = column.dropna()
    if present.empty or pd.api.types.is_bool_dtype(column.dtype):
        return True
    try:
        found = present.drop_duplicates()
        return any(_has(found, form) for form in forms(column.dtype))
    except (TypeError, ValueError, OverflowError):
        return False  # values that cannot be compared


def _has(found: Any, form: Form) -> bool:
    expected: Sequence[Any] = [form(rank) for rank in range(len(found))]
    return bool(found.isin(expected).all())


# The numbers in code and in arguments, and the same code and arguments with others in their place.


Number = int | float

_DEEPEST = 8
"""How many operations of a constant expression are computed, one in the other, and how deep arguments are looked at."""

_LARGEST = 10**18
"""The largest number that is computed."""

_OPERATIONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}

_QUERIES = frozenset({"query", "eval"})
"""Methods of tables whose argument is an expression in a text."""

_IN_QUERY = re.compile(r"(?<![\w.])\d[\d_]{0,17}(?![\w.])")


def numbers_in(code: str) -> list[Number]:
    """The numbers in a module. Of an operation with constants, such as `10**5`, also the result."""
    return list(_numbers(parse(code)))


def numbers_of(value: Any, depth: int = _DEEPEST) -> Iterator[Number]:
    """The numbers in an argument, also those in lists and dicts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | tuple | dict) and depth:
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(part, depth - 1)


def code_with(code: str, others: Mapping[Number, Number]) -> str:
    """A module with other numbers."""
    try:
        return ast.unparse(_Replaced(others).visit(copy.deepcopy(parse(code))))
    except RecursionError:
        raise SyntaxError("it is nested too deeply") from None


def value_with(value: Any, others: Mapping[Number, Number], depth: int = _DEEPEST) -> Any:
    """An argument with other numbers; see `code_with`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        other = type(value)(others.get(abs(value), abs(value)))
        return -other if value < 0 else other
    if isinstance(value, list | tuple) and depth:
        return type(value)([value_with(part, others, depth - 1) for part in value])
    if isinstance(value, dict) and depth:
        return {key: value_with(part, others, depth - 1) for key, part in value.items()}
    return value


class _Replaced(ast.NodeTransformer):
    def __init__(self, others: Mapping[Number, Number]) -> None:
        self._others = others

    def generic_visit(self, node: ast.AST) -> ast.AST:
        number = _number(node)
        if number is None or number not in self._others:
            return super().generic_visit(node)
        return ast.Constant(type(number)(self._others[number]))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for text in _queries(node):
            text.value = _IN_QUERY.sub(self._in_query, text.value)
        return self.generic_visit(node)

    def _in_query(self, found: re.Match[str]) -> str:
        number = int(found[0].replace("_", ""))
        return str(self._others.get(number, number))


def _numbers(tree: ast.Module) -> Iterator[Number]:
    for node in ast.walk(tree):
        if (number := _number(node)) is not None:
            yield number
        for text in _queries(node):
            yield from (int(each.replace("_", "")) for each in _IN_QUERY.findall(text.value))


def _queries(node: ast.AST) -> Iterator[Any]:
    """The expressions in texts that a call evaluates for a table."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _QUERIES:
        for argument in node.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument


def _number(node: ast.AST, depth: int = _DEEPEST) -> Number | None:
    """The number that a constant expression is; None if it is none, or not of reasonable size."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left=left, op=op, right=right) if depth and type(op) in _OPERATIONS:
            one, other = _number(left, depth - 1), _number(right, depth - 1)
            if one is None or other is None or (isinstance(op, ast.Pow | ast.LShift) and not 0 <= other <= 64):
                return None
            try:
                result = _OPERATIONS[type(op)](one, other) if max(abs(one), abs(other)) <= _LARGEST else None
            except (ArithmeticError, TypeError):
                return None
            return result if isinstance(result, int | float) and abs(result) <= _LARGEST else None
        case _:
            return None


# Small parts of a sample, and a sample several times as large. The seed is fixed, so they are reproducible.


T = TypeVar("T")

FEWEST, MOST = 3, 20
"""The numbers of rows of a small part."""

TIMES = 3
"""How many times as large the sample is made, at least."""

LARGEST = 20_000
"""The maximum number of rows of a table that was made larger."""


@dataclass
class VariedSample:
    """A sample with its variations and small parts. They are made once, for all who run a function on them.

    Args:
        tables: the tables of the sample, by input name.
    """

    tables: Mapping[str, Any]
    count: int = 0
    _made: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def trimmed(self) -> Tables:
        """The tables, each with at most `ROWS` rows."""
        return self._once("trimmed", lambda: trimmed_tables(self.tables))

    @property
    def variations(self) -> tuple[Variation, ...]:
        """See the function of that name."""
        return self._once("variations", lambda: tuple(variations(self.tables)))

    @property
    def parts(self) -> tuple[Tables, ...]:
        """See `small_parts`."""
        return self._once("parts", lambda: tuple(small_parts(self.tables, self.count)))

    def larger(self, more_than: int) -> Variation | None:
        """See the function of that name."""
        return self._once(f"larger, {more_than}", lambda: larger(self.tables, more_than))

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made


def small_parts(tables: Mapping[str, Any], count: int) -> Iterator[Tables]:
    """Random rows of the largest table, in their order, with the rows of other tables that match them."""
    base = trimmed_tables(tables)
    name = main_table(base)
    rows = len(base[name]) if name else 0
    if rows <= FEWEST:
        return
    random = np.random.default_rng(SEED)
    for _ in range(count):
        size = int(random.integers(FEWEST, min(MOST, rows - 1) + 1))
        yield with_rows(base, name, np.sort(random.choice(rows, size, replace=False)))


def larger(tables: Mapping[str, Any], more_than: int = 0) -> Variation | None:
    """The sample with its largest table several times as large; None if that cannot be made.

    The times of the rows that are added are later, and their keys are new, so that they are rows as the sample could
    have.
    """
    base = trimmed_tables(tables)
    name = main_table(base)
    table = base[name] if name else None
    if not isinstance(table, pd.DataFrame) or table.empty or not isinstance(table.index, pd.RangeIndex):
        return None
    times = max(TIMES, min(more_than + 1, LARGEST) // len(table) + 1)
    profile = Profile.of(tables[name])
    others = {
        column for other, one in base.items() if other != name and isinstance(one, pd.DataFrame) for column in one
    }
    moved = {place for place, dtype in enumerate(table.dtypes) if dtype.kind == "M"} | profile.keys
    whole = enlarged(table, times * len(table), moved)
    if not whole.dtypes.equals(table.dtypes):
        return None
    is_new = profile.has_twins or any(not whole.iloc[len(table) :, at].isin(table.iloc[:, at]).all() for at in moved)
    is_new = is_new and not any(table.columns[place] in others for place in profile.keys)
    what = "with many times as many rows" if times > TIMES else "with three times as many rows"
    of = "" if len(base) == 1 else f" of {name}"
    words = f"{what}{of}" if is_new else f"if all rows{of} came {times} times"
    return Variation(words, {**base, name: whole}, has_new_texts=any(table.dtypes.iloc[at].kind == "O" for at in moved))


def largest_number(*codes: str) -> int:
    """The largest whole number in these modules that is at most `LARGEST`; 0 if there is none."""
    numbers = (number for code in codes for number in numbers_in(code))
    return max((number for number in numbers if isinstance(number, int) and number <= LARGEST), default=0)


Differs = Callable[[Tables], bool]

Change = Callable[[Any, int], Any]
"""Makes a simpler value from a value and its rank."""

TRIALS = 300
"""The maximum number of runs of both solutions to find it."""


def smallest(
    tables: Mapping[str, Any],
    differs: Differs,
    trials: int = TRIALS,
    has_time: Callable[[], bool] = lambda: True,
) -> Tables:
    """The input with the fewest rows that were found. If `tables` differs, so does the result."""
    left = [trials]

    def tried(candidate: Tables) -> bool:
        left[0] -= 1
        return differs(candidate)

    kept = dict(tables)
    for name in sorted(kept, key=lambda name: -len(kept[name])):
        kept = _fewer_rows(kept, name, tried, lambda: left[0] > 0 and has_time())
    return kept


def _fewer_rows(tables: Tables, name: str, differs: Differs, goes_on: Callable[[], bool]) -> Tables:
    part = max(1, len(tables[name]) // 2)
    while goes_on():
        start, shrunk = 0, False
        while start < (count := len(tables[name])) and goes_on():
            rest = np.r_[0:start, min(start + part, count) : count].astype(int)
            candidate = {**tables, name: taken(tables[name], rest)}
            if differs(candidate):
                tables, shrunk = candidate, True
            else:
                start += part
        if part == 1 and not shrunk:
            break
        part = max(1, part // 2)
    return tables


def simplified(tables: Tables, differs: Differs, has_time: Callable[[], bool] = lambda: True) -> Tables:
    """The same input with made-up values, as far as the two still differ. Columns in which they would agree then keep
    values of the data.
    """
    for name in tables:
        for place in range(1 if isinstance(tables[name], pd.Series) else tables[name].shape[1]):
            column = _column(tables[name], place)
            for values in _simpler(column):
                if not has_time():
                    return tables
                candidate = {**tables, name: _replaced(tables[name], place, values)}
                if values.dtype == column.dtype and differs(candidate):
                    tables = candidate
                    break
    return tables


def _column(table: Any, place: int) -> Any:
    return table if isinstance(table, pd.Series) else table.iloc[:, place]


def _replaced(table: Any, place: int, values: Any) -> Any:
    if isinstance(table, pd.Series):
        return values
    copy = table.copy()
    copy.isetitem(place, values)
    return copy


def _simpler(column: Any) -> Iterator[Any]:
    """The column with simpler values, the simplest first: made-up ones, then those of the data that are changed."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return  # contains no value of the data
    for change in (*map(_by_rank, forms(column.dtype)), *_taken_over(column)):
        yield from _changed(column, change)


def _by_rank(form: Form) -> Change:
    return lambda _, rank: form(rank)


def _taken_over(column: Any) -> list[Change]:
    """Functions that make the data's values simpler: rounded numbers, and times that are moved to 2024."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        return [lambda value, _: round(value)] if pd.api.types.is_numeric_dtype(column.dtype) else []
    first = pd.Timestamp("2024-01-01", tz=column.dt.tz)
    earliest = column.min()
    if pd.isna(earliest):
        return []
    weeks = (first - earliest) // pd.Timedelta(days=7)
    years = 2024 - earliest.year
    return [
        lambda value, _: value.floor("D") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("min") + pd.Timedelta(days=7) * weeks,
        lambda value, _: value.floor("D") + pd.DateOffset(years=years),
    ]


def _changed(column: Any, change: Change) -> Iterator[Any]:
    """The column with each value replaced by a function of the value and its rank; yields nothing if that fails."""
    try:
        ordered = sorted({value for value in column if not pd.isna(value)})
        place = {value: rank for rank, value in enumerate(ordered)}
        values = [None if pd.isna(value) else change(value, place[value]) for value in column]
        yield pd.Series(values, index=column.index, name=column.name).astype(column.dtype)
    except (TypeError, ValueError, OverflowError, KeyError):
        return  # values that cannot be sorted, or a dtype (such as categories) that cannot hold others


# A small table as plain values, and from these as Python source with exact dtypes, for the user and for a test.


CELLS = 200
"""The maximum number of values. A larger table is not written as source."""

_PLAIN = (bool, int, float, str)

Cells = Sequence[Sequence[Any]]
"""The values of a table by column: None, truth values, numbers and text."""


def cells(table: Any) -> list[list[Any]] | None:
    """The values of a table; None if it cannot be made from them again."""
    if table.size > CELLS:
        return None
    columns = [table] if isinstance(table, pd.Series) else [table.iloc[:, place] for place in range(table.shape[1])]
    found = [[_plain(value) for value in column] for column in columns]
    same = pd.testing.assert_series_equal if isinstance(table, pd.Series) else pd.testing.assert_frame_equal
    if not _has_plain_names(table) or not all(map(_is_plain, (value for column in found for value in column))):
        return None
    try:
        same(made(found, dtypes(table), table), table)
    except Exception:
        return None  # a dtype or index that a short expression cannot make, or must not tell
    return found


def _is_plain(value: Any) -> bool:
    return value is None or (type(value) in _PLAIN and (type(value) is not float or math.isfinite(value)))


def _has_plain_names(table: Any) -> bool:
    """Whether the names of the columns can be written as keys of a dict."""
    if isinstance(table, pd.Series):
        return table.name is None or type(table.name) in (str, int)
    return bool(table.columns.is_unique) and all(type(name) in (str, int) for name in table.columns.tolist())


def dtypes(table: Any) -> list[str]:
    """The names of the dtypes of a table's columns."""
    return [str(table.dtype)] if isinstance(table, pd.Series) else list(map(str, table.dtypes))


def made(values: Cells, kinds: Sequence[str], like: Any) -> Any:
    """A table with these values and dtypes, and the names of another one."""
    if any(isinstance(pd.api.types.pandas_dtype(kind), pd.SparseDtype) for kind in kinds):
        raise ValueError("a sparse dtype tells its fill value")
    columns = [_made(column, kind) for column, kind in zip(values, kinds, strict=True)]
    if isinstance(like, pd.Series):
        return columns[0].rename(like.name)
    return pd.DataFrame(dict(enumerate(columns))).set_axis(like.columns, axis=1)


def source(values: Cells, kinds: Sequence[str], like: Any) -> str:
    """An expression that uses `pd`, for the same table."""
    if isinstance(like, pd.Series):
        return _written(values[0], kinds[0], like.name)
    columns = zip(like.columns, values, kinds, strict=True)
    lines = [f"        {name!r}: {_written(column, kind)}," for name, column, kind in columns]
    return "\n".join(["pd.DataFrame(", "    {", *lines, "    }", ")"])


def _made(column: Sequence[Any], kind: str) -> Any:
    zone = _zone(kind)
    if zone is None:
        return pd.Series(list(column), dtype=kind)
    moments: Any = pd.Series(pd.to_datetime(list(column), utc=True))
    return moments.dt.tz_convert(zone).astype(kind)


def _written(column: Sequence[Any], kind: str, name: Any = None) -> str:
    values, zone = ", ".join(map(repr, column)), _zone(kind)
    named = "" if name is None else f", name={name!r}"
    if zone is None:
        return f"pd.Series([{values}], dtype={kind!r}{named})"
    moments = f"pd.Series(pd.to_datetime([{values}], utc=True){named})"
    return f"{moments}.dt.tz_convert({zone!r}).astype({kind!r})"


def _zone(kind: str) -> str | None:
    dtype = pd.api.types.pandas_dtype(kind)
    return str(dtype.tz) if isinstance(dtype, pd.DatetimeTZDtype) else None


def _plain(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, pd.Timestamp):
        return str(value.tz_convert("UTC") if value.tz else value).removesuffix(" 00:00:00")
    if isinstance(value, pd.Timedelta):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
