"""Documents as text for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autocoder_jupyter.view import diff, markup
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
    Piece,
    Row,
    Section,
    Source,
    Span,
    Table,
)

TABLE_CHARACTERS = 100
"""Characters of a line of a table."""


def document_text(document: Document) -> str:
    """The document in lines of text."""
    facts = filter(None, (*document.facts, document.last_step))
    first = " · ".join((f"● {document.name}  {document.title}", *facts))
    shown = (section for section in document.sections if section.only != "html")
    return markup.lines([first, *(f"  {words}" for section in shown for words in _section(section))])


def status_line(document: Document, clock: str = "") -> str:
    """The current step in one line of text, with the time so far."""
    return markup.line(f"{document.name}  {document.title}", clock, *document.status, *document.facts)


def blocks_text(blocks: Iterable[Block]) -> list[str]:
    """Blocks as lines of text."""
    return [words for block in blocks for words in _block(block)]


def item_text(item: Item) -> str:
    """An item in one line, without what is below it."""
    return "  ".join(filter(None, (item.mark.text, _pieces(item.pieces), item.about, item.note)))


def _section(section: Section) -> Iterator[str]:
    if section.folded and section.title and any(_has_text(block) for block in section.blocks):
        yield f"{section.title}:"
    for block in section.blocks:
        # Further lines of an entry are indented (`markup.lines`), so the first line of a source is, too.
        yield from (f"    {words}" for words in _block(block)) if isinstance(block, Source) else _block(block)


def _has_text(block: Block) -> bool:
    return next(_block(block), None) is not None


def _block(block: Block) -> Iterator[str]:
    match block:
        case Line():
            yield from filter(None, (_pieces(block.pieces),))
        case Bullets():
            yield from (_pieces(entry.pieces) for entry in block.lines)
        case Beside():
            yield from filter(None, (", ".join(_pieces(entry.pieces) for entry in block.lines),))
        case Group():
            yield from (f"{block.heading.casefold()}: {words}" for words in blocks_text(block.blocks))
        case Source():
            yield from filter(None, (block.text,))
        case Diff():
            yield from filter(None, (diff.unified(block.before, block.after, *block.names),))
        case Table():
            rows = (block.headings, *block.rows) if any(block.headings) else block.rows
            shown = markup.columns(rows, block.numeric or ()) if rows else ""
            yield from (f"  {words[:TABLE_CHARACTERS]}" for words in shown.splitlines())
        case Item():
            yield item_text(block)
            yield from (f"    {words}" for words in blocks_text(block.below))
        case Items():
            yield from blocks_text(block.items)
        case Offer():
            yield f"{block.command} {block.meaning}"
        case Drawing():
            yield from filter(None, (block.text,))
        case Row():
            yield from _row(block)
        case Fold(only="html"):
            return
        case Fold():
            words = blocks_text(block.blocks)
            yield from (f"{block.title}:", *(f"  {entry}" for entry in words)) if words else ()


def _row(row: Row) -> Iterator[str]:
    if row.only == "html":
        return
    prefix = row.label.casefold() if row.prefix is None else row.prefix
    for words in blocks_text(row.blocks):
        yield f"{prefix}: {words}" if prefix and not words.startswith("  ") else words


def _pieces(pieces: Iterable[Piece]) -> str:
    return " ".join(filter(None, map(_piece, pieces)))


def _piece(piece: Piece) -> str:
    if isinstance(piece, Span):
        return "" if piece.only == "html" else piece.text
    return "" if isinstance(piece, Button) else piece
