"""The values of a table in figures, recorded with a function, so that later tables can be compared with them.

The record is in the folder of the function, so it holds no more than `--share` allows: nothing of hidden columns, of
masked ones only how many values are missing, and of texts only frequent values. `value_drift` compares.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pandas.api import types as pdt
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from autocoder_jupyter.data.cells import cell_text
from autocoder_jupyter.data.drift import column_literal
from autocoder_jupyter.data.sample import sample_positions
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share

ROWS_RECORDED = 20_000
"""The most rows, spread over the table, from which a profile is made."""

LEAST_ROWS = 30
"""Of a table with fewer rows only their number is recorded, and a table with fewer rows is not compared."""

MOST_COLUMNS = 300
MOST_VALUES = 20
LEAST_REPEATS = 5
"""A column of texts has its values recorded if there are at most so many, and each occurs at least so often."""

_LONGEST_VALUE = 100
_PARTS = np.arange(1, 10) / 10

Kind = Literal["number", "time", "text", "other"]
_Share = Annotated[float, Field(ge=0, le=1)]
_Rows = Annotated[int, Field(ge=0, le=2**53)]
"""A record is not trusted, and a number that is no float would stop every call."""


class ColumnValues(BaseModel):
    """The values of one column in figures. All shares are between 0 and 1.

    Args:
        label: the column's name as in `drift.shape_of`.
        kind: what its values are.
        missing: the share of missing values.
        zeros: the share of zeros among the numbers; None for other kinds.
        unique: whether no value of whole numbers or texts repeats. Of such keys nothing else is recorded.
        low, high: the smallest and largest number, or time in seconds since 1970.
        edges: the deciles, each once.
        below: for each of them the share of values that are not above it.
        values: all texts, with their shares; empty if there are too many, or rare ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field(max_length=2_000)
    kind: Kind = "other"
    missing: _Share = 0.0
    zeros: _Share | None = None
    unique: bool = False
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    edges: tuple[FiniteFloat, ...] = Field(default=(), max_length=9)
    below: tuple[_Share, ...] = Field(default=(), max_length=9)
    values: tuple[tuple[Annotated[str, Field(max_length=_LONGEST_VALUE)], _Share], ...] = Field(
        default=(), max_length=MOST_VALUES
    )

    @model_validator(mode="after")
    def _check_kind(self) -> ColumnValues:
        if len(self.edges) != len(self.below) or (self.edges and self.kind not in ("number", "time")):
            raise ValueError("edges: they are for numbers and times, each with its share")
        if self.values and self.kind != "text":
            raise ValueError("values: they are for texts")
        return self


class TableValues(BaseModel):
    """The values of a table in figures.

    Args:
        rows: the number of rows.
        compared: the number of rows from which the figures are.
        columns: its columns; none if there are few rows, or no statistics may be recorded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: _Rows
    compared: _Rows = 0
    columns: tuple[ColumnValues, ...] = Field(default=(), max_length=MOST_COLUMNS)


def recorded_values(record: Any) -> TableValues | None:
    """A profile from a file that is not trusted; None if it is not valid."""
    try:
        return TableValues.model_validate(record)
    except ValidationError:
        return None


def value_profiles(samples: Mapping[str, Any], share: Share, withheld: WithheldColumns) -> dict[str, dict[str, Any]]:
    """The profiles of all DataFrames among the samples, as JSON, by name."""
    return {
        name: value_profile(value, share, withheld).model_dump(mode="json", exclude_defaults=True)
        for name, value in samples.items()
        if isinstance(value, pd.DataFrame)
    }


def value_profile(frame: pd.DataFrame, share: Share, withheld: WithheldColumns) -> TableValues:
    """The profile of a table.

    Args:
        frame: the table.
        share: how much of it may be recorded; with `schema` only the number of rows.
        withheld: columns of which nothing, or no value, may be recorded.
    """
    rows = len(frame)
    if share == "schema" or rows < LEAST_ROWS:
        return TableValues(rows=rows)
    take = spread_positions(rows, ROWS_RECORDED)
    found = []
    for place, label in enumerate(frame.columns[:MOST_COLUMNS]):
        if str(label) in withheld.hidden:
            continue
        seen = taken(frame.iloc[:, place], take)
        if seen is None:
            continue
        if str(label) in withheld.masked:
            found.append(ColumnValues(label=column_literal(label), missing=seen.missing_share))
        else:
            found.append(_column(column_literal(label), frame.iloc[:, place], seen))
    return TableValues(rows=rows, compared=len(take), columns=tuple(found))


@functools.lru_cache(maxsize=64)
def spread_positions(rows: int, most: int) -> np.ndarray[Any, Any]:
    """The positions of at most so many rows, spread over the table; the same for equal lengths."""
    return sample_positions(rows, most, first=0)


@dataclass(frozen=True)
class Taken:
    """Values of some rows of a column.

    Args:
        kind: what they are.
        rows: the number of rows.
        missing: how many of them are missing.
        present: finite numbers, times in seconds, or codes of texts.
        texts: the text of each code.
        may_be_key: whether they are whole numbers or texts.
    """

    kind: Kind
    rows: int
    missing: int
    present: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(0))
    texts: Sequence[Any] = ()
    may_be_key: bool = False

    @property
    def missing_share(self) -> float:
        """The share of missing values."""
        return self.missing / self.rows if self.rows else 0.0


def taken(column: pd.Series[Any], take: np.ndarray[Any, Any]) -> Taken | None:
    """The values of a column at some positions; None if they cannot be read."""
    try:
        return _taken(column, take)
    except Exception:
        # Extension arrays and foreign objects may raise anywhere. Such a column is not compared.
        return None


def _taken(column: pd.Series[Any], take: np.ndarray[Any, Any]) -> Taken:
    dtype, rows = column.dtype, len(take)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        values = column.to_numpy()[take].astype(np.float64)
        missing = int(np.isnan(values).sum()) if dtype.kind == "f" else 0
        return Taken("number", rows, missing, values[np.isfinite(values)], may_be_key=dtype.kind != "f")
    array = column.array.take(take)
    gaps = np.asarray(pd.isna(array))
    missing, array = int(gaps.sum()), array[~gaps] if gaps.any() else array
    if pdt.is_bool_dtype(dtype):
        return Taken("text", rows, missing, np.asarray(array, dtype=bool).astype(np.int64), (False, True))
    if pdt.is_numeric_dtype(dtype) and not pdt.is_complex_dtype(dtype):
        values = pd.Series(array).to_numpy(dtype=np.float64)
        return Taken("number", rows, missing, values[np.isfinite(values)], may_be_key=pdt.is_integer_dtype(dtype))
    if pdt.is_datetime64_any_dtype(dtype):
        times = pd.DatetimeIndex(array).as_unit("s").asi8
        return Taken("time", rows, missing, times.astype(np.float64))
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype) or pdt.is_object_dtype(dtype):
        codes, texts = pd.factorize(array)
        if all(isinstance(text, str) for text in texts):
            return Taken("text", rows, missing, codes, texts, may_be_key=True)
    return Taken("other", rows, missing)


def _column(label: str, column: pd.Series[Any], seen: Taken) -> ColumnValues:
    figures: dict[str, Any] = {"label": label, "kind": seen.kind, "missing": seen.missing_share}
    present = seen.present
    if seen.may_be_key and not seen.missing and len(np.unique(present)) == seen.rows:
        figures["unique"] = seen.rows == len(column) or bool(column.is_unique)
    if figures.get("unique"):
        return ColumnValues(**figures)  # the numbers of later orders are higher, which is no difference
    if seen.kind in ("number", "time") and len(present) >= LEAST_ROWS and not _is_private(present, seen.kind):
        edges, ordered = np.unique(np.quantile(present, _PARTS, method="higher")), np.sort(present)
        figures |= {
            "low": float(ordered[0]),
            "high": float(ordered[-1]),
            "edges": tuple(map(float, edges)),
            "below": tuple(float(part) for part in np.searchsorted(ordered, edges, side="right") / len(present)),
        }
        if seen.kind == "number":
            figures["zeros"] = float(np.mean(present == 0))
    elif seen.kind == "text" and len(present):
        figures["values"] = _frequent(seen)
    return ColumnValues(**figures)


def _is_private(present: np.ndarray[Any, Any], kind: Kind) -> bool:
    """Whether numbers may be those of cards or phones, which would be masked in a prompt."""
    if kind != "number":
        return False
    few = {cell_text(int(value)) if float(value).is_integer() else "" for value in (present.min(), present.max())}
    return any(Masker().mask(text) != text for text in few if text)


def _frequent(seen: Taken) -> tuple[tuple[str, float], ...]:
    """All texts with their shares, if there are few of them and none is rare or private."""
    counts = np.bincount(seen.present, minlength=len(seen.texts))
    counted = [(seen.texts[code], int(count)) for code, count in enumerate(counts) if count]
    if len(counted) > MOST_VALUES or any(count < LEAST_REPEATS for _, count in counted):
        return ()
    named = [(value_text(value), count / len(seen.present)) for value, count in counted]
    return tuple(sorted(named)) if all(Masker().mask(text) == text for text, _ in named) else ()


def value_text(value: Any) -> str:
    """A text as it is recorded."""
    text = value if isinstance(value, str) else str(value)
    return text[:_LONGEST_VALUE]
