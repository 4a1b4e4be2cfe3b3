"""Describe cells that are lists, dicts or of several types, from all examined cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autocoder_jupyter.data.cells import cell_text, is_null
from autocoder_jupyter.data.text_formats import percent, with_share

_TYPES = 5
_KEYS = 12
_ITEMS = 20
"""Number of items of one cell that are examined."""


def type_phrase(values: Sequence[Any]) -> str:
    """`cells are list (90%), str (10%)`."""
    kinds = _ranked(type(value).__name__ for value in values)
    return "cells are " + ", ".join(with_share(name, count, len(values)) for name, count in kinds[:_TYPES])


def item_phrase(values: Sequence[Any]) -> tuple[str, ...]:
    """The number of items of lists, and their types; () if there are no lists."""
    lists = [value for value in values if isinstance(value, list | tuple | set | frozenset | np.ndarray)]
    if not lists:
        return ()
    sizes = [len(value) if not isinstance(value, np.ndarray) else value.size for value in lists]
    size = f"{min(sizes)} items" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} items"
    inner = [item for value in lists for item in _first_items(value)]
    names = [name for name, _ in _ranked(map(_type_name, inner))[:_TYPES]]
    return (f"{size}: {' or '.join(names)}" if names else size,)


def key_phrase(values: Sequence[Any]) -> tuple[str, ...]:
    """The keys of dicts with the types of their values and their frequency; () if there are no dicts.

    For lists of dicts, the keys of these dicts are described. Every examined value is searched.
    """
    dicts = [value for value in values if isinstance(value, dict)]
    where = "keys"
    if not dicts:
        lists = (value for value in values if isinstance(value, list | tuple))
        dicts = [item for value in lists for item in _first_items(value) if isinstance(item, dict)]
        where = "keys of the items"
    found: dict[str, Counter[str]] = {}
    for value in dicts:
        for key, inner in list(value.items())[:_ITEMS]:
            found.setdefault(cell_text(key), Counter())[_type_name(inner)] += 1
    if not found:
        return ()
    shown = [_key_text(key, kinds, len(dicts)) for key, kinds in list(found.items())[:_KEYS]]
    return (f"{where} " + ", ".join(shown) + (f" and {len(found) - _KEYS} more" if len(found) > _KEYS else ""),)


def _key_text(key: str, kinds: Counter[str], dicts: int) -> str:
    names = " or ".join(name for name, _ in _ranked(kinds.elements())[:_TYPES])
    there = kinds.total()
    return f"{key}: {names}" + ("" if there == dicts else f" (in {percent(there, dicts)})")


def _first_items(value: Any) -> list[Any]:
    """The first items of a list. Of a set, whose order differs between runs, all items or none."""
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1)[:_ITEMS].tolist())
    if isinstance(value, set | frozenset):
        return list(value) if len(value) <= _ITEMS else []
    return list(value[:_ITEMS])


def _type_name(value: Any) -> str:
    return "None" if is_null(value) else type(value).__name__


def _ranked(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names with their counts, the most frequent first. Ties are in alphabetical order."""
    return sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))
