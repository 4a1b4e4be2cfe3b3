"""The labels of an Index with one level: a range, or an array with a name and a frequency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .columns import MAX_WEIGHTLESS, Note
from .errors import Corrupt, Unencodable
from .ipc import ArrowReader, ArrowWriter
from .plain import frequency_name, from_json, to_json, without_collisions

WriteArray = Callable[[Any, ArrowWriter, str], Note]
ReadArray = Callable[[Mapping[str, Any], ArrowReader], Any]


def write_labels(index: Any, out: ArrowWriter, path: str, write: WriteArray) -> Note:
    """The note that rebuilds `index`, which has one level; its array goes to `out` by `write`.

    A frequency that its name does not fully describe (a custom holiday calendar) is left out: pandas infers nothing
    from it about the values.

    Raises:
        Unencodable: a label, a name or the dtype cannot cross.
    """
    name = to_json(index.name, f"the name of {path}")
    if isinstance(index, pd.RangeIndex):
        if len(index) > MAX_WEIGHTLESS:
            raise Unencodable(path, f"counts {len(index)} labels", f"{MAX_WEIGHTLESS} can cross")
        return {"kind": "range", "name": name, "range": [index.start, index.stop, index.step]}
    note = {"kind": "flat", "name": name, "values": write(index.array, out, path)}
    freq = getattr(index, "freq", None)
    if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) and freq is not None and _is_named(freq):
        note["freq"] = freq.freqstr
    return note


def read_labels(note: Mapping[str, Any], source: ArrowReader, read: ReadArray, *, backed: int = 0) -> Any:
    """The Index that `write_labels` was given; its array comes by `read`.

    Args:
        note: what `write_labels` returned.
        source: gives the arrays.
        read: makes the array.
        backed: labels of a range that need no memory of their own, because columns of as many rows came with bytes.

    Raises:
        Corrupt: the note does not fit its arrays.
    """
    name = from_json(note["name"])
    if note["kind"] == "range":
        start, stop, step = (int(bound) for bound in note["range"])
        if not all(-(2**63) <= bound < 2**63 for bound in (start, stop, step)):
            raise Corrupt("a range beyond 64 bits")
        index = pd.RangeIndex(start, stop, step, name=name)
        if len(index) > MAX_WEIGHTLESS:
            raise Corrupt(f"a range of {len(index)} labels")
        source.make_weightless(8 * max(len(index) - backed, 0))
        return index
    values = read(note["values"], source)
    if "freq" not in note:
        return pd.Index(values, dtype=values.dtype, name=name, copy=False)
    make = pd.TimedeltaIndex if values.dtype.kind == "m" else pd.DatetimeIndex
    return make(values, freq=frequency_name(note["freq"]), name=name)


def require_unique(labels: Any) -> Any:
    """`labels`, an Index, if each of them is there once, as pandas wants it of levels and categories.

    pandas looks for that in a hash table, and its hash of a number is one that anybody can invert: labels can be made
    that fall into one place of the table, where each is compared with all others. Here they are sorted instead.

    Raises:
        Corrupt: a label is there twice.
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
        return bool(labels.is_unique)  # Python's hash of text is another one in each process
    ordered = labels.sort_values()
    return not (ordered[1:] == ordered[:-1]).any()


def _is_named(freq: Any) -> bool:
    try:
        return bool(pd.tseries.frequencies.to_offset(freq.freqstr) == freq)
    except ValueError:
        return False
