"""Reads fenced blocks and JSON objects in a model's answer, whatever surrounds them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from autocoder_jupyter.untrusted.parsing import parse_expression

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<tag>[^`\n]*)$")

LONGEST_CODE = 100_000
"""The maximum number of characters of source that are parsed, because Python's parser blocks other threads."""

_MOST_TRIES = 40
"""The maximum number of block ends that are tried in a text. Docstrings with fences in them are rare."""


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block: the first word after the opening fence, in lower case, and the content."""

    tag: str
    body: str


def fenced_blocks(text: str, complete: Callable[[str], bool] = lambda body: True) -> list[FencedBlock]:
    """The fenced blocks of a text, in order. An unclosed block reaches to the end of the text.

    A fence inside a docstring looks like the end of the block. So the end is the first closing fence for which
    `complete` returns True for the body; if there is none, the first closing fence. The number of tries for all blocks
    of a text is limited, so that the time grows linearly with its length.
    """
    lines = text.splitlines()
    blocks = []
    tries = _MOST_TRIES
    start = 0
    while start < len(lines):
        opening = _FENCE.match(lines[start])
        if opening is None:
            start += 1
            continue
        ends = list(islice(_closing_lines(lines, start, opening["mark"]), max(tries, 1)))
        chosen = ends[0]
        for end in ends[:tries]:
            tries -= 1
            if complete("\n".join(lines[start + 1 : end])):
                chosen = end
                break
        blocks.append(FencedBlock(_tag(opening["tag"]), "\n".join(lines[start + 1 : chosen])))
        start = chosen + 1
    return blocks


def _closing_lines(lines: list[str], start: int, mark: str) -> Iterator[int]:
    for number in range(start + 1, len(lines)):
        fence = _FENCE.match(lines[number])
        if fence and not fence["tag"].strip() and fence["mark"].startswith(mark):
            yield number
    yield len(lines)


def _tag(words: str) -> str:
    first = words.strip().split(maxsplit=1)
    return first[0].lower().strip("{}.") if first else ""


def objects_in(text: str) -> list[dict[str, Any]]:
    """The objects in a text, the longest first.

    Text and fences around them are ignored. Comments, trailing commas, curly quotes as delimiters, raw line breaks in
    strings, and Python dicts are accepted. All candidates are returned, because a malformed text can contain
    well-formed parts that are not the answer. Of a very long answer, only the beginning is read.
    """
    text = text[:_LONGEST_RECORD]
    readings = [*_decoded(text), *_decoded(_straightened(text)), *_python_dict(text)]
    return [value for _, value in sorted(readings, key=lambda reading: -reading[0])]


def _decoded(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each outermost object with its length in characters. The number of repeated tries is limited."""
    decoder = json.JSONDecoder(strict=False)
    left = _MOST_READINGS * len(text)
    start = text.find("{")
    while start >= 0 and left >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            left -= error.pos - start + len(text) // 100  # creating the error reads all text before it
            end = start + 1
        except (ValueError, RecursionError):
            left -= len(text) - start
            end = start + 1
        else:
            yield end - start, value
        start = text.find("{", end)


_LONGEST_RECORD = 500_000
_MOST_READINGS = 20
"""How often a text may be read, in total, for all failed starts of objects."""


_OPENING, _CLOSING = "“„”", "”“"
_ORDINARY_OUTSIDE = re.compile(rf'[^"{_OPENING}/#,}}\]\s]+')
_ORDINARY_INSIDE = re.compile(rf'[^"{_CLOSING}\\]+')
_COMMENT = re.compile(r"(?<![:\w])//[^\n]*|(?<!\S)#[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")


def _straightened(text: str) -> str:
    """The text with straight quotes as delimiters, without comments and trailing commas. Strings do not change."""
    out: list[str] = []
    closing = ""
    position = 0
    while position < len(text):
        if ordinary := (_ORDINARY_INSIDE if closing else _ORDINARY_OUTSIDE).match(text, position):
            out.append(ordinary.group())
            position = ordinary.end()
            continue
        character = text[position]
        if closing:
            if character == "\\":
                out.append(text[position : position + 2])
                position += 2
                continue
            if character in closing:
                out.append('"')
                closing = ""
            else:
                out.append('\\"' if character == '"' else character)
        elif character == '"' or character in _OPENING:
            out.append('"')
            closing = '"' if character == '"' else _CLOSING
        elif character in "/#" and (comment := _COMMENT.match(text, position)):
            position = comment.end()
            continue
        else:
            if character in "}]":
                _drop_trailing_comma(out)
            out.append(character)
        position += 1
    return "".join(out)


def _drop_trailing_comma(out: list[str]) -> None:
    place = len(out) - 1
    while place >= 0 and out[place].isspace():
        place -= 1
    if place >= 0 and out[place] == ",":
        del out[place]


def _python_dict(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    start, end = text.find("{"), text.rfind("}")
    if end - start > LONGEST_CODE:
        return
    try:
        value = ast.literal_eval(parse_expression(text[start : end + 1]))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return
    if isinstance(value, dict):
        yield end + 1 - start, value
