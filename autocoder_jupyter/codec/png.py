"""Check that a PNG is complete, has only known chunks, and is not too large to be shown."""

from __future__ import annotations

import struct
import zlib

from .errors import Corrupt

MAX_SIDE = 20_000
MAX_PIXELS = 100_000_000
MAX_BYTES = 64 * 2**20
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNKS = (
    b"IHDR",
    b"PLTE",
    b"IDAT",
    b"IEND",
    b"tRNS",
    b"pHYs",
    b"gAMA",
    b"sRGB",
    b"cHRM",
    b"sBIT",
    b"bKGD",
    b"tIME",
    b"tEXt",
)


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG in pixels. The pixels themselves are not decoded.

    Raises:
        Corrupt: it is not a PNG, is too large, or has a chunk that is broken, unknown or missing.
    """
    if len(png) > MAX_BYTES:
        raise Corrupt(f"the picture has {len(png)} bytes, more than {MAX_BYTES}")
    if png[:8] != _SIGNATURE:
        raise Corrupt("the picture is not a PNG")
    position, kinds = 8, []
    while position < len(png):
        (length,) = struct.unpack_from(">I", png, position)
        kind = png[position + 4 : position + 8]
        end = position + 12 + length
        if end > len(png) or kind not in _CHUNKS:
            raise Corrupt("the picture has a broken or unknown chunk")
        if struct.unpack_from(">I", png, end - 4)[0] != zlib.crc32(png[position + 4 : end - 4]):
            raise Corrupt("the picture has a chunk with a wrong checksum")
        kinds.append(kind)
        position = end
    if (
        kinds[:1] != [b"IHDR"]
        or struct.unpack_from(">I", png, 8)[0] != 13
        or kinds[-1] != b"IEND"
        or kinds.count(b"IEND") != 1
        or b"IDAT" not in kinds
    ):
        raise Corrupt("the picture has no content")
    width, height = struct.unpack_from(">II", png, 16)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS):
        raise Corrupt(f"the picture is {width} by {height} pixels, too large")
    return width, height
