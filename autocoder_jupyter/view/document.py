"""The parts of a document: what is shown of a run, without HTML, styles and control characters of a terminal.

A view of a run or result lists sections of rows, tables, source and items. `as_html` and `as_text` draw them, so each
form has the same content, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from autocoder_jupyter.view.markup import EMPTY, Html

Tone = Literal["good", "bad", "warn", "busy", "quiet"]
Look = Literal["", "kept-lines", "indented", "hanging"]
Role = Literal["", "muted", "strong", "code", "muted code", "signature"] | Tone
Form = Literal["html", "text"]


@dataclass(frozen=True)
class Span:
    """Some text.

    Args:
        text: the text; it may be untrusted.
        role: what it is; a tone is a colour, and the text must be clear without it.
        only: the only form that shows it; None for every form.
    """

    text: str
    role: Role = ""
    only: Form | None = None
    tip: str = ""


@dataclass(frozen=True)
class Button:
    """A button that only our lab extension shows.

    Args:
        kind: its CSS class. Saved notebooks contain it, so it cannot be renamed.
        option: the options that it adds to the first line of its cell, or the command that it executes.
    """

    label: str
    kind: Literal[
        "autocode-wish",
        "autocode-refine-cell",
        "autocode-option-cell",
        "autocode-keep",
        "autocode-reveal",
        "autocode-call",
        "autocode-edit",
        "autocode-do",
    ] = "autocode-wish"
    option: str = ""


Piece = str | Span | Button


@dataclass(frozen=True)
class Line:
    """Pieces side by side. `look` keeps white space, or indents all lines or those after the first."""

    pieces: tuple[Piece, ...]
    look: Look = ""


@dataclass(frozen=True)
class Beside:
    """Short lines side by side; in a terminal separated by commas."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Paragraph:
    """Sentences one after the other, each with its button."""

    sentences: tuple[Line, ...]


@dataclass(frozen=True)
class Bullets:
    """A list of lines."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Group:
    """Blocks below a heading; in a terminal each line begins with the heading."""

    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Source:
    """Preformatted text.

    Args:
        python: whether it is coloured as Python, which takes five times as many characters.
        label: the accessible name of the box with a scroll bar around it; "" for no box.
        filename: the name of its download; None for no buttons, "" for buttons without a download.
        defines: the name that a function gets when the source is inserted into a cell.
        places: the positions of this name in the text.
    """

    text: str
    python: bool = False
    label: str = ""
    filename: str | None = None
    defines: str = ""
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Diff:
    """The changes from one source to another. `sides` shows them side by side, at most `most` lines; `equal` lines can
    then be expanded.
    """

    before: str
    after: str
    names: tuple[str, str] = ("before", "now")
    sides: bool = False
    most: int = 600
    equal: bool = True


@dataclass(frozen=True)
class Table:
    """A table of text. With `numeric`, numbers are aligned right. `label` is the accessible name of its scroll area."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...] | None = None
    label: str = "first rows"


@dataclass(frozen=True)
class Item:
    """A test, a check or a tool call.

    Args:
        mark: its outcome, as `✓ passed`.
        edge: whether its edge has the colour of the outcome.
    """

    mark: Span
    pieces: tuple[Piece, ...]
    about: str = ""
    note: str = ""
    below: tuple[Block, ...] = ()
    edge: bool = False


@dataclass(frozen=True)
class Items:
    """Items as a list; `label` is its accessible name."""

    items: tuple[Item, ...]
    label: str = ""


@dataclass(frozen=True)
class Offer:
    """A button that adds a cell to the notebook; elsewhere the command that does the same."""

    label: str
    cell: str
    command: str
    meaning: str


@dataclass(frozen=True)
class Drawing:
    """Something that is drawn elsewhere, as a chart, with the text for a terminal.

    `is_counted` is whether it counts for the size of the document; a picture is bounded where it is made.
    """

    html: Html
    text: str = ""
    is_counted: bool = True


@dataclass(frozen=True)
class Row:
    """Blocks with a label. A row without content is not shown.

    Args:
        label: its label; "" for none.
        prefix: the label in a terminal; the label in lower case by default.
        only: the only form that shows it; None for every form.
        refines: the name of the function that the buttons in it refine.
        kind: a CSS class that our lab extension knows.
    """

    label: str
    blocks: tuple[Block, ...]
    prefix: str | None = None
    only: Form | None = None
    refines: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Fold:
    """A collapsible part. A part without content is not shown. `is_beside`: it stands in the line of a label."""

    title: str
    blocks: tuple[Block, ...]
    opened: bool = False
    only: Form | None = None
    is_beside: bool = False


Block = (
    Line | Beside | Paragraph | Bullets | Group | Source | Diff | Table | Item | Items | Offer | Drawing | Row | Fold
)


@dataclass(frozen=True)
class Section:
    """A part of a document. A section without content is not shown.

    Args:
        title: its title; `shorter` of the document refers to it.
        folded: whether it is collapsible, with the title.
        only: the only form that shows it; None for every form.
        is_counted: whether it counts for the size of the document.
    """

    title: str
    blocks: tuple[Block, ...]
    folded: bool = True
    opened: bool = False
    only: Form | None = None
    is_counted: bool = True


@dataclass(frozen=True)
class Document:
    """What is shown of a run or of its result.

    Args:
        is_under_way: whether the title is of an active run; a page replaces it when the run has been interrupted.
        shorter: shorter forms of sections by title, in the order in which they are used until the document is short
            enough.
        is_indented: whether the content of folded sections is indented.
    """

    name: str
    title: str
    tone: Tone
    facts: tuple[str, ...] = ()
    is_under_way: bool = False
    marks: tuple[Span, ...] = ()
    status: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    shorter: tuple[tuple[str, tuple[Block, ...]], ...] = ()
    kind: str = "autocode-card"
    is_indented: bool = False


def line(*pieces: Piece, look: Look = "") -> Line:
    """A line; empty texts are left out."""
    return Line(tuple(piece for piece in pieces if piece), look)


def lines(texts: Iterable[str], role: Role = "") -> tuple[Line, ...]:
    """Texts below each other; empty ones are left out."""
    return tuple(Line((Span(text, role),)) for text in texts if text)


def muted(text: str) -> Line:
    """Less important text on its own line."""
    return Line((Span(text, "muted"),))


def drawn(html: Html) -> tuple[Block, ...]:
    """HTML as a block; nothing if it is empty."""
    return (Drawing(html),) if html != EMPTY else ()
