"""Remove from an untrusted Plotly figure everything that fetches, runs or links something on the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

_LEFT_OUT = frozenset({"images", "updatemenus", "sliders", "geo", "map", "mapbox", "meta", "source", "href", "src"})
_TAGS = re.compile(r"<(?!/?(?:b|i|br|sub|sup|em|strong|extra)\s*/?>)", re.IGNORECASE)
_ADDRESS = re.compile(r"//|(?:javascript|data|blob|file)\s*:|url\s*\(", re.IGNORECASE)


def harmless_traces(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """The traces and the layout of a figure, without pictures, maps, buttons, links and addresses.

    Args:
        spec: the specification that came out of a sandbox, as JSON values.

    Returns:
        The figure to draw; None if one of its traces is not allowed.
    """
    traces = spec.get("data")
    if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
        return None
    if any(trace.get("type", "scatter") not in _TRACES for trace in traces):
        return None
    layout = spec.get("layout")
    return {"data": _clean(traces), "layout": _clean(layout) if isinstance(layout, dict) else {}}


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key.rstrip("0123456789") not in _LEFT_OUT}
        return {key: _clean(item) for key, item in kept.items() if not key.lower().endswith(("src", "url"))}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, str):
        return "" if _ADDRESS.search(value) else _TAGS.sub("&lt;", value)
    return value
