"""Remove from an untrusted Plotly figure everything that fetches, runs or links something on the page.

A figure with more than a page can draw is not drawn; its data can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
_MAX_DIMENSIONS = 20
"""Columns of a matrix of scatter plots, each of which is drawn against each."""

_MAX_BINS = 10_000
_MAX_PIXELS = 10_000

_SUBPLOTS = re.compile(r"(?:xaxis|yaxis|scene|polar|ternary|smith)\d*")

_LEFT_OUT = frozenset({"images", "updatemenus", "sliders", "geo", "map", "mapbox", "meta", "source", "href", "src"})
_TAGS = re.compile(r"<(?!/?(?:b|i|br|sub|sup|em|strong|extra)\s*/?>)", re.IGNORECASE)
_ADDRESS = re.compile(r"//|(?:javascript|data|blob|file)\s*:|url\s*\(", re.IGNORECASE)


class _NotDrawn(Exception):
    """The figure has a trace that is not allowed, or too much of something. Its text is the reason."""


@dataclass
class _Size:
    """What is in the figure so far."""

    values: int = 0
    characters: int = 0

    def add(self, value: Any) -> None:
        self.characters += len(value) if isinstance(value, str) else 0
        self._count(1)

    def add_packed(self, array: Mapping[str, Any]) -> None:
        """Count the numbers of an array that is one text, `{"dtype": "f8", "bdata": …}`."""
        packed, dtype = array.get("bdata"), array.get("dtype")
        if isinstance(packed, str) and isinstance(dtype, str):
            width = int(dtype[-1]) if dtype[-1:] in "248" and dtype else 1
            self._count(len(packed) * 3 // 4 // width)

    def _count(self, values: int) -> None:
        self.values += values
        if self.values > _MAX_VALUES:
            raise _NotDrawn(f"it has more than {_MAX_VALUES:,} values")
        if self.characters > _MAX_CHARACTERS:
            raise _NotDrawn(f"it has more than {_MAX_CHARACTERS:,} characters")


def harmless_traces(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """The traces and the layout of a figure, without pictures, maps, buttons, links and addresses.

    Args:
        spec: the specification that came out of a sandbox, as JSON values.

    Returns:
        The figure to draw; None if one of its traces is not allowed, or if it is too large.
    """
    try:
        return _rebuilt(spec)
    except _NotDrawn:
        return None


def why_not_drawn(spec: Mapping[str, Any]) -> str:
    """Why a figure is not drawn; "" if it is."""
    try:
        _rebuilt(spec)
    except _NotDrawn as error:
        return str(error)
    return ""


def _rebuilt(spec: Mapping[str, Any]) -> dict[str, Any]:
    traces, layout = spec.get("data"), spec.get("layout")
    if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
        raise _NotDrawn("it is not written as figures are")
    if len(traces) > _MAX_TRACES:
        raise _NotDrawn(f"it has more than {_MAX_TRACES} traces")
    for trace in traces:
        kind = trace.get("type", "scatter")
        if not isinstance(kind, str) or kind not in _TRACES:
            raise _NotDrawn(f"it has a trace of the kind {str(kind)[:40]!r}")
        dimensions = trace.get("dimensions")
        if kind == "splom" and isinstance(dimensions, list) and len(dimensions) > _MAX_DIMENSIONS:
            raise _NotDrawn(f"it has a matrix of more than {_MAX_DIMENSIONS} columns")
    layout = layout if isinstance(layout, dict) else {}
    if sum(_SUBPLOTS.fullmatch(str(key)) is not None for key in layout) > 2 * _MAX_SUBPLOTS:
        raise _NotDrawn(f"it has more than {_MAX_SUBPLOTS} subplots")
    if any(not _is_drawable(layout.get(side)) for side in ("width", "height")):
        raise _NotDrawn(f"it is wider or higher than {_MAX_PIXELS:,} pixels")
    size = _Size()
    return {"data": _clean(traces, size), "layout": _clean(layout, size)}


def _is_drawable(pixels: Any) -> bool:
    return not isinstance(pixels, int | float) or 0 <= pixels <= _MAX_PIXELS


def _clean(value: Any, size: _Size) -> Any:
    size.add(value)
    if isinstance(value, dict):
        size.add_packed(value)
        kept = {key: item for key, item in value.items() if key.rstrip("0123456789") not in _LEFT_OUT}
        kept = {key: item for key, item in kept.items() if not _has_too_many_bins(key, item)}
        return {key: _clean(item, size) for key, item in kept.items() if not key.lower().endswith(("src", "url"))}
    if isinstance(value, list):
        return [_clean(item, size) for item in value]
    if isinstance(value, str):
        return "" if _ADDRESS.search(value) else _TAGS.sub("&lt;", value)
    return value


def _has_too_many_bins(key: str, value: Any) -> bool:
    """Whether a setting of bins or levels would make more than a page can draw. Plotly then chooses their number."""
    if key in ("nbinsx", "nbinsy", "ncontours"):
        return not isinstance(value, int) or not 0 <= value <= _MAX_BINS
    if key not in ("xbins", "ybins", "contours") or not isinstance(value, dict) or "size" not in value:
        return False
    start, end, width = value.get("start"), value.get("end"), value["size"]
    if isinstance(width, str):  # a span of months, which is at least one
        return False
    if not (isinstance(start, int | float) and isinstance(end, int | float) and isinstance(width, int | float)):
        return True
    return not width > 0 or not abs(end - start) / width <= _MAX_BINS
