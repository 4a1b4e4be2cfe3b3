"""Encode a list of tables or figures, and a dict of them: each as a value of its own, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from .encoded import Encoded
from .errors import Corrupt, Unencodable
from .figure_data import specification

KINDS = ("DataFrame", "Series", "Figure")
"""The types that a list or dict may hold as parts."""

MOST_PARTS = 256
_ALIGNMENT = 8
_PLAIN = (str, int, float, bool, type(None), list, dict)

Encode = Callable[[Any, str], Encoded]


def write_parts(value: Any, encode: Encode) -> Encoded | None:
    """Encode a list or dict whose elements are all tables or figures; None if the first element is none of these.

    Args:
        value: the list or dict.
        encode: encodes one element as one of `KINDS`.

    Raises:
        Unencodable: another element is none, a key is no text, or there are too many.
        TypeMismatch: see `encode`.
    """
    name = "dict" if isinstance(value, dict) else "list"
    items = list(value.values()) if isinstance(value, dict) else list(value)
    if not items or not _kind_of(items[0]):
        return None
    kinds = list(map(_kind_of, items))
    if "" in kinds:
        raise Unencodable(f"the {name}", f"holds a {kinds[0]} and other values", "return these as outputs of their own")
    if len(items) > MOST_PARTS:
        raise Unencodable(f"the {name}", f"holds {len(items)} tables or figures", f"return at most {MOST_PARTS}")
    if isinstance(value, dict) and not all(type(key) is str for key in value):
        raise Unencodable("the dict", "has a key that is no text", "convert the keys to text")
    parts = [encode(item, kind) for item, kind in zip(items, kinds, strict=True)]
    buffers: list[memoryview] = []
    size = 0
    for part in parts:
        gap = -part.size % _ALIGNMENT  # so that each part begins where its numbers can be read without a copy
        buffers += [*part.buffers, memoryview(bytes(gap))]
        size += part.size + gap
    keys = {"keys": list(value)} if isinstance(value, dict) else {}
    return Encoded({"type": name, "size": size, "of": [part.header for part in parts], **keys}, tuple(buffers))


def read_parts(
    header: Mapping[str, Any], payload: memoryview, decode: Callable[[Mapping[str, Any], memoryview, int], Any]
) -> Any:
    """Read what `write_parts` wrote; the writer may be hostile.

    Args:
        header: of the list or dict.
        payload: its bytes.
        decode: decodes one part. It gets the number of all parts, which share the memory that one value may take.

    Raises:
        Corrupt: the parts do not fit the payload, or are not of `KINDS`.
    """
    parts = header["of"]
    if not isinstance(parts, list) or not 0 < len(parts) <= MOST_PARTS:
        raise Corrupt("a list or dict without parts, or with too many")
    values, start = [], 0
    for part in parts:
        if part["type"] not in KINDS or type(part["size"]) is not int or not 0 <= part["size"] <= len(payload) - start:
            raise Corrupt("a part that does not fit its list or dict")
        values.append(decode(part, payload[start : start + part["size"]], len(parts)))
        start += part["size"] + -part["size"] % _ALIGNMENT
    if start != len(payload):
        raise Corrupt("bytes after the last part")
    if header["type"] == "list":
        return values
    keys = header["keys"]
    is_named = isinstance(keys, list) and all(type(key) is str for key in keys) and len(set(keys)) == len(values)
    if not is_named or len(keys) != len(values):
        raise Corrupt("keys that do not fit their dict")
    return dict(zip(keys, values, strict=True))


def _kind_of(value: Any) -> str:
    """The type as a part; "" if it is none."""
    if isinstance(value, pd.DataFrame):
        return "DataFrame"
    if isinstance(value, pd.Series):
        return "Series"
    if type(value) in _PLAIN:
        return ""
    is_drawn = type(value).__name__ == "Figure" and hasattr(value, "png")
    return "Figure" if is_drawn or specification(value)[0] else ""
