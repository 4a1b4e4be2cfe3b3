"""Parse untrusted JSON. The values are counted before they are built, and a long text is parsed in parts.

Three bytes of JSON can become an object of eighty bytes, so the length of a text limits neither time nor memory. The
parser of the standard library holds the GIL until it has read a text, so it gets one part after the other here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from .plain import Corrupt

MAX_CONTAINERS = 250_000
"""Most lists and dicts in one value. Each takes about a hundred bytes, and the garbage collector visits all of them."""

MAX_ITEMS = 4_000_000
"""Most entries of all lists and dicts in one value."""

MAX_NESTING = 256

_PART = 1 << 17
_OPEN, _CLOSE, _COMMA, _QUOTE, _BACKSLASH = b"[{", b"]}", b",", 0x22, 0x5C


class Allowance:
    """The remaining budget of one value. All JSON texts of the value share it."""

    def __init__(self, containers: int = MAX_CONTAINERS, items: int = MAX_ITEMS) -> None:
        self.containers, self.items = containers, items
        self._most = f"more than {containers:,} lists and dicts, or {items:,} entries, in one value"

    @classmethod
    def part(cls, share: int) -> Allowance:
        """The budget of one of several values that share that of one."""
        return cls(MAX_CONTAINERS // share, MAX_ITEMS // share)

    def take(self, containers: int, items: int) -> None:
        """Subtract what will be built from a text.

        Raises:
            Corrupt: the budget is used up.
        """
        self.containers -= containers
        self.items -= items
        if self.containers < 0 or self.items < 0:
            raise Corrupt(f"{self._most}; tables cross as a DataFrame")


def parse(text: bytes | memoryview, allowance: Allowance) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        Corrupt: it would become too many objects, or is nested too deeply.
        ValueError: it is not JSON.
    """
    data = bytes(text)
    if len(data) <= 64:  # most cells of a column are short; counting brackets and commas is enough for them
        allowance.take(*_upper_bound(data))
        return json.loads(data)
    places, depths = _structure(data, allowance)
    if len(data) <= _PART:
        return json.loads(data)
    return _Builder(data, places, depths).build(0, len(data), 0, len(places), 0)


def entries(text: bytes | memoryview, allowance: Allowance) -> Iterator[list[Any]]:
    """The entries of a JSON list in UTF-8, some at a time, so that not all of them exist at once.

    Raises:
        Corrupt: see `parse`; also if it is not a list.
        ValueError: it is not JSON.
    """
    data = bytes(text)
    if data[:_PART].lstrip()[:1] != b"[":
        raise Corrupt("no list")
    places, depths = _structure(data, allowance)
    if len(data) <= _PART:
        yield json.loads(data)
    else:
        yield from _Builder(data, places, depths).entries()


def _upper_bound(data: bytes) -> tuple[int, int]:
    """The most containers and entries that a text can have. Signs inside of strings are counted, too."""
    return sum(map(data.count, (b"[", b"{"))), data.count(b",") + 1


def _structure(data: bytes, allowance: Allowance) -> tuple[Any, Any]:
    """The positions of brackets, braces and commas outside of strings, and the nesting depth after each of them."""
    places, depths = [], []
    inside = escaped = False
    depth = 0
    for start in range(0, len(data), _PART):
        signs = np.frombuffer(data, dtype=np.uint8, count=min(_PART, len(data) - start), offset=start)
        quotes, escaped = _quotes(signs, escaped)
        in_string = (np.cumsum(quotes, dtype=np.uint8) & 1).astype(bool) ^ inside
        inside = bool(in_string[-1])
        opening, closing = np.isin(signs, list(_OPEN)) & ~in_string, np.isin(signs, list(_CLOSE)) & ~in_string
        commas = (signs == _COMMA[0]) & ~in_string
        found = np.flatnonzero(opening | closing | commas)
        allowance.take(int(opening.sum()), int(commas.sum() + opening.sum()))
        steps = opening[found].astype(np.int32) - closing[found]
        behind = depth + np.cumsum(steps, dtype=np.int32)
        if len(found):
            depth = int(behind[-1])
            if behind.max() > MAX_NESTING:
                raise Corrupt(f"more than {MAX_NESTING} levels of nesting")
        places.append(found + start)
        depths.append(behind)
    return np.concatenate(places), np.concatenate(depths)


def _quotes(signs: Any, escaped: bool) -> tuple[Any, bool]:
    """Which characters begin or end a string, and whether the first character of the next part is escaped."""
    quotes = signs == _QUOTE
    backslashes = np.flatnonzero(signs == _BACKSLASH)
    if not len(backslashes):
        quotes[0] &= not escaped
        return quotes, False
    # In a run of backslashes, every second one is escaped by the one before it.
    if escaped:
        quotes[0] = False
        backslashes = backslashes[1:] if backslashes[0] == 0 else backslashes
        if not len(backslashes):
            return quotes, False
    begins = np.concatenate(([True], np.diff(backslashes) != 1))
    begin = np.maximum.accumulate(np.where(begins, backslashes, 0))
    escaping = backslashes[(backslashes - begin) % 2 == 0]
    behind = escaping + 1
    quotes[behind[behind < len(signs)]] = False
    return quotes, bool(behind[-1] == len(signs))


class _Builder:
    """Builds a value from parts of its text. Each part is small enough for one call of the parser."""

    def __init__(self, data: bytes, places: Any, depths: Any) -> None:
        self._data = data
        self._places = places
        self._depths = depths

    def build(self, start: int, end: int, first: int, last: int, depth: int) -> Any:
        """Build one value."""
        text = self._data[start:end]
        if end - start <= _PART or text.lstrip()[:1] not in (b"[", b"{"):
            return json.loads(text)
        listed = text.lstrip()[:1] == b"["
        if last - first < 2 or text.rstrip()[-1:] != (b"]" if listed else b"}"):
            raise Corrupt("brackets that do not fit")
        value: Any = [] if listed else {}
        for left, right in self._parts(first, last, depth):
            self._add(value, left, right, depth + 1)
        return value

    def entries(self) -> Iterator[list[Any]]:
        """The entries of the whole text, which is a list, in parts."""
        if len(self._places) < 2 or self._data[-_PART:].rstrip()[-1:] != b"]":
            raise Corrupt("brackets that do not fit")
        for left, right in self._parts(0, len(self._places), 0):
            part: list[Any] = []
            self._add(part, left, right, 1)
            yield part

    def _parts(self, first: int, last: int, depth: int) -> Iterator[tuple[int, int]]:
        """The edges of parts of a list or an object, each with as many entries as one call of the parser takes."""
        commas = first + np.flatnonzero(self._is_comma(first, last, depth + 1))
        # The opening bracket, the commas between the entries, and the closing bracket.
        edges = [first, *commas.tolist(), last - 1]
        begin = 0
        while begin < len(edges) - 1:
            until = begin + 1
            while until < len(edges) - 1 and self._length(edges[begin], edges[until + 1]) <= _PART:
                until += 1
            yield edges[begin], edges[until]
            begin = until

    def _is_comma(self, first: int, last: int, depth: int) -> Any:
        signs = np.frombuffer(self._data, dtype=np.uint8)[self._places[first:last]]
        return (signs == _COMMA[0]) & (self._depths[first:last] == depth)

    def _length(self, left: int, right: int) -> int:
        return int(self._places[right] - self._places[left])

    def _add(self, value: Any, left: int, right: int, depth: int) -> None:
        """Parse the entries between two edges and add them to `value`."""
        start, end = int(self._places[left]) + 1, int(self._places[right])
        text = self._data[start:end]
        if isinstance(value, list):
            if end - start <= _PART:
                value.extend(json.loads(b"[%b]" % text))
            else:
                value.append(self.build(start, end, left + 1, right, depth))
        elif end - start <= _PART:
            value.update(json.loads(b"{%b}" % text))
        else:
            written = text.decode("utf-8", "surrogatepass").lstrip()
            key, behind = json.JSONDecoder().raw_decode(written)
            if not isinstance(key, str):
                raise Corrupt("an entry without a key")
            value_text = written[written.index(":", behind) + 1 :].encode("utf-8", "surrogatepass")
            value[key] = self.build(end - len(value_text), end, left + 1, right, depth)
