"""Text that a program wrote, made fit for people, models and the journal: bounded, plain, the same in two runs."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # operating system commands, as far as they go
    r"|\x1b[PX^_].*?(?:\x1b\\|$)"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_DURATION = re.compile(r" in \d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?")
_SITE_PACKAGES = re.compile(r"(?:/[^\s/:\"']+)+/(?:site|dist)-packages/")
_STANDARD_LIBRARY = re.compile(r"(?:/[^\s/:\"']+)+/lib/python3\.\d+/")
_MODULE_HEADER = re.compile(r"(?m)^(?:platform |cachedir: |rootdir: |configfile: |plugins: ).*\n")


def clean(text: str, limit: int = 1 << 20) -> str:
    """Without escape sequences, control and direction-changing characters; carriage returns end lines."""
    text = _ESCAPES.sub("", text[:limit]).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", text)


def stable(text: str, folder: str) -> str:
    """Cleaned, and without what differs between two runs or machines: addresses, durations, places of files.

    Args:
        text: what a program or a test run said.
        folder: the worker's folder inside the sandbox, below which each program has a folder of its own.
    """
    text = without_places(clean(text), folder)
    text = _SITE_PACKAGES.sub("", text)
    text = _STANDARD_LIBRARY.sub("", text)
    text = _MODULE_HEADER.sub("", text)
    text = _ADDRESS.sub("0x…", text)
    return _DURATION.sub("", text)


def without_places(text: str, folder: str) -> str:
    """Without the paths of the folder `folder` of a worker, and of a program's own below it."""
    return re.sub(re.escape(folder) + r"(?:/\d+)?/?", "", text) if folder else text
