"""Outputs on the sample that are empty, all missing or constant where the sample is not.

All tests and both solutions can agree on such an output, if the request says something of the data that is not so, such
as another format of dates. So a person is told before the result counts as good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.equality.scalars import is_missing, is_single

MOST = 5
"""The maximum number of remarks."""

_FEW = 5
"""Rows from which on a column with a single value is remarkable."""


def remarks(values: Mapping[str, Any], samples: Mapping[str, Any], declared: Collection[str] | None) -> tuple[str, ...]:
    """One sentence for each output or column that says nothing.

    Args:
        values: the outputs on the sample, by name.
        samples: the inputs, by name.
        declared: the names of columns that may be told; None for all.
    """
    rows = max((len(value) for value in samples.values() if isinstance(value, pd.DataFrame | pd.Series)), default=0)
    if not rows:
        return ()
    beside = f"on {rows:,} row{'' if rows == 1 else 's'} of data"
    found = (remark for name, value in values.items() for remark in _of(name, value, samples, declared))
    return tuple(f"{remark} {beside}" for remark, _ in zip(found, range(MOST), strict=False))


def _of(name: str, value: Any, samples: Mapping[str, Any], declared: Collection[str] | None) -> Iterator[str]:
    if isinstance(value, pd.DataFrame | pd.Series):
        yield from _of_table(name, value, samples, declared)
    elif isinstance(value, Mapping | list):
        parts = list(value.values()) if isinstance(value, Mapping) else value
        if not parts:
            yield f"{name} is empty"
        elif all(is_single(part) and is_missing(part) for part in parts):
            yield f"all values of {name} are missing"
    elif is_single(value) and is_missing(value):
        yield f"{name} is missing"


def _of_table(name: str, table: Any, samples: Mapping[str, Any], declared: Collection[str] | None) -> Iterator[str]:
    if not len(table):
        yield f"{name} is empty"
        return
    columns = [(None, table)] if isinstance(table, pd.Series) else list(table.items())
    for label, column in columns:
        told = declared is None or str(label) in declared
        where = name if label is None else f"{name}.{label}" if told else f"a column of {name}"
        if column.isna().all():
            yield f"all values of {where} are missing"
        elif _is_constant(column) and (_is_zero(column) or _varies(label, samples)):
            yield f"all values of {where} are the same"


def _is_constant(column: Any) -> bool:
    if len(column) < _FEW or column.isna().any():
        return False
    try:
        return bool((column == column.iloc[0]).all())
    except (TypeError, ValueError):
        return False  # nested values


def _is_zero(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and not column.iloc[0]


def _varies(label: Any, samples: Mapping[str, Any]) -> bool:
    """Whether an input has a column of this name with several values."""
    for sample in samples.values():
        if label is not None and isinstance(sample, pd.DataFrame) and label in sample.columns:
            column = sample[label]
            if isinstance(column, pd.Series) and len(column) and not _is_constant(column):
                return True
    return False
