"""Text that a program wrote, made fit for people, models and the journal: bounded, plain, the same in two runs."""

from __future__ import annotations

import re

from autocoder_jupyter.untrusted.visible import visible_block

# What only colours is left out, since every tool prints it; what else acts on a terminal is shown as an escape.
_COLOURS = re.compile(r"(?:\x1b\[|\x9b)[0-9;:]*+m")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DURATION = re.compile(r" in \d++(?:\.\d++)?s(?: \(\d++:\d\d:\d\d\))?")
# A run of characters that a path may have. What of it goes is decided by plain search: one pattern for both tries each
# of n segments with each other.
_PATH = re.compile(r"/[^\s:\"']++")
_SHELVES = ("/site-packages/", "/dist-packages/")
_STANDARD_LIBRARY = re.compile(r"/lib/python3\.\d++/")
_MODULE_HEADER = re.compile(r"(?m)^(?:platform |cachedir: |rootdir: |configfile: |plugins: ).*+\n")


def clean(text: str, limit: int = 1 << 20) -> str:
    """Without colours; other escape sequences and hidden characters are spelled out; carriage returns end lines.

    Args:
        text: what a program said.
        limit: characters of it that are read.
    """
    text = _COLOURS.sub("", text[:limit]).replace("\r\n", "\n").replace("\r", "\n")
    return visible_block(text)


def stable(text: str, folder: str, limit: int = 1 << 20) -> str:
    """Cleaned, and without what differs between two runs or machines: addresses, durations, places of files.

    Args:
        text: what a program or a test run said.
        folder: the worker's folder inside the sandbox, below which each program has a folder of its own.
        limit: characters of it that are read.
    """
    text = without_places(clean(text, limit), folder)
    text = _PATH.sub(_without_place, text)
    text = _MODULE_HEADER.sub("", text)
    text = _ADDRESS.sub("0x…", text)
    return _DURATION.sub("", text)


def without_places(text: str, folder: str) -> str:
    """Without the paths of the folder `folder` of a worker, and of a program's own below it."""
    return re.sub(re.escape(folder) + r"(?:/\d++)?/?", "", text) if folder else text


def _without_place(match: re.Match[str]) -> str:
    """A path from behind the last folder that holds a library, if it goes through one."""
    path = match[0]
    ends = [path.rfind(shelf) + len(shelf) for shelf in _SHELVES if shelf in path]
    if not ends and "/lib/python3." in path:
        ends = [found.end() for found in _STANDARD_LIBRARY.finditer(path)]
    return path[max(ends) :] if ends else path
