"""Values that are put into a table because code may treat them in another way than those of the sample.

One row with such a value takes a way that the others do not take: a word that the code names, a comma in a number, a
time in the day. Keys are spelled in several ways: code that makes two spellings equal may not be split by them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.code_numbers import Number, numbers_in
from autocoder_jupyter.engine.evidence.table_rows import taken
from autocoder_jupyter.untrusted.parsing import parse

MOST_WORDS = 16
"""Texts of the code that are put into tables."""

LONGEST_WORD = 40

MOST_NUMBERS = 8

SPELLED = 6
"""Rows of each spelling."""

_TEXTS = ("", " ", "1,250.00", "1.250,75", "0.5", "-5", "(5)", "$5", "5%", "1e3", "007", "A7", "n/a", "é", "x" * 60)

Change = Callable[[Any], Any]
"""Makes another spelling of a key."""


def words_in(code: str, without: Sequence[Any] = ()) -> list[str]:
    """The short texts in a module, in their order, without these names of columns."""
    tree = parse(code)
    found = {
        node.value: None
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= LONGEST_WORD
    }
    return [word for word in found if word not in without][:MOST_WORDS]


def _numbers(code: str) -> list[Number]:
    found = dict.fromkeys(number for number in numbers_in(code) if number == number and abs(number) < 10**9)
    return list(found)[:MOST_NUMBERS]


# Values in one row


def planted(table: Any, row: int, column: str, value: Any) -> Any:
    """The table with another value in one row; None if the dtype of the column cannot hold it."""
    place = list(table.columns).index(column)
    values = _with_value(table.iloc[:, place], row, value)
    if values is None:
        return None
    changed = table.copy()
    changed.isetitem(place, values)
    return changed


def with_rows_planted(table: Any, given: Sequence[tuple[str, Any]]) -> Any:
    """The table with a further row, which is one of its own, for each other value of a column."""
    more = taken(table, np.arange(len(given)) % len(table))
    for name in {name for name, _ in given}:
        values = more[name]
        for row, (other, value) in enumerate(given):
            if other == name and (changed := _with_value(values, row, value)) is not None:
                values = changed
        more.isetitem(list(more.columns).index(name), values)
    longer = pd.concat([table, more], ignore_index=isinstance(table.index, pd.RangeIndex))
    categories = [name for name in dict(given) if isinstance(table[name].dtype, pd.CategoricalDtype)]
    return longer.astype(dict.fromkeys(categories, "category"))


def _with_value(column: Any, row: int, value: Any) -> Any:
    """The column with another value in one row; None if its dtype cannot hold it."""
    before, values = column.dtype, column.copy()
    is_category = isinstance(before, pd.CategoricalDtype)
    try:
        if is_category and value is not None and value not in before.categories:
            values = values.cat.add_categories([value])
        values.iloc[row] = value
    except (TypeError, ValueError, OverflowError):
        return None
    return values if is_category or values.dtype == before else None


def plants(code: str, column: Any, words: Sequence[str]) -> Iterator[Any]:
    """The values that are put into a column."""
    present = column.dropna()
    if not len(present):
        return
    first, dtype = present.iloc[0], column.dtype
    if isinstance(first, str):
        yield from _texts(first, words)
    elif isinstance(first, bool | np.bool_):
        yield from (True, False)
    elif dtype.kind == "M":
        yield from _moments(code, present, words)
    elif dtype.kind in "iuf":
        most = present.max()
        others = [each + step for each in _numbers(code) for step in (0, 1, -1)]
        yield from dict.fromkeys([*others, 0, 1, -1, 0.5, most + 1, 100 * most])
    if dtype.kind not in "iub":
        yield None


def _texts(first: str, words: Sequence[str]) -> Iterator[str]:
    half = len(first) // 2
    made = [
        *words,
        *(first[:half] + word + first[half:] for word in words if len(word) < 4),
        re.sub(r"\d+", "25", first, count=1),
        *_TEXTS,
        first.upper(),
        first.title(),
        f" {first} ",
    ]
    yield from (text for text in dict.fromkeys(made) if text != first)


def _moments(code: str, present: Any, words: Sequence[str]) -> Iterator[Any]:
    zone = getattr(present.dtype, "tz", None)
    named: list[Any] = [word for word in words if re.match(r"\d{4}-?\d\d", word)]
    named += [f"{number}-01-01" for number in _numbers(code) if isinstance(number, int) and 1900 < number < 2200]
    for text in named:
        moment = pd.to_datetime(text, errors="coerce")
        if not pd.isna(moment):
            moment = moment.tz_localize(None).tz_localize(zone)
            yield from (moment, moment + pd.Timedelta(days=1), moment - pd.Timedelta(days=1))
    first, last = present.iloc[0], present.max()
    yield first.normalize() + pd.Timedelta(hours=13, minutes=30, seconds=1)
    yield from (last + pd.Timedelta(days=400), present.min() - pd.Timedelta(days=4000))


# Spellings of keys


def spelled(table: Any, key: str, code: str, words: Sequence[str]) -> tuple[Any, Any] | None:
    """A table whose rows have a key in several spellings, and for each row the number of the spelling.

    The rows of the table itself are number 0, with those whose key is missing. None if the key has no spellings.
    """
    first = np.flatnonzero((~table[key].duplicated() & table[key].notna()).to_numpy())[:SPELLED]
    changes = _spellings(table[key].iloc[first], code, words) if len(first) else ()
    dtype = table[key].dtype
    is_category = isinstance(dtype, pd.CategoricalDtype)
    spellings = list[Any]()
    for change in changes:
        try:
            values = pd.Series([change(value) for value in table[key].iloc[first]])
            spellings.append(values.astype(object if is_category else dtype).astype(object))
        except (TypeError, ValueError, OverflowError):
            continue
    if not spellings:
        return None
    numbers = np.repeat(np.arange(len(spellings) + 1), [len(table), *[len(first)] * len(spellings)])
    rows = np.r_[np.arange(len(table)), np.tile(first, len(spellings))]
    together = _with_other_numbers(table.iloc[rows].reset_index(drop=True), numbers, key)
    together[key] = pd.concat([table[key].astype(object), *spellings], ignore_index=True).astype(
        "category" if is_category else dtype
    )
    empty = together[key].isna().to_numpy()
    return together, np.where(empty, 0, numbers)


def _with_other_numbers(table: Any, numbers: Any, key: str) -> Any:
    """The rows with other numbers, so that a mean of two groups is another one than that of each."""
    for place, dtype in enumerate(table.dtypes):
        column = table.iloc[:, place]
        if table.columns[place] == key or pd.api.types.is_extension_array_dtype(dtype):
            continue
        if dtype.kind == "f":
            table.isetitem(place, (column * (1 + 0.37 * numbers)).astype(dtype))
        elif dtype.kind in "iu":
            table.isetitem(place, (column + numbers * (column.max() - column.min() + 1)).astype(dtype))
    return table


def _spellings(column: Any, code: str, words: Sequence[str]) -> Iterator[Change]:
    first = column.iloc[0]
    if isinstance(first, str):
        yield from _SPELLINGS
        for word in words:
            yield from (partial(_always, word), partial(_before, word))
        yield from (partial(_always, word) for word in ("nan", "None", "<NA>", "unknown", ""))
    elif isinstance(first, pd.Timestamp):
        for step in ("1ms", "9h30min", "1D", "31D", "366D"):
            yield partial(operator.add, pd.Timedelta(step))
        yield pd.Timestamp.normalize
    elif isinstance(first, int | np.integer) and not isinstance(first, bool | np.bool_):
        yield operator.neg
        for step in dict.fromkeys([1, *(10**power for power in range(1, 7)), *_numbers(code)]):
            if isinstance(step, int):
                yield from (partial(operator.add, step), partial(operator.mul, step))
    yield partial(_always, None)


def _always(spelling: Any, _: Any) -> Any:
    return spelling


def _before(ending: str, text: str) -> str:
    return text + ending


_SPELLINGS: tuple[Change, ...] = (
    str.upper,
    str.lower,
    str.title,
    lambda text: f" {text}",
    lambda text: f"{text} ",
    lambda text: f"{text}\n",
    lambda text: f"0{text}",
    lambda text: f"00{text}",
    lambda text: f"{text}.0",
    lambda text: f"{text}.",
    lambda text: f"{text}-1",
    lambda text: f"{text}1",
    lambda text: f"{text}x",
    lambda text: f"x{text}",
    lambda text: f"zz{text}",
    lambda text: f"{text} (x)",
    lambda text: f"{text} 10:00",
    lambda text: f"{text[:1]}\u0301{text[1:]}",
    lambda text: f"{text[:1]}{text}",
    lambda text: re.sub(r"[\s_-]+", "", text),
    lambda text: re.sub(r"\s+", "-", text),
    lambda text: re.sub(r"\s+", "_", text),
    lambda text: re.sub(r"\s+", "  ", text),
    lambda text: f"{text[:1]} {text[1:]}",
    lambda text: f"{text[:1]}.{text[1:]}",
    lambda text: f"y{text[1:]}",
    lambda text: f"{text[:-1]}y",
)
