"""Find the conversation that `--continue NAME` goes on with, in this kernel or in the record on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import CodeJob, Earlier
from autocoder_jupyter.jobs.code_record import load_record
from autocoder_jupyter.magics.codemode.reading import ToolOption
from autocoder_jupyter.magics.codemode.tools import find_tools
from autocoder_jupyter.magics.notebook import Notebook, is_code_result, is_result
from autocoder_jupyter.magics.references import kind_of
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.untrusted.folder import Folder


@dataclass(frozen=True)
class ConversationContext:
    """The tools and data of a conversation so far; the fields are those of `CodeRequest`."""

    conversation: str = ""
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    functions: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)


def earlier_of(notebook: Notebook, name: str | None) -> Earlier | None:
    """The conversation to continue; None for a new one.

    Raises:
        InvalidRequest: there is no conversation of that name.
    """
    if name is None:
        return None
    job = notebook.jobs.current(name)
    if isinstance(job, CodeJob):
        return Earlier(name, result=job.result)
    record = load_record(notebook.journal_root, name)
    if record is not None:
        return Earlier(name, record=record)
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


def restored_context(notebook: Notebook, earlier: Earlier | None) -> ConversationContext:
    """The tools and frames of a conversation: those of this kernel, or the variables with the recorded names.

    Raises:
        InvalidRequest: one of these variables no longer exists.
    """
    if earlier is None:
        return ConversationContext()
    job = notebook.jobs.current(earlier.name)
    if isinstance(job, CodeJob):
        request = job.request
        return ConversationContext(job.conversation, request.tools, request.functions, request.named, request.frames)
    record = earlier.record
    if record is None:
        return ConversationContext()
    callables = _restored_tools(notebook, earlier.name, record.tools)
    return ConversationContext(
        record.conversation,
        {alias: value for alias, value in callables.items() if not is_result(value)},
        {alias: value for alias, value in callables.items() if is_result(value)},
        record.tools,
        {name: _restored_frame(notebook, earlier.name, name) for name in record.frames},
    )


def _restored_tools(notebook: Notebook, conversation: str, recorded: Mapping[str, str]) -> Mapping[str, Any]:
    options = [ToolOption(alias, name) for alias, name in recorded.items()]
    try:
        return find_tools(options, notebook.namespace)
    except InvalidRequest as error:
        raise InvalidRequest(
            f"{conversation} cannot be continued without its tools.",
            why=error.what,
            hint="Run the cells that define them.",
        ) from None


def _restored_frame(notebook: Notebook, conversation: str, name: str) -> Any:
    from autocoder_jupyter.data.capture import capture

    value = notebook.namespace.get(name)
    if kind_of(value) not in ("DataFrame", "Series"):
        raise InvalidRequest(
            f"{conversation} used {name}, and the notebook has no such DataFrame or Series.",
            hint=f"Run the cell that defines {name} first.",
        )
    return capture(value)
