"""Rewrite untrusted SVG. Shapes, text and colours are kept; scripts, downloads and links are removed.

Only listed elements and attributes are kept. A reference may lead only to a part of the same picture, or to a PNG that
is embedded in it.
"""

from __future__ import annotations

import base64
import binascii
import re
from xml.parsers import expat

from .errors import Corrupt
from .png import size_of

MAX_BYTES = 8 * 2**20
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


def rewritten(svg: bytes) -> bytes:
    """The same picture with its allowed parts only.

    Raises:
        Corrupt: it is not SVG, is too large, declares a document type, or multiplies its parts when it is drawn.
    """
    if len(svg) > MAX_BYTES:
        raise Corrupt(f"the SVG has {len(svg)} bytes, more than {MAX_BYTES}")
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
        size_of(base64.b64decode(match[1]))
    except (Corrupt, binascii.Error, ValueError):
        return False
    return True
