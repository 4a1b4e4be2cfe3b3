"""Text of others in a script: a comment of one line, or a literal. But for the code, nothing of theirs enters else."""

from __future__ import annotations

from autocoder_jupyter.untrusted.visible import visible


def comment(text: str) -> str:
    """One line of comment: what would end the line, or hide in it, is spelled out."""
    return f"# {visible(text)}".rstrip()


def literal(value: str) -> str:
    """A string literal on one line, in which nothing hides."""
    return repr(value)
