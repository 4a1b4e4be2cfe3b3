"""Encode an Index of rows or columns, with one level or several, and categorical arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .columns import MAX_UNBACKED_ROWS, Note, read_column, strings, write_column
from .ipc import ArrowReader, ArrowWriter
from .plain import Corrupt, Unencodable, frequency_name, from_json, to_json, without_collisions

# Labels of one level

WriteArray = Callable[[Any, ArrowWriter, str], Note]
ReadArray = Callable[[Mapping[str, Any], ArrowReader], Any]


def write_labels(index: Any, out: ArrowWriter, path: str, write: WriteArray) -> Note:
    """Write an Index with one level, and return the note from which `read_labels` rebuilds it.

    A frequency that is not fully described by its name (one with custom holidays) is left out. The values do not
    depend on it.
    """
    name = to_json(index.name, f"the name of {path}")
    if isinstance(index, pd.RangeIndex):
        if len(index) > MAX_UNBACKED_ROWS:
            raise Unencodable(path, f"counts {len(index)} labels", f"{MAX_UNBACKED_ROWS} can cross")
        return {"kind": "range", "name": name, "range": [index.start, index.stop, index.step]}
    note = {"kind": "flat", "name": name, "values": write(index.array, out, path)}
    freq = getattr(index, "freq", None)
    if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) and freq is not None and _is_named(freq):
        note["freq"] = freq.freqstr
    return note


def read_labels(note: Mapping[str, Any], source: ArrowReader, read: ReadArray, *, backed: int = 0) -> Any:
    """Rebuild the Index that was given to `write_labels`."""
    name = from_json(note["name"])
    if note["kind"] == "range":
        start, stop, step = (int(bound) for bound in note["range"])
        if not all(-(2**63) <= bound < 2**63 for bound in (start, stop, step)):
            raise Corrupt("a range beyond 64 bits")
        index = pd.RangeIndex(start, stop, step, name=name)
        if len(index) > MAX_UNBACKED_ROWS:
            raise Corrupt(f"a range of {len(index)} labels")
        source.count_unbacked(8 * max(len(index) - backed, 0))
        return index
    if (texts := _header_texts(note["values"], source)) is not None:
        kept = _of_texts(tuple(texts), note["values"]["storage"], note["values"]["missing"])
        hash(name)  # a name must be hashable
        # The public way also copies the name, and takes 20 times as long.
        make = getattr(type(kept), "_simple_new", None)
        return kept.copy(name=name, deep=True) if make is None else make(kept._data.copy(), name=name)
    values = read(note["values"], source)
    if "freq" not in note:
        return pd.Index(values, dtype=values.dtype, name=name, copy=False)
    make = pd.TimedeltaIndex if values.dtype.kind == "m" else pd.DatetimeIndex
    return make(values, freq=frequency_name(note["freq"]), name=name)


def _header_texts(note: Mapping[str, Any], source: ArrowReader) -> list[Any] | None:
    return source.take_texts(note["at"]) if note["kind"] == "string" else None


@functools.lru_cache(maxsize=32)
def _of_texts(texts: tuple[Any, ...], storage: str, missing: str) -> Any:
    """An Index of few texts. The tables of a map have the same names, and making this Index takes a fifth of reading a
    small table. Each gets a copy of it, so that nobody changes the labels of another table.
    """
    values = strings(pa.array(texts, pa.large_string()), storage, missing)
    return pd.Index(values, dtype=values.dtype, copy=False)


def require_unique(labels: Any) -> Any:
    """Return `labels`, an Index, if no label is there twice. pandas requires this of levels and categories.

    pandas checks it with a hash table. Its hash of a number can be inverted, so hostile code can make labels that all
    have the same hash, and the check takes quadratic time. Here the labels are sorted instead.
    """
    if not _are_unique(labels):
        raise Corrupt("a label that is there twice")
    return labels


def _are_unique(labels: Any) -> bool:
    if isinstance(labels, pd.RangeIndex):
        return True
    if isinstance(labels, pd.MultiIndex):
        codes = np.stack([np.asarray(each) for each in labels.codes])
        ordered: Any = codes[:, np.lexsort(codes)]
        return not (ordered[:, 1:] == ordered[:, :-1]).all(axis=0).any()
    if labels.dtype == object:
        return len(set(without_collisions(labels.tolist()))) == len(labels)
    if isinstance(labels.dtype, pd.StringDtype):
        return bool(labels.is_unique)  # Python's hash of text differs from process to process and cannot be predicted
    ordered = labels.sort_values()
    return not (ordered[1:] == ordered[:-1]).any()


def _is_named(freq: Any) -> bool:
    try:
        return bool(pd.tseries.frequencies.to_offset(freq.freqstr) == freq)
    except ValueError:
        return False


# Arrays, categorical ones included
#
# pandas does not allow categories that are categorical or have several levels, so no recursion is needed here.


def write_array(values: Any, out: ArrowWriter, path: str) -> Note:
    """Like `columns.write_column`, and also for categorical arrays."""
    if isinstance(values, pd.Categorical):
        return _write_categorical(values, out, path)
    return write_column(values, out, path)


def read_array(note: Mapping[str, Any], source: ArrowReader) -> Any:
    """Rebuild the array that was given to `write_array`: an ndarray for numpy dtypes, else an extension array."""
    return _read_categorical(note, source) if note["kind"] == "category" else read_column(note, source)


def _write_categorical(values: Any, out: ArrowWriter, path: str) -> Note:
    codes = out.add(np.ascontiguousarray(values.codes), path)
    levels = write_labels(values.categories, out, f"the categories of {path}", write_column)
    return {
        "kind": "category",
        "ordered": bool(values.ordered),
        "width": values.codes.dtype.name,
        "at": codes,
        "levels": levels,
    }


def _read_categorical(note: Mapping[str, Any], source: ArrowReader) -> Any:
    if note["width"] not in ("int8", "int16", "int32", "int64"):
        raise Corrupt(f"category codes of {note['width']!r}")
    codes = source.numpy(note["at"], note["width"])
    levels = require_unique(read_labels(note["levels"], source, read_column))
    if levels.hasnans:
        raise Corrupt("categories that cannot be categories")
    known: Any = pd.CategoricalDtype
    dtype = known._from_fastpath(levels, bool(note["ordered"]))  # the public constructor uses a hash table
    return pd.Categorical.from_codes(codes, dtype=dtype)


# Indexes


def write_index(index: Any, out: ArrowWriter, path: str) -> Note:
    """Add the arrays of `index` to `out`, and return the note from which `read_index` rebuilds it."""
    if not isinstance(index, pd.MultiIndex):
        return write_labels(index, out, path, write_array)
    return {
        "kind": "multi",
        "names": [to_json(name, f"a level name of {path}") for name in index.names],
        "levels": [
            write_index(level.rename(None), out, f"level {n} of {path}") for n, level in enumerate(index.levels)
        ],
        "codes": [out.add(np.ascontiguousarray(codes, dtype="int64"), path) for codes in index.codes],
    }


def read_index(note: Mapping[str, Any], source: ArrowReader, *, backed: int = 0) -> Any:
    """Rebuild the Index that was given to `write_index`."""
    if note["kind"] == "multi":
        return _read_multi(note, source)
    return read_labels(note, source, read_array, backed=backed)


def _read_multi(note: Mapping[str, Any], source: ArrowReader) -> Any:
    levels = [require_unique(read_index(level, source)) for level in note["levels"]]
    codes = [source.numpy(each, "int64") for each in note["codes"]]
    for level, places in zip(levels, codes, strict=True):
        if len(places) != len(codes[0]) or (len(places) and not -1 <= places.min() <= places.max() < len(level)):
            raise Corrupt("codes that do not fit their level")
    names = [from_json(name) for name in note["names"]]
    return pd.MultiIndex(levels=levels, codes=codes, names=names, verify_integrity=False)  # verified above
