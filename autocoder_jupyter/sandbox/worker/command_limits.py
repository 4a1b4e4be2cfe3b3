"""Limits of a shell command: the files of the workspace, and the part of the output that is kept."""

from __future__ import annotations

MOST_FILES = 200
FILE_BYTES = 2**20
ALL_BYTES = 4 * 2**20
DEPTH = 8
"""Most parts of a path, including the name of the file."""

LONGEST_PATH = 200
MOST_LEFT_OUT = 20
"""Most files that are named when they are left out. Further ones are only counted."""

OUTPUT_BYTES = 30_000
"""Bytes that are kept of the output of a command, head and tail together."""
