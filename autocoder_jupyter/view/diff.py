"""Unified diffs of two sources; `inspector.side_by_side` shows a diff in two columns."""

from __future__ import annotations

import difflib

from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

MOST_LINES = 5_000
"""A diff takes quadratic time in the number of lines, and an untrusted file may hold megabytes."""


def too_long(before: str, after: str, before_name: str, after_name: str) -> str:
    """A sentence if the sources are too long to compare; "" otherwise."""
    if max(len(before.splitlines()), len(after.splitlines())) <= MOST_LINES:
        return ""
    return f"{before_name} and {after_name} are too long to compare."


def unified(before: str, after: str, before_name: str, after_name: str) -> str:
    """A unified diff, or the sentence of `too_long`; empty if both are equal."""
    if sentence := too_long(before, after, before_name, after_name):
        return sentence
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)


def render_text(before: str, after: str, before_name: str, after_name: str) -> str:
    """The diff as text, or a sentence if there is none."""
    return markup.plain(unified(before, after, before_name, after_name)) or f"{before_name} and {after_name} are equal."


def colour_diff(before: str, after: str, before_name: str, after_name: str) -> Html:
    """A block with added and removed lines in colour and with signs. Empty if both are equal."""
    lines = [_line(line) for line in unified(before, after, before_name, after_name).splitlines()]
    return element("pre", join(*lines, between="\n"), look="code-font source") if lines else EMPTY


def _line(line: str) -> Html:
    tones = {"+": "good", "-": "bad", "@": "busy"}
    tone = None if line.startswith(("+++", "---")) else tones.get(line[:1])
    return element("span", escape(line), look=tone) if tone else escape(line)
