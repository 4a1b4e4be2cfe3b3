"""Text of others as valid Unicode. JSON can contain halves of surrogate pairs, which no file and no request can."""

from __future__ import annotations

from typing import Any


def valid_unicode(text: str) -> str:
    """The text with its halves of surrogate pairs joined. A half without its other half becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def valid_record(value: Any) -> Any:
    """A value of JSON whose texts and names are valid Unicode."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, dict):
        return {valid_unicode(str(name)): valid_record(part) for name, part in value.items()}
    if isinstance(value, list):
        return [valid_record(part) for part in value]
    return value


class TextPieces:
    """Text that arrives in pieces, as valid Unicode. A pair may be split between two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """The text that is complete with this piece."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return valid_unicode(piece[: len(piece) - len(self._half)])

    def end(self) -> str:
        """The rest of the text."""
        return valid_unicode(self._half)
