"""Find the current version of a name, with its request and report, in this kernel or in the record on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook, NotebookJob, is_result
from autocoder_jupyter.request import Earlier, Request
from autocoder_jupyter.types import Report
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.request_fields import read_fields


@dataclass(frozen=True)
class CurrentVersion:
    """A version of a function, and its request.

    Args:
        request: the request, with the samples of this kernel's run, or those that the user passes now.
        report: the report of the version.
    """

    request: Request
    report: Report


def find_current_version(
    notebook: Notebook, name: str, passed: Mapping[str, Any], *, good: bool
) -> CurrentVersion | None:
    """The version of a name in this kernel, or else the newest on disk; None if there is none.

    Waits for a running job of that name. If the name was bound to another version since (`restore`, `pin`), that
    version is the one in this kernel, with the data that the job had.

    Args:
        notebook: the notebook.
        name: the name of the function.
        passed: the data that the user passes now, by name, for a function that this kernel has not generated.
        good: whether only a version that passed is accepted; otherwise the newest, which may have failed.

    Raises:
        InvalidRequest: data that it was generated for are not passed.
    """
    versions, job = Versions(notebook.journal_root, name), notebook.jobs.current(name)
    if job is not None and (version := _bound_since(notebook, versions, job)) is not None:
        own_tests = notebook.own_tests_of(name)
        if version.report.request_key == job.result.report.request_key:
            return CurrentVersion(replace(job.request, answers=version.report.answers), version.report)
        data = {**job.request.samples, **passed}
        return CurrentVersion(recorded_request(versions, version, data, own_tests), version.report)
    if job is not None and (job.result.success or not good) and job.result.report.plan is not None:
        return CurrentVersion(replace(job.request, answers=job.result.report.answers), job.result.report)
    version = versions.last_good() if good else next(iter(reversed(versions.all())), None)
    if version is None or version.report.plan is None:
        return None
    return CurrentVersion(recorded_request(versions, version, passed, notebook.own_tests_of(name)), version.report)


def _bound_since(notebook: Notebook, versions: Versions, job: NotebookJob) -> Version | None:
    """The recorded version to which the name was bound after this job; None if the job's own result counts."""
    held: Any = notebook.namespace.get(versions.name)
    if not is_result(held) or held is job.result or not held.done:
        return None
    version = versions.get(held.report.run_id)
    return version if version is not None and version.id != job.run_id and version.is_good else None


def recorded_request(versions: Versions, version: Version, passed: Mapping[str, Any], own_tests: str) -> Request:
    """The request of a version.

    The record is not trusted: it only names the data, which the user passes; no variable is looked up because a file
    names it.

    Args:
        versions: the versions of a name.
        version: one of them.
        passed: data of the notebook that the user passes now, by name.
        own_tests: the tests of the user's cells in this kernel; "" if there are none.

    Raises:
        InvalidRequest: some of the data are not passed, the request has parts that are not in its folder, or its inputs
            or outputs do not have the expected form.
    """
    record, report = versions.request(version.id), version.report
    named = [name for name in record["samples"] if isinstance(name, str)] if _is_dict(record, "samples") else []
    if missing := [name for name in named if name not in passed]:
        raise InvalidRequest(
            f"{versions.name} was built with the data {', '.join(missing)}, which were not passed in this kernel.",
            why="Its folder only names them. No data are sent because a file names them.",
            hint=f"Run the cell of {versions.name}, or name them: after the name on a line of %autocode "
            f"({versions.name} {' '.join(missing)}), in a cell as {' '.join(f'-s {name}' for name in missing)}.",
        )
    recorded = read_fields(versions.name, record)
    samples = {name: passed[name] for name in named}
    if recorded["renames"]:
        from autocoder_jupyter.data.renames import with_names_read

        samples = with_names_read(samples, recorded["renames"])
    if record.get("contracts"):
        raise InvalidRequest(
            f"{versions.name} has contracts, and this kernel does not have their schemas.",
            why="Its folder has only a description of the schemas, not their code.",
            hint=f"Run the cell of {versions.name} first.",
        )
    if _list(record, "examples"):
        raise InvalidRequest(
            f"{versions.name} has examples, and this kernel does not have their values.",
            why="The values cannot be read from its folder.",
            hint=f"Run the cell of {versions.name} first.",
        )
    if record.get("own_tests") and not own_tests:
        raise InvalidRequest(
            f"{versions.name} has tests of its user, and no cell of this kernel has them.",
            why="They count as your own only if they come from you.",
            hint=f"Run the %%autocode_test cell of {versions.name} first.",
        )
    fields = {
        **recorded,
        "samples": samples,
        "own_tests": own_tests,
        "wishes": report.wishes,
        "answers": report.answers,
        "earlier": earlier_of(versions, version.id) if report.wishes else None,
    }
    return Request(versions.name, report.prompt, **fields)


def earlier_of(versions: Versions, version: str) -> Earlier | None:
    """The version that a refinement started from; None if it was removed."""
    recorded = versions.request(version).get("earlier")
    known = versions.get(recorded) if isinstance(recorded, str) else None
    return Earlier.of(known.report) if known is not None and known.is_good else None


def _is_dict(record: Mapping[str, Any], key: str) -> bool:
    return isinstance(record.get(key), dict)


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    found = record.get(key)
    return found if isinstance(found, list) else []
