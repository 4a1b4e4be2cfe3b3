"""The files with the code and the tests of a version, as text."""

from __future__ import annotations

import contextlib

from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.readable_code import readable_code

CODE_FILE = "solution.py"
TESTS_FILE = "test_solution.py"
BLIND_FILE = "test_blind.py"
OWN_FILE = "test_own.py"

SOURCE_BYTES = 2**20
"""The most bytes of one file that are read."""

CONFLICT = "<<<<<<< "
"""The beginning of a line that git writes into a file that it cannot merge."""


def sources_of(report: Report) -> dict[str, str]:
    """The text of each file with code or tests of a version; "" if it has none."""
    return {
        CODE_FILE: report.solution.code if report.solution else "",
        TESTS_FILE: report.tests,
        BLIND_FILE: report.blind_tests,
        OWN_FILE: report.own_tests,
    }


def read_source(files: Folder, path: str) -> str:
    """A file's text; "" if it is missing, is not text or has merge conflicts. A run of the cell writes it again."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = files.read_bytes(path, SOURCE_BYTES).decode()
        return "" if "\0" in text or any(line.startswith(CONFLICT) for line in text.splitlines()) else text
    return ""


def plain(text: str) -> str:
    """A source as its file is written, with plain newlines and no blank lines around it."""
    return readable_code(text).replace("\r\n", "\n").strip("\n")


def written(text: str) -> bytes:
    """The content of the file of a source: without hidden characters."""
    return (readable_code(text).rstrip("\n") + "\n").encode()
