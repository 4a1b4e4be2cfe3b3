"""The texts of programs, limited, visible and equal in two runs; and hints for errors that a limit caused."""

from __future__ import annotations

import re

from autocoder_jupyter.untrusted.visible import visible_block

# Cleaning

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
    """Remove colours, escape other hidden characters, and turn carriage returns into line ends."""
    text = _COLOURS.sub("", text[:limit]).replace("\r\n", "\n").replace("\r", "\n")
    return visible_block(text)


def stable(text: str, folder: str, limit: int = 1 << 20) -> str:
    """Clean a text, and remove what differs between two runs or machines: addresses, durations, paths."""
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


# Hints
#
# A limit of the sandbox can cause an error for which the kernel itself only says "not permitted".

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
    """The hint for an exception that a limit of the sandbox may have caused; "" if none fits."""
    text = f"{exception}: {message}".lower()
    if any(words in text for words in _UNREACHED):
        return NO_NETWORK
    if _UNSHARED.search(traceback) and (exception == "EOFError" or _REFUSED.search(exception)):
        return NO_SHARING
    if not _REFUSED.search(exception):
        return ""
    if _SOCKET.search(traceback):
        return NO_NETWORK
    return NO_PROCESSES if _PROCESSES.search(traceback) else ""
