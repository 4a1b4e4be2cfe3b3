"""Encode cells of lists, dicts and mixed values as few arrays, and decode them. Each value comes back as it was.

The layout is that of Arrow's nested types: the lengths of all lists and one array of their items, and an array for each
key of dicts. Those types themselves would change values: they turn ints beside floats into floats and a missing key
into None, and forget the order of keys. So values of each type, and dicts of each sequence of keys, have a part of
their own. Values of types that are rare in lists and dicts are JSON.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from .bounded_json import parse
from .ipc import ArrowReader, ArrowWriter
from .plain import MAX_DEPTH, Corrupt, Unencodable, dumps, from_json, to_json

LEAST_CELLS = 64
"""Fewer cells are written faster one by one, because each array takes a while, whatever its length."""

MOST_PARTS = 16
"""Most types, and most sequences of keys, at one place. If there are more sequences, keys are written like values."""

_MOST_NODES = 1_000
_MOST_NOTE = 32 * 2**10
"""Most characters of the note of one column, which is part of the header of an answer."""

_MOST_SHARED = 1_000
"""Most repeated lists or dicts in the lists and dicts of cells. One that contains itself is there more often with each
level, up to the end of the memory. Written by itself, its cell is refused at once.
"""

_AT_ONCE = 1 << 16
"""Most values that are made without a chance for other threads to run."""

_IN_CACHE = 1 << 10
"""Number of dicts whose keys and values are looked at together."""

_CONSTANTS = {"None": None, "NA": pd.NA, "NaT": pd.NaT}
_NUMBERS = {"int": "int64", "float": "float64", "bool": "uint8"}
_TEXTS = {"str": pa.large_string(), "bytes": pa.large_binary()}
_NAMES: dict[type, str] = {type(value): name for name, value in _CONSTANTS.items()} | {
    kind: kind.__name__ for kind in (int, float, bool, str, bytes, list, dict)
}

Node = list[Any]
"""Describes values at one place: their kind, the positions of its arrays in the note, and the nodes inside."""


class _Unfit(Exception):
    """The values are too irregular, or nested too deeply."""


def write_nested(values: Any, kinds: Iterable[type], out: ArrowWriter, path: str) -> dict[str, Any] | None:
    """Add the cells of an object array, of these types, to `out` and return their note. None if each must be written
    by itself.
    """
    kinds = set(kinds)
    if len(values) < LEAST_CELLS or not kinds & _NAMES.keys():
        return None
    writer = _NodeWriter(path)
    try:
        node = writer.node(values.tolist(), 0, kinds)
    except (_Unfit, Unencodable):  # by itself, a cell that cannot cross is named exactly
        return None
    if len(json.dumps(node)) > _MOST_NOTE:
        return None
    return {"kind": "nested", "rows": len(values), "of": node, "at": [out.add(each, path) for each in writer.arrays]}


class _NodeWriter:
    def __init__(self, path: str) -> None:
        self.arrays: list[Any] = []
        self._path = path
        self._nodes_left = _MOST_NODES

    def node(self, values: Sequence[Any], depth: int, types: Iterable[type] | None = None) -> Node:
        """The node of any values; `types` are their types, if they are known."""
        kinds = {kind: _NAMES.get(kind, "json") for kind in types or set(map(type, values))}
        names = sorted(set(kinds.values())) or ["None"]
        if len(names) == 1:
            return self._of_kind(names[0], values, depth)
        numbers = {kind: names.index(name) for kind, name in kinds.items()}
        codes, parts = _divided(map(numbers.__getitem__, map(type, values)), values, len(names))
        return ["union", self._at(codes), [self._of_kind(*each, depth) for each in zip(names, parts, strict=True)]]

    def _of_kind(self, name: str, values: Sequence[Any], depth: int) -> Node:
        """The node of values of one kind."""
        self._nodes_left -= 1
        if depth > MAX_DEPTH or self._nodes_left < 0:
            raise _Unfit
        if name in _CONSTANTS:
            return [name]
        if depth > 1 and name in ("list", "dict") and len(values) - len(set(map(id, values))) > _MOST_SHARED:
            raise _Unfit
        if name == "list":
            items = list(itertools.chain.from_iterable(values))
            return ["list", self._at(_lengths(values)), self.node(items, depth + 1)]
        if name == "dict":
            shape = tuple(values[0])
            if set(map(type, shape)) <= {str} and (columns := _columns_of_alike(shape, values)) is not None:
                return ["dict", list(shape), [self.node(each, depth + 1, kinds) for each, kinds in columns]]
            keys = list(itertools.chain.from_iterable(values))
            if set(map(type, keys)) <= {str}:
                return self._dicts(keys, values, depth)
        try:
            if name in _NUMBERS:
                return [name, self._at(np.fromiter(values, _NUMBERS[name], len(values)))]
            if name in _TEXTS:
                return [name, self._at(pa.array(values, _TEXTS[name]))]
        except (OverflowError, UnicodeError):  # large ints, lone surrogates
            pass
        texts = [dumps(to_json(each, self._path, depth=depth)) for each in values]
        return ["json", self._at(pa.array(texts, pa.large_string()))]

    def _dicts(self, keys: list[str], values: Sequence[dict[str, Any]], depth: int) -> Node:
        """The node of dicts, all of whose keys are `keys`."""
        shape = tuple(values[0])
        if len(keys) == len(shape) * len(values) and keys == [*shape] * len(values):
            return self._of_shape(shape, values, depth)
        shapes = list(map(tuple, values))
        numbers = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
        if len(numbers) > MOST_PARTS:
            items = list(itertools.chain.from_iterable(map(dict.values, values)))
            return ["map", self._at(_lengths(values)), self.node(keys, depth + 1), self.node(items, depth + 1)]
        codes, parts = _divided(map(numbers.__getitem__, shapes), values, len(numbers))
        return ["union", self._at(codes), [self._of_shape(*each, depth) for each in zip(numbers, parts, strict=True)]]

    def _of_shape(self, keys: tuple[str, ...], values: Sequence[dict[str, Any]], depth: int) -> Node:
        """The node of dicts that have the same keys in the same order."""
        return ["dict", list(keys), [self.node([each[key] for each in values], depth + 1) for key in keys]]

    def _at(self, array: Any) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def _columns_of_alike(
    shape: tuple[str, ...], values: Sequence[dict[str, Any]]
) -> list[tuple[list[Any], set[type]]] | None:
    """For each key the values and their types; None unless all dicts have these very objects as keys, as most have,
    which is seen faster than what the keys are. What was just looked at is still in the processor's cache.
    """
    columns: list[tuple[list[Any], set[type]]] = [([], set()) for _ in shape]
    for start in range(0, len(values), _IN_CACHE):
        part = values[start : start + _IN_CACHE]
        keys = list(itertools.chain.from_iterable(part))
        if len(keys) != len(shape) * len(part) or not all(map(is_, keys, itertools.cycle(shape))):
            return None
        for key, (column, kinds) in zip(shape, columns, strict=True):
            # A comprehension takes a third less time than `itemgetter` since Python 3.11.
            found = [each[key] for each in part]
            kinds.update(map(type, found))
            column += found
    return columns


def _lengths(values: Sequence[Any]) -> Any:
    return np.fromiter(map(len, values), "int64", len(values))


def _divided(numbers: Iterable[int], values: Sequence[Any], parts: int) -> tuple[Any, list[list[Any]]]:
    """The number of the part to which each value belongs, and the values of each part."""
    codes = np.fromiter(numbers, "uint8", len(values))
    return codes, [list(itertools.compress(values, (codes == number).tolist())) for number in range(parts)]


def read_nested(note: Mapping[str, Any], source: ArrowReader) -> Any:
    """The object array that was given to `write_nested`."""
    rows = note["rows"]
    if type(rows) is not int or rows < 0:
        raise Corrupt("cells without their number")
    source.allowance.take(0, rows)
    with _without_collector():
        return np.fromiter(_NodeReader(note["at"], source).values(note["of"], rows, 0), object, rows)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Nothing that is read is garbage. To look for some among all objects of a notebook takes longer than to read."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _NodeReader:
    """Reads values. Whatever they need is taken from the allowance before they are made."""

    def __init__(self, places: Sequence[Sequence[int]], source: ArrowReader) -> None:
        self._places, self._source = places, source

    def values(self, node: Node, count: int, depth: int) -> list[Any]:
        """The values of a node; `count` entries have been taken from the allowance for them."""
        kind, *parts = node
        if depth > 2 * MAX_DEPTH:
            raise Corrupt("values that are nested too deeply")
        if kind in _CONSTANTS:
            return [_CONSTANTS[kind]] * count
        if kind in _NUMBERS:
            return self._numbers(kind, parts[0], count)
        if kind in _TEXTS or kind == "json":
            texts = _objects(self._texts(kind, parts[0], count))
            return self._parsed(texts, count) if kind == "json" else texts
        if kind == "list":
            return self._lists(parts[0], parts[1], count, depth)
        if kind == "dict":
            return self._dicts(parts[0], parts[1], count, depth)
        if kind == "map":
            return self._maps(parts[0], parts[1], parts[2], count, depth)
        if kind == "union":
            return self._union(parts[0], parts[1], count, depth)
        raise Corrupt(f"unknown kind of values {str(kind)[:50]!r}")

    def _array(self, place: int, dtype: str, count: int) -> Any:
        array = self._source.numpy(self._places[place], dtype)
        if len(array) != count:
            raise Corrupt(f"{len(array)} numbers for {count} values")
        return array

    def _numbers(self, kind: str, place: int, count: int) -> list[Any]:
        array = self._array(place, _NUMBERS[kind], count)
        if kind == "bool":
            if (array > 1).any():
                raise Corrupt("a bool that is neither true nor false")
            array = array.view(bool)
        return _objects(array)

    def _texts(self, kind: str, place: int, count: int) -> Any:
        array = self._source.take(self._places[place])
        wanted = _TEXTS.get(kind, pa.large_string())
        if array.type != wanted or array.null_count or len(array) != count:
            raise Corrupt(f"{len(array)} of {array.type} where {count} of {wanted} belong")
        return array

    def _parsed(self, texts: list[str], count: int) -> list[Any]:
        self._source.allowance.take(0, -count)  # they are counted again with what they hold
        return [from_json(parse(text.encode("ascii"), self._source.allowance)) for text in texts]

    def _sizes(self, place: int, count: int) -> tuple[list[int], int]:
        """The lengths of lists or dicts, and their sum, which are taken from the allowance."""
        sizes = self._array(place, "int64", count)
        if (sizes < 0).any() or (sizes > 2**31).any():
            raise Corrupt("a list or dict of impossible length")
        total = int(sizes.sum())
        self._source.allowance.take(count, total)
        return sizes.tolist(), total

    def _lists(self, place: int, items: Node, count: int, depth: int) -> list[Any]:
        sizes, total = self._sizes(place, count)
        flat, end = self.values(items, total, depth + 1), 0
        return [flat[end : (end := end + size)] for size in sizes]

    def _maps(self, place: int, keys: Node, items: Node, count: int, depth: int) -> list[Any]:
        sizes, total = self._sizes(place, count)
        if keys[0] not in ("str", "None"):
            raise Corrupt("a key that is not a string")
        names, flat = self.values(keys, total, depth + 1), self.values(items, total, depth + 1)
        end = 0
        return [dict(zip(names[end : end + size], flat[end : (end := end + size)], strict=True)) for size in sizes]

    def _dicts(self, keys: list[str], items: Sequence[Node], count: int, depth: int) -> list[Any]:
        if not all(type(key) is str for key in keys) or len(set(keys)) != len(keys) or len(keys) != len(items):
            raise Corrupt("keys that do not fit their dicts")
        self._source.allowance.take(count, count * len(keys))
        return _made_dicts(keys, [self.values(item, count, depth + 1) for item in items], count)

    def _union(self, place: int, nodes: Sequence[Node], count: int, depth: int) -> list[Any]:
        codes = self._array(place, "uint8", count)
        counts = np.bincount(codes, minlength=len(nodes)).tolist()
        if len(counts) != len(nodes):
            raise Corrupt("a part that is not there")
        parts = [iter(self.values(*each, depth + 1)) for each in zip(nodes, counts, strict=True)]
        made: list[Any] = []
        for start in range(0, count, _AT_ONCE):
            made += map(next, map(parts.__getitem__, codes[start : start + _AT_ONCE].tolist()))
        return made


def _made_dicts(keys: Sequence[str], columns: Sequence[list[Any]], count: int) -> list[Any]:
    """A dict of each row of the columns. Few keys are written out, which takes half of the time."""
    rows = zip(*columns, strict=True)
    match keys:
        case []:
            return [{} for _ in range(count)]
        case [a]:
            return [{a: one} for one in columns[0]]
        case [a, b]:
            return [{a: one, b: two} for one, two in rows]
        case [a, b, c]:
            return [{a: one, b: two, c: three} for one, two, three in rows]
        case [a, b, c, d]:
            return [{a: one, b: two, c: three, d: four} for one, two, three, four in rows]
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _objects(array: Any) -> list[Any]:
    """The values of an array as Python objects."""
    values: list[Any] = []
    for start in range(0, len(array), _AT_ONCE):
        part = array[start : start + _AT_ONCE]
        values += (part if isinstance(part, np.ndarray) else part.to_numpy(zero_copy_only=False)).tolist()
    return values
