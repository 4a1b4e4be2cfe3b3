"""An Index of rows or columns, with one level or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .arrays import read_array, write_array
from .columns import Note
from .errors import Corrupt
from .ipc import ArrowReader, ArrowWriter
from .labels import read_labels, require_unique, write_labels
from .plain import from_json, to_json


def write_index(index: Any, out: ArrowWriter, path: str) -> Note:
    """Add the arrays of `index` to `out`, and return the note from which `read_index` rebuilds it.

    Raises:
        Unencodable: a label, a name or the dtype cannot cross.
    """
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
    """Rebuild the Index that was given to `write_index`.

    Args:
        note: the result of `write_index`.
        source: has the arrays.
        backed: number of labels of a range that are not counted by `source.count_unbacked`, because columns with
            as many rows came with bytes.

    Raises:
        Corrupt: the note does not fit its arrays.
    """
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
