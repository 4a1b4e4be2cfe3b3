"""Reading what a model wrote: fenced blocks and JSON objects, however they are wrapped."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<tag>[^`\n]*)$")

LONGEST_CODE = 100_000
"""Characters of source that are parsed: Python's parser keeps the interpreter to itself until it is done."""

_MOST_TRIES = 40
"""How many ends of blocks are tried in a text: docstrings with fences in them are rare."""


@dataclass(frozen=True)
class Block:
    """A fenced block: the first word after the opening fence, in lower case, and what is inside."""

    tag: str
    body: str


def fenced_blocks(text: str, complete: Callable[[str], bool] = lambda body: True) -> list[Block]:
    """The fenced blocks of a text, in order; one that is never closed reaches to the end.

    A fence inside of a docstring looks like the end of the block. So the end is the first closing fence at which
    `complete` agrees that the body is whole; when it never does, the first one. All blocks of a text together have a
    bounded number of tries, so that the time grows with its length.
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
        blocks.append(Block(_tag(opening["tag"]), "\n".join(lines[start + 1 : chosen])))
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

    Prose and fences around them do not matter. Comments, trailing commas, curly quotes as delimiters, raw line breaks
    in strings, and Python's way of writing a dict are understood. All readings are given, because a text that is
    malformed as a whole still holds well-formed parts, which are not what was meant. Of an answer that is longer than
    any record, only the beginning is read.
    """
    text = text[:_LONGEST_RECORD]
    readings = [*_decoded(text), *_decoded(_straightened(text)), *_python_dict(text)]
    return [value for _, value in sorted(readings, key=lambda reading: -reading[0])]


def _decoded(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each outermost object with its length in characters; what fails late is not tried over and over."""
    decoder = json.JSONDecoder(strict=False)
    left = _MOST_READINGS * len(text)
    start = text.find("{")
    while start >= 0 and left >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            left -= error.pos - start + len(text) // 100  # the error counts the lines before it
            end = start + 1
        except (ValueError, RecursionError):
            left -= len(text) - start
            end = start + 1
        else:
            yield end - start, value
        start = text.find("{", end)


_LONGEST_RECORD = 500_000
_MOST_READINGS = 20
"""How often a text is read over, all failed beginnings of objects together."""


_OPENING, _CLOSING = "“„”", "”“"
_COMMENT = re.compile(r"(?<![:\w])//[^\n]*|(?<!\S)#[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")


def _straightened(text: str) -> str:
    """The text with straight delimiters, without comments and trailing commas. What stands in strings stays."""
    out: list[str] = []
    closing = ""
    position = 0
    while position < len(text):
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
        value = ast.literal_eval(text[start : end + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return
    if isinstance(value, dict):
        yield end + 1 - start, value
