"""Build the request of `%%autocode NAME --refine`: that of the existing function, with one more change."""

from __future__ import annotations

from dataclasses import replace

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.contracts import with_contracts
from autocoder_jupyter.magics.current_version import CurrentVersion, earlier_of, find_current_version
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.request_fields import given_fields
from autocoder_jupyter.request import Earlier, Request
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.request_fields import joined


def refined_request(command: CellCommand, notebook: Notebook) -> Request:
    """The request of a cell with `--refine`: the existing request, the requested change, and the options of the cell.

    Waits for a running job of that name, so that *Run All* works. A change that was made already is not made twice:
    the request is then that of the version which has it.

    Raises:
        InvalidRequest: there is no function of that name, or none that passed its tests.
    """
    from autocoder_jupyter.data.renames import renamed_samples

    given = given_fields(command, notebook)
    found = find_current_version(notebook, command.name, given["samples"], good=True)
    if found is None:
        raise _nothing_to_refine(notebook, command.name)
    versions = Versions(notebook.journal_root, command.name)
    _require_not_pinned(command.name, command.prompt.strip(), versions)
    base = _with_change(found, command.prompt.strip(), versions)
    fields = joined(base, given)
    fields["samples"] = renamed_samples(fields["samples"], fields["renames"])
    refined = replace(base, **fields)
    return with_contracts(refined, command, notebook.namespace)


def _require_not_pinned(name: str, change: str, versions: Versions) -> None:
    """Refuse a new change of a pinned function: the pinned version would be used as it is. A change that was made
    before is no new one, so that a notebook still runs from top to bottom; its card says that it is not used.

    Raises:
        InvalidRequest: the function is pinned, and no version has the change.
    """
    pinned = versions.pinned()
    if pinned is not None and not any(change in version.report.wishes for version in versions.all()):
        raise InvalidRequest(
            f"{name} is pinned to version {pinned.number}, so it cannot be refined.",
            why="A pinned version is used for every request, as it is.",
            hint=f"Run %autocode pin {name} --off, then this cell again.",
        )


def _nothing_to_refine(notebook: Notebook, name: str) -> InvalidRequest:
    job = notebook.jobs.current(name)
    if job is not None:
        return InvalidRequest(
            f"{name} is not ready, so there is nothing to refine.",
            why=job.result.error or "",
            hint="Change the request in its own cell.",
        )
    return InvalidRequest(
        f"There is no function named {name!r} to refine.",
        hint=f"Run a cell with %%autocode {name}, without --refine, first.",
    )


def _with_change(found: CurrentVersion, change: str, versions: Versions) -> Request:
    """The request with this change as the last one, or the request of an earlier version that has the change."""
    request, report = found.request, found.report
    if change not in request.wishes:
        return replace(request, wishes=(*request.wishes, change), earlier=Earlier.of(report))
    wishes = request.wishes[: request.wishes.index(change) + 1]
    if wishes == request.wishes:
        return request
    before, seen = versions.get(report.parent), {report.run_id}
    while before is not None and before.report.wishes != wishes and before.id not in seen:
        seen.add(before.id)
        before = versions.get(before.report.parent)
    if before is None or before.report.wishes != wishes:
        return replace(request, wishes=(*request.wishes, change), earlier=Earlier.of(report))
    return replace(request, wishes=wishes, earlier=earlier_of(versions, before.id))
