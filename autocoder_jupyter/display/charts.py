"""Charts that the code of a model returned, as images, charts of the page, or text.

Their text is untrusted and never becomes markup of the page. An SVG is shown as an image, in which no script runs and
nothing is loaded. The front end draws the safe parts of a Plotly or Vega-Lite specification. Everything else, HTML
included, is shown as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.untrusted.chart_words import chart_words, svg_words
from autocoder_jupyter.untrusted.charts import Library, chart_bundle, chart_place, why_not_drawn
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import data_address
from autocoder_jupyter.view.document import Block, Drawing
from autocoder_jupyter.view.markup import Html, element, escape, html_output, join

MOST_CHARACTERS = 1_000_000
"""Characters of a chart that is drawn; of a longer one, only the beginning of its text is shown."""

TEXT_CHARACTERS = 2_000
"""Characters of a chart that is shown as text."""

CARD_CHARACTERS = 10_000
"""Characters of an SVG on a card, which the notebook saves with every run."""

CHART_CHARACTERS = 64 * 2**10
"""Characters of a specification that a card draws."""

_SVG = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)?<svg[\s>]", re.DOTALL)


def is_svg(chart: str) -> bool:
    return len(chart) <= MOST_CHARACTERS and _SVG.match(chart[:2_000]) is not None


def thumbnail(chart: str) -> dict[str, str]:
    """How the panel shows a chart: `src` of an image, or `chart`, which our lab extension draws; empty if it cannot."""
    if is_svg(chart):
        return {"src": _address(chart)} if len(chart) <= CARD_CHARACTERS else {}
    return {"chart": place} if (place := _place(chart)) else {}


def _address(chart: str) -> str:
    return data_address(chart.encode("utf-8", "replace"), "image/svg+xml")


def picture(chart: str, number: int) -> Html:
    """An SVG as an image."""
    source = _address(chart)
    return element(
        "img", alt=": ".join(filter(None, (f"chart {number}", description(chart)))), look="figure", src=source
    )


def description(chart: str) -> str:
    """What a chart shows, in one line; "" if that is not known."""
    if is_svg(chart):
        return svg_words(chart)
    spec = _parsed(chart)
    return "" if spec is None else chart_words(_library(spec), spec)


def specification(chart: str) -> dict[str, Any] | None:
    """A Plotly or Vega-Lite chart by mime type, without its unsafe parts; None for everything else."""
    spec = _parsed(chart)
    return None if spec is None else chart_bundle(_library(spec), spec) or None


def why_as_text(chart: str) -> str:
    """Why a specification is shown as text; "" if it is drawn, or if it is none."""
    spec = _parsed(chart)
    if spec is None or not (_library(spec) == "altair" or "data" in spec):
        return ""
    return why_not_drawn(_library(spec), spec)


def _place(chart: str) -> str:
    """The safe parts of a specification that a card draws; "" for every other chart."""
    spec = _parsed(chart)
    return "" if spec is None else chart_place(_library(spec), spec, CHART_CHARACTERS)


def _parsed(chart: str) -> Mapping[str, Any] | None:
    if len(chart) > MOST_CHARACTERS or not chart.lstrip().startswith("{"):
        return None
    try:
        spec = json.loads(chart)
    except (ValueError, RecursionError):
        return None
    return spec if isinstance(spec, Mapping) else None


def _library(spec: Mapping[str, Any]) -> Library:
    return "altair" if "mark" in spec or "vega-lite" in str(spec.get("$schema", "")) else "plotly"


def drawn(chart: str, *, for_page: bool) -> dict[str, Any] | None:
    """A chart that the card does not show, by mime type; None for a chart that the card shows."""
    if is_svg(chart):
        return {**html_output(picture(chart, 1), "an SVG")} if len(chart) > CARD_CHARACTERS else None
    found = None if for_page and _place(chart) else specification(chart)
    return None if found is None else {**found, "text/plain": description(chart) or "a figure"}


def chart_block(chart: str, number: int, name: str) -> Block:
    """A chart on the card. In a terminal, its kind and size."""
    return Drawing(_chart_html(chart, number, name), _chart_line(chart, number, name))


def _chart_html(chart: str, number: int, name: str) -> Html:
    if is_svg(chart) and len(chart) <= CARD_CHARACTERS:
        return element("div", picture(chart, number))
    if place := _place(chart):
        return markup.chart(place, f"Chart {number}: {description(chart)}")
    if is_svg(chart) or specification(chart) is not None:
        described = element("div", escape(description(chart)))
        return join(described, markup.muted_line(f"To see chart {number}, make {name} the last line of a cell."))
    why = why_as_text(chart)
    title = f"Chart {number}, as text{f', because {why}' if why else ''}"
    return markup.details(title, markup.code(markup.clipped(chart, TEXT_CHARACTERS)))


def _chart_line(chart: str, number: int, name: str) -> str:
    kind = "an SVG" if is_svg(chart) else "a figure" if specification(chart) is not None else "text"
    size = f"chart {number} is {kind} of {len(chart):,} characters"
    described = description(chart)
    return f"{size}{f' ({described})' if described else ''}: {name}.charts[{number - 1}]"
