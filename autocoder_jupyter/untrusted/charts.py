"""How a page gets an untrusted chart: its safe parts, by mime type.

With our JupyterLab extension it is drawn in a frame that may request nothing; every other page draws the mime type of
the library itself. The safe parts alone are therefore harmless for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from autocoder_jupyter.untrusted.not_drawn import NotDrawn
from autocoder_jupyter.untrusted.plotly_figures import PLOTLY, harmless_traces
from autocoder_jupyter.untrusted.rounded_numbers import rounded
from autocoder_jupyter.untrusted.vega_charts import VEGALITE, harmless_chart

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
    library: Library, spec: Mapping[str, Any], most: int, tell: Callable[[list[str]], list[str]] = list
) -> str:
    """The safe parts of a chart for an element of a page: its mime type and specification, as JSON text in ASCII.

    The numbers of a chart of more than `EXACT_CHARACTERS` are rounded; no screen shows the difference.

    Args:
        library: `plotly` or `altair`.
        spec: its content from a sandbox, as JSON values.
        most: characters of the longest text.
        tell: masks the texts in the chart; by default nothing is masked.

    Returns:
        The text; "" if the chart needs a part that is not allowed, or is too large.
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
    told = _json(_with_texts(chart, iter(tell(list(_texts(chart))))))
    return told if len(told) <= most else ""


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value except the names of its parts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _with_texts(value: Any, told: Iterator[str]) -> Any:
    """The value with other texts, in the order of `_texts`."""
    if isinstance(value, str):
        return next(told)
    if isinstance(value, list):
        return [_with_texts(part, told) for part in value]
    return {key: _with_texts(part, told) for key, part in value.items()} if isinstance(value, dict) else value


def why_not_drawn(library: Library, spec: Mapping[str, Any]) -> str:
    """Why a page does not draw a chart; "" if it does."""
    try:
        _HARMLESS[library][1](spec)
    except NotDrawn as error:
        return str(error)
    return ""
