"""Documents as plain data for a page that draws them itself, such as the side panel of JupyterLab."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypedDict

from autocoder_jupyter.untrusted.parsing import visible_block
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.document import Beside, Document, Row, Tone

MOST_CHARACTERS = 1000
"""Maximum length of a text."""


class PageDocument(TypedDict):
    """The first line of a document, and some of its rows: lines of text by label. A row without content is absent."""

    title: str
    tone: Tone
    facts: list[str]
    rows: dict[str, list[str]]


def page_document(document: Document, labels: Container[str]) -> PageDocument:
    """The document, with the rows that have these labels."""
    found = (block for section in document.sections for block in section.blocks if isinstance(block, Row))
    rows = {row.label: list(map(_shown, _lines(row))) for row in found if row.label in labels}
    return {
        "title": _shown(document.title),
        "tone": document.tone,
        "facts": list(map(_shown, document.facts)),
        "rows": {label: lines for label, lines in rows.items() if lines},
    }


def _lines(row: Row) -> Iterator[str]:
    for block in row.blocks:
        yield from blocks_text(block.lines if isinstance(block, Beside) else [block])


def _shown(text: str) -> str:
    return visible_block(text)[:MOST_CHARACTERS]
