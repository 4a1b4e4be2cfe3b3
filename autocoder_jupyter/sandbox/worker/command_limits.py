"""Limits of a command: files of a workspace, and the part of the output that is kept."""

from __future__ import annotations

MOST_FILES = 200
FILE_BYTES = 2**20
ALL_BYTES = 4 * 2**20
DEPTH = 8
"""Parts of a path, the file's name included."""

LONGEST_PATH = 200
MOST_LEFT_OUT = 20
"""Files that are left out are named up to here, and counted beyond."""

OUTPUT_BYTES = 30_000
"""What is kept of a command's words, head and tail together."""
