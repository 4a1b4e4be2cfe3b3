"""Subcommands about the versions of a function: what they are, and which of them counts."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from autocoder_jupyter.display import markup, parts
from autocoder_jupyter.display.amounts import counted, spending
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.line.lookup import find_result, find_version, versions_of
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.versions import Version, Versions

_LONGEST = 60


def history(notebook: Notebook, arguments: Arguments) -> None:
    """The versions of a name, oldest first: who made them, why, what they rest on, what was asked, what it cost."""
    name = arguments.positional[0]
    versions = versions_of(notebook, name)
    known = versions.all()
    if not known:
        find_result(notebook, name)
        print(f"The journal holds no finished run of {name}.")
        return
    counting = versions.last_good()
    rows = [_row(version, versions, counts=counting is not None and version.id == counting.id) for version in known]
    headings = ("", "version", "started", "state", "by", "rests on", "spent", "why", "request")
    notebook.show(markup.table(headings, rows), markup.columns(rows))


def _row(version: Version, versions: Versions, *, counts: bool) -> tuple[str, ...]:
    report = version.report
    state = "ready" if report.success else "failed"
    if versions.choice.pinned == version.id:
        state += ", pinned"
    elif counts:
        state += ", counts"
    return (
        str(version.number),
        version.id,
        f"{report.started.astimezone():%Y-%m-%d %H:%M}" if report.started else "",
        state,
        "you" if report.author == "you" else f"the model, {counted(report.attempts, 'attempt')}",
        _short(parts.evidence_text(report.evidence)) if report.success else _short(report.error or ""),
        spending(report.usage, None),
        _short(report.change),
        _short("; ".join((report.prompt.strip(), *report.wishes))),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def restore(notebook: Notebook, arguments: Arguments) -> None:
    """Let an earlier version count again, and bind the name to it."""
    name, word = arguments.positional
    _require_no_work(notebook, name)
    version = _good(notebook, name, word)
    versions_of(notebook, name).restore(version)
    _bind(notebook, name, version)
    print(
        f"{name} is version {version.number} again, also when its cell is run as it is now. "
        "A cell that asks for something else, or --refresh, makes a new version."
    )


def pin(notebook: Notebook, arguments: Arguments) -> None:
    """Hold on to a version whatever the request says, or let go of it."""
    name, *words = arguments.positional
    versions = versions_of(notebook, name)
    if arguments.given.get("off"):
        if words:
            raise InvalidRequest("--off takes no version.", hint=f"Write %autocode pin {name} --off.")
        pinned = versions.choice.pinned
        if pinned is not None:
            versions.pin(None)
        print(f"{name} is pinned no longer; its cell says what counts." if pinned else f"{name} was not pinned.")
        return
    _require_no_work(notebook, name)
    counting = versions.last_good()
    if not words and counting is None:
        find_result(notebook, name)
        raise InvalidRequest(f"{name} has no version that could be pinned.", hint=f"%autocode history {name}")
    version = _good(notebook, name, words[0]) if words or counting is None else counting
    versions.pin(version.id)
    _bind(notebook, name, version)
    print(
        f"{name} is pinned to version {version.number}: its cell verifies that one, asks no model and mends nothing. "
        f"%autocode pin {name} --off lets go."
    )


def rename(notebook: Notebook, arguments: Arguments) -> None:
    """Give a function and all its versions another name."""
    old, new = arguments.positional
    versions = versions_of(notebook, old)
    if not versions.folders():
        find_result(notebook, old)
        raise InvalidRequest(f"Nothing is recorded of {old}.", hint=f"Write {new} = {old} in a cell.")
    if not new.isidentifier() or keyword.iskeyword(new):
        raise InvalidRequest(f"{visible(new)!r} cannot be the name of a variable.")
    if new in notebook.namespace and not is_result(notebook.namespace[new]):
        raise InvalidRequest(f"{new!r} is already a variable of the notebook.", hint="Choose another name.")
    _require_no_work(notebook, old)
    versions.rename(new)
    notebook.jobs.forget(old)
    notebook.launched.pop(old, None)
    if is_result(notebook.namespace.get(old)):
        del notebook.namespace[old]
    if (counting := versions_of(notebook, new).last_good()) is not None:
        _bind(notebook, new, counting)
    print(f"{old} is {new} now. Write %%autocode {new} in its cell.")


def remove(notebook: Notebook, arguments: Arguments) -> None:
    """Remove a version, or all of them, from disk."""
    name, *words = arguments.positional
    everything = bool(arguments.given.get("all"))
    if everything == bool(words):
        raise InvalidRequest(f"Write %autocode remove {name} VERSION, or %autocode remove {name} --all.")
    _require_no_work(notebook, name)
    versions = versions_of(notebook, name)
    if everything:
        if not versions.folders():
            find_result(notebook, name)
        versions.remove_all()
        print(f"All that was recorded of {name} is removed. What the notebook holds of it can be called still.")
        return
    version = find_version(notebook, name, words[0])
    versions.remove(version.id)
    print(f"Version {version.number} of {name} is removed; later ones are counted anew: %autocode history {name}.")


def _good(notebook: Notebook, name: str, word: str) -> Version:
    version = find_version(notebook, name, word)
    if not version.is_good:
        raise InvalidRequest(
            f"Version {version.number} of {name} never passed its tests.", hint=f"%autocode history {name}"
        )
    return version


def _bind(notebook: Notebook, name: str, version: Version) -> None:
    """Bind the name to a recorded version; what the notebook captured for the name stays its default arguments."""
    from autocoder_jupyter.result.recorded import result_of
    from autocoder_jupyter.tasks.options import CallOptions

    if name in notebook.namespace and not is_result(notebook.namespace[name]):
        return
    held = notebook.namespace.get(name)
    options = CallOptions.of(notebook.settings().agent_config())
    samples = held.original_samples if held is not None else {}
    notebook.namespace[name] = result_of(version, notebook.journal_root, options, samples=samples)


def _require_no_work(notebook: Notebook, name: str) -> None:
    job = notebook.jobs.current(name)
    if job is not None and not job.done:
        raise InvalidRequest(f"{name} is in work.", hint=f"Wait for it, or %autocode cancel {name}.")
