"""Check the files of a workspace: paths must stay in it, and number and size are limited."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from autocoder_jupyter.sandbox.worker.command_limits import ALL_BYTES, DEPTH, FILE_BYTES, LONGEST_PATH, MOST_FILES
from autocoder_jupyter.untrusted.parsing import visible


class NotConfined(Exception):
    """A path or a set of files that is not allowed in a workspace. The text of the error says why."""


def confined(path: object) -> str:
    """Check the path of a file in a workspace, and normalize it (`./a//b.py` becomes `a/b.py`).

    Raises:
        NotConfined: the path is not text, is empty, absolute or too long, has `..` or has hidden characters.
    """
    if not isinstance(path, str) or not path.strip():
        raise NotConfined("The path is missing; give one such as solution.py.")
    shown = visible(path[:LONGEST_PATH])
    if not path.isprintable():
        raise NotConfined(f"The path {shown!r} holds control or invisible characters.")
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")):
        raise NotConfined(f"{shown} is not in the workspace; paths are relative to it, such as solution.py.")
    if ".." in parts:
        raise NotConfined(f"{shown} may lead out of the workspace: '..' is not allowed.")
    if not parts:
        raise NotConfined(f"{shown} is the workspace itself, not a file.")
    if len(parts) > DEPTH or len(path) > LONGEST_PATH:
        raise NotConfined(f"{shown} is too long: {LONGEST_PATH} characters and {DEPTH} parts are allowed.")
    return "/".join(parts)


def require_room(files: Mapping[str, bytes]) -> None:
    """Check the number, the sizes and the paths of the files of a workspace.

    Raises:
        NotConfined: there are too many files, they are too large, or a file is also the folder of another file.
    """
    if len(files) > MOST_FILES:
        raise NotConfined(f"A workspace holds {MOST_FILES} files at most.")
    for path, content in files.items():
        if len(content) > FILE_BYTES:
            raise NotConfined(f"{path} is larger than {FILE_BYTES >> 20} MiB.")
        if above := _file_above(path, files):
            raise NotConfined(f"{path} cannot be a file: {above} is one, and no folder.")
    if sum(map(len, files.values())) > ALL_BYTES:
        raise NotConfined(f"The files of a workspace have {ALL_BYTES >> 20} MiB in all at most.")


def _file_above(path: str, files: Collection[str]) -> str:
    return next((str(parent) for parent in PurePosixPath(path).parents if str(parent) in files), "")
