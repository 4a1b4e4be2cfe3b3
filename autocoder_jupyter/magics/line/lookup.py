"""Find a job, a result or a version by the name that the user typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook, NotebookJob, is_code_result, is_ours, is_result
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.untrusted.folder import Folder

if TYPE_CHECKING:
    from autocoder_jupyter.versions import Version, Versions


def find_job(notebook: Notebook, name: str) -> NotebookJob:
    """The newest job of a name.

    Raises:
        InvalidRequest: this kernel has no job of that name.
    """
    job = notebook.jobs.current(name)
    if job is None:
        raise _unknown(name, "job", (known.name for known in notebook.jobs.all_jobs()))
    return job


def find_waiting(notebook: Notebook, name: str) -> tuple[NotebookJob, tuple[str, ...]]:
    """The newest job of a name, and the packages that it waits for.

    Raises:
        InvalidRequest: there is no such job, or it does not wait for an approval.
    """
    job = find_job(notebook, name)
    packages = tuple(job.pending_approval or ())
    if not packages:
        raise InvalidRequest(f"{name} waits for no approval; it is {job.state.replace('_', ' ')}.")
    return job, packages


def find_result(notebook: Notebook, name: str) -> Any:
    """The variable of that name, else the result of its newest job, else the report of its last run on disk.

    Raises:
        InvalidRequest: there is none.
    """
    value = notebook.namespace.get(name)
    if is_ours(value):
        return value
    job = notebook.jobs.current(name)
    if job is not None:
        return job.result
    versions = versions_of(notebook, name)
    if (counting := versions.last_good()) is not None or (recorded := versions.all()):
        return counting.report if counting is not None else recorded[-1].report
    if versions.interrupted():
        raise InvalidRequest(
            f"{name} was interrupted before it was finished.", hint=f"%autocode retry {name} continues it."
        )
    root = notebook.journal_root
    on_disk = filter(is_input_name, Folder(root.parent).names(root.name))
    bound = (known for known, held in notebook.namespace.items() if is_ours(held) and not known.startswith("_"))
    raise _unknown(name, "result", (*bound, *on_disk))


def is_answer(notebook: Notebook, name: str) -> bool:
    """Whether a name belongs to an answer of `--mode tools`: by its newest job, its variable, or the record."""
    job = notebook.jobs.current(name)
    if job is not None:
        return is_code_result(job.result)
    if is_ours(notebook.namespace.get(name)):
        return is_code_result(notebook.namespace[name])
    from autocoder_jupyter.jobs.code_job import load_record

    return name.isidentifier() and load_record(notebook.journal_root, name) is not None


def find_callable(notebook: Notebook, name: str) -> Any:
    """Like `find_result`, but a result that can be called and exported.

    Raises:
        InvalidRequest: there is none, or only a report.
    """
    result = find_result(notebook, name)
    if not is_result(result):
        raise InvalidRequest(
            f"{name!r} exists only in the journal.",
            hint=f'Run its cell, or write {name} = autocoder_jupyter.load("{name}").',
        )
    return result


def versions_of(notebook: Notebook, name: str) -> Versions:
    """The recorded versions of a name."""
    from autocoder_jupyter.versions import Versions

    return Versions(notebook.journal_root, name)


def last_run(notebook: Notebook, name: str) -> str:
    """The id of the newest run, finished or not; "" if there is none."""
    versions = versions_of(notebook, name)
    interrupted = versions.interrupted()
    finished = [version.id for version in versions.all()]
    return (interrupted or finished or [""])[-1]


def is_running_elsewhere(notebook: Notebook, name: str, run: str) -> bool:
    """Whether another kernel of this machine is working on an unfinished run."""
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.versions.request_lock import is_held, lock_of

    return is_held(lock_of(cache_folder(), notebook.journal_root, name, run.partition("-")[0]))


def find_version(notebook: Notebook, name: str, word: str) -> Version:
    """A recorded version, by its number or by the beginning of its id.

    Raises:
        InvalidRequest: there is none.
    """
    versions = versions_of(notebook, name)
    found = versions.numbered(word)
    if found is None:
        known = len(versions.all())
        if not known:
            find_result(notebook, name)
        recorded = f"Versions 1 to {known}" if known > 1 else "Version 1" if known else "None"
        raise InvalidRequest(
            f"There is no version {word!r} of {name}.",
            hint=f"{recorded} recorded: %autocode history {name}.",
        )
    return found


def _unknown(name: str, what: str, known: Iterable[str]) -> InvalidRequest:
    return InvalidRequest(f"There is no {what} named {name!r}.", hint=did_you_mean(name, sorted(set(known))))
