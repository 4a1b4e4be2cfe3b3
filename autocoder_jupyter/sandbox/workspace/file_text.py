"""Read and edit files for an agent: show numbered lines, and replace one exact text by another."""

from __future__ import annotations

from dataclasses import dataclass

MOST_LINES = 2_000
LONGEST_LINE = 2_000
_LINES_AROUND = 4


class FileToolError(Exception):
    """A file cannot be read or edited as requested. The text of the error says why; the agent reads it."""


@dataclass(frozen=True)
class EditedText:
    """The text of a file after an edit, and numbered lines of it around the first replacement."""

    text: str
    around: str


def numbered(path: str, content: bytes, offset: int, limit: int) -> str:
    """Lines of a file with their numbers, in the format of `cat -n`.

    Args:
        path: the name of the file in messages.
        content: the bytes of the file.
        offset: number of the first line; the lines begin with 1.
        limit: the largest number of lines.

    Raises:
        FileToolError: the file is not text, or has no line `offset`.
    """
    text = _text(path, content)
    if not text:
        return f"{path} is empty."
    lines = _lines(text)
    first = max(offset, 1)
    if first > len(lines):
        raise FileToolError(f"{path} has {len(lines)} lines; there is no line {first}.")
    last = min(first - 1 + max(min(limit, MOST_LINES), 1), len(lines))
    told = _with_numbers(lines, first, last)
    return told if last == len(lines) else f"{told}\n[{len(lines) - last} more lines; read on with offset {last + 1}]"


def replaced(path: str, content: bytes, old: str, new: str, *, everywhere: bool) -> EditedText:
    r"""Replace `old` by `new` in the text of a file. Line ends of Windows (`\r\n`) become `\n`.

    Args:
        path: the name of the file in messages.
        content: the bytes of the file.
        old: the text to replace.
        new: its replacement.
        everywhere: replace all occurrences. Otherwise there must be exactly one.

    Raises:
        FileToolError: the file is not text, `old` is empty or equal to `new`, it does not occur, or occurs more than
            once without `everywhere`.
    """
    text = _text(path, content).replace("\r\n", "\n")
    if not old:
        raise FileToolError("The old text is empty; use Write for a new file.")
    if old == new:
        raise FileToolError("The old and the new text are the same.")
    count = text.count(old)
    if not count:
        raise FileToolError(
            f"The old text does not stand in {path}, to the letter. Read the file and copy it from there."
        )
    if count > 1 and not everywhere:
        raise FileToolError(f"The old text stands {count} times in {path}. Take in more around it, or replace all.")
    changed = text.replace(old, new)
    if not changed:
        return EditedText("", f"{path} is empty.")
    lines = _lines(changed)
    first = text[: text.index(old)].count("\n") + 1
    last = first + new.count("\n")
    return EditedText(
        changed, _with_numbers(lines, max(first - _LINES_AROUND, 1), min(last + _LINES_AROUND, len(lines)))
    )


def count_lines(text: str) -> str:
    """The number of lines of a text, for a message: `3 lines`."""
    count = len(_lines(text)) if text else 0
    return f"{count} line" if count == 1 else f"{count} lines"


def _text(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise FileToolError(f"{path} is no text; it has {len(content):,} bytes. Look at it with a command.")
    return text


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _with_numbers(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{_cut(lines[number - 1])}" for number in range(first, last + 1))


def _cut(line: str) -> str:
    left = len(line) - LONGEST_LINE
    return line if left <= 0 else f"{line[:LONGEST_LINE]}… (+{left} characters)"
