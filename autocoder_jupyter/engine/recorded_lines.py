"""Reads the recorded lines of one name. They are untrusted: sizes are limited, bad lines are skipped."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

LINE_BYTES = 8 * 2**20
LINE_VALUES = 100_000
"""Bytes. A longer line of a journal is skipped. A question with its answer has a few hundred thousand characters."""

MOST_LINES = 100_000
"""Most lines of one file. Of a file with more, the oldest are left out."""

TOTAL_BYTES = 64 * 2**20
"""Bytes. No more is read of the records of one name."""


def recorded_lines(files: Folder, runs: Mapping[str, str], name: str, *, own: str) -> list[dict[str, Any]]:
    """The records in the files of one kind from all runs: the oldest first, those of one run last, so that they win.

    If there are too many, the oldest are left out.

    Args:
        files: the folder around `.autocode`.
        runs: the folders of the runs by id, relative to it.
        name: the name of the file in a run's folder.
        own: the run whose lines come last.
    """
    ages = {run_id: _age(files, f"{path}/{name}") for run_id, path in runs.items()}
    newest_first = sorted(ages, key=lambda run_id: (run_id == own, ages[run_id], run_id), reverse=True)
    journals, left = [], TOTAL_BYTES
    for run_id in newest_first:
        lines = lines_of(files, f"{runs[run_id]}/{name}", total=left)
        left -= sum(map(len, lines))
        journals.append(lines)
    return [entry for lines in reversed(journals) for line in lines for entry in entry_of(line)]


def lines_of(files: Folder, path: str, *, total: int = TOTAL_BYTES) -> list[bytes]:
    """The readable lines of one file."""
    lines: deque[bytes] = deque(maxlen=MOST_LINES)
    with contextlib.suppress(OSError):
        lines.extend(files.lines(path, longest=LINE_BYTES, total=total))
    return list(lines)


def entry_of(line: bytes) -> Iterator[dict[str, Any]]:
    """The record of a line; none if a crash cut the line short."""
    with contextlib.suppress(ValueError):
        entry = parse(line.decode("utf-8", "replace"), values=LINE_VALUES)
        if isinstance(entry, dict):
            yield entry


def _age(files: Folder, path: str) -> float:
    try:
        return files.changed(path)
    except OSError:
        return 0.0
