"""Subcommands about a finished function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.display.diff import render_text as render_diff
from autocoder_jupyter.display.inspector.side_by_side import side_by_side
from autocoder_jupyter.display.inspector.static import Part, pending_html, render_html, render_text
from autocoder_jupyter.display.timeline import render_html as timeline_html
from autocoder_jupyter.display.timeline import render_text as timeline_text
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.inserting import insertable
from autocoder_jupyter.magics.inspection import subject_of, subject_of_report
from autocoder_jupyter.magics.line.lookup import find_callable, find_result, recorded_runs
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.magics.suggestions import did_you_mean

_PARTS: tuple[Part, ...] = ("code", "tests", "report")


def show(notebook: Notebook, arguments: Arguments) -> None:
    """The inspector of a result, as its name in the last line of a cell shows it; or one side of it, as it is."""
    result = find_result(notebook, arguments.positional[0])
    parts = [part for part in _PARTS if arguments.given.get(part)]
    timeline = bool(arguments.given.get("timeline"))
    if len(parts) + timeline > 1:
        raise InvalidRequest(
            "--code, --tests, --report and --timeline exclude each other.", hint="Without any, all is shown."
        )
    if timeline:
        _show_timeline(notebook, arguments.positional[0], result)
        return
    part = parts[0] if parts else "all"
    pending = not getattr(result, "done", True)
    if is_result(result) and part == "all" and not notebook.is_terminal:
        data, metadata = notebook.shell.display_formatter.format(result)
        if data:  # else it is in an output of its own already
            words = {} if pending else {"text/plain": render_text(subject_of(result))}
            notebook.shell.display_pub.publish({**data, **words}, metadata)
        return
    if pending:
        notebook.show(pending_html(repr(result), waits=result.state.startswith("waiting")), repr(result))
        return
    subject = subject_of(result) if is_result(result) else subject_of_report(result, notebook.journal_root)
    notebook.show(render_html(subject, part), render_text(subject, part))


def _show_timeline(notebook: Notebook, name: str, result: Any) -> None:
    report = _finished(result, name)
    report = report.report if is_result(report) else report
    if not report.timeline:
        raise InvalidRequest(
            f"Nobody noted how long the steps of {name} took.",
            why="It was recorded by an earlier version, or ended before its first step.",
            hint="Run its cell again: what was answered is replayed, and the rest is timed.",
        )
    told = name, report.timeline, report.seconds
    notebook.show(timeline_html(*told), timeline_text(*told))


def diff(notebook: Notebook, arguments: Arguments) -> None:
    """What changed in the code between two attempts of the last run, or between two runs."""
    name, *versions = arguments.positional
    if len(versions) == 1:
        raise InvalidRequest("Two versions make a difference.", hint=f"Write %autocode diff {name} A B.")
    sources = _sources(notebook, name)
    before, after = [_version(version, sources) for version in versions] if versions else _last_two(name, sources)
    if before == after:
        raise InvalidRequest(f"{before} and {after} are the same version.")
    pair = (sources[before], sources[after], before, after)
    notebook.show(side_by_side(*pair), render_diff(*pair))


def export(notebook: Notebook, arguments: Arguments) -> None:
    """Write the function as a script."""
    name, path = arguments.positional
    print(f"Written to {find_callable(notebook, name).export(path)}")


def insert(notebook: Notebook, arguments: Arguments) -> None:
    """Offer the code as the next cell."""
    name = arguments.positional[0]
    result = _finished(find_result(notebook, name), name)
    if result.solution is None:
        raise InvalidRequest(f"{name} has no code to insert.")
    notebook.shell.set_next_input(insertable(result.solution.code, name), replace=False)


def _sources(notebook: Notebook, name: str) -> dict[str, str]:
    """Every version of the code: the attempts of the last run as `1`, `2` …, and the runs by their id."""
    result = _finished(find_result(notebook, name), name)
    recorded = {run: report.solution.code for run, report in recorded_runs(notebook, name) if report.solution}
    attempts = {str(attempt.number): attempt.code for attempt in result.history}
    return {**recorded, **attempts}


def _finished(result: Any, name: str) -> Any:
    if not getattr(result, "done", True):
        raise InvalidRequest(f"{name} is not done yet.", hint=f"{name}.wait() waits for it.")
    return result


def _last_two(name: str, sources: Mapping[str, str]) -> tuple[str, str]:
    attempts = [version for version in sources if version.isdigit() and len(version) < 4]
    candidates = attempts if len(attempts) > 1 else [version for version in sources if version not in attempts]
    if len(candidates) < 2:
        raise InvalidRequest(f"There is only one version of {name}.", hint=f"%autocode show {name} --code shows it.")
    return candidates[-2], candidates[-1]


def _version(word: str, sources: Mapping[str, str]) -> str:
    if word in sources:
        return word
    meant = [version for version in sources if version.startswith(word) and len(word) > 3]
    if len(meant) == 1:
        return meant[0]
    raise InvalidRequest(f"There is no version {word!r}.", hint=did_you_mean(word, sources))
