"""Estimate the number of tokens of a text without a tokenizer."""

from __future__ import annotations

import re

# One match for each token. A single space belongs to the word after it.
_TOKEN = re.compile(r"[A-Za-z]{1,5}|[0-9]{1,3}|\s{2,}|\n|[^\sA-Za-z0-9]")


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of a text, rather too high than too low.

    It approximates byte-pair tokenizers: about five letters per token, three digits per token, one token for any other
    ASCII character, one token per non-ASCII character. The error is -10 to +40 % of cl100k on data contexts.
    """
    return len(_TOKEN.findall(text))
