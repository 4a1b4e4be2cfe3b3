"""Check that the return value of a function is what its interface declares. Nothing is converted."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd


class OutputMismatch(Exception):
    """The return value is not what the function declares. The text says how it differs."""


def by_name(value: Any, specs: list[dict[str, Any]]) -> dict[str, Any]:
    """The outputs of a function by name.

    The number of outputs, missing values (None) and declared columns are checked. The codec checks the types.

    Args:
        value: the return value: one output itself, or a tuple of several in declared order.
        specs: the declared outputs.

    Raises:
        OutputMismatch: a check failed.
    """
    names = [spec["name"] for spec in specs]
    if not specs:
        values: tuple[Any, ...] = ()
        if value is not None:
            raise OutputMismatch(f"no output is declared, but the function returned a {_kind(value)}")
    elif len(specs) == 1:
        values = (value,)
    elif not isinstance(value, tuple):
        raise OutputMismatch(f"declared are {len(specs)} outputs ({', '.join(names)}) as a tuple, got {_a(value)}")
    elif len(value) != len(specs):
        raise OutputMismatch(f"declared are {len(specs)} outputs ({', '.join(names)}), the tuple has {len(value)}")
    else:
        values = value
    for spec, one in zip(specs, values, strict=True):
        if one is None:
            raise OutputMismatch(f"{spec['name']!r} is declared {spec['type']} and came back as None")
        if spec["type"] == "DataFrame" and spec["columns"] and isinstance(one, pd.DataFrame):
            _check_columns(spec["name"], one, spec["columns"])
    return dict(zip(names, values, strict=True))


def _check_columns(name: str, frame: pd.DataFrame, declared: list[Mapping[str, str]]) -> None:
    wanted = {column["name"]: column["dtype"] for column in declared}
    present = [str(label) for label in frame.columns]
    missing = [column for column in wanted if column not in present]
    extra = [column for column in present if column not in wanted]
    faults = []
    if missing:
        index = [str(level) for level in frame.index.names if level is not None]
        note = "; the index has that name, reset it" if any(column in index for column in missing) else ""
        faults.append(f"missing columns {', '.join(map(repr, missing))}{note}")
    if extra:
        dtypes = [str(dtype) for label, dtype in zip(present, frame.dtypes, strict=True) if label not in wanted]
        count = f"({len(extra)} in all, of {', '.join(dict.fromkeys(dtypes[:20]))})"
        faults.append(f"columns that are not declared: {', '.join(map(repr, extra[:20]))} {count}")
    for label, dtype in zip(present, frame.dtypes, strict=True):
        if label in wanted and not fits(str(dtype), wanted[label], rows=len(frame)):
            faults.append(f"column {label!r} is declared {wanted[label]} and is {dtype}")
    if faults:
        raise OutputMismatch(f"{name!r}: {'; '.join(faults)}")


def fits(dtype: str, declared: str, *, rows: int) -> bool:
    """Whether the dtype of a column belongs to the declared kind.

    Width, unit and nullability may differ. Integers and floats, text and categories, and times with and without a zone
    are different kinds. In an empty frame `object` is accepted, because pandas cannot infer a dtype there.

    Args:
        dtype: of the column.
        declared: a dtype or the name of a kind, such as "text". An unknown name accepts every dtype.
        rows: number of rows of the frame.
    """
    if rows == 0 and dtype == "object":
        return True
    wanted = _family(declared)
    return wanted is None or _family(dtype) == wanted


_FAMILIES = (
    (r"u?int\d*|u?int\d*\[pyarrow\]|integer", "integer"),
    (r"float\d*|float\d*\[pyarrow\]|double(\[pyarrow\])?", "float"),
    (r"bool(ean)?(\[pyarrow\])?", "bool"),
    (r"object|str(ing)?(\[.*\])?|large_string(\[.*\])?|text", "text"),
    (r"datetime64(\[[a-z]+\])?|datetime|timestamp(\[[a-z]+\])?(\[pyarrow\])?", "datetime"),
    (r"datetime64\[[a-z]+, .*\]|datetimetz|timestamp\[[a-z]+, tz=.*\]\[pyarrow\]", "datetime with a time zone"),
    (r"timedelta64(\[[a-z]+\])?|timedelta|duration\[[a-z]+\](\[pyarrow\])?", "timedelta"),
    (r"category", "category"),
    (r"period(\[.*\])?", "period"),
    (r"interval(\[.*\])?", "interval"),
    (r"complex\d*", "complex"),
)


@functools.lru_cache(maxsize=1000)
def _family(dtype: str) -> str | None:
    """The kind of values of a dtype; None for an unknown name."""
    name = dtype.strip().lower()
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, name)), None)


def _kind(value: Any) -> str:
    return type(value).__name__


def _a(value: Any) -> str:
    return "None" if value is None else f"one {_kind(value)}"
