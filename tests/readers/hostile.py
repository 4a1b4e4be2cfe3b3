"""Up to five megabytes of everything that comes from outside, in the shapes that take a reader the longest."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Callable

from autocoder_jupyter.untrusted.parsing import TOKENS

BYTES = 5_000_000
_PRIME = 2**61 - 1
"""The hash of a number is the number modulo this."""


def repeated(piece: str, most: int = BYTES) -> str:
    return (piece * (most // len(piece.encode()) + 1))[: most // (len(piece.encode()) // len(piece) or 1)]


def _listed(piece: str, most: int) -> str:
    return "[" + (piece + ",") * (most // (len(piece) + 1)) + "0]"


def _keys(most: int) -> str:
    return "{" + ",".join(f'"key {number}":{number}' for number in range(most // 22)) + "}"


def _colliding(start: str, entry: str, end: str, most: int) -> str:
    count = most // (len(entry) + 22)
    return start + ",".join(entry % (number * _PRIME) for number in range(count)) + end


_JSON: dict[str, Callable[[int], str]] = {
    "empty lists": lambda most: _listed("[]", most),
    "empty lists, as many as are read": lambda most: _listed("[]", min(most, 700_000)),
    "numbers": lambda most: _listed("1", min(most, 1_900_000)),
    "long numbers": lambda most: _listed("9" * 4_000, most),
    "a number without end": lambda most: "9" * most,
    "texts": lambda most: _listed('"abcdefghij"', most),
    "keys": _keys,
    "a text with escapes": lambda most: '"' + "\\n" * (most // 2) + '"',
    "brackets": lambda most: "[" * most,
    "nested in an object": lambda most: '{"a":' * (most // 5),
    "colliding numbers of a recorded set": lambda most: _colliding('{"$type":"set","value":[', "%d", "]}", most),
    "no JSON": lambda most: "a" * most,
}

_SOURCES: dict[str, str] = {
    "names": "a\n",
    "assignments": "a=a\n",
    "names that are normalized": "é;",
    "functions": "def f(a):\n return a\n",
    "tests": "def test_a():\n 'a'\n",
    "imports": "import a\n",
    "lambdas": "lambda a:a\n",
    "literals": "'a',",
    "doubtful numbers": "1or 1\n",
    "f-strings": "f'{a}{a}{a}'\n",
    "classes": "class A:\n def test(s): a\n",
    "fences and code": "```python\na\n```\n",
    "conditions": "if a: a\n",
    "operators": "a+",
    "brackets": "(",
    "a long text": "'" + "a" * 1_000 + "'\n",
}


@functools.cache
def json_of(name: str, most: int = BYTES) -> str:
    return _JSON[name](most)


JSON = tuple(_JSON)
SOURCES = tuple(_SOURCES)


@functools.cache
def source_of(name: str, *, readable: bool) -> str:
    """A source: the longest that is parsed, or one of five megabytes."""
    piece = _SOURCES[name]
    if not readable:
        return repeated(piece)
    signs = len(piece.split()) + 2 * sum(not (sign.isalnum() or sign == " ") for sign in piece)
    return piece * min(TOKENS // max(signs, 1) - 1, 1_000_000 // len(piece))


TOML: dict[str, Callable[[], str]] = {
    "keys": lambda: "\n".join(f"a{number}=1" for number in range(500_000)),
    "tables": lambda: "\n".join(f"[a{number}]" for number in range(450_000)),
    "an array": lambda: "a=[" + "1," * (BYTES // 2) + "]",
    "a number": lambda: "a=" + "1" * BYTES,
    "dots": lambda: "a." * (BYTES // 2),
    "lines": lambda: "\n" * BYTES,
    "brackets": lambda: "a=" + "[" * BYTES,
}
TOML_HERE = tuple(TOML)


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def grey_picture(width: int, height: int, rows: bytes, *more: bytes) -> bytes:
    """A PNG in shades of grey with further chunks before its content."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"".join((b"\x89PNG\r\n\x1a\n", head, *more, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND")))
