"""Untrusted charts for a page: their safe parts, by mime type.

With our JupyterLab extension it is drawn in a frame that may request nothing; every other page draws the mime type of
the library itself. The safe parts alone are therefore harmless for both.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.untrusted.vega import VEGALITE, NotDrawn, harmless_chart

# Figures of Plotly, without everything that fetches, runs or links something on the page
#
# A figure with more than a page can draw is not drawn; its data can still be read.

PLOTLY = "application/vnd.plotly.v1+json"

_TRACE_NAMES = """
bar barpolar box candlestick carpet cone contour contourcarpet funnel funnelarea heatmap histogram histogram2d
histogram2dcontour icicle indicator isosurface mesh3d ohlc parcats parcoords pie sankey scatter scatter3d scattercarpet
scattergl scatterpolar scatterpolargl scatterternary splom streamtube sunburst surface table treemap violin volume
waterfall
"""
_TRACES = frozenset(_TRACE_NAMES.split())
"""The allowed traces. Maps, which fetch tiles and borders, and images are not among them."""

_MAX_TRACES = 500
_MAX_VALUES = 500_000
"""Numbers, texts and other values of all traces and of the layout."""

_MAX_CHARACTERS = 8_000_000
"""Characters of all texts; numbers can be in a text, four or more characters each."""

_MAX_SUBPLOTS = 100
_MAX_SCENES = 20
"""Three-dimensional scenes; a page has only a few contexts for them."""

_MAX_DIMENSIONS = {"splom": 20, "parcoords": 60, "parcats": 60}
"""Columns of traces that draw columns against each other."""

_MAX_ADDITIONS = 1_000
"""Annotations, shapes and selections."""

_MAX_TEXT = 10_000
"""Characters of one text; the page breaks it into lines in more than linear time."""

_MAX_DEPTH = 20
"""Levels of a treemap, sunburst or icicle that are drawn; a click on a part shows what is below."""

_MAX_BINS = 10_000
_MAX_PIXELS = 10_000

_LIMITS = {"nbinsx": _MAX_BINS, "nbinsy": _MAX_BINS, "ncontours": _MAX_BINS, "minorgridcount": 10, "count": 100}
"""Settings that say how much is drawn. Without them, Plotly chooses."""

_STEPS = {"carpet": frozenset({"tickmode", "dtick"}), "streamtube": frozenset({"sizeref", "maxdisplayed"})}
"""Settings of a trace that could be so small that it is drawn without end. Without them, Plotly chooses."""

_NESTED = frozenset({"treemap", "sunburst", "icicle"})
_ADDITIONS = frozenset({"annotations", "shapes", "selections"})
_SUBPLOTS = re.compile(r"(?:xaxis|yaxis|scene|polar|ternary|smith)\d*")

_LEFT_OUT_NAMES = "images updatemenus sliders geo map mapbox meta source href src rangebreaks"
_LEFT_OUT = frozenset(_LEFT_OUT_NAMES.split())
_MONTHS = re.compile(r"M[1-9]\d{0,5}")
_TAGS = re.compile(r"<(?!/?(?:b|i|br|sub|sup|em|strong|extra)\s*/?>)", re.IGNORECASE)
_ADDRESS = re.compile(r"//|(?:javascript|data|blob|file)\s*:|url\s*\(", re.IGNORECASE)


@dataclass
class _FigureSize:
    """What is in the figure so far."""

    values: int = 0
    characters: int = 0
    additions: int = 0

    def add(self, value: Any) -> None:
        self.characters += len(value) if isinstance(value, str) else 0
        self._count(1)

    def add_part(self, name: str, value: Any) -> None:
        """Count the parts of a list of annotations or shapes, and check the length of a text."""
        if isinstance(value, str) and len(value) > _MAX_TEXT and name != "bdata":
            raise NotDrawn(f"it has a text of more than {_MAX_TEXT:,} characters")
        self.additions += len(value) if name in _ADDITIONS and isinstance(value, list) else 0
        if self.additions > _MAX_ADDITIONS:
            raise NotDrawn(f"it has more than {_MAX_ADDITIONS:,} annotations and shapes")

    def add_packed(self, array: Mapping[str, Any]) -> None:
        """Count the numbers of an array that is one text, `{"dtype": "f8", "bdata": …}`."""
        packed, dtype = array.get("bdata"), array.get("dtype")
        if isinstance(packed, str) and isinstance(dtype, str):
            width = int(dtype[-1]) if dtype[-1:] in "248" and dtype else 1
            self._count(len(packed) * 3 // 4 // width)

    def _count(self, values: int) -> None:
        self.values += values
        if self.values > _MAX_VALUES:
            raise NotDrawn(f"it has more than {_MAX_VALUES:,} values")
        if self.characters > _MAX_CHARACTERS:
            raise NotDrawn(f"it has more than {_MAX_CHARACTERS:,} characters")


def harmless_traces(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The traces and the layout of a figure, without pictures, maps, buttons, links and addresses."""
    traces, layout = spec.get("data"), spec.get("layout")
    if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
        raise NotDrawn("it is not written as figures are")
    if len(traces) > _MAX_TRACES:
        raise NotDrawn(f"it has more than {_MAX_TRACES} traces")
    for trace in traces:
        kind = trace.get("type", "scatter")
        if not isinstance(kind, str) or kind not in _TRACES:
            raise NotDrawn(f"it has a trace of the kind {str(kind)[:40]!r}")
        dimensions, most = trace.get("dimensions"), _MAX_DIMENSIONS.get(kind, 0)
        if most and isinstance(dimensions, list) and len(dimensions) > most:
            raise NotDrawn(f"it has a trace of more than {most} columns")
    layout = layout if isinstance(layout, dict) else {}
    if sum(_SUBPLOTS.fullmatch(str(key)) is not None for key in layout) > 2 * _MAX_SUBPLOTS:
        raise NotDrawn(f"it has more than {_MAX_SUBPLOTS} subplots")
    if len({str(trace.get("scene")) for trace in traces if "scene" in trace}) > _MAX_SCENES:
        raise NotDrawn(f"it has more than {_MAX_SCENES} scenes")
    template = layout.get("template")
    defaults = template.get("layout") if isinstance(template, dict) else None
    sized = [one for one in (layout, defaults) if isinstance(one, dict)]
    if not all(_is_drawable(one.get(side)) for one in sized for side in ("width", "height")):
        raise NotDrawn(f"it is wider or higher than {_MAX_PIXELS:,} pixels")
    size = _FigureSize()
    return {"data": [_trace(trace, size) for trace in traces], "layout": _clean(layout, size)}


def _trace(trace: Mapping[str, Any], size: _FigureSize) -> dict[str, Any]:
    kind = trace.get("type", "scatter")
    made: dict[str, Any] = _clean(trace, size, _STEPS.get(kind, frozenset()))
    if kind in _NESTED and not _is_between(made.get("maxdepth"), 1, _MAX_DEPTH):
        made["maxdepth"] = _MAX_DEPTH
    return made


def _is_drawable(pixels: Any) -> bool:
    if isinstance(pixels, str):  # Plotly also reads numbers in texts, in any notation of JavaScript
        return len(pixels) <= 5 and pixels.isascii() and pixels.isdigit() and int(pixels) <= _MAX_PIXELS
    return not isinstance(pixels, int | float) or 0 <= pixels <= _MAX_PIXELS


def _clean(value: Any, size: _FigureSize, left_out: frozenset[str] = frozenset()) -> Any:
    size.add(value)
    if isinstance(value, dict):
        size.add_packed(value)
        made: dict[str, Any] = {}
        for key, item in value.items():
            size.add_part(key, item)
            if not (_is_unsafe(key) or key in left_out or _is_too_much(key, item)):
                made[key] = _clean(item, size, left_out)
        return made
    if isinstance(value, list):
        for item in value:
            size.add_part("", item)
        return [_clean(item, size, left_out) for item in value]
    if isinstance(value, str):
        return "" if _ADDRESS.search(value) else _TAGS.sub("&lt;", value)
    return value


def _is_unsafe(key: str) -> bool:
    return key.rstrip("0123456789") in _LEFT_OUT or key.lower().endswith(("src", "url"))


def _is_too_much(key: str, value: Any) -> bool:
    """Whether a setting would make more than a page can draw."""
    if key in _LIMITS:
        return not _is_between(value, 0, _LIMITS[key])
    if not isinstance(value, dict) or "size" not in value:
        return False
    has_span = bool({"start", "end"} & value.keys())  # also in `contours.z` of a surface, for example
    if not has_span and key not in ("xbins", "ybins", "contours"):
        return False
    start, end, width = value.get("start"), value.get("end"), value["size"]
    if isinstance(width, str):  # a span of months; Plotly also reads numbers in texts
        return not _MONTHS.fullmatch(width)
    if not (isinstance(start, int | float) and isinstance(end, int | float) and isinstance(width, int | float)):
        return True
    return not width > 0 or not abs(end - start) / width <= _MAX_BINS


def _is_between(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and least <= value <= most


# Numbers, rounded to what can be seen, so that a page has fewer characters to save

_DIGITS = 6
"""Significant digits of a number, and digits of the range of its list. A screen shows a few thousand places."""


def rounded(value: Any) -> Any:
    """A JSON value in which numbers of a list, or of one column of a list of rows, have fewer digits.

    A number keeps its first six digits, for an axis with a logarithmic scale, and changes by less than a hundred
    thousandth of the range of the list, for large numbers that differ little. Integers are not changed, nor is a number
    that stands alone.
    """
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if not all(isinstance(row, dict) for row in value):
        decimals = _decimals(value)
        return [_round(part, decimals) if isinstance(part, float) else rounded(part) for part in value]
    columns: dict[str, list[Any]] = {}
    for row in value:
        for key, cell in row.items():
            columns.setdefault(key, []).append(cell)
    places = {key: _decimals(cells) for key, cells in columns.items()}
    return [
        {key: _round(cell, places[key]) if isinstance(cell, float) else rounded(cell) for key, cell in row.items()}
        for row in value
    ]


def _decimals(values: Iterable[Any]) -> int | None:
    """Decimals that show six digits of the range; None if there is no range."""
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    span = max(numbers, default=0.0) - min(numbers, default=0.0)
    return _DIGITS - 1 - math.floor(math.log10(span)) if 0 < span < math.inf else None


def _round(value: float, decimals: int | None) -> float:
    if decimals is None or not value or not math.isfinite(value):
        return value
    return round(value, max(decimals, _DIGITS - 1 - math.floor(math.log10(abs(value)))))


# The chart for a page

CHART = "application/vnd.autocoder-jupyter.chart+json"
"""Says under which mime type the same output has the specification. A specification is long, so it is in there once."""

EXACT_CHARACTERS = 32 * 2**10
"""Characters of the largest chart whose numbers are not rounded, so that its labels and tooltips are exact."""

Library = Literal["plotly", "altair"]


_HARMLESS: Mapping[Library, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "plotly": (PLOTLY, harmless_traces),
    "altair": (VEGALITE, harmless_chart),
}


def chart_bundle(library: Library, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The mime types of a chart; none if it needs a part that is not allowed, or is too large."""
    mime_type, harmless = _HARMLESS[library]
    try:
        return {CHART: {"mime_type": mime_type}, mime_type: harmless(spec)}
    except NotDrawn:
        return {}


def chart_place(
    library: Library, spec: Mapping[str, Any], most: int, mask: Callable[[list[str]], list[str]] = list
) -> str:
    """The safe parts of a chart for an element of a page: its mime type and specification, as JSON text in ASCII.

    The numbers of a chart of more than `EXACT_CHARACTERS` are rounded; no screen shows the difference.
    """
    mime_type, harmless = _HARMLESS[library]
    try:
        chart = {"mime_type": mime_type, "spec": harmless(spec)}
        size = len(_json(chart))
        if size > EXACT_CHARACTERS:
            chart = rounded(chart)
            size = len(_json(chart))
        if size > most:
            return ""
    except (NotDrawn, ValueError):  # JSON of a page has no NaN, and no int with thousands of digits
        return ""
    masked = _json(_with_texts(chart, iter(mask(list(_texts(chart))))))
    return masked if len(masked) <= most else ""


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value except the names of its parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """The value with other texts, in the order of `_texts`."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, list):
        return [_with_texts(part, texts) for part in value]
    return {key: _with_texts(part, texts) for key, part in value.items()} if isinstance(value, dict) else value


def why_not_drawn(library: Library, spec: Mapping[str, Any]) -> str:
    """Why a page does not draw a chart; "" if it does."""
    try:
        _HARMLESS[library][1](spec)
    except NotDrawn as error:
        return str(error)
    return ""
