"""A document in its forms: every part of it as HTML and as text, and what is shown of a long one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from autocoder_jupyter.view.as_html import blocks_html, document_html
from autocoder_jupyter.view.as_text import blocks_text, document_text, status_line
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
    Offer,
    Paragraph,
    Row,
    Section,
    Source,
    Span,
    Table,
    line,
    lines,
    muted,
)
from autocoder_jupyter.view.markup import element, escape
from tests.cases import each

HOSTILE = "<b onclick=x>\"'&\x1b[31m\u202egnp\x00"

BLOCKS: dict[str, Block] = {
    "line": line("plain", Span("bold", "strong"), Span("seen", "good", tip="why"), ""),
    "beside": Beside((line("one"), line("two"))),
    "paragraph": Paragraph((line("One."), line("Two."))),
    "bullets": Bullets((line("one"), line("two"))),
    "group": Group("Tests", (line("+ test_a"),)),
    "source": Source("x = 1", python=True),
    "box": Source("long", label="text"),
    "buttons": Source("x = 1", filename="x.py"),
    "diff": Diff("a\n", "b\n"),
    "sides": Diff("a\n", "b\n", sides=True),
    "table": Table(("a", "b"), (("1", "2"),)),
    "first rows": Table(("a", "b"), (("1", "2"),), (True, False)),
    "item": Item(Span("✓ passed", "good"), ("adds up",), "about", "12 ms", (Source("why"),), edge=True),
    "items": Items((Item(Span("✗ failed", "bad"), ("adds up",)),), "the tests"),
    "offer": Offer("Use it", "%%autocode f", "%autocode reply f use 1", "uses it"),
    "drawing": Drawing(element("img", src="data:,"), "a chart"),
    "row": Row("Reason", lines(["because"])),
    "fold": Fold("More", (line("inside"),)),
}

TEXTS = {
    "line": ["plain bold seen"],
    "beside": ["one, two"],
    "paragraph": ["One. Two."],
    "bullets": ["one", "two"],
    "group": ["tests: + test_a"],
    "source": ["x = 1"],
    "box": ["long"],
    "buttons": ["x = 1"],
    "diff": ["--- before\n+++ now\n@@ -1 +1 @@\n-a\n+b"],
    "sides": ["--- before\n+++ now\n@@ -1 +1 @@\n-a\n+b"],
    "table": ["  a  b", "  1  2"],
    "first rows": ["  a  b", "  1  2"],
    "item": ["✓ passed  adds up  about  12 ms", "    why"],
    "items": ["✗ failed  adds up"],
    "offer": ["%autocode reply f use 1 uses it"],
    "drawing": ["a chart"],
    "row": ["reason: because"],
    "fold": ["More:", "  inside"],
}


@each("name", BLOCKS)
def test_each_block_has_a_form_as_html_and_as_text(name: str, read: Any) -> None:
    assert blocks_text([BLOCKS[name]]) == TEXTS[name]
    assert read([BLOCKS[name]]).tags


def test_every_kind_of_block_is_tested() -> None:
    assert {type(block) for block in BLOCKS.values()} == set(get_args(Block))


def hostile(block: Any) -> Any:
    """The block with hostile text in place of every text."""
    if isinstance(block, Drawing):
        return Drawing(escape(HOSTILE), HOSTILE)
    if isinstance(block, str):
        return HOSTILE
    if isinstance(block, tuple):
        return tuple(map(hostile, block))
    if hasattr(block, "__dataclass_fields__"):
        kept = {"look", "role", "only", "kind", "refines"}
        values = {one.name: getattr(block, one.name) for one in fields(block)}
        return type(block)(**{name: value if name in kept else hostile(value) for name, value in values.items()})
    return block


@each("name", BLOCKS)
def test_text_from_outside_stays_text(name: str, read: Any) -> None:
    page = read([hostile(BLOCKS[name])])
    assert "b" not in page.tags and "onclick" not in page.attributes
    assert not {"\x1b", "\u202e", "\x00"} & set(page.text)
    document = Document(HOSTILE, HOSTILE, "good", (HOSTILE,), sections=(Section("", (hostile(BLOCKS[name]),)),))
    assert not {"\x1b", "\u202e", "\x00"} & set(document_text(document) + status_line(document))


def test_further_lines_of_a_text_cannot_imitate_a_line_of_the_card() -> None:
    document = Document("f", "Ready", "good", sections=(Section("", lines(["one\nnext: fake"]), folded=False),))
    assert document_text(document).splitlines() == ["● f  Ready", "  one", "      next: fake"]


def test_the_lines_of_a_source_are_below_each_other() -> None:
    section = Section("Function", (Source("def f():\n    g()"),), folded=False)
    text = document_text(Document("growth", "Ready", "good", sections=(section,)))
    assert text.splitlines()[1:] == ["      def f():", "          g()"]


def test_a_part_is_only_in_the_form_that_it_is_for() -> None:
    blocks = (
        line(Span("page", only="html"), Span("terminal", only="text")),
        Row("A", lines(["row of the page"]), only="html"),
        Row("A", lines(["row of the terminal"]), only="text"),
        Fold("B", lines(["part of the page"]), only="html"),
        Fold("B", lines(["part of the terminal"]), only="text"),
        line(Button("Refine")),
    )
    html, text = blocks_html(blocks), "\n".join(blocks_text(blocks))
    assert "page" in html and "row of the page" in html and "part of the page" in html and "terminal" not in html
    assert "terminal" in text and "row of the terminal" in text and "page" not in text and "Refine" not in text


def test_parts_without_content_are_not_shown(read: Any) -> None:
    empty = (Row("A", ()), Fold("B", ()), Items(()), Beside(()), Bullets(()), Source("  "), Table((), (), ()))
    assert blocks_html(empty) == "" and [words for words in blocks_text(empty) if words.strip()] == []
    document = Document("f", "Ready", "good", sections=(Section("C", empty), Section("D", (), folded=False)))
    assert read(document_html(document, 1_000)).text.strip() == "f ● Ready"


def test_a_long_document_is_shortened_in_the_given_order_and_no_further_than_it_must() -> None:
    parts = tuple(Section(title, (Source(title * 3_000),)) for title in "abc")
    document = Document(
        "f",
        "Ready",
        "good",
        sections=parts,
        shorter=(("b", (muted("b is elsewhere"),)), ("a", (muted("a is elsewhere"),)), ("c", (muted("gone"),))),
    )
    assert "elsewhere" not in document_html(document, 20_000)
    assert "b is elsewhere" in document_html(document, 9_000) and "a is elsewhere" not in document_html(document, 9_000)
    shortest = document_html(document, 5_000)
    assert "a is elsewhere" in shortest and "gone" not in shortest and len(shortest) <= 5_000


def test_a_form_that_is_longer_is_not_used_and_a_part_that_does_not_count_stays() -> None:
    long, free = Section("a", (muted("short"),)), Section("b", (Source("b" * 3_000),), is_counted=False)
    document = Document("f", "Ready", "good", sections=(long, free), shorter=(("a", (Source("a" * 3_000),)),))
    shown = document_html(document, 100)
    assert "short" in shown and "b" * 3_000 in shown and "a" * 3_000 not in shown


def test_numbers_of_a_table_are_aligned_right_in_a_terminal_too() -> None:
    table = Table(("month", "revenue"), (("Jan", "5.00"), ("Feb", "1234.50")), (False, True))
    assert blocks_text([table]) == ["  month  revenue", "  Jan       5.00", "  Feb    1234.50"]
