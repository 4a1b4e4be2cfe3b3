"""Documents as text for terminals, and as plain data for the side panel of JupyterLab."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Iterator
from typing import TypedDict

from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.view import markup, source
from autocoder_jupyter.view.document import (
    Beside,
    Block,
    Bullets,
    Button,
    Diff,
    Document,
    Drawing,
    Fold,
    Group,
    Item,
    Items,
    Line,
    Offer,
    Paragraph,
    Piece,
    Row,
    Section,
    Source,
    Span,
    Table,
    Tone,
)

# Terminals

TABLE_CHARACTERS = 100
"""Characters of a line of a table that is not for a terminal."""

_NARROWEST = 40
_CODE = " " * 4
"""The indent of source, tables and further lines, which are not wrapped."""


def document_text(document: Document, columns: int = 0) -> str:
    """The document in lines of text."""
    columns = max(columns, _NARROWEST) if columns else 0
    first = " · ".join((f"● {document.name}  {document.title}", *document.facts))
    shown = (section for section in document.sections if section.only != "html")
    table = columns - len(_CODE) if columns else TABLE_CHARACTERS
    text = markup.lines([first, *(f"  {words}" for section in shown for words in _section(section, table))])
    return wrapped(text, columns)


def wrapped(text: str, columns: int) -> str:
    """The lines of a text, wrapped between words; as they are if `columns` is 0."""
    return "\n".join(_wrapped(words, columns) for words in text.split("\n")) if columns else text


def _wrapped(words: str, columns: int) -> str:
    """A line, wrapped between words. Further lines are indented, so they cannot imitate a line of the card."""
    if len(words) <= columns or words.startswith(_CODE):
        return words
    return textwrap.fill(words, columns, subsequent_indent=" " * 6, break_on_hyphens=False)


def status_line(document: Document, clock: str = "") -> str:
    """The current step in one line of text, with the time so far."""
    return markup.line(f"{document.name}  {document.title}", clock, *document.status, *document.facts)


def blocks_text(blocks: Iterable[Block], table: int = TABLE_CHARACTERS) -> list[str]:
    """Blocks as lines of text; lines of tables are cut to `table` characters."""
    return [words for block in blocks for words in _block(block, table)]


def item_text(item: Item) -> str:
    """An item in one line, without what is below it."""
    return "  ".join(filter(None, (item.mark.text, _pieces(item.pieces), item.about, item.note)))


def _section(section: Section, table: int) -> Iterator[str]:
    if section.folded and section.title and blocks_text(section.blocks):
        yield f"{section.title}:"
    for block in section.blocks:
        # Further lines of an entry are indented (`markup.lines`), so the first line of a source is, too.
        found = _block(block, table)
        yield from (f"{_CODE}{words}" for words in found) if isinstance(block, Source) else found


def _block(block: Block, table: int) -> Iterator[str]:
    match block:
        case Line():
            yield from filter(None, (_pieces(block.pieces),))
        case Bullets():
            yield from (_pieces(entry.pieces) for entry in block.lines)
        case Paragraph():
            yield from filter(None, (" ".join(_pieces(entry.pieces) for entry in block.sentences),))
        case Beside():
            yield from filter(None, (", ".join(_pieces(entry.pieces) for entry in block.lines),))
        case Group():
            yield from (f"{block.heading.casefold()}: {words}" for words in blocks_text(block.blocks, table))
        case Source():
            yield from filter(None, (block.text,))
        case Diff():
            yield from filter(None, (source.unified(block.before, block.after, *block.names),))
        case Table():
            rows = (block.headings, *block.rows) if any(block.headings) else block.rows
            shown = markup.columns(rows, block.numeric or ()) if rows else ""
            yield from (f"  {words[:table]}" for words in shown.splitlines())
        case Item():
            yield item_text(block)
            yield from (f"    {words}" for words in blocks_text(block.below, table))
        case Items():
            yield from blocks_text(block.items, table)
        case Offer():
            yield f"{block.command} {block.meaning}"
        case Drawing():
            yield from filter(None, (block.text,))
        case Row():
            yield from _row(block, table)
        case Fold(only="html"):
            return
        case Fold():
            words = blocks_text(block.blocks, table)
            yield from (f"{block.title}:", *(f"  {entry}" for entry in words)) if words else ()


def _row(row: Row, table: int) -> Iterator[str]:
    if row.only == "html":
        return
    prefix = row.label.casefold() if row.prefix is None else row.prefix
    for words in blocks_text(row.blocks, table):
        yield f"{prefix}: {words}" if prefix and not words.startswith("  ") else words


def _pieces(pieces: Iterable[Piece]) -> str:
    return " ".join(filter(None, map(_piece, pieces)))


def _piece(piece: Piece) -> str:
    if isinstance(piece, Span):
        return "" if piece.only == "html" else piece.text
    return "" if isinstance(piece, Button) else piece


# The side panel

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
