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
from autocoder_jupyter.redaction.secrets import without_secrets
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.types.overview import Glimpse
from autocoder_jupyter.untrusted.charts import chart_place

ROWS = 5
COLUMNS = 6
PARTS = 4
"""Most tables of one list or dict that are shown."""

FIGURES = 12
"""Most figures of one list or dict that are shown."""

CHARACTERS = 24
"""Maximum length of a cell."""

PICTURE_BYTES = 48 * 2**10
"""Bytes of the largest picture on a card, which is saved with the notebook."""

PICTURE_PIXELS = 4_000_000
"""Pixels of the largest one. A page that is opened decodes it, and 12 KB can hold 100 million pixels of one colour."""

CHART_CHARACTERS = 64 * 2**10
"""Characters of the specification of the largest chart on a card, which is saved with the notebook."""

LARGEST = 2
"""How many of the largest pictures and charts all pictures and charts of a card may take together."""


def glimpses(values: Mapping[str, Any], secrets: Mapping[str, str]) -> tuple[Glimpse, ...]:
    """A preview of each output.

    Args:
        values: the outputs by name.
        secrets: values that must not be shown, by the name that replaces each.
    """
    tell = _telling(secrets)
    # Nothing can be masked in a picture, and a function that gets secrets could draw them.
    found, room = list[Glimpse](), 0.0 if secrets else float(LARGEST)
    for output, value in values.items():
        for name, one in _parts(output, value, tell):
            glimpse = _carefully(name, one, tell)
            size = _size(one, glimpse)
            found.append(glimpse if size <= room else replace(glimpse, picture=b"", chart=""))
            room -= size if size <= room else 0.0
    return tuple(found)


def _size(value: Any, glimpse: Glimpse) -> float:
    """The size of a picture or chart, where the largest that a card shows is 1; 0 for any other value."""
    pixels = value.width * value.height if glimpse.picture else 0
    return max(len(glimpse.picture) / PICTURE_BYTES, pixels / PICTURE_PIXELS, len(glimpse.chart) / CHART_CHARACTERS)


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
        is_small = len(value.png) <= PICTURE_BYTES and value.width * value.height <= PICTURE_PIXELS
        picture = value.png if is_small else b""
        chart = "" if value.kind == "matplotlib" else chart_place(value.kind, value.spec, CHART_CHARACTERS, tell)
        return Glimpse(name, tell([value.description])[0], picture=picture, chart=chart)
    if isinstance(value, File | Dir):
        return Glimpse(name, "a file" if isinstance(value, File) else "a folder")
    if is_null(value):
        return Glimpse(name, str(value))
    text = cell_text(value)
    return Glimpse(name, shorten(tell([text])[0], RAW_CHARACTERS) if text else "(empty)")
