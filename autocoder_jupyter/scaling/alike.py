"""Whether tables may be put together: they have the same columns, and the values of each are of one kind in all.

Otherwise pandas makes a column of objects, fills a column with missing values, or rounds, without an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.data.drift import family
from autocoder_jupyter.engine.evidence.split_inputs import deviation
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.untrusted.parsing import visible

_NUMBER = "number"

_OF_OBJECTS = {
    "boolean": "bool",
    "floating": _NUMBER,
    "integer": _NUMBER,
    "mixed-integer-float": _NUMBER,
    "string": "text",
}
"""Kinds of values in a column of objects, by the word of pandas. Others have that word."""


@dataclass
class _SeenColumn:
    """What is known of a column of all tables so far.

    Args:
        kind: of its values; "" if there were none.
        dtype: of the first table with values, for messages.
        where: the name of that table.
        joined: the dtype of its numbers put together; None if there were none.
        exact: the name of a table with whole numbers that a float rounds; "" if there is none.
    """

    kind: str = ""
    dtype: str = ""
    where: str = ""
    joined: np.dtype[Any] | None = None
    exact: str = ""

    def deviation(self, values: pd.Series[Any], name: str) -> str:
        """How further values deviate, as a few words; "" if they do not."""
        numbers = _numbers(values)
        if numbers is not None:
            self.joined = numbers if self.joined is None else np.result_type(self.joined, numbers)
            if not self.exact and numbers.kind in "iu" and rounds(values):
                self.exact = name
        kind = _kind(values)
        if kind and self.kind and kind != self.kind:
            return f"is {_dtype(values, kind)}, and {self.dtype} in {self.where}"
        if self.exact and self.joined is not None and self.joined.kind == "f":
            return f"would be {self.joined}, which rounds the whole numbers of {self.exact}"
        if kind and not self.kind:
            self.kind, self.dtype, self.where = kind, _dtype(values, kind), name
        return ""


class Alike:
    """Compares tables with those before them. Of each only a row is kept.

    Columns without values are of any kind, and so is a table without rows. Whole numbers beside fractions become
    floats, if these have all of their digits.
    """

    def __init__(self) -> None:
        self._first: pd.DataFrame | None = None
        self._columns: dict[int, _SeenColumn] = {}

    def deviation(self, table: pd.DataFrame, name: str) -> str:
        """How a table deviates from those before it, as a few words without values; "" if it does not.

        Args:
            table: the table.
            name: what it is, for messages about later ones.
        """
        first = self._first
        if first is not None and (said := deviation(first, [table])):
            return said.removesuffix(" in a piece")
        if first is None or (len(table) and not len(first)):
            self._first = table.head(1).copy()
        elif len(table) and has_own_index(table) and table.index.names != first.index.names:
            return f"its index is {_named(table.index)} and not {_named(first.index)}"
        if not len(table):
            return ""
        for place, (label, values) in enumerate(_columns(table)):
            if said := self._columns.setdefault(place, _SeenColumn()).deviation(values, name):
                return f"{visible(label)[:60]!r} {said}"
        return ""


def rounds(values: pd.Series[Any]) -> bool:
    """Whether whole numbers have digits that a float does not have."""
    present = values.dropna()
    if pd.api.types.is_object_dtype(present.dtype):
        return any(abs(value) > 2**1023 or int(float(value)) != value for value in present)
    exact = present.to_numpy(dtype=_numbers(present))
    if exact.dtype.itemsize < 8:
        return False
    with np.errstate(invalid="ignore"):
        floats = exact.astype("float64")
        return bool(((floats >= float(np.iinfo(exact.dtype).max)) | (floats.astype(exact.dtype) != exact)).any())


def _columns(table: pd.DataFrame) -> Iterator[tuple[str, pd.Series[Any]]]:
    """An index that says something, and the columns, each with its name."""
    if has_own_index(table):
        for level, name in enumerate(table.index.names):
            yield str(name), table.index.get_level_values(level).to_series()
    for place, label in enumerate(table.columns):
        yield str(label), table.iloc[:, place]


def _kind(values: pd.Series[Any]) -> str:
    """The kind of values: a family of dtypes, and of moments also the zone; "" if all are missing."""
    if values.isna().all():
        return ""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind(dtype.categories.to_series())
    if pd.api.types.is_object_dtype(dtype):
        word = pd.api.types.infer_dtype(values, skipna=True)
        return _OF_OBJECTS.get(word, word)
    found = family(str(dtype))
    if found == "time with zone":
        return f"time in {values.dt.tz}"
    return _NUMBER if found in ("int", "float") else found.partition("(")[0]


def _dtype(values: pd.Series[Any], kind: str) -> str:
    return f"object ({kind})" if pd.api.types.is_object_dtype(values.dtype) else visible(str(values.dtype))[:60]


def _numbers(values: pd.Series[Any]) -> np.dtype[Any] | None:
    """The dtype of numbers in numpy; None for other values."""
    dtype: Any = values.dtype
    if pd.api.types.is_object_dtype(dtype):
        word = pd.api.types.infer_dtype(values, skipna=True)
        return np.dtype("int64") if word == "integer" else np.dtype("float64") if "float" in word else None
    if family(str(dtype)) not in ("int", "float"):
        return None
    found: np.dtype[Any] = np.dtype(getattr(dtype, "subtype", getattr(dtype, "numpy_dtype", dtype)))
    return found


def _named(index: pd.Index) -> str:
    return visible(", ".join("unnamed" if name is None else str(name) for name in index.names))[:60]
