"""Test code and tests that the user has edited, in the sandbox and without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autocoder_jupyter.display.live import View
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.cell import launch
from autocoder_jupyter.magics.current_version import CurrentVersion, find_current_version
from autocoder_jupyter.magics.launching import waits
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.edits import EditedVersion, edit_of, file_of
from autocoder_jupyter.versions.store import key_of


def retest(
    notebook: Notebook,
    name: str,
    code: str | None = None,
    tests: str | None = None,
    views: tuple[View[FunctionRun], ...] | None = None,
    passed: Mapping[str, Any] | None = None,
) -> None:
    """Start to test the user's code and tests. The name is bound to the new result.

    Args:
        notebook: the notebook.
        name: the name of the function.
        code: the module; by default the file on disk.
        tests: its tests; by default the file on disk.
        views: show the card here instead of in the output of the cell.
        passed: its data by name, if this kernel has not generated it.

    Raises:
        InvalidRequest: there is no such function, nothing was edited, or the edited code cannot be tested.
    """
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
    launch(notebook, found.request, config, waits=views is None and waits(notebook, settings), draft=draft, views=views)


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
