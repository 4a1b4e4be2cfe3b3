"""Encode figures as PNG, SVG and plain data. This is done in the process that made the figure.

Only figures of matplotlib, and of libraries that draw with it, have a PNG and an SVG. Figures of Plotly and Altair are
data, and the notebook page draws them.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import importlib
import io
import itertools
import json
import math
import re
import struct
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from .bounded_json import Allowance, parse
from .figure_data import data_of, specification
from .frames import Encoded
from .plain import Corrupt, TypeMismatch, Unencodable

# PNG

MAX_SIDE = 20_000
MAX_PIXELS = 100_000_000
MAX_PNG_BYTES = 64 * 2**20
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


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG in pixels. The pixels themselves are not decoded.

    Raises:
        Corrupt: it is not a PNG, is too large, or has a chunk that is broken, unknown or missing.
    """
    if len(png) > MAX_PNG_BYTES:
        raise Corrupt(f"the picture has {len(png)} bytes, more than {MAX_PNG_BYTES}")
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


# SVG
#
# Untrusted SVG is rewritten. Shapes, text and colours are kept; scripts, downloads and links are removed. Only listed
# elements and attributes are kept. A reference may lead only to a part of the same picture, or to an embedded PNG.

MAX_SVG_BYTES = 8 * 2**20
_MAX_ELEMENTS = 200_000
_MAX_DEPTH = 100

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

_ELEMENT_NAMES = """
svg g defs path rect circle ellipse line polyline polygon use clipPath text tspan image title linearGradient
radialGradient stop pattern
"""
_ELEMENTS = frozenset(_ELEMENT_NAMES.split())

_ATTRIBUTE_NAMES = """
id d x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy width height viewBox points transform style offset version
preserveAspectRatio gradientUnits gradientTransform patternUnits patternTransform clipPathUnits clip-path clip-rule
fill fill-rule fill-opacity stroke stroke-width stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray
stroke-dashoffset stroke-opacity stop-color stop-opacity opacity color display visibility font-family font-size
font-style font-weight font-variant text-anchor dominant-baseline letter-spacing
"""
_ATTRIBUTES = frozenset(_ATTRIBUTE_NAMES.split())
# These lines replace matplotlib's style sheet, which is removed.
_ROOT_LINES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
_TARGET = re.compile(r"#[\w.:-]{1,200}")
_LOCAL_URL = re.compile(r"url\(\s*['\"]?#[\w.:-]{1,200}['\"]?\s*\)")
_FORBIDDEN = re.compile(r"url\s*\(|image\s*\(|image-set|expression|javascript|@|\\|/\*|://|data:", re.IGNORECASE)
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TEXT = str.maketrans(_IN_TEXT)
_VALUE = str.maketrans(_IN_TEXT | {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
"""References for text and for values of attributes. `xml.sax.saxutils` has functions for this, but it imports HTTP and
TLS, which every start of a worker would wait for."""
_PNG_ADDRESS = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")


def sanitized_svg(svg: bytes) -> bytes:
    """The same picture with its allowed parts only."""
    if len(svg) > MAX_SVG_BYTES:
        raise Corrupt(f"the SVG has {len(svg)} bytes, more than {MAX_SVG_BYTES}")
    writer = _SvgWriter()
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    parser.buffer_text = True
    try:
        parser.Parse(svg, True)
    except expat.ExpatError as error:
        raise Corrupt(f"the SVG cannot be read: {error}") from None
    return writer.whole()


def _refuse_doctype(*_: object) -> None:
    raise Corrupt("the SVG declares a document type, which may hold entities")


class _SvgWriter:
    """Receives the events of the parser, and writes the allowed elements and attributes."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._open: list[str] = []
        self._skipped = 0
        self._count = 0
        self._ids: list[str] = []
        self._using: set[str] = set()
        self._used: set[str] = set()
        self._owners: list[str | None] = []
        self._painted: list[bool] = []

    def start(self, name: str, given: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MAX_ELEMENTS or len(self._open) > _MAX_DEPTH:
            raise Corrupt("the SVG has too many parts")
        space, _, tag = name.rpartition(" ")
        # Patterns painted with patterns would multiply the work of drawing, as nested copies do.
        nested = tag == "pattern" and any(self._painted)
        if self._skipped or space != _SVG or tag not in _ELEMENTS or (not self._open and tag != "svg") or nested:
            if not self._open:
                raise Corrupt("the SVG does not begin with <svg>")
            self._skipped += 1
            return
        attributes = dict(self._attributes(tag, given))
        if not self._open:
            attributes = {"xmlns": _SVG, "xmlns:xlink": _XLINK, **_ROOT_LINES, **attributes}
        self._owners.append(attributes.get("id"))
        self._painted.append(any("url" in value.lower() for value in attributes.values()))
        if tag == "use":
            self._using.update(owner for owner in self._owners if owner)
            self._used.add(attributes.get("xlink:href", "")[1:])
        written = [f' {key}="{value.translate(_VALUE)}"' for key, value in attributes.items()]
        self._out.append(f"<{tag}{''.join(written)}>")
        self._open.append(tag)

    def _attributes(self, tag: str, given: dict[str, str]) -> list[tuple[str, str]]:
        kept = []
        in_pattern = tag == "pattern" or "pattern" in self._open
        for name, value in given.items():
            space, _, plain = name.rpartition(" ")
            if plain == "href" and space in ("", _XLINK):
                if _leads_inside(tag, value) and not in_pattern:
                    kept.append(("xlink:href", value))
                continue
            foreign = value if in_pattern else _LOCAL_URL.sub("", value)
            if not space and plain in _ATTRIBUTES and not _FORBIDDEN.search(foreign):
                kept.append((plain, value))
        return kept

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        self._owners.pop()
        self._painted.pop()
        self._out.append(f"</{self._open.pop()}>")

    def text(self, content: str) -> None:
        if not self._skipped and self._open and self._open[-1] in ("text", "tspan", "title"):
            self._out.append(content.translate(_TEXT))

    def whole(self) -> bytes:
        if self._using & self._used:  # copies of copies: a few lines could become millions of shapes
            raise Corrupt("the SVG uses parts that use others")
        return "".join(self._out).encode("utf-8")


def _leads_inside(tag: str, value: str) -> bool:
    if tag != "image":
        return tag in ("use", "linearGradient", "radialGradient", "pattern") and bool(_TARGET.fullmatch(value.strip()))
    match = _PNG_ADDRESS.fullmatch(value.strip())
    if match is None:
        return False
    try:
        png_size(base64.b64decode(match[1]))
    except (Corrupt, binascii.Error, ValueError):
        return False
    return True


# Figures

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
    """Draw `value`: a matplotlib figure, anything with `savefig`, or a figure of Plotly or Altair."""
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
    """Encode a figure that is already drawn."""
    parts = (png, svg, spec, preview)
    sizes = {name: len(part) for name, part in zip(_PARTS, parts, strict=True)}
    header = {"type": "Figure", "kind": kind, "size": sum(sizes.values()), **sizes}
    return Encoded(header, tuple(memoryview(part) for part in parts))


def read_picture(header: Mapping[str, Any], payload: memoryview, *, share: int = 1) -> Picture:
    """Read a figure that may come from hostile code.

    The structure of both PNGs is checked, the SVG is rewritten, and the size of the data is checked before it is built.
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
    width, height = png_size(png) if png else (0, 0)
    if preview and any(side > most for side, most in zip(png_size(preview), PREVIEW_SIDES, strict=True)):
        raise Corrupt("the preview of the figure is larger than one is made")
    safe = sanitized_svg(svg) if svg else b""
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
            png_size(drawn.getvalue())
        except Corrupt as error:
            problem = str(error)
            continue
        return drawn.getvalue()
    raise Unencodable("the Figure", problem, "draw it smaller")


def _preview_of(png: bytes) -> bytes:
    """A smaller copy of a picture, in fewer colours; b"" if the picture is small, or if no copy can be made.

    Pillow is there wherever matplotlib is.
    """
    if len(png) <= PREVIEW_BYTES or math.prod(png_size(png)) > _PREVIEW_PIXELS:
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
        return sanitized_svg(text[text.index(b"<svg") :]) if len(text) <= MAX_SVG_BYTES else b""
    return b""


def _savefig_of(value: Any) -> Any:
    for owner in (value, getattr(value, "figure", None)):
        savefig = getattr(owner, "savefig", None)
        if callable(savefig) and not isinstance(owner, type):
            return savefig
    return None
