"""A diff of two sources side by side: equal lines collapse, changes within a line have signs and colours."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from autocoder_jupyter.view import markup
from autocoder_jupyter.view.diff import too_long
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

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
_TINTS = {"−": ("rgba(211,47,47,.10)", "rgba(211,47,47,.28)"), "+": ("rgba(56,142,60,.12)", "rgba(56,142,60,.32)")}

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
    """The comparison as HTML; a sentence if both are equal or too long to compare.

    Args:
        before: the source on the left.
        after: the source on the right.
        before_name: the heading on the left.
        after_name: the heading on the right.
        most: the most lines that are shown.
        equal: whether equal lines can be expanded; otherwise they are only counted.
    """
    if before == after:
        return markup.text_lines([f"{before_name} and {after_name} are equal."])
    if sentence := too_long(before, after, before_name, after_name):
        return markup.text_lines([sentence])
    lines = list(_compared(markup.plain(before).splitlines(), markup.plain(after).splitlines()))
    shown, more = lines[:most], max(len(lines) - most, 0)
    titles = element("div", _title(before_name, "−"), _title(after_name, "+"), style="display:flex")
    body = (_segment(part, folds, equal) for part, folds in _segments(shown))
    rest = markup.muted_line(f"… and {more:,} more lines") if more else EMPTY
    style = (
        f"{markup.CODE_FONT};max-width:960px;border:1px solid {markup.LINE};border-radius:2px;margin:4px 0 8px;"
        "line-height:1.4;overflow:auto;max-height:36em"
    )
    return element("div", titles, *body, rest, class_=markup.NO_FORMULAS, style=style)


def _title(name: str, sign: str) -> Html:
    style = f"flex:1 1 0;padding:2px 10px;border-bottom:1px solid {markup.LINE};background:{_TINTS[sign][0]}"
    return join(element("div", escape(f"{sign} {name}"), style=style), escape(" "))


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
    style = f"background:{_TINTS[sign][1]};text-decoration:none;border-radius:2px"
    return element(tag, escape(text), style=style) if text else EMPTY


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
    style = f"padding:1px 10px;{markup.MUTED};background:{markup.SHADE}"
    words = escape(f"⋯ {len(lines)} equal lines")
    if not equal:
        return element("div", words, style=style)
    return element("details", element("summary", words, style=f"cursor:pointer;{style}"), _table(lines))


def _table(lines: Iterable[_Line]) -> Html:
    rows = (
        element(
            "tr",
            *_cells(line.before, "−" if line.changed else ""),
            *_cells(line.after, "+" if line.changed else ""),
            style="background:none",
        )
        for line in lines
    )
    style = f"table-layout:fixed;width:100%;border-collapse:collapse;border:none;margin:0;{markup.CODE_FONT}"
    return element("table", element("tbody", *rows), style=style)


def _cells(side: Side | None, sign: str) -> tuple[Html, Html]:
    number, line = ("", EMPTY) if side is None else (str(side[0]), side[1])
    tint = _TINTS[sign][0] if sign and side is not None else "none"
    gutter = (
        f"width:3em;text-align:right;vertical-align:top;padding:0 6px;white-space:nowrap;border:none;user-select:none;"
        f"{markup.MUTED};background:{tint}"
    )
    body = (
        "text-align:left;vertical-align:top;padding:0 6px 0 2px;white-space:pre-wrap;overflow-wrap:anywhere;"
        f"border:none;max-width:none;background:{tint}"
    )
    mark = f"{number} {sign}" if side is not None else ""
    return element("td", escape(mark), style=gutter), element("td", line, style=body)
