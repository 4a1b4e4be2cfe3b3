"""Quotes untrusted text for a script: as a comment of one line, or as a literal. No other form is used."""

from __future__ import annotations

from autocoder_jupyter.untrusted.parsing import visible


def comment(text: str) -> str:
    """One line of comment. Line breaks and hidden characters are escaped."""
    return f"# {visible(text)}".rstrip()


def literal(value: str) -> str:
    """A string literal on one line. Hidden characters are escaped."""
    return visible(repr(value))  # `repr` escapes what is not printable; some printable characters are blank
