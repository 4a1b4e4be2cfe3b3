"""Source as HTML: Python in colours, and the diff of two sources, unified or side by side."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import Any, Literal

from autocoder_jupyter.untrusted.parsing import TooLong, require_readable
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

# Unified diffs

MOST_LINES = 5_000
"""A diff takes quadratic time in the number of lines, and an untrusted file may hold megabytes."""


def too_long(before: str, after: str, before_name: str, after_name: str) -> str:
    """A sentence if the sources are too long to compare; "" otherwise."""
    if max(len(before.splitlines()), len(after.splitlines())) <= MOST_LINES:
        return ""
    return f"{before_name} and {after_name} are too long to compare."


def unified(before: str, after: str, before_name: str, after_name: str) -> str:
    """A unified diff, or the sentence of `too_long`; empty if both are equal."""
    if sentence := too_long(before, after, before_name, after_name):
        return sentence
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)


def render_text(before: str, after: str, before_name: str, after_name: str) -> str:
    """The diff as text, or a sentence if there is none."""
    return markup.plain(unified(before, after, before_name, after_name)) or f"{before_name} and {after_name} are equal."


def colour_diff(before: str, after: str, before_name: str, after_name: str) -> Html:
    """A block with added and removed lines in colour and with signs. Empty if both are equal."""
    lines = [_line(line) for line in unified(before, after, before_name, after_name).splitlines()]
    return element("pre", join(*lines, between="\n"), look="code-font source") if lines else EMPTY


def _line(line: str) -> Html:
    tones = {"+": "good", "-": "bad", "@": "busy"}
    tone = None if line.startswith(("+++", "---")) else tones.get(line[:1])
    return element("span", escape(line), look=tone) if tone else escape(line)


# Python in colours
#
# They are the colours of the notebook's editor, which follow its theme.

_COLOURS = {
    "Keyword.Constant": "a",
    "Keyword": "k",
    "Operator.Word": "k",
    "Name.Function": "d",
    "Name.Class": "d",
    "Name.Builtin": "b",
    "Literal.String": "s",
    "Literal.Number": "n",
    "Comment": "c",
}
"""By Pygments token, special tokens first: the variable of the class `python` in `styles.css`.

Operators have no colour: they are frequent, and a span is five times as long as the operator.
"""


@lru_cache(maxsize=32)
def python(source: str) -> Html:
    """Source as HTML: spans with inline colours, no class and no style sheet, so that a saved cell keeps them.

    A card is rendered after each event, and most events do not change the source, so the last results are kept. A
    source that is too long to be read has no colours.
    """
    try:
        require_readable(source)
    except TooLong:
        return escape(source, quotes=False)
    lexers: Any = importlib.import_module("pygments.lexers.python")
    lexer = lexers.PythonLexer(stripnl=False, ensurenl=False)
    coloured = ((_colour(str(token)), text) for token, text in lexer.get_tokens(source))
    runs = groupby(coloured, key=lambda piece: piece[0])
    return join(*(_span(colour, "".join(text for _, text in pieces)) for colour, pieces in runs))


def _colour(token: str) -> str:
    kind = token.removeprefix("Token.")
    return next((variable for start, variable in _COLOURS.items() if kind.startswith(start)), "")


def _span(colour: str, text: str) -> Html:
    shown = escape(text, quotes=False)
    return element("span", shown, style=f"color:var(--{colour})") if colour and text.strip() else shown


# Diffs side by side
#
# Equal lines collapse; changes within a line are marked with signs and colours.

CONTEXT = 3
"""Equal lines that are shown around a change."""

MAX_LINES = 600
"""Lines of a comparison that are shown; the others are counted."""

MANY_LINES, MANY_WORDS, LONG_LINE = 2_000, 300, 10_000
"""Longer sources are compared less exactly, longer lines as a whole: the exact way takes quadratic time."""

MARKED_PAIRS = 2_000_000
"""Pairs of words that are compared to mark the changes within lines. Lines after that are compared as a whole."""

_ALIKE = 0.4
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
_SIDES = {"−": "removed", "+": "added"}
"""The class of the lines of each side that changed; `-words` is that of the words."""

Side = tuple[int, Html]
"""The number of a line, from 1, and its HTML."""


@dataclass(frozen=True)
class _Line:
    """One line of the comparison; a side is None if it has no line there."""

    before: Side | None
    after: Side | None
    changed: bool


def side_by_side(
    before: str, after: str, before_name: str, after_name: str, *, most: int = MAX_LINES, equal: bool = True
) -> Html:
    """The comparison as HTML; a sentence if both are equal or too long to compare."""
    if before == after:
        return markup.text_lines([f"{before_name} and {after_name} are equal."])
    if sentence := too_long(before, after, before_name, after_name):
        return markup.text_lines([sentence])
    lines = list(_compared(markup.plain(before).splitlines(), markup.plain(after).splitlines()))
    shown, more = lines[:most], max(len(lines) - most, 0)
    titles = element("div", _title(before_name, "−"), _title(after_name, "+"), look="sides-head")
    body = (_segment(part, folds, equal) for part, folds in _segments(shown))
    rest = markup.muted_line(f"… and {more:,} more lines") if more else EMPTY
    return element(
        "div",
        titles,
        *body,
        rest,
        class_=markup.NO_FORMULAS,
        look="code-font sides",
        tabindex="0",  # it scrolls
        role="group",
        aria_label=f"{before_name} and {after_name}",
    )


def _title(name: str, sign: str) -> Html:
    return join(element("div", escape(f"{sign} {name}"), look=f"sides-title {_SIDES[sign]}"), escape(" "))


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[_Line]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=max(len(before), len(after)) > MANY_LINES)
    marker = _Marker()
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind == "equal":
            for offset in range(end - start):
                text = escape(before[start + offset])
                yield _Line((start + offset + 1, text), (other_start + offset + 1, text), False)
        else:
            yield from _changed(before[start:end], after[other_start:other_end], start + 1, other_start + 1, marker)


def _changed(
    before: Sequence[str], after: Sequence[str], number: int, other_number: int, marker: _Marker
) -> Iterator[_Line]:
    for offset, (old, new) in enumerate(zip_longest(before, after)):
        if old is not None and new is not None:
            old_html, new_html = marker.marked(old, new)
        else:
            old_html, new_html = _text(old), _text(new)
        yield _Line(
            None if old is None else (number + offset, old_html),
            None if new is None else (other_number + offset, new_html),
            True,
        )


def _text(line: str | None) -> Html:
    return EMPTY if line is None else escape(line)


class _Marker:
    """Marks the changes within lines, as long as few words were compared."""

    def __init__(self) -> None:
        self._pairs = MARKED_PAIRS

    def marked(self, old: str, new: str) -> tuple[Html, Html]:
        """Both lines with different words marked; without marks if the lines are very different, or very long."""
        if max(len(old), len(new)) > LONG_LINE or self._pairs <= 0:
            return escape(old), escape(new)
        tokens, others = _TOKENS.findall(old), _TOKENS.findall(new)
        matcher = difflib.SequenceMatcher(None, tokens, others, autojunk=False)
        if max(len(tokens), len(others)) > MANY_WORDS:
            return escape(old), escape(new)
        self._pairs -= len(tokens) * len(others)
        if matcher.ratio() < _ALIKE:
            return escape(old), escape(new)
        left, right = [], []
        for equal, one, two in _runs(matcher, tokens, others):
            left.append(escape(one) if equal else _mark("del", "−", one))
            right.append(escape(two) if equal else _mark("ins", "+", two))
        return join(*left), join(*right)


def _runs(
    matcher: difflib.SequenceMatcher[str], tokens: Sequence[str], others: Sequence[str]
) -> Iterator[tuple[bool, str, str]]:
    """Runs of equal and of changed text; blanks between two changes belong to the change."""
    runs = [
        (kind == "equal", "".join(tokens[start:end]), "".join(others[other_start:other_end]))
        for kind, start, end, other_start, other_end in matcher.get_opcodes()
    ]
    for place, (equal, one, two) in enumerate(runs):
        yield equal and not (0 < place < len(runs) - 1 and one.isspace()), one, two


def _mark(tag: Literal["del", "ins"], sign: str, text: str) -> Html:
    return element(tag, escape(text), look=f"{_SIDES[sign]}-words") if text else EMPTY


def _segments(lines: Sequence[_Line]) -> Iterator[tuple[Sequence[_Line], bool]]:
    """Runs of lines, and whether each folds: equal ones that are far from a change."""
    near = [False] * len(lines)
    for place, line in enumerate(lines):
        if line.changed:
            around = range(max(place - CONTEXT, 0), min(place + CONTEXT + 1, len(lines)))
            for neighbour in around:
                near[neighbour] = True
    start = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or near[place] != near[start]:
            yield lines[start:place], not near[start] and place - start > 1
            start = place


def _segment(lines: Sequence[_Line], folds: bool, equal: bool) -> Html:
    if not folds:
        return _table(lines)
    words = escape(f"⋯ {len(lines)} equal lines")
    if not equal:
        return element("div", words, look="muted sides-fold")
    return element("details", element("summary", words, look="muted sides-fold summary"), _table(lines))


def _table(lines: Iterable[_Line]) -> Html:
    rows = (
        element(
            "tr",
            *_cells(line.before, "−" if line.changed else ""),
            *_cells(line.after, "+" if line.changed else ""),
            look="table-row",
        )
        for line in lines
    )
    return element("table", element("tbody", *rows), look="code-font sides-table")


def _cells(side: Side | None, sign: str) -> tuple[Html, Html]:
    number, line = ("", EMPTY) if side is None else (str(side[0]), side[1])
    tint = _SIDES[sign] if sign and side is not None else "table-row"
    mark = f"{number} {sign}" if side is not None else ""
    gutter = element("td", escape(mark), look=f"sides-number muted {tint}")
    return gutter, element("td", line, look=f"sides-line {tint}")
