"""Finding a job or a result by the name that a person typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.folder import Folder
from autocoder_jupyter.magics.notebook import Job, Notebook, is_result
from autocoder_jupyter.magics.suggestions import did_you_mean


def find_job(notebook: Notebook, name: str) -> Job:
    """The newest job of a name.

    Raises:
        InvalidRequest: this kernel ran none.
    """
    job = notebook.jobs.current(name)
    if job is None:
        raise _unknown(name, "job", (known.name for known in notebook.jobs.all_jobs()))
    return job


def find_waiting(notebook: Notebook, name: str) -> tuple[Job, tuple[str, ...]]:
    """The newest job of a name and the packages that it waits for.

    Raises:
        InvalidRequest: there is no such job, or it waits for no approval.
    """
    job = find_job(notebook, name)
    packages = tuple(job.pending_approval or ())
    if not packages:
        raise InvalidRequest(f"{name} waits for no approval; it is {job.state.replace('_', ' ')}.")
    return job, packages


def find_result(notebook: Notebook, name: str) -> Any:
    """A result: the variable of that name, else that of the newest job, else the report of the last run on disk.

    Raises:
        InvalidRequest: there is none.
    """
    value = notebook.namespace.get(name)
    if is_result(value):
        return value
    job = notebook.jobs.current(name)
    if job is not None:
        return job.result
    recorded = recorded_runs(notebook, name)
    if recorded:
        return recorded[-1][1]
    root = notebook.journal_root
    on_disk = Folder(root.parent).names(root.name)
    bound = (known for known, held in notebook.namespace.items() if is_result(held) and not known.startswith("_"))
    raise _unknown(name, "result", (*bound, *on_disk))


def find_callable(notebook: Notebook, name: str) -> Any:
    """As `find_result`, but one that can be called and exported.

    Raises:
        InvalidRequest: there is none, or only its report.
    """
    result = find_result(notebook, name)
    if not is_result(result):
        raise InvalidRequest(
            f"{name!r} is known from the journal only.", hint="Run its cell; what was answered is replayed."
        )
    return result


def recorded_runs(notebook: Notebook, name: str) -> list[tuple[str, Any]]:
    """(run id, report) of the finished runs in the journal, oldest first; none for what cannot be a name."""
    from autocoder_jupyter.versions import Versions

    return [(version.id, version.report) for version in Versions(notebook.journal_root, name).all()]


def _unknown(name: str, what: str, known: Iterable[str]) -> InvalidRequest:
    return InvalidRequest(f"There is no {what} named {name!r}.", hint=did_you_mean(name, sorted(set(known))))
