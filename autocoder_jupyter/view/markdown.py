"""Markdown of a model as HTML. It is not trusted: all of its text is escaped, and no link or picture is made of it.

Only what answers are written with is read: paragraphs, headings, lists, tables, code, and bold text. An address of a
link is shown as text, so it can be read before it is copied. Everything else stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import blocks_html
from autocoder_jupyter.view.document import Source, Table
from autocoder_jupyter.view.html import Html, element, escape, join

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
            yield _table(lines[begin], lines[begin + 2 : at])
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


def _table(heading: str, rows: list[str]) -> Html:
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
