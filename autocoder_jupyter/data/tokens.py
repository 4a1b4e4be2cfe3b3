"""Estimate the number of tokens of a text without a tokenizer."""

from __future__ import annotations

import re

_PIECES = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[^\x00-\x7f]|.")


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of a text, rather too high than too low.

    It approximates byte-pair tokenizers: about five letters per token, three digits per token, one token for any other
    ASCII character, one token per non-ASCII character. The error is -10 to +40 % of cl100k on data contexts.
    """
    count = 0
    for match in _PIECES.finditer(text):
        piece = match.group()
        size = len(piece)
        if piece[0].isascii() and piece[0].isalpha():
            count += (size + 4) // 5
        elif piece[0].isdigit() and piece[0].isascii():
            count += (size + 2) // 3
        elif not piece.isspace() or "\n" in piece or size > 1:
            count += 1
    return count
