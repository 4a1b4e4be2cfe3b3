"""Read the bytes of a file as a reader sees them: decompressed, with their encoding, line by line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from autocoder_jupyter.untrusted.folder import READ_AHEAD

HEAD_BYTES = 256 * 1024
_LINE_BYTES = 1 << 20

_COMPRESSIONS: tuple[tuple[bytes, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"BZh", "bz2", bz2.open),
    (b"\xfd7zXZ\x00", "xz", lzma.open),
)
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def compression_of(path: Path) -> str:
    """`gzip`, `bz2`, `xz` or "", detected from the first bytes, not from the name."""
    with path.open("rb") as file:
        magic = file.read(6)
    return next((name for start, name, _ in _COMPRESSIONS if magic.startswith(start)), "")


def open_bytes(path: Path, compression: str) -> IO[bytes]:
    """The decompressed bytes."""
    opener = next((opener for _, name, opener in _COMPRESSIONS if name == compression), None)
    if opener is None:
        return path.open("rb", buffering=READ_AHEAD)
    return io.BufferedReader(opener(path, "rb"), READ_AHEAD)


def read_head(path: Path, compression: str) -> bytes:
    """The first quarter of a megabyte, decompressed."""
    with open_bytes(path, compression) as file:
        return file.read(HEAD_BYTES)


def encoding_of(head: bytes) -> str | None:
    """`utf-8`, `utf-8-sig`, `utf-16`, `cp1252`, or None if the bytes are not text."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\x00" in head:
        return None
    odd = sum(head.count(byte) for byte in range(32) if byte not in (9, 10, 12, 13, 27))
    if odd > 0.02 * len(head):
        return None
    try:
        # A character may be cut at the end of the head.
        head[: len(head) - 3 if len(head) == HEAD_BYTES else None].decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        if len(head) == HEAD_BYTES and error.start >= HEAD_BYTES - 8:
            return "utf-8"
        return "cp1252"
    return "utf-8"


def decode(raw: bytes, encoding: str) -> str:
    """The text. Invalid bytes become a replacement character."""
    return raw.decode(encoding, "replace")


def lines_of(path: Path, compression: str, encoding: str) -> Iterator[bytes]:
    """Lines as bytes, with their line ends. Each is truncated at one megabyte, to limit the memory."""
    with open_bytes(path, compression) as file:
        if encoding == "utf-16":
            for text in file.read().decode("utf-16", "replace").splitlines(keepends=True):
                yield text.encode("utf-8", "replace")
            return
        while piece := file.readline(_LINE_BYTES):
            yield piece
            while len(piece) == _LINE_BYTES and not piece.endswith(b"\n"):
                piece = file.readline(_LINE_BYTES)


def count_records(path: Path, compression: str, encoding: str, quoted: bool) -> int:
    """The number of lines that are not empty. With `quoted`, a line break between double quotes does not end a record.

    Cost: one pass over the file, about a second for 5 million lines.
    """
    records, inside = 0, False
    for line in lines_of(path, compression, encoding):
        if not inside and line.strip():
            records += 1
        if quoted and line.count(b'"') % 2:
            inside = not inside
    return records
