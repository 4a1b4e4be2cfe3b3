"""Remove the values of secrets and environment variables from messages: a program can print or raise them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import quote, quote_plus

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.redaction.masking import Masker

SHORTEST = 4
"""A shorter value of a variable is not removed: `1` or `UTC` occurs in many texts and is not private."""

PIECE = 8
"""A shorter line of a value is not removed by itself, because `{` or `END` is in many texts, and no shorter part of a
value that was shortened.
"""

LINES = 100
"""The lines of a value with more lines are not removed one by one: each takes time for the whole text."""


def hidden_values(secrets: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """The values to remove, by name: all secrets, and variables whose value could be a secret."""
    return {name: value for name, value in variables.items() if len(value) >= SHORTEST} | dict(secrets)


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text with `<NAME>` instead of each value.

    Programs and their libraries write a value in several ways: escaped by `repr`, in JSON or in an address; each line
    behind the sign of a traceback; shortened, with an ellipsis. All these are removed.
    """
    written = [(form, name) for name, value in secrets.items() for form in _forms(value)]
    for form, name in sorted(written, key=lambda item: (-len(item[0]), item)):  # one value may contain another
        text = text.replace(form, f"<{name}>")
    if "..." in text or "…" in text:
        for name, value in secrets.items():
            for form in _escaped(value.strip()):
                text = _without_beginnings(text, form, f"<{name}>")
                text = _without_beginnings(text[::-1], form[::-1], f"<{name}>"[::-1])[::-1]
    return text


def _forms(value: str) -> set[str]:
    """The ways in which a value is written: as a whole, without blanks around it, and line by line."""
    bare = value.strip()
    lines = bare.splitlines()
    pieces = [line.strip() for line in lines if len(line.strip()) >= PIECE] if len(lines) <= LINES else []
    whole = (value, bare) if len(bare) >= SHORTEST else (value,)
    return {form for text in (*whole, *pieces) for form in _escaped(text)} - {""}


def _escaped(text: str) -> set[str]:
    """A text as it is, and as `repr`, JSON and addresses escape it."""
    return {
        text,
        repr(text)[1:-1],
        ascii(text)[1:-1],
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        quote(text, errors="replace"),
        quote(text, safe="", errors="replace"),
        quote_plus(text, errors="replace"),
    }


def _without_beginnings(text: str, value: str, instead: str) -> str:
    """The text without beginnings of a value that are followed by an ellipsis."""
    if len(value) <= PIECE:
        return text
    kept, place = [], 0
    while (start := text.find(value[:PIECE], place)) >= 0:
        here = text[start : start + len(value)]
        end = start + next((count for count, letter in enumerate(here) if letter != value[count]), len(here))
        is_shortened = text.startswith(("...", "…"), end)
        kept += [text[place:start], instead if is_shortened else text[start:end]]
        place = end
    return "".join((*kept, text[place:]))


def redact(error: AutocodeError, secrets: Mapping[str, str]) -> None:
    """Remove the values from all texts of an error."""
    _change(error, lambda text: without_secrets(text, secrets))


def without_anything_secret(error: AutocodeError) -> None:
    """Mask what looks like a key or a password in all texts of an error, whoever it belongs to."""
    masker = Masker()
    _change(error, lambda text: masker.mask(text, secrets_only=True))


def _change(error: AutocodeError, change: Callable[[str], str]) -> None:
    for attribute, content in vars(error).items():
        if isinstance(content, str):
            setattr(error, attribute, change(content))
    error.args = (error.what, error.why, error.hint)
