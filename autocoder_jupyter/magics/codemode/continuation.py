"""Find the conversation that `--continue NAME` goes on with, in this kernel or in the record on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import CodeJob, CodeRequest, EarlierRun, load_record
from autocoder_jupyter.magics.notebook import Notebook, is_code_result, is_result
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.untrusted.folder import Folder


@dataclass(frozen=True)
class ConversationContext:
    """The tools and data that the user passed to a conversation; the fields are those of `CodeRequest`."""

    conversation: str = ""
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)


def earlier_of(notebook: Notebook, name: str | None) -> EarlierRun | None:
    """The conversation to continue; None for a new one.

    Raises:
        InvalidRequest: there is no conversation of that name.
    """
    if name is None:
        return None
    job = notebook.jobs.current(name)
    if isinstance(job, CodeJob):
        return EarlierRun(name, result=job.result)
    record = load_record(notebook.journal_root, name)
    if record is not None:
        return EarlierRun(name, record=record)
    if is_result(notebook.namespace.get(name)):
        raise InvalidRequest(f"{name} is a function, not a conversation.", hint=f"Pass it as a tool: --tool {name}.")
    raise InvalidRequest(
        f"There is no conversation named {name!r} to continue.",
        hint=did_you_mean(name, conversations(notebook))
        or "Start one: a cell with --mode tools and without --continue.",
    )


def conversations(notebook: Notebook) -> list[str]:
    """The conversations that `--continue` can name: those of this kernel, and the recorded ones."""
    held = [name for name, value in notebook.namespace.items() if is_code_result(value) and not name.startswith("_")]
    root = notebook.journal_root
    recorded = (name for name in Folder(root.parent).names(root.name) if load_record(root, name) is not None)
    return list(dict.fromkeys([*held, *recorded]))


def passed_before(notebook: Notebook, earlier: EarlierRun | None) -> ConversationContext:
    """The tools and frames that the user passed to a conversation in this kernel. None come from a record."""
    if earlier is None:
        return ConversationContext()
    job = notebook.jobs.current(earlier.name)
    if isinstance(job, CodeJob):
        request = job.request
        return ConversationContext(job.conversation, request.tools, request.functions, request.frames)
    return ConversationContext(earlier.record.conversation if earlier.record is not None else "")


def require_passed(request: CodeRequest) -> None:
    """Check that a conversation that continues from its record has all its tools and frames.

    The record may come from somebody else. It only names them; which functions and tables these are, a cell says.

    Raises:
        InvalidRequest: some are not passed; the message names them.
    """
    record = request.earlier.record if request.earlier is not None else None
    if record is None or request.earlier is None:
        return
    tools = [name for name in record.tools if name not in request.tools and name not in request.functions]
    frames = [name for name in record.frames if name not in request.frames]
    if not tools and not frames:
        return
    name = request.earlier.name
    missing = [*([f"the tools {', '.join(tools)}"] if tools else [])]
    missing += [f"the data {', '.join(frames)}"] if frames else []
    again = [*(f"--tool {tool}" for tool in tools), *(f"@{frame}" for frame in frames)]
    raise InvalidRequest(
        f"{name} cannot be continued without {' and '.join(missing)}.",
        why="It continues from a file, which only names them. Nothing is passed to code because a file names it.",
        hint=f"Run the cell of {name} first, or pass them in this cell: {' '.join(again)}.",
    )
