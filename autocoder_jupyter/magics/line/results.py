"""Subcommands about a finished function: show, compare, export, other readings, versions."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.display.inspector.document import Part, pending_html, render_html, render_text
from autocoder_jupyter.display.timeline import render_html as timeline_html
from autocoder_jupyter.display.timeline import render_text as timeline_text
from autocoder_jupyter.display.verified import opinion_blocks
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.cell import launch, waits
from autocoder_jupyter.magics.command import Arguments, CellCommand
from autocoder_jupyter.magics.notebook import (
    Notebook,
    find_callable,
    find_job,
    find_result,
    is_result,
    versions_of,
)
from autocoder_jupyter.magics.result_display import outputs_of, subject_of, subject_of_report
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.magics.versions import (
    HEADINGS,
    VersionManager,
    asked_otherwise,
    bind,
    refined_request,
    require_idle,
)
from autocoder_jupyter.result.handle import ExportKind
from autocoder_jupyter.tasks.export import insertable
from autocoder_jupyter.types import Step
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.verification import rename as rename_versions
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.markup import join
from autocoder_jupyter.view.source import render_text as render_diff
from autocoder_jupyter.view.source import side_by_side

_PARTS: tuple[Part, ...] = ("code", "tests", "report", "trace")


def show(notebook: Notebook, arguments: Arguments) -> None:
    """Show the inspector of a result, or one part of it."""
    result = find_result(notebook, arguments.positional[0])
    parts = [part for part in _PARTS if arguments.given.get(part)]
    timeline = bool(arguments.given.get("timeline"))
    if len(parts) + timeline > 1:
        raise InvalidRequest(
            "--code, --tests, --report, --trace and --timeline cannot be used together.",
            hint="Keep one of them.",
        )
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
            words = {} if pending else {"text/plain": render_text(subject_of(result, outputs_of(notebook, result)))}
            notebook.shell.display_pub.publish({**data, **words}, metadata)
        return
    if pending:
        notebook.show(pending_html(repr(result), waits=result.state.startswith("waiting")), repr(result))
        return
    if is_result(result):
        subject = subject_of(result, outputs_of(notebook, result))
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
    """Export the function as a script, a package, or a package with a task of Flyte."""
    name, path = arguments.positional
    given = arguments.given
    kind: ExportKind = "flyte" if given.get("flyte") else "package" if given.get("package") else "script"
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


# `%autocode reading`: other readings of the request


def reading(notebook: Notebook, arguments: Arguments) -> None:
    """List the readings that the second opinion found. With a number, refine the function to that reading."""
    name, *number = arguments.positional
    job = find_job(notebook, name)
    if not job.done:
        raise InvalidRequest(f"{name} is not done yet.", hint="Wait until it is ready.")
    opinion = job.result.report.second_opinion
    readings = opinion.readings if opinion else ()
    if not number:
        lines = blocks_text(opinion_blocks(name, opinion)) or [f"{name} has no second opinion."]
        print("\n".join(map(visible, lines)))
        return
    if not readings:
        raise InvalidRequest(
            f"There is no other reading of {name}.", hint="Describe the change in a cell with --refine."
        )
    if number[0] not in map(str, range(1, len(readings) + 1)):
        raise InvalidRequest(
            f"{name} has no reading {number[0][:40]!r}.", hint=f"Write a number from 1 to {len(readings)}."
        )
    chosen = readings[int(number[0]) - 1]
    request = refined_request(CellCommand(name=name, prompt=chosen.line, refine=True), notebook)
    launch(notebook, request, notebook.config_again(job), waits=waits(notebook, notebook.settings()))


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


def restore(notebook: Notebook, arguments: Arguments) -> None:
    """Make an earlier version the current one, and bind the name to it."""
    name, word = arguments.positional
    print(VersionManager(notebook, name).restore(word))


def pin(notebook: Notebook, arguments: Arguments) -> None:
    """Pin a version, so that it is used for any request, or unpin it."""
    name, *words = arguments.positional
    if arguments.given.get("off"):
        if words:
            raise InvalidRequest("--off takes no version.", hint=f"Write %autocode pin {name} --off.")
        print(VersionManager(notebook, name).unpin())
    else:
        print(VersionManager(notebook, name).pin(*words))


def rename(notebook: Notebook, arguments: Arguments) -> None:
    """Rename a function and all its versions."""
    old, new = arguments.positional
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


def remove(notebook: Notebook, arguments: Arguments) -> None:
    """Remove one version or all versions from disk."""
    name, *words = arguments.positional
    everything = bool(arguments.given.get("all"))
    if everything == bool(words):
        raise InvalidRequest(f"Write %autocode remove {name} VERSION, or %autocode remove {name} --all.")
    if not everything:
        print(VersionManager(notebook, name).remove(words[0]))
        return
    require_idle(notebook, name)
    versions = versions_of(notebook, name)
    if not versions.folders():
        find_result(notebook, name)
    versions.remove_all()
    print(f"The record of {name} is removed. The variable in the notebook can still be called.")
