"""Tests and code of the user: `%%autocode_test NAME`, and functions that the user has edited."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.cell import launch, waits
from autocoder_jupyter.magics.command import read_arguments, split_words
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.versions import CurrentVersion, find_current_version
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.edits import EditedVersion, edit_of, file_of
from autocoder_jupyter.versions.store import key_of

_CLEAR = Option("clear", "remove all own tests of this function", flags=("--clear",), kind="flag")
_FLAGS: Mapping[str, Option] = dict.fromkeys(_CLEAR.flags, _CLEAR)
_USAGE = "Write %%autocode_test NAME, then pytest functions."


def run_test_cell(notebook: Notebook, line: str, body: str) -> None:
    """Store the tests of a cell, and run them against the function if it exists already."""
    arguments = read_arguments(split_words(line), _FLAGS)
    if len(arguments.positional) != 1 or not is_input_name(arguments.positional[0]):
        raise InvalidRequest("The cell does not name the function that it tests.", hint=_USAGE)
    name = arguments.positional[0]
    cells = {} if arguments.given.get("clear") else dict(notebook.own_tests.get(name, {}))
    if body.strip():
        cells = _with_cell(cells, notebook.cell_id, body, name)
    elif not arguments.given.get("clear"):
        raise InvalidRequest(f"There is no test of {name} in the cell.", hint=_USAGE)
    notebook.own_tests[name] = cells
    _verify(notebook, name)


def _with_cell(cells: dict[str, str], cell_id: str | None, body: str, name: str) -> dict[str, str]:
    """All tests of a function, with the new tests of this cell instead of its earlier ones.

    If the front end does not send the cell's id, the cell replaces those that define a test of the same name.
    """
    from autocoder_jupyter.engine.acceptance import check_own_tests, names_in

    check_own_tests(body, name)
    names = names_in(body)
    if cell_id is None:
        others = {key: source for key, source in cells.items() if not names & names_in(source)}
        return {**others, f"{sorted(names)}": body}
    others = {key: source for key, source in cells.items() if key != cell_id}
    taken = sorted(names & {one for source in others.values() for one in names_in(source)})
    if taken:
        raise InvalidRequest(
            f"{taken[0]} is defined by another %%autocode_test {name} cell too.",
            hint=f"Rename one of them. If that cell was deleted, %%autocode_test {name} --clear removes all own tests.",
        )
    return {**others, cell_id: body}


def _verify(notebook: Notebook, name: str) -> None:
    """Run the request of this name again, if it was run without these tests."""
    source = notebook.own_tests_of(name)
    count = f"{_count(source)} of yours" if source else "no tests of yours"
    known = notebook.launched.get(name)
    if known is None:
        print(f"{name} will be tested with {count} when a %%autocode {name} cell is run.")
        return
    if known.job.request.own_tests == source:
        print(f"{name} was already tested with {count}.")
        return
    request = dataclasses.replace(known.job.request, own_tests=source)
    config = notebook.config_again(known.job)
    if config.cache == "override":  # the run before asked the model again; its answers are used now
        config = dataclasses.replace(config, cache="auto")
    launch(notebook, request, config, waits=waits(notebook, notebook.settings()))


def _count(source: str) -> str:
    from autocoder_jupyter.engine.tests import read_suite

    count = len(read_suite(source).ids)
    return "1 test" if count == 1 else f"{count} tests"


# Edited code and tests, run in the sandbox without a model


def retest(
    notebook: Notebook,
    name: str,
    code: str | None = None,
    tests: str | None = None,
    passed: Mapping[str, Any] | None = None,
) -> None:
    """Start to test the user's code and tests. The name is bound to the new result."""
    from autocoder_jupyter.engine.start import edited_draft

    found = find_current_version(notebook, name, passed or {}, good=False)
    if found is None:
        raise InvalidRequest(f"There is no function named {name!r} to test.", hint=f"Run %%autocode {name} first.")
    draft = edited_draft(_edit(notebook, found, code, tests))
    job = notebook.jobs.current(name)
    settings = notebook.settings()
    config = notebook.config_again(job) if job is not None else settings.agent_config()
    # `auto`, also if the run before had `override`, so that the edited version is recorded.
    config = replace(config, cache="auto", ask=False)
    launch(notebook, found.request, config, waits=waits(notebook, settings), draft=draft)


def sources(notebook: Notebook, report: Report) -> tuple[str, str]:
    """Code and tests of a version as they are on disk now."""
    versions = Versions(notebook.journal_root, report.name)
    edit = edit_of(versions, Version(report.run_id, 0, report))
    return (edit.code, edit.tests) if edit else (report.solution.code if report.solution else "", report.tests)


def _edit(notebook: Notebook, found: CurrentVersion, code: str | None, tests: str | None) -> EditedVersion:
    versions = Versions(notebook.journal_root, found.request.name)
    report = found.report
    version = versions.get(report.run_id) or Version(report.run_id, 0, report)
    if code is not None:
        return EditedVersion(version, code, report.tests if tests is None else tests)
    edit = edit_of(versions, version)
    if edit is None and (current := versions.last_good()) is not None and key_of(current) == report.request_key:
        version, edit = current, edit_of(versions, current)  # the newest is an edit that failed
    if edit is None:
        raise InvalidRequest(
            f"The code and the tests of {report.name} were not edited.",
            hint=f"Edit {visible(file_of(versions, version))}, or the tests beside it, then run this line again.",
        )
    return edit
