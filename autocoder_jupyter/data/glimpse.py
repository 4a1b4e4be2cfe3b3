"""Short previews of the outputs on the sample, small enough for a saved notebook.

Private values and secrets are masked before the text is truncated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from autocoder_jupyter.data.cells import RAW_CHARACTERS, cell_text, is_null, shorten
from autocoder_jupyter.data.excerpt import Tell, excerpt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import without_secrets
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.untrusted.charts import chart_place, why_not_drawn

ROWS = 5
COLUMNS = 6
PARTS = 4
"""Most tables of one list or dict that are shown."""

FIGURES = 12
"""Most figures of one list or dict that are shown."""

CHARACTERS = 24
"""Maximum length of a cell."""

FIGURE_CHARACTERS = 256 * 2**10
"""Characters of HTML of the largest picture or chart on a card, which is saved with the notebook."""

CARD_CHARACTERS = 2 * FIGURE_CHARACTERS
"""Characters of all of them together."""

PICTURE_PIXELS = 4_000_000
"""Pixels of the largest picture. A page that is opened decodes it, and 12 KB can hold 100 million of one colour."""

CARD_PIXELS = 2 * PICTURE_PIXELS
"""Pixels of all of them together."""

TOO_LARGE = "too large for the card"
_SECRET = "not on the card, because the function gets secrets"
"""Nothing can be masked in a picture, and such a function could draw them."""


def glimpses(values: Mapping[str, Any], secrets: Mapping[str, str]) -> tuple[Glimpse, ...]:
    """A preview of each output.

    Args:
        values: the outputs by name.
        secrets: values that must not be shown, by the name that replaces each.
    """
    tell = _telling(secrets)
    found, characters, pixels = list[Glimpse](), CARD_CHARACTERS, CARD_PIXELS
    for output, value in values.items():
        for name, one in _parts(output, value, tell):
            glimpse = _carefully(name, one, tell)
            if secrets and (glimpse.picture or glimpse.chart):
                glimpse = _without_figure(glimpse, _SECRET)
            size, drawn = _characters(glimpse), _pixels(glimpse.picture)
            if size > min(characters, FIGURE_CHARACTERS) or drawn > min(pixels, PICTURE_PIXELS):
                glimpse, size, drawn = _without_figure(glimpse, TOO_LARGE), 0, 0
            found.append(glimpse)
            characters, pixels = characters - size, pixels - drawn
    return tuple(found)


def _without_figure(glimpse: Glimpse, why: str) -> Glimpse:
    return replace(glimpse, picture=b"", chart="", left_out=why)


def _characters(glimpse: Glimpse) -> int:
    """Characters of HTML of a picture, which is base64 there, or of a chart, whose quotation marks become `&quot;`."""
    return len(glimpse.picture) * 4 // 3 + len(glimpse.chart) + 5 * glimpse.chart.count('"')


def _pixels(picture: bytes) -> int:
    """Pixels of a PNG that was checked; its head has its width and height."""
    return int.from_bytes(picture[16:20], "big") * int.from_bytes(picture[20:24], "big")


def _parts(name: str, value: Any, tell: Tell) -> Iterable[tuple[str, Any]]:
    """A value; or the first parts of a list or dict of tables or figures, each with its place in it."""
    items = (
        list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, list | dict) else []
    )
    if not items or not isinstance(items[0][1], pd.DataFrame | pd.Series | Figure):
        return [(name, value)]
    most = FIGURES if isinstance(items[0][1], Figure) else PARTS
    shown = [(f"{name}[{tell([shorten(repr(key), CHARACTERS)])[0]}]", part) for key, part in items[:most]]
    more = len(items) - most
    return [*shown, (name, f"and {more} more")] if more > 0 else shown


def _carefully(name: str, value: Any, tell: Tell) -> Glimpse:
    try:
        return _glimpse(name, value, tell)
    except Exception as error:  # an unusual value must not fail a successful generation
        return Glimpse(name, f"cannot be shown in short ({type(error).__name__})")


def _telling(secrets: Mapping[str, str]) -> Tell:
    masker = Masker()

    def tell(texts: list[str]) -> list[str]:
        open_texts = [without_secrets(text, secrets) for text in texts]
        return list(map(masker.for_column(open_texts), open_texts))

    return tell


def _glimpse(name: str, value: Any, tell: Tell) -> Glimpse:
    if isinstance(value, pd.DataFrame | pd.Series):
        return Glimpse(name, table=excerpt(value, rows=ROWS, columns=COLUMNS, characters=CHARACTERS, tell=tell))
    if isinstance(value, Figure):
        return _figure(Glimpse(name, tell([value.description])[0]), value, tell)
    if isinstance(value, File | Dir):
        return Glimpse(name, "a file" if isinstance(value, File) else "a folder")
    if is_null(value):
        return Glimpse(name, str(value))
    text = cell_text(value)
    return Glimpse(name, shorten(tell([text])[0], RAW_CHARACTERS) if text else "(empty)")


def _figure(glimpse: Glimpse, figure: Figure, tell: Tell) -> Glimpse:
    if figure.kind == "matplotlib":
        return replace(glimpse, picture=figure.preview or figure.png)
    chart = chart_place(figure.kind, figure.spec, FIGURE_CHARACTERS, tell)
    if chart:
        return replace(glimpse, chart=chart)
    reason = why_not_drawn(figure.kind, figure.spec)
    return replace(glimpse, left_out=f"not drawn, because {reason}" if reason else TOO_LARGE)
