"""Clean the text of a program for the user, the model and the journal: limited, visible, and equal in two runs."""

from __future__ import annotations

import re

from autocoder_jupyter.untrusted.parsing import visible_block

# Colours are removed, because many tools print them. Other escape sequences are made visible.
_COLOURS = re.compile(r"(?:\x1b\[|\x9b)[0-9;:]*+m")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DURATION = re.compile(r" in \d++(?:\.\d++)?s(?: \(\d++:\d\d:\d\d\))?")
# The characters that a path may have. The part to remove is found by a plain search; one pattern for both would take
# quadratic time.
_PATH = re.compile(r"/[^\s:\"']++")
_LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/")
_STANDARD_LIBRARY = re.compile(r"/lib/python3\.\d++/")
_MODULE_HEADER = re.compile(r"(?m)^(?:platform |cachedir: |rootdir: |configfile: |plugins: ).*+\n")


def clean(text: str, limit: int = 1 << 20) -> str:
    """Remove colours, escape other hidden characters, and turn carriage returns into line ends.

    Args:
        text: the text of a program.
        limit: most characters that are read.
    """
    text = _COLOURS.sub("", text[:limit]).replace("\r\n", "\n").replace("\r", "\n")
    return visible_block(text)


def stable(text: str, folder: str, limit: int = 1 << 20) -> str:
    """Clean a text, and remove what differs between two runs or machines: addresses, durations, paths.

    Args:
        text: the text of a program or a test run.
        folder: the worker's folder inside the sandbox, which has a folder for each program.
        limit: most characters that are read.
    """
    text = without_paths(clean(text, limit), folder)
    text = _PATH.sub(_short_path, text)
    text = _MODULE_HEADER.sub("", text)
    text = _ADDRESS.sub("0x…", text)
    return _DURATION.sub("", text)


def without_paths(text: str, folder: str) -> str:
    """Remove the path of the worker's folder `folder`, and those of the programs' folders in it."""
    return re.sub(re.escape(folder) + r"(?:/\d++)?/?", "", text) if folder else text


def _short_path(match: re.Match[str]) -> str:
    """The part of a path after its last library folder; the whole path if it has none."""
    path = match[0]
    ends = [path.rfind(folder) + len(folder) for folder in _LIBRARY_FOLDERS if folder in path]
    if not ends and "/lib/python3." in path:
        ends = [found.end() for found in _STANDARD_LIBRARY.finditer(path)]
    return path[max(ends) :] if ends else path
