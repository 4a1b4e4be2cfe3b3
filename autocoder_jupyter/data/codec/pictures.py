"""Figures cross as PNG, drawn where the figure was made. Nothing else of a figure is ever read."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .encoded import Encoded
from .faults import Corrupt, TypeMismatch, Unencodable

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


@dataclass(frozen=True)
class Picture:
    """PNG bytes and their size in pixels."""

    png: bytes
    width: int
    height: int


def write_picture(value: Any) -> Encoded:
    """Draw `value`: a matplotlib figure, or anything with `savefig`, `figure.savefig` or `get_figure().savefig`.

    Raises:
        TypeMismatch: nothing about it can be drawn.
        Unencodable: drawing gave no acceptable PNG.
    """
    savefig = _savefig_of(value)
    if savefig is None:
        raise TypeMismatch("Figure", type(value).__name__)
    drawn = io.BytesIO()
    # Without the software's name and version, two runs of one program give the same bytes.
    try:
        savefig(drawn, format="png", metadata={"Software": None})
    except Exception as error:
        raise Unencodable(
            "the Figure", f"cannot be drawn ({type(error).__name__}: {error})", "check it with savefig"
        ) from error
    png = drawn.getvalue()
    try:
        _check(png)
    except Corrupt as error:
        raise Unencodable("the Figure", str(error), "draw it smaller") from None
    return Encoded({"type": "Figure", "size": len(png)}, (memoryview(png),))


def read_picture(header: Mapping[str, Any], payload: memoryview) -> Picture:
    """The picture, its structure checked.

    Raises:
        Corrupt: not a PNG of acceptable size.
    """
    png = bytes(payload)
    width, height = _check(png)
    return Picture(png, width, height)


def _savefig_of(value: Any) -> Any:
    for owner in (value, getattr(value, "figure", None)):
        savefig = getattr(owner, "savefig", None)
        if callable(savefig) and not isinstance(owner, type):
            return savefig
    return None


def _check(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG whose chunks are whole, of known kinds and in place."""
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
