"""Encode one array of pandas or numpy as plain Arrow arrays and a JSON note of its dtype, and decode it.

Categorical arrays are in `arrays`. The note has what Arrow lacks: closed sides of intervals, frequencies, kinds of
storage, and which missing values were used. The note's `kind` selects the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from . import geometry, objects
from .ipc import ArrowReader, ArrowWriter
from .plain import Corrupt, Unencodable, frequency_name, from_json, plain_dtype, to_json, zone_from_json, zone_to_json

Note = dict[str, Any]

MAX_UNBACKED_ROWS = 2**31
"""Most rows that take no bytes, such as those of a range. The size of the payload does not limit them."""

_MASKED = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "boolean")
_UNITS = ("s", "ms", "us", "ns")


def write_column(values: Any, out: ArrowWriter, path: str) -> Note:
    """Add the parts of `values` to `out`, and return the note from which `read_column` rebuilds the array."""
    if isinstance(values, pd.arrays.NumpyExtensionArray) and not isinstance(values.dtype, pd.StringDtype):
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        return _write_numpy(values, out, path)
    dtype: Any = values.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return {**_write_ticks(values, "datetime", out, path), "zone": zone_to_json(dtype.tz, path)}
    if isinstance(dtype, pd.PeriodDtype):
        return {"kind": "period", "freq": _period_freq(dtype, path), "at": out.add(_native(values.asi8), path)}
    if isinstance(values, pd.arrays.DatetimeArray):
        return _write_ticks(values, "datetime", out, path)
    if isinstance(values, pd.arrays.TimedeltaArray):
        return _write_ticks(values, "timedelta", out, path)
    if isinstance(values, pd.arrays.IntervalArray):
        left, right = write_column(values.left.array, out, path), write_column(values.right.array, out, path)
        return {"kind": "interval", "closed": values.closed, "left": left, "right": right}
    if isinstance(dtype, pd.SparseDtype):
        return _write_sparse(values, out, path)
    if isinstance(dtype, pd.StringDtype):
        return _write_string(values, out, path)
    if isinstance(dtype, pd.ArrowDtype):
        return _write_arrow(values, out, path)
    if dtype.name in _MASKED and hasattr(values, "_mask"):
        # The public conversions copy, and some turn NaN into NA. These two private arrays are the stored values.
        array = pa.array(_native(values._data), mask=values._mask, from_pandas=False)
        return {"kind": "masked", "dtype": dtype.name, "at": out.add(array, path)}
    if geometry.is_geometry(dtype):
        return geometry.write_geometry(values, out, path)
    raise Unencodable(path, f"has the dtype {dtype}, which cannot cross", "convert it to a dtype of pandas itself")


def read_column(note: Mapping[str, Any], source: ArrowReader) -> Any:
    """Rebuild the array that was given to `write_column`: an ndarray for numpy dtypes, else an extension array."""
    reader = _READERS.get(note["kind"])
    if reader is None:
        raise Corrupt(f"unknown kind of column {note['kind']!r}")
    return reader(note, source)


def _write_numpy(values: Any, out: ArrowWriter, path: str) -> Note:
    dtype = values.dtype
    if dtype.kind == "O":
        return objects.write_objects(values, out, path)
    if dtype.kind in "mM":
        kind = "datetime" if dtype.kind == "M" else "timedelta"
        return {"kind": kind, "unit": _unit(dtype, path), "at": out.add(_native(values).view("i8"), path)}
    if is_number(dtype):
        return {"kind": "numpy", "dtype": dtype.str, "at": out.add(_native(values), path)}
    if dtype.kind != "c" or dtype.itemsize > 16:
        raise Unencodable(path, f"has the numpy dtype {dtype}, which cannot cross", "convert it to float64 or text")
    parts = pa.array(_native(values).view(f"f{dtype.itemsize // 2}"))
    return {"kind": "numpy", "dtype": dtype.str, "at": out.add(pa.FixedSizeListArray.from_arrays(parts, 2), path)}


def _read_numpy(note: Mapping[str, Any], source: ArrowReader) -> Any:
    dtype = plain_dtype(note["dtype"])
    if dtype.kind != "c":
        return read_numbers([note], source)[0]
    array = source.take(note["at"])
    part = f"f{dtype.itemsize // 2}"
    if array.type != pa.list_(pa.from_numpy_dtype(np.dtype(part)), 2) or array.null_count or array.values.null_count:
        raise Corrupt(f"{array.type} where {dtype} belongs")
    return source.view(array.flatten(), part).view(dtype.newbyteorder("=")).astype(dtype, copy=False)


def is_number(dtype: Any) -> bool:
    """Whether a numpy dtype is one of bools, integers or floats that `read_numbers` reads."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def write_numbers(values: Any, out: ArrowWriter) -> Note:
    """Add the rows of `values`, which are columns of bools, integers or floats, to `out`."""
    note: Note = {"kind": "numpy", "dtype": values.dtype.str, "at": out.add_rows(_native_rows(values))}
    if len(values) > 1:
        note["count"] = len(values)
    return note


def _native_rows(values: Any) -> Any:
    """`values` in the machine's byte order, or a list of its rows, each contiguous. Copied only if necessary."""
    if values.flags.c_contiguous and values.dtype.isnative:
        return values
    return [_native(row) for row in values]


def count_of(note: Mapping[str, Any]) -> int:
    """The number of columns of a note. Only columns of `read_numbers` have one note for several."""
    count = note.get("count", 1)
    if type(count) is not int or count < 1 or (count > 1 and not number_type(note)):
        raise Corrupt(f"{str(count)[:40]} columns in one note")
    return count


def note_of_each(note: Note) -> list[Note]:
    """The notes of the columns of a note, as if each had its own."""
    if "count" not in note:
        return [note]
    rows, place = note["at"]
    own = {key: value for key, value in note.items() if key != "count"}
    return [{**own, "at": [rows, place + number]} for number in range(note["count"])]


def number_type(note: Mapping[str, Any]) -> str:
    """The dtype of a column that `read_numbers` reads; "" for any other."""
    dtype = note["dtype"] if note["kind"] == "numpy" else ""
    return dtype if dtype and plain_dtype(dtype).kind in "biuf" else ""


def read_numbers(notes: Sequence[Mapping[str, Any]], source: ArrowReader) -> Any:
    """Columns of bools, integers or floats of one dtype that follow each other, as the rows of one array."""
    dtype = plain_dtype(notes[0]["dtype"])
    places = []
    for note in notes:
        rows, place = note["at"]
        places += [(rows, place + number) for number in range(count_of(note))]
    if dtype.kind == "b":
        bits = source.matrix(places, "u1")
        if (bits > 1).any():
            raise Corrupt("a bool that is neither true nor false")
        return bits.view(dtype)
    if dtype.kind not in "iuf":
        raise Corrupt(f"{dtype} is not a numeric dtype")
    return source.matrix(places, dtype.newbyteorder("=").str).astype(dtype, copy=False)


def _native(values: Any) -> Any:
    """`values` as a contiguous array in the machine's byte order. Copied only if necessary."""
    if values.flags.c_contiguous and values.dtype.isnative:
        return values
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _unit(dtype: Any, path: str) -> str:
    unit, count = np.datetime_data(dtype)
    if unit not in _UNITS or count != 1:
        raise Unencodable(path, f"has the numpy dtype {dtype}, which pandas does not hold", "use seconds or finer")
    return unit


def _write_ticks(values: Any, kind: str, out: ArrowWriter, path: str) -> Note:
    return {"kind": kind, "unit": values.unit, "at": out.add(_native(values.asi8), path)}


def _read_datetime(note: Mapping[str, Any], source: ArrowReader) -> Any:
    if note["unit"] not in _UNITS:
        raise Corrupt(f"{note['unit']!r} is not a unit of time")
    instants = source.numpy(note["at"], "int64").view(f"M8[{note['unit']}]")
    if "zone" not in note:
        return instants
    zone = zone_from_json(note["zone"])
    return pd.Series(instants, copy=False).dt.tz_localize("UTC").dt.tz_convert(zone).array


def _read_timedelta(note: Mapping[str, Any], source: ArrowReader) -> Any:
    if note["unit"] not in _UNITS:
        raise Corrupt(f"{note['unit']!r} is not a unit of time")
    return source.numpy(note["at"], "int64").view(f"m8[{note['unit']}]")


def wrapped_times(values: Any) -> Any:
    """Instants and durations as pandas holds them; other arrays as they are.

    pandas does this, too, but examines them for a fifth of the time in which a small table is read. Here their unit has
    been checked.
    """
    kinds: dict[str, Any] = {"M": pd.arrays.DatetimeArray, "m": pd.arrays.TimedeltaArray}
    kind = kinds.get(values.dtype.kind)
    make = getattr(kind, "_simple_new", None)
    return values if make is None else make(values, dtype=values.dtype)


def _period_freq(dtype: Any, path: str) -> str:
    name = str(dtype)[len("period[") : -1]
    if pd.PeriodDtype(name) != dtype:
        raise Unencodable(path, f"has the frequency {dtype}, which has no name to send", "use a standard frequency")
    return name


def _read_period(note: Mapping[str, Any], source: ArrowReader) -> Any:
    dtype = pd.PeriodDtype(frequency_name(note["freq"]))
    return pd.arrays.PeriodArray(source.numpy(note["at"], "int64"), dtype=dtype)


def _read_interval(note: Mapping[str, Any], source: ArrowReader) -> Any:
    left, right = read_column(note["left"], source), read_column(note["right"], source)
    return pd.arrays.IntervalArray.from_arrays(left, right, closed=note["closed"])


def _write_sparse(values: Any, out: ArrowWriter, path: str) -> Note:
    index = values.sp_index
    positions = index.to_int_index().indices
    return {
        "kind": "sparse",
        "length": len(values),
        "index": "block" if type(index).__name__ == "BlockIndex" else "integer",
        "fill": to_json(values.dtype.fill_value, f"the fill value of {path}"),
        "at": out.add(np.ascontiguousarray(positions, dtype="int32"), path),
        "values": write_column(np.asarray(values.sp_values), out, path),
    }


def _read_sparse(note: Mapping[str, Any], source: ArrowReader) -> Any:
    values, positions = read_column(note["values"], source), source.numpy(note["at"], "int32")
    length, kind = _checked_length(note["length"]), str(note["index"])
    ascending = bool((np.diff(positions) > 0).all())
    if (
        len(positions) != len(values)
        or not ascending
        or (len(values) and not 0 <= positions[0] <= positions[-1] < length)
    ):
        raise Corrupt("a sparse column whose positions do not fit")
    dtype = pd.SparseDtype(values.dtype, from_json(note["fill"]))
    make: Any = getattr(pd.arrays.SparseArray, "from_indices", None)
    if make is not None:
        return make(values, positions, length=length, fill_value=dtype.fill_value, kind=kind)
    from pandas._libs import sparse  # before pandas 3.1 there is no public constructor

    make_index: Any = sparse.IntIndex
    index = make_index(length, positions)
    return pd.arrays.SparseArray(values, sparse_index=index.to_block_index() if kind == "block" else index, dtype=dtype)


def _checked_length(length: Any) -> int:
    if type(length) is not int or not 0 <= length <= MAX_UNBACKED_ROWS:
        raise Corrupt(f"{str(length)[:40]} rows that take no bytes")
    return length


def _write_string(values: Any, out: ArrowWriter, path: str) -> Note:
    dtype = values.dtype
    try:
        array = pa.array(values, type=pa.large_string(), from_pandas=True)
    except UnicodeError as error:
        raise Unencodable(
            path, f"holds text that is not valid Unicode ({error})", "replace the lone surrogates"
        ) from None
    missing = "NA" if dtype.na_value is pd.NA else "nan"
    storage = "python" if dtype.storage == "python" else "pyarrow"  # pandas 2.2 has a third one with the same bytes
    return {"kind": "string", "storage": storage, "missing": missing, "at": out.add(array, path)}


def _read_string(note: Mapping[str, Any], source: ArrowReader) -> Any:
    array = source.take(note["at"])
    if array.type != pa.large_string():
        raise Corrupt(f"{array.type} where text belongs")
    return strings(array, note["storage"], note["missing"])


def strings(array: Any, storage: str, missing: str) -> Any:
    """The texts of an Arrow array as pandas stores them."""
    make: Any = pd.StringDtype
    storage = "python" if storage == "python" else "pyarrow"
    if missing == "NA":
        return make(storage).__from_arrow__(array)
    try:
        dtype = make(storage, na_value=np.nan)
    except TypeError:  # before pandas 2.3 there is no `str` dtype; text with NaN is an object column there
        cells = array.to_numpy(zero_copy_only=False)
        cells[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return cells
    return dtype.__from_arrow__(array)


def _write_arrow(values: Any, out: ArrowWriter, path: str) -> Note:
    array = values.__arrow_array__()
    if pa.types.is_null(array.type):
        return {"kind": "arrow nulls", "length": len(array)}
    if pa.types.is_dictionary(array.type):
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], type=array.type)
        return {
            "kind": "arrow dictionary",
            "ordered": array.type.ordered,
            "at": out.add(array.indices, path),
            "levels": out.add(array.dictionary, path),
        }
    return {"kind": "arrow", "at": out.add(array, path)}


def _read_arrow(note: Mapping[str, Any], source: ArrowReader) -> Any:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([source.take(note["at"])]))


def _read_arrow_nulls(note: Mapping[str, Any], source: ArrowReader) -> Any:
    length = _checked_length(note["length"])
    source.count_unbacked(length)
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.nulls(length)]))


def _read_arrow_dictionary(note: Mapping[str, Any], source: ArrowReader) -> Any:
    indices, levels = source.take(note["at"]), source.take(note["levels"])
    array = pa.DictionaryArray.from_arrays(indices, levels, ordered=bool(note["ordered"]), safe=True)
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))


def _read_masked(note: Mapping[str, Any], source: ArrowReader) -> Any:
    if note["dtype"] not in _MASKED:
        raise Corrupt(f"{note['dtype']!r} is not a nullable dtype")
    array = source.take(note["at"])
    if note["dtype"] == "boolean":
        source.count_unbacked(len(array))  # eight of them come in one byte
    mask = array.is_null().to_numpy(zero_copy_only=False)
    if note["dtype"] == "boolean":
        if array.type != pa.bool_():
            raise Corrupt(f"{array.type} where boolean belongs")
        filled = array.fill_null(False) if array.null_count else array
        return pd.arrays.BooleanArray(filled.to_numpy(zero_copy_only=False), mask)
    name = note["dtype"].lower()
    if array.type != pa.from_numpy_dtype(np.dtype(name)):
        raise Corrupt(f"{array.type} where {note['dtype']} belongs")
    make = pd.arrays.FloatingArray if name.startswith("float") else pd.arrays.IntegerArray
    return make(source.view(array, name), mask)


_READERS: dict[Any, Callable[[Mapping[str, Any], ArrowReader], Any]] = {
    "numpy": _read_numpy,
    "datetime": _read_datetime,
    "timedelta": _read_timedelta,
    "period": _read_period,
    "interval": _read_interval,
    "sparse": _read_sparse,
    "string": _read_string,
    "masked": _read_masked,
    "arrow": _read_arrow,
    "arrow nulls": _read_arrow_nulls,
    "arrow dictionary": _read_arrow_dictionary,
    "geometry": geometry.read_geometry,
    **objects.READERS,
}
