"""The answers of a function: whether that for a whole table is the same as those for its pieces put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality import Leniency, compare
from autocoder_jupyter.equality.tables import flat, has_own_index
from autocoder_jupyter.untrusted.parsing import visible

_TYPES = Leniency(types=True)
"""A column of whole numbers in one piece may have fractions in another."""

_DIGITS = 9


def below(answers: Sequence[Any]) -> Any:
    """Tables one below the other. Row numbers are made new; an index of the function is kept."""
    filled = [answer for answer in answers if len(answer)] or list(answers[:1])
    if all(has_own_index(answer) for answer in filled):
        return pd.concat(filled)
    return pd.concat(filled, ignore_index=True)


def deviation(whole: Any, parts: Sequence[Any]) -> str:
    """How the columns of a part deviate from those of the whole, as a sentence; "" if none does.

    They must be the same, in the same order, also in a part without rows.
    """
    for part in parts:
        if isinstance(whole, pd.DataFrame) and list(part.columns) != list(whole.columns):
            own, others = set(map(str, whole.columns)), set(map(str, part.columns))
            if own == others:
                return "the columns come in another order"
            missing = sorted(own - others) or sorted(others - own)
            return f"{'no' if own - others else 'a new'} column {visible(missing[0])[:60]} in a piece"
        if len(part) and len(whole) and has_own_index(part) != has_own_index(whole):
            return "a piece has another index"
    return ""


def difference(whole: Any, together: Any, *, in_order: bool) -> str:
    """How two answers differ, as a few words without values; "" if they are the same.

    Args:
        whole: the answer for a whole table.
        together: that of its pieces.
        in_order: whether the rows must have the same order.
    """
    if len(whole) != len(together):
        return f"{_rows(len(whole))}, {len(together):,} in pieces"
    if not in_order and not whole.equals(together):
        whole, together = _sorted(whole), _sorted(together)
    found = compare(whole, together, _TYPES)
    if found.verdict == "equal":
        return ""
    if not found.differences:
        return "values that cannot be compared"
    first = found.differences[0]
    where = f"{first.path[0].name}: " if first.path else ""
    wrong = first.count if first.what == "cells" else 0
    what = f"{wrong:,} other {'value' if wrong == 1 else 'values'} in pieces" if wrong else "another result in pieces"
    return visible(f"{where}{what}")[:200]


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _sorted(table: Any) -> Any:
    """A flat table whose rows have an order that depends only on their values."""
    frame = flat(table, "values")
    keys = [_sort_key(frame.iloc[:, place]) for place in range(frame.shape[1])]
    exact = [key for key, is_measured in keys if not is_measured]
    measured = [key for key, is_measured in keys if is_measured]
    if not keys:
        return frame
    return frame.iloc[np.lexsort([*reversed(measured), *reversed(exact)])].reset_index(drop=True)


def _sort_key(column: Any) -> tuple[Any, bool]:
    """Numbers by which a column is sorted, and whether it is measured. Measured numbers are rounded: sums in another
    order differ in the last digits.
    """
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        values = column.to_numpy(dtype="float64", na_value=np.nan)
        with np.errstate(all="ignore"):
            size = np.where((values == 0) | ~np.isfinite(values), 1.0, 10.0 ** np.floor(np.log10(np.abs(values))))
            return np.round(values / size, _DIGITS - 1) * size, True
    if kind in "iu" and not column.isna().any():
        return column.to_numpy(), False
    if isinstance(column.dtype, pd.StringDtype):
        texts = column.to_numpy(dtype=object, na_value=str(column.dtype.na_value))
    else:
        texts = np.array([_text(value) for value in column], dtype=object)
    return pd.factorize(texts, sort=True)[0], False


def _text(value: Any) -> str:
    if isinstance(value, float) and value == value and value == int(value):
        return str(int(value))
    return str(value)
