"""Record the categories of columns with their order, and give other tables the recorded ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types as pdt

from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.untrusted.visible import hides, visible

# Records
#
# `{"ordered": bool, "of": dtype of the categories, "values": [...]}`. Texts, numbers and truth values are recorded as
# they are, times and durations in ISO format, intervals as pairs. `values` is None where they may not be written down,
# or have another type.

MOST_CATEGORIES = 1_000
_LONGEST = 200
_NAMED = 5
_INTERVAL = re.compile(r"interval\[(.+), (right|left|both|neither)\]")
_OF = re.compile(
    r"bool|object|str|string|(u?int|float)\d{1,2}|U?Int\d{1,2}|Float\d{2}|(datetime64|timedelta64)\[[^\]]+\]"
)


class Misfit(ValueError):
    """A column cannot have the recorded categories. The message completes "the column …"."""


def category_record(dtype: pd.CategoricalDtype, *, with_values: bool = True) -> dict[str, Any]:
    """The record of the categories of a column."""
    categories = dtype.categories
    of = str(categories.dtype)
    kept = _plain_values(categories, of) if with_values and len(categories) <= MOST_CATEGORIES else None
    return {"ordered": bool(dtype.ordered), "of": of if kept is not None else "", "values": kept}


def _plain_values(categories: pd.Index[Any], of: str) -> list[Any] | None:
    """The categories as JSON; None if one has another type, may be private, or hides something."""
    if isinstance(categories, pd.IntervalIndex):
        sides = [_plain_values(side, str(side.dtype)) for side in (categories.left, categories.right)]
        return None if None in sides else [list(pair) for pair in zip(*sides, strict=True)]
    if not _OF.fullmatch(of):
        return None
    if isinstance(categories, pd.DatetimeIndex | pd.TimedeltaIndex):
        return [moment.isoformat() for moment in categories]
    values = [value.item() if isinstance(value, np.generic) else value for value in categories]
    if not all(isinstance(value, bool | int | float | str) and value == value for value in values):
        return None
    texts = [value for value in values if isinstance(value, str)]
    if any(len(text) > _LONGEST or hides(text) or Masker().mask(text) != text for text in texts):
        return None
    return values


def recorded_dtype(record: Mapping[str, Any]) -> pd.CategoricalDtype | None:
    """The dtype of a record; None if the categories are not recorded, or not valid: a record is not trusted."""
    values, of, known = record.get("values"), record.get("of"), record.get("dtype")
    if isinstance(known, pd.CategoricalDtype):  # of a sample at hand, in no file
        return known
    if not isinstance(values, list) or not isinstance(of, str) or len(values) > MOST_CATEGORIES:
        return None
    try:
        return pd.CategoricalDtype(_index(values, of), ordered=record.get("ordered") is True)
    except (ValueError, TypeError, OverflowError):
        return None


def _index(values: list[Any], of: str) -> pd.Index[Any]:
    if (found := _INTERVAL.fullmatch(of)) is not None:
        left, right = (_index([pair[side] for pair in values], found[1]) for side in (0, 1))
        closed: Any = found[2]
        intervals: pd.Index[Any] = pd.IntervalIndex.from_arrays(left, right, closed=closed)
        return intervals
    if not _OF.fullmatch(of) or not all(isinstance(value, bool | int | float | str) for value in values):
        raise ValueError(of)
    if of.startswith("datetime64"):
        zone = of.partition(",")[2].strip(" ]")
        moments = pd.to_datetime(pd.Series(values, dtype=object), format="ISO8601", utc=bool(zone))
        times: pd.Index[Any] = pd.Index(moments.astype(pdt.pandas_dtype(of)))
        return times
    if of.startswith("timedelta64"):
        spans: pd.Index[Any] = pd.Index(pd.to_timedelta(pd.Series(values, dtype=object)).astype(pdt.pandas_dtype(of)))
        return spans
    made: pd.Index[Any] = pd.Index(values, dtype=pdt.pandas_dtype(of))
    return made


def common_record(records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The record of a further column like those with these records: the same order, or else all of their categories."""
    if all(record == records[0] for record in records):
        return records[0]
    known = [dtype for record in records if (dtype := recorded_dtype(record)) is not None]
    ordered = any(record.get("ordered") is True for record in records) or any(dtype.ordered for dtype in known)
    if ordered or len(known) < len(records):
        return {"ordered": ordered, "of": "", "values": None}
    merged = known[0].categories.append([dtype.categories for dtype in known[1:]]).unique()
    is_sorted = all(_is_sorted(dtype.categories) for dtype in known)
    return {"dtype": pd.CategoricalDtype(_sorted(merged) if is_sorted else merged)}


def has_texts(record: Mapping[str, Any]) -> bool:
    """Whether the categories are texts, so that a file is to be read as text. It is assumed if they are not known."""
    values = record.get("values")
    return not isinstance(values, list) or (all(isinstance(value, str) for value in values) and not _is_time(record))


def _is_time(record: Mapping[str, Any]) -> bool:
    return str(record.get("of", "")).startswith(("datetime64", "timedelta64", "interval"))


# Columns with the recorded categories


def with_categories(column: pd.Series[Any], record: Mapping[str, Any]) -> pd.Series[Any]:
    """The column as a category with the recorded categories and order; no value changes.

    An unordered category gets values that were not recorded as further categories.

    Raises:
        Misfit: another order, or a value that has no place in the order.
    """
    like = recorded_dtype(record)
    own = column.dtype if isinstance(column.dtype, pd.CategoricalDtype) else None
    if like is None:
        if record.get("ordered") is True and (own is None or not own.ordered):
            raise Misfit("is no ordered category, and the recorded order is not known")
        return column
    if own is not None and own.ordered == like.ordered and own.categories.equals(like.categories):
        return column
    codes, names = _codes(column)
    names = _of_kind(names, like.categories)
    places = like.categories.get_indexer(names) if len(names) else np.array([], dtype=np.int64)
    new = names[places < 0]
    known = places[places >= 0]
    if own is not None and own.ordered:
        if (np.diff(known) < 0).any():
            now = words_of_order(own.categories, ordered=True)
            raise Misfit(
                f"has the order {now} instead of {words_of_order(like.categories, ordered=bool(like.ordered))}"
            )
        if like.ordered and len(new) and len(known) == len(like.categories):
            return column  # it says where the new ones belong
    if like.ordered and len(new):
        raise Misfit(f"has {_named(new)}, which {'is' if len(new) == 1 else 'are'} not in the recorded order")
    categories = like.categories
    if len(new):
        new = new if own is not None else _sorted(new)
        merged = categories.append(pd.Index(new))
        categories = _sorted(merged) if _is_sorted(categories) else merged
    table = np.append(categories.get_indexer(names), -1)  # the last is that of a missing value
    made = pd.Categorical.from_codes(table[codes], dtype=pd.CategoricalDtype(categories, ordered=like.ordered))
    return pd.Series(made, index=column.index, name=column.name)


def _codes(column: pd.Series[Any]) -> tuple[Any, pd.Index[Any]]:
    """For each row the position of its value among the different ones, -1 if it is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories
    try:
        codes, names = pd.factorize(column)
    except TypeError:
        raise Misfit("has values that cannot be categories") from None
    return codes, pd.Index(names)


def _of_kind(names: pd.Index[Any], categories: pd.Index[Any]) -> pd.Index[Any]:
    """The values, where they are texts for categories that are not: a text file has nothing else."""
    if not all(isinstance(name, str) for name in names) or all(isinstance(category, str) for category in categories):
        return names
    if isinstance(categories, pd.DatetimeIndex):
        try:
            moments = pd.to_datetime(names, format="ISO8601", utc=categories.tz is not None)
        except ValueError:
            return names
        zoned: pd.Index[Any] = moments.tz_convert(categories.tz) if categories.tz is not None else moments
        return zoned
    by_text = {str(category): category for category in categories}
    found: pd.Index[Any] = pd.Index([by_text.get(name, name) for name in names])
    return pd.Index(found, dtype=categories.dtype) if all(name in by_text for name in names) else found


def _is_sorted(categories: pd.Index[Any]) -> bool:
    try:
        return bool(categories.is_monotonic_increasing)
    except TypeError:
        return False


def _sorted(values: pd.Index[Any]) -> pd.Index[Any]:
    try:
        return values.sort_values()
    except TypeError:
        return values


def words_of_order(categories: pd.Index[Any], *, ordered: bool) -> str:
    """`'S' < 'M' < 'L'`; without an order `'S', 'M', 'L', which have no order`."""
    more = len(categories) > _NAMED
    shown = (" < " if ordered else ", ").join([*map(_word, categories[:_NAMED]), *(["…"] if more else [])])
    return shown if ordered else f"{shown}, which have no order"


def _named(values: pd.Index[Any]) -> str:
    more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return ", ".join(map(_word, values[:_NAMED])) + more


def _word(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return visible(Masker().mask(text))[:60]


def source_of_dtype(dtype: pd.CategoricalDtype) -> str:
    """An expression for the dtype, with pandas imported as `pandas`; "" if there is none."""
    record = category_record(dtype)
    values, of = record["values"], record["of"]
    if values is None:
        return ""
    if (found := _INTERVAL.fullmatch(of)) is not None:
        left, right = (_index_source([pair[side] for pair in values], found[1]) for side in (0, 1))
        index = f"pandas.IntervalIndex.from_arrays({left}, {right}, closed={found[2]!r})"
    else:
        index = _index_source(values, of)
    return f"pandas.CategoricalDtype({index}, ordered={bool(dtype.ordered)})"


def _index_source(values: list[Any], of: str) -> str:
    listed = f"[{', '.join(visible(repr(value)) for value in values)}]"
    if of.startswith("datetime64"):
        zone = ", utc=True" if "," in of else ""
        return f'pandas.to_datetime({listed}, format="ISO8601"{zone}).astype({of!r})'
    if of.startswith("timedelta64"):
        return f"pandas.to_timedelta({listed}).astype({of!r})"
    return f"pandas.Index({listed}, dtype={of!r})"
