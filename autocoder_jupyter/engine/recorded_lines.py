"""Reads the recorded lines of one name. They may come from somebody else: sizes are bounded, bad lines are skipped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

LINE_BYTES = 8 * 2**20
LINE_VALUES = 100_000
"""A line of a journal with more is passed over; a question and its answer are a few hundred thousand characters."""

TOTAL_BYTES = 64 * 2**20
"""So much of what was recorded under one name is read."""


def recorded_lines(files: Folder, home: str, name: str, *, own: str) -> list[dict[str, Any]]:
    """What the files of one kind hold in all runs, the oldest first, those of one run at the end, so that they win.

    Of too much the oldest is left out.

    Args:
        files: the folder around `.autocode`.
        home: the folder of the runs, relative to it.
        name: the name of the file in a run's folder.
        own: the run whose lines come last.
    """
    ages = {run_id: _age(files, f"{home}/{run_id}/{name}") for run_id in {own, *files.names(home)}}
    newest_first = sorted(ages, key=lambda run_id: (run_id == own, ages[run_id], run_id), reverse=True)
    journals, left = [], TOTAL_BYTES
    for run_id in newest_first:
        lines = lines_of(files, f"{home}/{run_id}/{name}", total=left)
        left -= sum(map(len, lines))
        journals.append(lines)
    return [entry for lines in reversed(journals) for line in lines for entry in entry_of(line)]


def lines_of(files: Folder, path: str, *, total: int = TOTAL_BYTES) -> list[bytes]:
    """The lines of one file; as far as it can be read."""
    lines: list[bytes] = []
    with contextlib.suppress(OSError):
        lines += files.lines(path, longest=LINE_BYTES, total=total)
    return lines


def entry_of(line: bytes) -> Iterator[dict[str, Any]]:
    """What a line says; one that a crash cut short says nothing."""
    with contextlib.suppress(ValueError):
        entry = parse(line.decode("utf-8", "replace"), values=LINE_VALUES)
        if isinstance(entry, dict):
            yield entry


def _age(files: Folder, path: str) -> float:
    try:
        return files.changed(path)
    except OSError:
        return 0.0
