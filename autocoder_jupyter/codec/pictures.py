"""Encode figures as PNG, SVG and plain data. This is done in the process that made the figure.

Only figures of matplotlib, and of libraries that draw with it, have a PNG and an SVG. Figures of Plotly and Altair are
data, and the notebook page draws them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import svg as svgs
from .bounded_json import Allowance, parse
from .encoded import Encoded
from .errors import Corrupt, TypeMismatch, Unencodable
from .figure_data import data_of, specification
from .png import size_of

MAX_SPEC_BYTES = 16 * 2**20
PREVIEW_SIDES = 640, 520
"""The largest width and height of a preview in pixels. A card shows it half as high, so it is sharp on any screen."""

PREVIEW_BYTES = 24 * 2**10
"""A picture that is not larger needs no preview."""

_PREVIEW_PIXELS = 16_000_000
"""Pixels of the largest picture that gets a preview; making it takes memory for all of them."""

_PARTS = ("png", "svg", "spec", "preview")
_KINDS = ("matplotlib", "plotly", "altair")


@dataclass(frozen=True)
class Picture:
    """A figure that was received.

    Args:
        png: the picture as PNG; b"" for Plotly and Altair.
        width: width of `png` in pixels, 0 without a PNG.
        height: height of `png` in pixels, 0 without a PNG.
        svg: the picture as SVG; b"" if there is none, or if it would be too large.
        kind: `matplotlib`, `plotly` or `altair`.
        spec: the content of the figure, as JSON values; see `figure_data.specification`.
        data: the series (matplotlib, Plotly) or the table rows (Altair) of `spec`.
        preview: a smaller copy of `png` in fewer colours, for the card; b"" if `png` is small or has none.
    """

    png: bytes
    width: int
    height: int
    svg: bytes = b""
    kind: str = "matplotlib"
    spec: Mapping[str, Any] = field(default_factory=dict, hash=False)
    data: list[dict[str, Any]] = field(default_factory=list, hash=False)
    preview: bytes = b""


def write_picture(value: Any) -> Encoded:
    """Draw `value`: a matplotlib figure, anything with `savefig`, or a figure of Plotly or Altair.

    Raises:
        TypeMismatch: it is none of these.
        Unencodable: it cannot be drawn, or it is too large.
    """
    try:
        kind, spec = specification(value)
    except Exception as error:
        raise Unencodable("the Figure", f"cannot be read ({type(error).__name__}: {error})", "check it") from error
    if not kind:
        raise TypeMismatch("Figure", type(value).__name__)
    written = json.dumps(spec, allow_nan=False).encode("ascii")
    png = svg = b""
    if kind == "matplotlib":
        png, svg = _drawn_png(_savefig_of(value)), _drawn_svg(_savefig_of(value))
        written = written if len(written) <= MAX_SPEC_BYTES else b'{"axes": []}'
    elif len(written) > MAX_SPEC_BYTES:
        raise Unencodable("the Figure", f"holds {len(written)} bytes of data", "draw fewer points")
    return encoded_parts(kind, png, svg, written, _preview_of(png))


def encoded_parts(kind: str, png: bytes, svg: bytes, spec: bytes, preview: bytes) -> Encoded:
    """Encode a figure that is already drawn.

    Args:
        kind: `matplotlib`, `plotly` or `altair`.
        png: the picture, or b"".
        svg: the picture, or b"".
        spec: the content of the figure as JSON text in ASCII.
        preview: a smaller copy of the picture, or b"".
    """
    parts = (png, svg, spec, preview)
    sizes = {name: len(part) for name, part in zip(_PARTS, parts, strict=True)}
    header = {"type": "Figure", "kind": kind, "size": sum(sizes.values()), **sizes}
    return Encoded(header, tuple(memoryview(part) for part in parts))


def read_picture(header: Mapping[str, Any], payload: memoryview, *, share: int = 1) -> Picture:
    """Read a figure that may come from hostile code.

    The structure of both PNGs is checked, the SVG is rewritten, and the size of the data is checked before it is built.

    Raises:
        Corrupt: one of these parts is invalid or too large.
    """
    kind, sizes = header["kind"], [header.get(name, 0) for name in _PARTS]  # version 0.1.0 made no previews
    if kind not in _KINDS or not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) != len(payload):
        raise Corrupt("the parts of the figure are not what was announced")
    starts = itertools.accumulate(sizes, initial=0)
    png, svg, written, preview = (
        payload[start : start + size].tobytes() for start, size in zip(starts, sizes, strict=False)
    )
    if kind == "matplotlib" and not png:
        raise Corrupt("the figure has no picture")
    if sizes[2] > MAX_SPEC_BYTES:
        raise Corrupt(f"the figure's data have {sizes[2]} bytes, more than {MAX_SPEC_BYTES}")
    spec = parse(written, Allowance.part(share))
    width, height = size_of(png) if png else (0, 0)
    if preview and any(side > most for side, most in zip(size_of(preview), PREVIEW_SIDES, strict=True)):
        raise Corrupt("the preview of the figure is larger than one is made")
    safe = svgs.rewritten(svg) if svg else b""
    return Picture(png, width, height, safe, kind, spec, data_of(kind, spec), preview)


def _drawn_png(savefig: Any) -> bytes:
    """The figure as PNG, cropped to its content. The figure's own size is used if the cropped picture is too large."""
    problem = ""
    for cropping in ({"bbox_inches": "tight"}, {}):
        drawn = io.BytesIO()
        # The name and version of the software are left out, so that the same figure always gives the same bytes.
        try:
            savefig(drawn, format="png", metadata={"Software": None}, **cropping)
        except Exception as error:
            raise Unencodable(
                "the Figure", f"cannot be drawn ({type(error).__name__}: {error})", "check it with savefig"
            ) from error
        try:
            size_of(drawn.getvalue())
        except Corrupt as error:
            problem = str(error)
            continue
        return drawn.getvalue()
    raise Unencodable("the Figure", problem, "draw it smaller")


def _preview_of(png: bytes) -> bytes:
    """A smaller copy of a picture, in fewer colours; b"" if the picture is small, or if no copy can be made.

    Pillow is there wherever matplotlib is.
    """
    if len(png) <= PREVIEW_BYTES or math.prod(size_of(png)) > _PREVIEW_PIXELS:
        return b""
    found = b""
    with contextlib.suppress(Exception):
        pillow: Any = importlib.import_module("PIL.Image")
        with pillow.open(io.BytesIO(png), formats=["PNG"]) as opened:
            picture = opened.convert("RGBA")
        picture.thumbnail(PREVIEW_SIDES)
        for colours in (256, 64):
            written = io.BytesIO()
            few = picture.quantize(colours, method=pillow.Quantize.FASTOCTREE, dither=pillow.Dither.NONE)
            few.save(written, format="png")
            found = written.getvalue()
            if len(found) <= PREVIEW_BYTES:
                break
    return found if len(found) < len(png) else b""


def _drawn_svg(savefig: Any) -> bytes:
    """The figure as SVG; b"" if drawing fails or the SVG is too large. The same figure always gives the same bytes."""
    matplotlib: Any = sys.modules.get("matplotlib")  # already imported, because it made the figure
    drawn = io.BytesIO()
    with contextlib.suppress(Exception), matplotlib.rc_context({"svg.hashsalt": "figure"}):
        savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
        text = drawn.getvalue()
        return svgs.rewritten(text[text.index(b"<svg") :]) if len(text) <= svgs.MAX_BYTES else b""
    return b""


def _savefig_of(value: Any) -> Any:
    for owner in (value, getattr(value, "figure", None)):
        savefig = getattr(owner, "savefig", None)
        if callable(savefig) and not isinstance(owner, type):
            return savefig
    return None
