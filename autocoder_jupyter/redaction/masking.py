"""Replace secrets and personal identifiers in a text by stable placeholders, before it leaves the notebook.

The patterns are in `shapes`. Names of persons, postal codes, and values that are private only by their meaning have no
pattern and are not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from autocoder_jupyter.redaction.shapes import DIGITS, MASKED_KINDS, PLAIN, SHAPES, WORDY, Family, Shape

_BARE = re.compile(r"\d{9,19}")
_PLACEHOLDER = re.compile(rf"<({'|'.join(MASKED_KINDS)})-(\d+)>")
_CUT_OFF = re.compile(r"(?:(?<!\d)\d{2,4}[ -]){0,5}[^\s…]{1,80}…\(\+(\d+)\)")

COLUMN_SHARE = 0.6
"""One number in ten passes a checksum by chance. So a column of plain digits holds cards only if most of them pass."""

_SECRET_SHAPES = tuple(shape for shape in SHAPES if shape.secret)
_SHORTEST = 6
_LONGEST_NUMBER = 16
_PLAIN_CHARACTERS = 10


class Masker:
    """Replaces private values by placeholders such as `<email-1>`. The same value always gets the same placeholder.

    Placeholders are numbered in the order of first occurrence, so equal input in equal order gives equal output.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def mask(self, text: str, *, secrets_only: bool = False, bare_numbers: bool = True) -> str:
        """`text` with placeholders, in linear time.

        A truncated word (followed by `…(+12)`) is removed, because a part of a secret matches no pattern.

        Args:
            text: any text.
            secrets_only: mask secrets, but not e-mail addresses, numbers and similar values.
            bare_numbers: whether digits without separators that pass a checksum are masked.
        """
        if len(text) < _SHORTEST or (len(text) <= _PLAIN_CHARACTERS and PLAIN.fullmatch(text)):
            return text
        if "…(+" in text:
            text = _CUT_OFF.sub(_without_the_cut_word, text)
        present: set[Family] = set()
        if WORDY.search(text):
            present.add("words")
        if DIGITS.search(text):
            present.add("digits")
        for shape in _SECRET_SHAPES if secrets_only else SHAPES:
            if shape.family in present:
                text = shape.pattern.sub(self._replacing(shape, bare_numbers), text)
        return text

    def for_column(self, texts: Iterable[str]) -> Callable[[str], str]:
        """A `mask` function for one column. All of `texts` decide whether plain digits are private."""
        bare = [text for text in texts if _BARE.fullmatch(text)]
        confirmed = sum(any(shape.accept(text) for shape in SHAPES if _confirms(shape, text)) for text in bare)
        bare_numbers = not bare or confirmed >= COLUMN_SHARE * len(bare)
        return lambda text: self.mask(text, bare_numbers=bare_numbers)

    def _replacing(self, shape: Shape, bare_numbers: bool) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            whole = match.group()
            group = next((name for name, value in match.groupdict().items() if value is not None), None)
            found = match.group(group) if group else whole
            if found.startswith("<") or not shape.accept(found):
                return whole
            if shape.column and not bare_numbers and found.isdigit():
                return whole
            numbers = self._numbers.setdefault(shape.name, {})
            placeholder = f"<{shape.name}-{numbers.setdefault(found, len(numbers) + 1)}>"
            if group is None:
                return placeholder
            start, end = (place - match.start() for place in match.span(group))
            return whole[:start] + placeholder + whole[end:]

        return replace


def _confirms(shape: Shape, text: str) -> bool:
    return shape.column and shape.pattern.fullmatch(text) is not None


def _without_the_cut_word(match: re.Match[str]) -> str:
    word = match.group().rpartition("…")[0]
    number = match.group(1)
    return f"…(+{int(number) + len(word)})" if len(number) < _LONGEST_NUMBER else "…"


def count_masked(text: str) -> dict[str, int]:
    """The number of different placeholders of each kind in a text."""
    found = sorted(set(_PLACEHOLDER.findall(text)))
    return {kind: count for kind in MASKED_KINDS if (count := sum(name == kind for name, _ in found))}
