"""Encode columns of Python objects. Text, bytes, dates and vectors become Arrow, lists, dicts and mixed values the
arrays of `nested`. Few cells, and those that do not fit there, become tagged JSON.

A missing cell is None, NaN, NA or NaT. Programs distinguish these four values, so each comes back as it was.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .bounded_json import parse
from .ipc import ArrowReader, ArrowWriter
from .nested import read_nested, write_nested
from .plain import Corrupt, dumps, from_json, plain_dtype, to_json

_MARKERS = (None, float("nan"), pd.NA, pd.NaT)
_MARKER_TYPES = tuple(type(marker) for marker in _MARKERS)
_ARROW: dict[Any, Any] = {str: pa.large_string(), bytes: pa.large_binary(), dt.date: pa.date32()}
_FIRST_DAY, _LAST_DAY = np.datetime64(dt.date.min), np.datetime64(dt.date.max)
_NAMES = {str: "text", bytes: "bytes", dt.date: "dates"}


def write_objects(values: Any, out: ArrowWriter, path: str) -> dict[str, Any]:
    """Add an object array to `out` and return its note. Arguments and errors are those of `columns.write_column`."""
    kinds: set[Any] = set(map(type, values))
    content = kinds.difference(_MARKER_TYPES)
    if float in kinds and not all(cell != cell for cell in values if type(cell) is float):
        content.add(float)
    if len(content) <= 1 and content <= _ARROW.keys():
        note = _write_uniform(values, content.pop() if content else str, out, path)
        if note is not None:
            return note
    if kinds == {np.ndarray} and _are_vectors(values):
        return _write_vectors(values, out, path)
    if out.may_nest and (note := write_nested(values, kinds, out, path)) is not None:
        out.has_nested = True
        return note
    cells = [dumps(to_json(cell, path)) for cell in values]
    return {"kind": "cells", "at": out.add(pa.array(cells, type=pa.large_string()), path)}


def _write_uniform(values: Any, kind: Any, out: ArrowWriter, path: str) -> dict[str, Any] | None:
    """Write cells that are missing or of one type that Arrow has. Returns None if Arrow cannot convert a cell."""
    try:
        array = pa.array(values, type=_ARROW[kind], from_pandas=True)
    except (UnicodeError, pa.ArrowInvalid):  # lone surrogates
        return None
    note: dict[str, Any] = {"kind": _NAMES[kind], "at": out.add(array, path)}
    if array.null_count:
        holes = values[array.is_null().to_numpy(zero_copy_only=False)]
        markers = np.fromiter((_MARKER_TYPES.index(type(hole)) for hole in holes), dtype="int8", count=len(holes))
        note["missing"] = int(markers[0]) if (markers == markers[0]).all() else out.add(markers, path)
    return note


def _are_vectors(values: Any) -> bool:
    first = values[0].dtype
    return first.kind in "iuf" and first.isnative and all(cell.ndim == 1 and cell.dtype == first for cell in values)


def _write_vectors(values: Any, out: ArrowWriter, path: str) -> dict[str, Any]:
    ends = np.cumsum([cell.size for cell in values], dtype="int64")
    return {
        "kind": "vectors",
        "dtype": values[0].dtype.str,
        "at": out.add(ends, path),
        "items": out.add(np.concatenate(values), path),
    }


def _read_uniform(note: Mapping[str, Any], source: ArrowReader) -> Any:
    array = source.take(note["at"])
    wanted = next(kind for kind, name in _NAMES.items() if name == note["kind"])
    if array.type != _ARROW[wanted]:
        raise Corrupt(f"{array.type} where {note['kind']} belong")
    if wanted is dt.date:
        days = array.to_numpy(zero_copy_only=False)
        if (days > _LAST_DAY).any() or (days < _FIRST_DAY).any():
            raise Corrupt("a date beyond the years 1 to 9999")
        cells = days.astype(object)
    else:
        cells = array.to_numpy(zero_copy_only=False)
    if not array.null_count:
        return cells
    holes = array.is_null().to_numpy(zero_copy_only=False)
    missing = note["missing"]
    if isinstance(missing, int):
        cells[holes] = _MARKERS[missing]
        return cells
    markers = source.numpy(missing, "int8")
    if len(markers) != array.null_count or not set(markers.tolist()) <= set(range(len(_MARKERS))):
        raise Corrupt("missing markers that do not fit")
    for place, marker in zip(np.flatnonzero(holes).tolist(), markers.tolist(), strict=True):
        cells[place] = _MARKERS[marker]
    return cells


def _read_vectors(note: Mapping[str, Any], source: ArrowReader) -> Any:
    dtype = plain_dtype(note["dtype"])
    ends = source.numpy(note["at"], "int64")
    items = source.numpy(note["items"], dtype.str)
    if len(ends) and (ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] != len(items)):
        raise Corrupt("vectors that do not fit their column")
    cells = np.empty(len(ends), dtype=object)
    start = 0
    for place, end in enumerate(ends.tolist()):
        cells[place] = items[start:end]
        start = end
    return cells


def _read_cells(note: Mapping[str, Any], source: ArrowReader) -> Any:
    array = source.take(note["at"])
    if array.type != pa.large_string() or array.null_count:
        raise Corrupt(f"{array.type} where cells belong")
    cells = np.empty(len(array), dtype=object)
    for place, text in enumerate(array.to_numpy(zero_copy_only=False)):
        cells[place] = from_json(parse(text.encode("ascii"), source.allowance))
    return cells


READERS: dict[str, Callable[[Mapping[str, Any], ArrowReader], Any]] = {
    "text": _read_uniform,
    "bytes": _read_uniform,
    "dates": _read_uniform,
    "vectors": _read_vectors,
    "cells": _read_cells,
    "nested": read_nested,
}
