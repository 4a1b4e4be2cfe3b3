"""How a page gets an untrusted chart: its safe parts, by mime type.

With our JupyterLab extension it is drawn in a frame that may request nothing; every other page draws the mime type of
the library itself. The safe parts alone are therefore harmless for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from autocoder_jupyter.untrusted.not_drawn import NotDrawn
from autocoder_jupyter.untrusted.plotly_figures import PLOTLY, harmless_traces
from autocoder_jupyter.untrusted.vega_charts import VEGALITE, harmless_chart

CHART = "application/vnd.autocoder-jupyter.chart+json"
"""Says under which mime type the same output has the specification. A specification is long, so it is in there once."""

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


def why_not_drawn(library: Library, spec: Mapping[str, Any]) -> str:
    """Why a page does not draw a chart; "" if it does."""
    try:
        _HARMLESS[library][1](spec)
    except NotDrawn as error:
        return str(error)
    return ""
