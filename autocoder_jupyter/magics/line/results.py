"""Subcommands about a finished function: show, compare, export, other readings, versions."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.display.inspector.document import Part, pending_html, render_html, render_text
from autocoder_jupyter.display.timeline import render_html as timeline_html
from autocoder_jupyter.display.timeline import render_text as timeline_text
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.cell import read_sent
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.notebook import (
    Notebook,
    find_callable,
    find_result,
    is_result,
    last_run,
    versions_of,
)
from autocoder_jupyter.magics.result_display import card_of, subject_of, subject_of_report
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.magics.versions import (
    HEADINGS,
    VersionManager,
    asked_otherwise,
    bind,
    require_idle,
)
from autocoder_jupyter.result.handle import ExportKind
from autocoder_jupyter.tasks.export import insertable
from autocoder_jupyter.types import Step
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.verification import rename as rename_versions
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import join
from autocoder_jupyter.view.source import render_text as render_diff
from autocoder_jupyter.view.source import side_by_side

_PARTS: tuple[Part, ...] = ("code", "tests", "report", "trace")


def show(notebook: Notebook, arguments: Arguments) -> None:
    """Show the inspector of a result, or one part of it."""
    parts = [part for part in _PARTS if arguments.given.get(part)]
    timeline, sent = bool(arguments.given.get("timeline")), bool(arguments.given.get("sent"))
    if len(parts) + timeline + sent > 1:
        raise InvalidRequest(
            "--code, --tests, --report, --trace, --timeline and --sent cannot be used together.",
            hint="Keep one of them.",
        )
    if sent:
        _show_sent(notebook, arguments.positional[0])
        return
    result = find_result(notebook, arguments.positional[0])
    if timeline:
        name = arguments.positional[0]
        report = _finished(result, name)
        report = report.report if is_result(report) else report
        show_timeline(notebook, name, report.timeline, report.seconds)
        return
    part = parts[0] if parts else "all"
    pending = not getattr(result, "is_usable", True)
    if is_result(result) and part == "all" and not notebook.is_terminal:
        data, metadata = notebook.shell.display_formatter.format(result)
        if data:  # without data, it is already shown in a separate output
            words = {} if pending else {"text/plain": render_text(subject_of(result, card_of(notebook, result)))}
            notebook.shell.display_pub.publish({**data, **words}, metadata)
        return
    if pending:
        notebook.show(pending_html(repr(result), waits=result.state.startswith("waiting")), repr(result))
        return
    if is_result(result):
        subject = subject_of(result, card_of(notebook, result))
    else:
        subject = subject_of_report(result, notebook.journal_root)
    if part == "trace" and subject.report.trace is None:
        name = arguments.positional[0]
        raise InvalidRequest(
            f"{name} has no trace, because no agent wrote it.",
            hint=f"%autocode show {name} --timeline shows its steps.",
        )
    width = columns() if notebook.is_terminal else 0
    notebook.show(render_html(subject, part), render_text(subject, part, width))


def _show_sent(notebook: Notebook, name: str) -> None:
    """Show what the last run of a name sent to the model."""
    job = notebook.jobs.current(name)
    run_id = job.run_id if job is not None else last_run(notebook, name)
    sent = read_sent(notebook.journal_root, name, run_id)
    if not sent:
        find_result(notebook, name)
        raise InvalidRequest(
            f"The journal has nothing that {name} sent.", hint="--dry-run in the cell shows what would be sent."
        )
    notebook.show(markup.code(sent), markup.plain(sent))


def show_timeline(notebook: Notebook, name: str, steps: Sequence[Step], seconds: float) -> None:
    """Show the steps of a run, and how long each took."""
    if not steps:
        raise InvalidRequest(
            f"The durations of the steps of {name} were not recorded.",
            why="It was recorded by an older version of the package, or ended before its first step.",
            hint="Run its cell again. Recorded answers are replayed, and the steps are timed.",
        )
    notebook.show(timeline_html(name, steps, seconds), timeline_text(name, steps, seconds))


def diff(notebook: Notebook, arguments: Arguments) -> None:
    """Show the differences between two versions, or between two attempts of one version."""
    name, *versions = arguments.positional
    if len(versions) == 1:
        raise InvalidRequest("A diff needs two versions.", hint=f"Write %autocode diff {name} A B.")
    sources = _sources(notebook, name)
    before, after = (
        [_version(notebook, name, version, sources) for version in versions] if versions else _last_two(name, sources)
    )
    if before == after:
        raise InvalidRequest(f"{before} and {after} are the same version.")
    pair = (sources[before], sources[after], before, after)
    old, new = (versions_of(notebook, name).numbered(version) for version in (before, after))
    asked = asked_otherwise(versions_of(notebook, name), old, new) if old and new else []
    notebook.show(join(markup.text_lines(asked), side_by_side(*pair)), f"{markup.lines(asked)}\n{render_diff(*pair)}")


def export(notebook: Notebook, arguments: Arguments) -> None:
    """Export the function as a script, as plain code, as a package, or as a package with a task of Flyte."""
    name, path = arguments.positional
    kinds: list[ExportKind] = [kind for kind in ("plain", "package", "flyte") if arguments.given.get(kind)]
    if len(kinds) > 1 and kinds != ["package", "flyte"]:
        raise InvalidRequest(f"--plain and --{kinds[1]} cannot be used together.", hint="Keep one of them.")
    kind = kinds[-1] if kinds else "script"
    print(f"Written to {find_callable(notebook, name).export(path, kind=kind)}")


def insert(notebook: Notebook, arguments: Arguments) -> None:
    """Insert the code as the next cell."""
    name = arguments.positional[0]
    result = _finished(find_result(notebook, name), name)
    if result.solution is None:
        raise InvalidRequest(f"{name} has no code to insert.")
    notebook.shell.set_next_input(insertable(result.solution.code, name), replace=False)


def _sources(notebook: Notebook, name: str) -> dict[str, str]:
    """The code of every version by its number, and of every attempt as `2.1`, `2.2` …"""
    result = _finished(find_result(notebook, name), name)
    known = versions_of(notebook, name).all()
    reports = {str(version.number): version.report for version in known} or {"1": getattr(result, "report", result)}
    sources = {number: report.solution.code for number, report in reports.items() if report.solution}
    for number, report in reports.items():
        sources |= {f"{number}.{attempt.number}": attempt.code for attempt in report.history}
    return sources


def _finished(result: Any, name: str) -> Any:
    if not getattr(result, "is_usable", True):
        raise InvalidRequest(f"{name} is not done yet.", hint=f"{name}.wait() waits for it.")
    return result


def _last_two(name: str, sources: Mapping[str, str]) -> tuple[str, str]:
    """The last two versions; if there is only one, its last two attempts."""
    versions = [version for version in sources if "." not in version]
    candidates = versions if len(versions) > 1 else [version for version in sources if "." in version]
    if len(candidates) < 2:
        raise InvalidRequest(f"There is only one version of {name}.", hint=f"%autocode show {name} --code shows it.")
    return candidates[-2], candidates[-1]


def _version(notebook: Notebook, name: str, word: str, sources: Mapping[str, str]) -> str:
    if word in sources:
        return word
    found = versions_of(notebook, name).numbered(word)
    if found is None or str(found.number) not in sources:
        raise InvalidRequest(
            f"There is no version {word!r} of {name} with code.",
            hint=f"%autocode history {name} lists them; 2.1 is the first attempt of version 2.",
        )
    return str(found.number)


# Versions


def history(notebook: Notebook, arguments: Arguments) -> None:
    """Show the versions of a name, oldest first, with author, reason, evidence, request and cost."""
    name = arguments.positional[0]
    rows = VersionManager(notebook, name).rows()
    if not rows:
        find_result(notebook, name)
        print(f"The journal has no finished run of {name}.")
        return
    notebook.show(markup.table(HEADINGS, rows), markup.columns(rows))


def versions(notebook: Notebook, arguments: Arguments) -> None:
    """List the versions of a function, or change them."""
    name, *words = arguments.positional
    flags = [f"--{flag}" for flag in ("off", "all") if arguments.given.get(flag)]
    if not words and not flags:
        history(notebook, arguments)
        return
    word = words[0] if words else ""
    change = _CHANGES.get(word)
    if change is None:
        raise InvalidRequest(
            f"%autocode versions {name} has no {visible(word or flags[0])!r}.",
            hint=suggestion(word, _CHANGES),
        )
    behind = [*words[1:], *flags]
    if len(behind) > 1 or not (behind or change.is_complete) or not set(flags) <= {change.flag}:
        ways = f", or %autocode versions {name} {word} {change.flag}" if change.flag else ""
        raise InvalidRequest(f"Write %autocode versions {name} {word} {change.placeholder}{ways}.")
    change.make(notebook, name, *behind)


def _restore(notebook: Notebook, name: str, word: str) -> None:
    """Make an earlier version the current one, and bind the name to it."""
    print(VersionManager(notebook, name).restore(word))


def _pin(notebook: Notebook, name: str, word: str = "") -> None:
    """Pin a version, so that it is used for any request, or unpin it."""
    manager = VersionManager(notebook, name)
    print(manager.unpin() if word == "--off" else manager.pin(*([word] if word else [])))


def _rename(notebook: Notebook, old: str, new: str) -> None:
    """Rename a function and all its versions."""
    versions = versions_of(notebook, old)
    if not versions.folders():
        find_result(notebook, old)
        raise InvalidRequest(f"There is no record of {old}.", hint=f"Write {new} = {old} in a cell.")
    if not new.isidentifier() or keyword.iskeyword(new):
        raise InvalidRequest(f"{visible(new)!r} cannot be the name of a variable.")
    if new in notebook.namespace and not is_result(notebook.namespace[new]):
        raise InvalidRequest(f"{new!r} is already a variable of the notebook.", hint="Choose another name.")
    require_idle(notebook, old)
    versions = rename_versions(versions, new)
    notebook.jobs.forget(old)
    notebook.launched.pop(old, None)
    if (own_tests := notebook.own_tests.pop(old, None)) is not None:
        notebook.own_tests[new] = own_tests
    held = notebook.namespace[old] if is_result(notebook.namespace.get(old)) else None
    if held is not None:
        del notebook.namespace[old]
    for note in versions.show_current():
        print(note)
    if (counting := versions.last_good() or next(iter(reversed(versions.all())), None)) is not None:
        bind(notebook, new, counting, held)
    print(f"{old} is now {new}. Write %%autocode {new} in its cell.")


def _remove(notebook: Notebook, name: str, word: str) -> None:
    """Remove one version or all versions from disk."""
    if word != "--all":
        print(VersionManager(notebook, name).remove(word))
        return
    require_idle(notebook, name)
    versions = versions_of(notebook, name)
    if not versions.folders():
        find_result(notebook, name)
    versions.remove_all()
    print(f"The record of {name} is removed. The variable in the notebook can still be called.")


@dataclass(frozen=True)
class _Change:
    """A change of the versions of a name.

    Args:
        make: takes the name, and the word or the flag behind the change.
        placeholder: that word.
        flag: what can be written instead of the word; "" for nothing.
        is_complete: whether it can be written alone.
    """

    make: Callable[..., None]
    placeholder: str = "VERSION"
    flag: str = ""
    is_complete: bool = False


_CHANGES: Mapping[str, _Change] = {
    "pin": _Change(_pin, flag="--off", is_complete=True),
    "restore": _Change(_restore),
    "remove": _Change(_remove, flag="--all"),
    "rename": _Change(_rename, placeholder="NEW"),
}
