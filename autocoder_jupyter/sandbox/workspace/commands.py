"""The host's side of a shell command: encode the request, decode the answer. The answer is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.host.replies import CallAnswer, refused
from autocoder_jupyter.sandbox.host.text import clean, without_paths
from autocoder_jupyter.sandbox.protocol import CommandOutcome
from autocoder_jupyter.sandbox.worker.command_limits import LONGEST_PATH, MOST_LEFT_OUT, OUTPUT_BYTES
from autocoder_jupyter.sandbox.worker.frames import pack
from autocoder_jupyter.sandbox.workspace.confined import NotConfined, confined, require_room
from autocoder_jupyter.untrusted.parsing import visible

_T = TypeVar("_T")

GRACE_SECONDS = 10.0
"""Added to the time limit of a command, for writing its files before it and reading them after it."""

_LONGEST_REASON = 100


def request(command: str, files: Mapping[str, bytes], seconds: float) -> list[Any]:
    """The pieces of a request, to be sent one after the other.

    Args:
        command: the text for the shell.
        files: content by path.
        seconds: the time limit of the command.
    """
    entries = [{"path": path, "size": len(content)} for path, content in files.items()]
    size = sum(map(len, files.values()))
    head = {"kind": "command", "command": command, "seconds": seconds, "files": entries, "payload": size}
    return [pack(head), *files.values()]


def outcome(answer: CallAnswer) -> CommandOutcome:
    """Decode the answer to a command.

    Raises:
        OutputRefused: the answer is invalid.
        SandboxError: the worker could not write or read the files.
    """
    header = answer.header
    if header["kind"] == "error" and header.get("error") == "Workspace":
        why = visible(str(header.get("message"))[:500])
        raise SandboxError("The workspace could not be laid out in the sandbox, or not be read there.", why=why)
    if header["kind"] != "command":
        raise refused("an answer that is not a command's")
    try:
        return CommandOutcome(
            exit_code=_of(int, header.get("exit_code")),
            output=without_paths(clean(_of(str, header.get("output")), 2 * OUTPUT_BYTES), answer.folder),
            files=_files(header.get("files"), answer.payload),
            left_out=_left_out(header.get("left_out"), header.get("more_left_out")),
            stopped=clean(_of(str, header.get("stopped")), _LONGEST_REASON),
        )
    except (TypeError, NotConfined) as error:
        raise refused(str(error)) from None


def _files(entries: object, payload: memoryview) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    position = 0
    for entry in _of(list, entries):
        path, size = _of(str, _of(dict, entry).get("path")), _of(int, entry.get("size"))
        if confined(path) != path or path in files or not 0 <= size <= len(payload) - position:
            raise TypeError("a file that a workspace cannot hold")
        files[path] = bytes(payload[position : position + size])
        position += size
    require_room(files)
    return files


def _left_out(entries: object, more: object) -> tuple[str, ...]:
    named = tuple(
        f"{visible(_of(str, _of(dict, entry).get('path'))[:LONGEST_PATH])} "
        f"({visible(_of(str, entry.get('reason'))[:_LONGEST_REASON])})"
        for entry in _of(list, entries)[:MOST_LEFT_OUT]
    )
    return (*named, f"{more} more") if _of(int, more) > 0 else named


def _of(kind: type[_T], value: object) -> _T:
    if type(value) is not kind:
        raise TypeError("a command's answer without its parts")
    return value
