"""Hints for errors that the limits of the sandbox cause: the kernel itself only says "not permitted"."""

from __future__ import annotations

import re

NO_NETWORK = (
    "Generated code has no network unless it is allowed (--allow-network, block_network=False). "
    "Better fetch the data in the notebook and hand it over."
)
NO_PROCESSES = "This sandbox may not allow further processes; let the function work in one, with threads if need be."
NO_SHARING = (
    "In this sandbox processes of multiprocessing are forked and share pipes, queues, locks and values; "
    "there are no managers, no SharedMemory and no other start method."
)

_UNREACHED = (
    "gaierror",
    "name resolution",
    "name or service not known",
    "failed to resolve",
    "newconnectionerror",
    "network is unreachable",
)
_REFUSED = re.compile(r"(?:PermissionError|OSError|BlockingIOError|FileNotFoundError)$")


def _start_of_word(text: str) -> str:
    r"""A pattern for `text` that does not match the end of a longer word.

    The check is behind the text: a pattern that begins with `\b` makes it at every character, which takes ten times as
    long.
    """
    return rf"{re.escape(text)}(?<!\w{re.escape(text)})"


_UNSHARED = re.compile(
    "|".join(map(_start_of_word, ("Manager(", "SharedMemory(", "get_context(", "set_start_method(")))
)
_SOCKET = re.compile(rf"{_start_of_word('socket')}\b|create_connection|\.connect\(")
_PROCESSES = re.compile(
    rf"{_start_of_word('multiprocessing')}\b|ProcessPool|{_start_of_word('Pool(')}|{_start_of_word('os.fork(')}"
    rf"|{_start_of_word('subprocess')}\b|joblib|loky"
)


def boundary_hint(exception: str, message: str, traceback: str) -> str:
    """The hint for an exception that a limit of the sandbox may have caused; "" if none fits.

    Args:
        exception: qualified name of its type.
        message: its text.
        traceback: its traceback, with source lines.
    """
    told = f"{exception}: {message}".lower()
    if any(words in told for words in _UNREACHED):
        return NO_NETWORK
    if _UNSHARED.search(traceback) and (exception == "EOFError" or _REFUSED.search(exception)):
        return NO_SHARING
    if not _REFUSED.search(exception):
        return ""
    if _SOCKET.search(traceback):
        return NO_NETWORK
    return NO_PROCESSES if _PROCESSES.search(traceback) else ""
