"""Encode a DataFrame or a Series as a JSON header and Arrow bytes, and decode it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .arrays import read_array, write_array
from .encoded import Encoded
from .errors import Corrupt, TypeMismatch, Unencodable
from .geometry import is_geographic, note_of, with_class
from .indexes import read_index, write_index
from .ipc import ArrowReader, ArrowWriter
from .labels import require_unique
from .plain import from_json, to_json

MAX_COLUMNS = 100_000
_MANY_BLOCKS = 100  # with more blocks pandas warns of fragmentation


def write_frame(frame: Any) -> Encoded:
    """Encode a DataFrame.

    Raises:
        TypeMismatch: it is not a DataFrame.
        Unencodable: a part of it cannot cross, or it has more than 100 000 columns.
    """
    _require(frame, pd.DataFrame)
    if frame.shape[1] > MAX_COLUMNS:
        raise Unencodable("the DataFrame", f"has {frame.shape[1]} columns", f"{MAX_COLUMNS} can cross; reshape it")
    out = ArrowWriter()
    header = {
        "type": "DataFrame",
        "rows": len(frame),
        "index": write_index(frame.index, out, "the index"),
        "columns": write_index(frame.columns, out, "the column labels"),
        "values": [
            write_array(values, out, f"column {label!r}")
            for label, values in zip(frame.columns.tolist(), _arrays_of(frame), strict=True)
        ],
        **_extras(frame),
    }
    return _finish(header, out)


def write_series(series: Any) -> Encoded:
    """Encode a Series. It raises the same errors as `write_frame`."""
    _require(series, pd.Series)
    out = ArrowWriter()
    header = {
        "type": "Series",
        "rows": len(series),
        "index": write_index(series.index, out, "the index"),
        "name": to_json(series.name, "the name of the Series"),
        "values": [write_array(series.array, out, f"Series {series.name!r}" if series.name else "the Series")],
        **_extras(series),
    }
    return _finish(header, out)


def read_frame(header: Mapping[str, Any], payload: memoryview, *, trusted: bool, share: int = 1) -> Any:
    """The DataFrame that was written. Its numeric columns are writable views of `payload`: do not use it afterwards."""
    if len(header["values"]) > MAX_COLUMNS:
        raise Corrupt(f"{len(header['values'])} columns")
    index, source = _open(header, payload, trusted, share)
    labels = read_index(header["columns"], source)
    columns = {place: _column(note, source, index) for place, note in enumerate(header["values"])}
    if len(labels) != len(columns):
        raise Corrupt(f"{len(labels)} labels for {len(columns)} columns")
    frame = pd.DataFrame(columns, index=index, copy=len(columns) > _MANY_BLOCKS)
    frame.columns = labels
    return _with_extras(frame, header)


def read_series(header: Mapping[str, Any], payload: memoryview, *, trusted: bool, share: int = 1) -> Any:
    """The Series that was written. Numeric values are a writable view of `payload`: do not use it afterwards."""
    index, source = _open(header, payload, trusted, share)
    (note,) = header["values"]
    series = pd.Series(_column(note, source, index), index=index, copy=False)
    series.name = from_json(header["name"])
    return _with_extras(series, header)


def _arrays_of(frame: Any) -> Iterable[Any]:
    """The arrays of the columns. pandas' own iterator makes no Series of each, which takes as long as all the rest."""
    arrays = getattr(frame, "_iter_column_arrays", None)
    return arrays() if arrays is not None else (column.array for _, column in frame.items())


def _require(value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeMismatch(wanted.__name__, type(value).__name__)
    if type(value) is not wanted and not is_geographic(value):
        name = f"{type(value).__module__}.{type(value).__name__}"
        raise Unencodable(f"the {wanted.__name__}", f"is a {name}", f"convert it with pd.{wanted.__name__}(...)")


def _extras(value: Any) -> dict[str, Any]:
    extras = note_of(value)
    if value.attrs:
        extras["attrs"] = to_json(dict(value.attrs), "attrs")
    if not value.flags.allows_duplicate_labels:
        extras["unique_labels"] = True
    return extras


def _with_extras(value: Any, header: Mapping[str, Any]) -> Any:
    value = with_class(value, header)
    if "attrs" in header:
        value.attrs = from_json(header["attrs"])
    if header.get("unique_labels"):
        for labels in value.axes:
            require_unique(labels)
        value.flags._allows_duplicate_labels = False  # the public setter uses a hash table; see `require_unique`
    return value


def _finish(header: dict[str, Any], out: ArrowWriter) -> Encoded:
    streams, pieces = out.finish()
    size = sum(size for _, size in streams)
    return Encoded({**header, "size": size, "streams": streams}, pieces, tuple(out.arrays))


def _open(header: Mapping[str, Any], payload: memoryview, trusted: bool, share: int) -> tuple[Any, ArrowReader]:
    source = ArrowReader(header["streams"], payload, trusted=trusted, share=share)
    # The narrowest column, of type bool, takes one bit of the payload per row.
    index = read_index(header["index"], source, backed=8 * payload.nbytes)
    if len(index) != header["rows"]:
        raise Corrupt(f"an index of {len(index)} labels for {header['rows']} rows")
    return index, source


def _column(note: Mapping[str, Any], source: ArrowReader, index: Any) -> Any:
    values = read_array(note, source)
    if len(values) != len(index):
        raise Corrupt(f"{len(values)} values for {len(index)} rows")
    if values.dtype.kind == "O" and isinstance(values, np.ndarray):
        # Without an explicit dtype pandas 3 would turn an object column of texts into `str`.
        return pd.Series(values, index=index, dtype=object, copy=False)
    return values
