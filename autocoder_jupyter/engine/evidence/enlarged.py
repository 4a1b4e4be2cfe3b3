"""Tables with many more rows than a sample: copies of its rows, some of them with new values."""

from __future__ import annotations

import string
from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.evidence.table_rows import as_frame, like_table, taken, width

SEED = 20240229


def enlarged(
    table: Any,
    rows: int,
    renewed: Collection[int] | None = None,
    *,
    is_similar: bool = False,
    has_other_words: bool = False,
) -> Any:
    """A table with this many rows: copies of its rows, all of them in turn.

    Texts of a copy get an ending, or, with `has_other_words`, other letters: a part of them is then another one too.
    """
    count = len(table)
    places = range(width(table)) if renewed is None else renewed
    positions = np.arange(rows) % count
    frame = as_frame(taken(table, np.sort(positions) if is_similar else positions))
    random = np.random.default_rng(SEED)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if is_similar:
            if column.dtype.kind == "f":
                frame.isetitem(place, (column * random.uniform(0.5, 1.5, rows)).astype(column.dtype))
        elif place in places and not (renewed and isinstance(column.dtype, pd.CategoricalDtype)):
            new = renewed_column(column, np.arange(rows) // count, has_other_words)
            if new is not None:
                frame.isetitem(place, new)
    return like_table(table, frame)


def renewed_column(column: Any, copies: Any, has_other_words: bool = False) -> Any:
    """The column with other values in each copy; None if its values cannot be others.

    Times of a copy are after all before it, or before them if the rows are sorted from late to early.
    """
    dtype = column.dtype
    try:
        if isinstance(dtype, pd.CategoricalDtype) and _is_text(column.astype(object)):
            return renewed_column(column.astype(object), copies, has_other_words).astype("category")
        if _is_text(column):
            texts = column.astype(object)
            later = (copies > 0) & column.notna().to_numpy()
            if bool(column.dropna().str.fullmatch("[0-9]{1,15}").all()):  # a number with another ending is none
                numbers = column[later].astype("int64")
                texts[later] = _with_digits(
                    numbers + (1 + column.dropna().astype("int64").max()) * copies[later], column
                )
                return texts.astype(dtype)
            new = _in_other_letters if has_other_words else "{}-{}".format
            texts[later] = [new(text, copy) for text, copy in zip(texts[later], copies[later], strict=True)]
            return texts.astype(dtype)
        if dtype.kind in "iuf":
            span = column.max() - column.min() + 1
            return (column + span * copies).astype(dtype) if bool(np.isfinite(float(span))) else None
        if dtype.kind == "M":
            first = column[copies == 0]
            span = (column.max() - column.min()).ceil("D") + pd.Timedelta(days=1)
            most = max(1, int(pd.Timedelta(days=36500) / span))
            sign = -1 if first.is_monotonic_decreasing and not first.is_monotonic_increasing else 1
            return (column + sign * span * (copies % most)).astype(dtype)
    except (TypeError, ValueError, OverflowError):  # a small dtype, or values without order
        return None
    return None


def _with_digits(numbers: Any, column: Any) -> Any:
    """Numbers as texts, with zeros in front if all texts of the column have the same length."""
    lengths = column.dropna().str.len()
    width = int(lengths.iloc[0]) if len(lengths) and lengths.nunique() == 1 else 1
    return numbers.astype("str").str.zfill(width).to_numpy(dtype=object)


def _in_other_letters(text: str, copy: int) -> str:
    """The text with letters that come later in the alphabet."""
    return text.translate(_other_letters(int(copy) % 25 + 1))


@cache
def _other_letters(step: int) -> dict[int, str]:
    alphabets = (string.ascii_lowercase, string.ascii_uppercase)
    return {ord(old): letters[(place + step) % 26] for letters in alphabets for place, old in enumerate(letters)}


def _is_text(column: Any) -> bool:
    if isinstance(column.dtype, pd.StringDtype):
        return True
    return pd.api.types.is_object_dtype(column.dtype) and all(isinstance(v, str | None) for v in column)
