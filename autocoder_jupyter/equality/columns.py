"""Columns of tables: which of their values differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.leniency import ABSOLUTE, RELATIVE, Leniency
from autocoder_jupyter.equality.scalars import close, rounding

STEP = 10_000
"""Rows that are compared in one step. Between steps, other threads of the notebook can run."""


def differing(one: Any, other: Any, leniency: Leniency, equal: Callable[[Any, Any, Leniency], bool]) -> Any:
    """A mask: the rows in which two Series of the same length differ. Dtypes are not compared.

    Args:
        one: a column.
        other: another one.
        leniency: what is ignored.
        equal: whether two cells are equal.
    """
    mask = _mask(one, other, leniency, 0.0, equal)
    if leniency.rounding and is_numeric(one) and is_numeric(other) and mask.any():
        slack = rounding(*(_cells(column.iloc[:1000]) for column in (one, other)))
        return _mask(one, other, leniency, slack, equal) if slack else mask
    return mask


def _mask(one: Any, other: Any, leniency: Leniency, slack: float, equal: Any) -> Any:
    mask = np.zeros(len(one), dtype=bool)
    for start in range(0, len(one), STEP):
        rows = slice(start, start + STEP)
        mask[rows] = _differing(one.iloc[rows], other.iloc[rows], leniency, slack, equal)
    return mask


def _differing(one: Any, other: Any, leniency: Leniency, slack: float, equal: Any) -> Any:
    kinds = _kind(one), _kind(other)
    if kinds in (("i", "i"), ("u", "u")):
        dtype = "int64" if kinds[0] == "i" else "uint64"
        left, right = (np.asarray(column.to_numpy(dtype=dtype, na_value=0)) for column in (one, other))
        missing = one.isna().to_numpy(), other.isna().to_numpy()
        return (left != right) | (missing[0] != missing[1])
    if "f" in kinds and set(kinds) <= {"i", "u", "f"}:
        left, right = (np.asarray(column.to_numpy(dtype="float64", na_value=np.nan)) for column in (one, other))
        return ~close(left, right, slack)
    if kinds in (("M", "M"), ("m", "m"), ("str", "str")) and one.dtype == other.dtype:
        both = pd.array(one.array == other.array, dtype="boolean").to_numpy(dtype=bool, na_value=False)
        return ~(both | (one.isna().to_numpy() & other.isna().to_numpy()))
    if kinds == ("O", "O") and is_geometry(one) and is_geometry(other):
        return _differing_geometry(np.asarray(one.array), np.asarray(other.array), leniency)
    pairs = zip(_cells(one), _cells(other), strict=True)
    return np.fromiter((not _same_text(a, b) and not equal(a, b, leniency) for a, b in pairs), bool, len(one))


def _differing_geometry(one: Any, other: Any, leniency: Leniency) -> Any:
    """As for numbers; for a lenient comparison also the order of points and parts is ignored."""
    import shapely

    if leniency.types:
        one, other = shapely.normalize(one), shapely.normalize(other)
    bounds = np.nan_to_num(np.abs(shapely.bounds(other)), posinf=0.0)
    near = shapely.equals_exact(one, other, np.maximum(RELATIVE * bounds.max(axis=1, initial=0.0), ABSOLUTE))
    return ~(near | (shapely.is_missing(one) & shapely.is_missing(other)))


def _same_text(one: Any, other: Any) -> bool:
    return type(one) is str and type(other) is str and one == other


def _kind(column: Any) -> str:
    return "str" if isinstance(column.dtype, pd.StringDtype) else str(getattr(column.dtype, "kind", "O"))


def is_plain(dtype: Any) -> bool:
    """Whether it is a dtype of numbers, truth values, moments, durations or texts."""
    return isinstance(dtype, pd.StringDtype) or getattr(dtype, "kind", "O") in "biufMm"


def _cells(column: Any) -> list[Any]:
    return list(column.astype(object))


def is_geometry(column: Any) -> bool:
    """Whether it is a column of GeoPandas."""
    return type(column.dtype).__name__ == "GeometryDtype"


def is_numeric(column: Any) -> bool:
    """Whether its dtype is one of numbers; truth values are none."""
    return _kind(column) in ("i", "u", "f", "c")
