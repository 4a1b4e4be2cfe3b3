"""Encode one array of pandas or numpy. Categorical arrays are written as codes and categories, others by `columns`.

pandas does not allow categories that are categorical or have several levels, so no recursion is needed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .columns import Note, read_column, write_column
from .errors import Corrupt
from .ipc import ArrowReader, ArrowWriter
from .labels import read_labels, require_unique, write_labels


def write_array(values: Any, out: ArrowWriter, path: str) -> Note:
    """Like `columns.write_column`, and also for categorical arrays.

    Raises:
        Unencodable: the dtype or a cell cannot cross.
    """
    if isinstance(values, pd.Categorical):
        return _write_categorical(values, out, path)
    return write_column(values, out, path)


def read_array(note: Mapping[str, Any], source: ArrowReader) -> Any:
    """Rebuild the array that was given to `write_array`: an ndarray for numpy dtypes, else an extension array.

    Raises:
        Corrupt: the note was not written by `write_array`, or does not fit the arrays.
    """
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
