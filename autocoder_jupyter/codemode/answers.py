"""Reads a model's answer: code to run, a final answer, or an unclear answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]{0,3}(?P<marks>```+|~~~+)[ \t]*(?P<language>[^\s`]*)[^\n]*$", re.MULTILINE)
_PYTHON = frozenset({"", "py", "python", "python3", "py3"})


@dataclass(frozen=True)
class Code:
    """One block to run; `text` is the text before it, `left` the number of further blocks that are not run."""

    source: str
    text: str = ""
    left: int = 0


@dataclass(frozen=True)
class Final:
    """The final answer as text. It is never run."""

    text: str


@dataclass(frozen=True)
class Unclear:
    """Neither code nor a final answer; `reason` is text for the model."""

    reason: str


Answer = Code | Final | Unclear


def read_answer(answer: str) -> Answer:
    """Read an answer. Only the first block of Python is used; text outside of blocks is never run."""
    if not answer.strip():
        return Unclear("Your answer was empty.")
    blocks = list(_blocks(answer))
    python = [block for block in blocks if block[0] in _PYTHON]
    if not blocks:
        return Final(answer.strip())
    if not python:
        return Unclear(
            f"A block of {blocks[0][0]!r} is not run: only Python is, in a block that begins with ```python. "
            "A final answer has no block of code at all."
        )
    _, source, text = python[0]
    if not source.strip():
        return Unclear("Your block of code was empty.")
    return Code(source, text, left=len(python) - 1)


def _blocks(answer: str) -> list[tuple[str, str, str]]:
    """Language, content and preceding text of each fenced block. An unclosed block ends with the answer."""
    found, position, begun = [], 0, 0
    while opening := _FENCE.search(answer, position):
        marks = opening["marks"]
        closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(answer, opening.end())
        content = answer[opening.end() + 1 : end.start() if end else len(answer)]
        found.append((opening["language"].lower(), content, answer[begun : opening.start()].strip()))
        if end is None:
            break
        position = begun = end.end()
    return found
