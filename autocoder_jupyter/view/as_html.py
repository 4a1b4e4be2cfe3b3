"""Documents, and Markdown of a model, as HTML for notebooks."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from autocoder_jupyter.untrusted.visible import visible_block
from autocoder_jupyter.view import markup
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
)
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join
from autocoder_jupyter.view.source import colour_diff, side_by_side

# Documents

UNDER_WAY = "autocode-under-way"
"""The class of text about an active run. `labextension/src/outputs/followed.ts` finds it."""

_SPACE, _NO_BREAK = escape(" "), escape("\N{NO-BREAK SPACE}")


def document_html(document: Document, most: int) -> Html:
    """The document. If it has more than `most` characters, shorter forms of its sections are used."""
    first = join(head_html(document), marks_html(document.marks))
    sections = {section.title: section for section in document.sections if section.only != "text"}
    shown = {title: _section(section, document.is_indented) for title, section in sections.items()}
    room = most - len(first) + sum(len(shown[title]) for title in sections if not sections[title].is_counted)
    room += sum(_uncounted(section.blocks) for section in sections.values() if section.is_counted)
    for title, blocks in document.shorter:
        if sum(map(len, shown.values())) <= room:
            break
        if title in shown:
            form = _section(replace(sections[title], blocks=blocks), document.is_indented)
            shown[title] = min(shown[title], form, key=len)
    return markup.frame(document.kind, document.tone, first, *shown.values())


def _uncounted(blocks: Iterable[Block]) -> int:
    """Characters of the drawings that do not count."""
    return sum(
        _uncounted(block.blocks) if isinstance(block, Row) else len(block.html)
        for block in blocks
        if isinstance(block, Row) or (isinstance(block, Drawing) and not block.is_counted)
    )


def head_html(document: Document) -> Html:
    """The first line: name, state, and facts such as time and cost."""
    shown = (
        element("strong", escape(document.name), look="name"),
        element(
            "strong",
            escape(f"● {document.title}"),
            class_=UNDER_WAY if document.is_under_way else None,
            look=document.tone,
        ),
        element("span", escape(" · ".join(document.facts)), look="muted digits"),
    )
    return element("div", join(*shown, between=" "), class_="autocode-head", look="head")


def marks_html(marks: Iterable[Span]) -> Html:
    """The stages side by side."""
    shown = [element("span", escape(mark.text), look=mark.role, title=mark.tip) for mark in marks]
    return element("div", join(*shown, between=" "), look="marks") if shown else EMPTY


def blocks_html(blocks: Iterable[Block]) -> Html:
    """Blocks below each other."""
    return join(*map(_block, blocks))


def _section(section: Section, is_indented: bool) -> Html:
    content = blocks_html(section.blocks)
    if not section.folded:
        return content
    if content and is_indented:
        content = element("div", content, look="section")
    return markup.details(section.title, content, opened=section.opened)


def _block(block: Block) -> Html:
    match block:
        case Line():
            return element("div", pieces_html(block.pieces), look=block.look)
        case Beside():
            shown = (element("span", pieces_html(entry.pieces)) for entry in block.lines)
            return element("div", join(*shown, between=" "), look="beside") if block.lines else EMPTY
        case Paragraph():
            told = (element("span", pieces_html(entry.pieces)) for entry in block.sentences)
            return element("div", join(*told, between=" "))
        case Bullets():
            return markup.items(filter(None, (pieces_html(entry.pieces) for entry in block.lines)))
        case Group():
            return element("div", markup.muted(block.heading), blocks_html(block.blocks))
        case Source():
            return _source(block)
        case Diff():
            return _diff(block)
        case Table():
            return _table(block)
        case Item():
            return _item(block)
        case Items():
            listed = map(_item, block.items)
            return element("div", *listed, role="list", aria_label=block.label or None) if block.items else EMPTY
        case Offer():
            return _offer(block)
        case Drawing():
            return block.html
        case Row():
            return _row(block)
        case Fold(only="text"):
            return EMPTY
        case Fold():
            look = "" if block.is_beside else "fold"
            return markup.details(block.title, blocks_html(block.blocks), opened=block.opened, look=look)


def pieces_html(pieces: Iterable[Piece]) -> Html:
    """Pieces side by side. A mark, such as ✗, is never the last of its line."""
    shown = EMPTY
    between = EMPTY
    for piece in pieces:
        if drawn := _piece(piece):
            shown = join(shown, between, drawn)
            between = _NO_BREAK if isinstance(piece, Span) and len(piece.text) == 1 else _SPACE
    return shown


def _piece(piece: Piece) -> Html:
    if isinstance(piece, Button):
        option = piece.option or None
        return element("button", hidden=True, class_=piece.kind, aria_label=piece.label, data_autocode_option=option)
    if isinstance(piece, str):
        return escape(piece)
    if piece.only == "text":
        return EMPTY
    match piece.role:
        case "":
            return element("span", escape(piece.text), title=piece.tip) if piece.tip else escape(piece.text)
        case "strong":
            return element("strong", escape(piece.text), title=piece.tip or None)
        case "good" | "bad" | "warn" | "busy" | "quiet":
            return element("strong", escape(piece.text), look=piece.role, title=piece.tip or None)
        case "signature":
            return _signature(piece.text)
        case role:
            return element("span", escape(piece.text), look=role, title=piece.tip or None)


def _signature(text: str) -> Html:
    """The signature of a function; a narrow page does not divide its arrow."""
    call, arrow, outcome = text.rpartition(" -> ")
    whole = (element("span", escape("->"), look="together"),) if arrow else ()
    return element("span", join(*filter(None, (escape(call), *whole, escape(outcome))), between=" "), look="code")


def _row(row: Row) -> Html:
    if row.only == "text":
        return EMPTY
    content = blocks_html(row.blocks)
    shown = markup.row(row.label, content) if row.label else content
    if not content or not (row.refines or row.kind or not row.label):
        return shown
    return element(
        "div",
        shown,
        class_=row.kind or None,
        data_autocode_refines=row.refines or None,
        look="" if row.label else "above",
    )


def _item(item: Item) -> Html:
    look = f"item edge edge-{item.mark.role}" if item.edge else "item"
    about = (escape("·"), markup.muted(item.about)) if item.about else ()
    content = join(pieces_html(item.pieces), *about, between=" ")
    note = (element("div", escape(item.note), look="note muted"),) if item.note else ()  # beside the text at any width
    cells = (
        element("div", _piece(item.mark), look="outcome"),
        element("div", join(*note, content, between=" "), blocks_html(item.below), look="item-text"),
    )
    return element("div", join(*cells, between=" "), role="listitem", look=look)


def _table(table: Table) -> Html:
    if table.numeric is None:
        return markup.scrolled(markup.table(table.headings, table.rows)) if table.rows else EMPTY
    if not table.headings:
        return EMPTY
    looks = ["cell-right" if numeric else "cell-left" for numeric in table.numeric]
    shown = [_table_row("th", table.headings, looks), *(_table_row("td", row, looks) for row in table.rows)]
    content = element("table", *shown, look="text table digits")
    return markup.scrolled(content, table.label)


def _table_row(tag: Literal["th", "td"], row: Iterable[str], looks: Iterable[str]) -> Html:
    # A screen reader would read an empty heading.
    cells = (element(tag if cell else "td", escape(cell), look=look) for cell, look in zip(row, looks, strict=True))
    return element("tr", *cells, look="table-row")


def _diff(block: Diff) -> Html:
    if not block.sides:
        return colour_diff(block.before, block.after, *block.names)
    return side_by_side(block.before, block.after, *block.names, most=block.most, equal=block.equal)


def _source(block: Source) -> Html:
    if not block.text.strip():
        return EMPTY
    shown = markup.python(block.text) if block.python else markup.code(block.text)
    if block.label:
        return element("div", shown, look="box", tabindex="0", role="region", aria_label=block.label)
    if block.filename is None:
        return shown
    actions = [action("copy", "Copy"), action("insert", "Insert as a cell")]
    if block.filename:
        actions.append(download(block.filename, visible_block(block.text).encode(), "text/x-python"))  # as it is shown
    return element(
        "div",
        element("div", join(*actions, between=" "), look="source-bar"),
        element("div", shown, data_autocode_source=""),
        class_=markup.NO_FORMULAS,
        data_autocode_block="",
        data_autocode_name=block.defines if block.places else None,
        data_autocode_places=",".join(map(str, block.places)) if block.places else None,
    )


def _offer(offer: Offer) -> Html:
    source = element("span", escape(offer.cell), data_autocode_source="", look="hidden")
    words = join(markup.inline_code(offer.command), markup.muted(offer.meaning), between=" ")
    button = join(action("grant", offer.label, offer.meaning), source)
    typed = element("span", words, class_="autocode-words")
    shown = element("span", join(button, typed, between=" "), data_autocode_block="")
    return element("div", shown)


def action(kind: str, words: str, tip: str = "") -> Html:
    """A hidden button that our lab extension shows: `copy`, `insert` or `grant`. It has a label and no text, so a host
    that removes buttons and keeps their text (GitHub) shows nothing.
    """
    return element(
        "button",
        type="button",
        class_="autocode-action",
        data_autocode_action=kind,
        look="source-button",
        aria_label=words,
        title=tip or None,
    )


def download(filename: str, content: bytes, media_type: str, words: str = "") -> Html:
    """A link that saves `content`, which is part of the link."""
    address = data_address(content, media_type)
    return element("a", escape(words or f"Download {filename}"), download=filename, href=address, look="link")


def data_address(content: bytes, media_type: str) -> str:
    """A `data:` URL with the content."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


# Markdown
#
# It is untrusted: all of its text is escaped, and no link or picture is made of it. The address of a link is shown as
# text, so the user can read it before copying it. Only paragraphs, headings, lists, tables, code and bold text are
# rendered; everything else stays as it is written.

MOST_HTML = 20_000
"""Characters of HTML; a text that needs more, such as a wide table, is shown as it is written."""

_FENCE = re.compile(r"\s*(```+|~~~+)\s*(\w*)\s*$")
_HEADING = re.compile(r"#{1,6} +(.+?)[ #]*$")
_BULLET = re.compile(r"\s{0,8}[-*+] +(.+)$")
_NUMBER = re.compile(r"\s{0,8}(\d{1,3}[.)]) +(.+)$")
_DIVIDER = re.compile(r"\|?[ :|-]*-[ :|-]*$")
_BAR = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\*\*(?P<bold>[^*\n]{1,500})\*\*"
    r"|(?<![\w*])\*(?P<stressed>[^*\s][^*\n]{0,500})\*(?![\w*])"
    r"|(?P<picture>!?)\[(?P<words>[^\[\]\n]{0,500})\]\((?P<address>[^()\s]{1,500})\)"
)
"""Bounded repetitions: a text cannot make the search slow."""


def markdown_html(text: str) -> Html:
    """The text. Control characters are shown as escapes."""
    shown = join(*_blocks(text.splitlines()))
    return shown if len(shown) <= MOST_HTML else element("div", escape(text), look="kept-lines")


def _blocks(lines: list[str]) -> Iterator[Html]:
    at = 0
    while at < len(lines):
        begin, line = at, lines[at]
        at += 1
        if fence := _FENCE.match(line):
            while at < len(lines) and not lines[at].strip().startswith(fence[1]):
                at += 1
            code = "\n".join(lines[begin + 1 : at])
            at += 1
            yield blocks_html((Source(code, python=fence[2] in ("python", "py")),))
        elif "|" in line and at < len(lines) and "|" in lines[at] and _DIVIDER.match(lines[at].strip()):
            at += 1
            while at < len(lines) and "|" in lines[at]:
                at += 1
            yield _markdown_table(lines[begin], lines[begin + 2 : at])
        elif heading := _HEADING.match(line):
            yield element("div", element("strong", _inline(heading[1])), look="above")
        elif _BULLET.match(line):
            while at < len(lines) and _BULLET.match(lines[at]):
                at += 1
            yield markup.items(_inline(found[1]) for found in map(_BULLET.match, lines[begin:at]) if found)
        elif number := _NUMBER.match(line):
            yield element("div", escape(f"{number[1]} "), _inline(number[2]), look="hanging")
        elif line.strip():
            yield element("div", _inline(line), look="above" if begin and not lines[begin - 1].strip() else "")


def _markdown_table(heading: str, rows: list[str]) -> Html:
    headings = _cells(heading)
    width = len(headings)
    cells = tuple((*found, *width * ("",))[:width] for found in map(_cells, rows))
    numeric = tuple(all(_is_number(row[place]) for row in cells) and bool(cells) for place in range(width))
    return blocks_html((Table(headings, cells, numeric, "table"),))


def _cells(row: str) -> tuple[str, ...]:
    words = row.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell.strip().replace("\\|", "|")) for cell in _BAR.split(words))


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[-+(]?[$€£]?[\d,. ]*\d[\d,. ]*\)?\s?%?", cell)) or not cell


def _plain(text: str) -> str:
    """A text without the marks of its parts, as for a cell."""
    return _INLINE.sub(_words, text)


def _words(found: re.Match[str]) -> str:
    if found["code"]:
        return found["code"][1:-1]
    if found["address"]:
        if found["picture"]:
            return f"[picture: {found['words']}]"
        address = found["address"]
        return address if found["words"] in ("", address) else f"{found['words']} ({address})"
    return found["bold"] or found["stressed"]


def _inline(text: str) -> Html:
    parts, at = [], 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[at : found.start()], quotes=False))
        words = _words(found)
        if found["code"]:
            parts.append(markup.inline_code(words))
        elif found["bold"]:
            parts.append(element("strong", escape(words)))
        else:
            parts.append(escape(words, quotes=False))
        at = found.end()
    return join(*parts, escape(text[at:], quotes=False))
