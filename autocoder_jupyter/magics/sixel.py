"""A picture as sixels: six pixels below each other are one character, for each colour that is in them.

The format is in chapter 14 of DEC's "VT330/VT340 Programmer Reference Manual, Volume 2" (EK-VT3XX-GP-002), which is at
https://vt100.net/docs/vt3xx-gp/chapter14.html. That terminal has 16 colours; those of today have at least 256.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import re
from typing import Any

import numpy as np

from autocoder_jupyter.codec.pictures import png_size
from autocoder_jupyter.data.overview import PICTURE_PIXELS

SIDES = 1_000, 2_000
"""The largest width and height in pixels. A larger picture is scaled down."""

COLOURS = 256
_GROUND = "white"
"""What is behind a transparent picture, as on a card: the ink of a chart is dark."""

_ROWS = 6
_RUN = re.compile(rb"(.)\1{3,}")
"""Characters that are shorter as a number and one character."""


def sixels(png: bytes) -> str:
    """The escape codes that draw a PNG at the cursor; empty without Pillow, or if it cannot be decoded.

    Pillow comes with matplotlib, but a picture may come from a sandbox where matplotlib is installed apart. The picture
    is not trusted: its chunks and its size are checked before it is decoded, and no other format is.
    """
    with contextlib.suppress(Exception):
        if math.prod(png_size(png)) <= PICTURE_PIXELS:
            return _encoded(*_reduced(png))
    return ""


def _reduced(png: bytes) -> tuple[Any, Any]:
    """The number of the colour of each pixel, by row and column, and the red, green and blue (0 to 255) of each."""
    pillow: Any = importlib.import_module("PIL.Image")
    with pillow.open(io.BytesIO(png), formats=["PNG"]) as opened:
        picture = opened.convert("RGBA")
    picture.thumbnail(SIDES)
    ground = pillow.new("RGBA", picture.size, _GROUND)
    ground.alpha_composite(picture)
    few = ground.convert("RGB").quantize(COLOURS, method=pillow.Quantize.MEDIANCUT, dither=pillow.Dither.NONE)
    return np.asarray(few), np.reshape(few.getpalette("RGB"), (-1, 3))


def _encoded(pixels: Any, palette: Any) -> str:
    height, width = pixels.shape
    # 1: what is not drawn, as the rest of the last six rows, stays as it is. Then the shape of a pixel, and the size.
    parts = [b'\x1bP0;1;0q"1;1;%d;%d' % (width, height)]
    for colour in np.unique(pixels):
        parts.append(b"#%d;2;%d;%d;%d" % (colour, *np.rint(palette[colour] / 2.55).astype(int)))
    for top in range(0, height, _ROWS):
        # `$` goes back to the left, for the next colour, and `-` to the next six rows.
        parts += [b"$".join(_band(pixels[top : top + _ROWS])), b"-"]
    return b"".join([*parts[:-1], b"\x1b\\"]).decode("ascii")


def _band(rows: Any) -> list[bytes]:
    """The sixels of each colour of at most six rows."""
    colours, numbers = np.unique(rows, return_inverse=True)
    bits = np.zeros((len(colours), rows.shape[1]), np.uint8)
    for place, row in enumerate(numbers.reshape(rows.shape)):
        bits[row, np.arange(len(row))] |= 1 << place
    # The character of 0 is "?". It draws nothing, and is not needed at the end.
    lines = (line.tobytes().rstrip(b"?") for line in bits + 63)
    return [b"#%d%b" % (colour, _RUN.sub(_repeated, line)) for colour, line in zip(colours, lines, strict=True)]


def _repeated(run: re.Match[bytes]) -> bytes:
    return b"!%d%b" % (len(run[0]), run[1])
