"""Subcommands that show and control jobs, and run them again."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from autocoder_jupyter.codemode.journal import PREFIX
from autocoder_jupyter.display.live import status_line
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import load_record
from autocoder_jupyter.magics import own_tests as retesting
from autocoder_jupyter.magics.cell import launch, refuse_to_shadow, waits
from autocoder_jupyter.magics.command import Arguments
from autocoder_jupyter.magics.notebook import (
    Notebook,
    NotebookJob,
    find_job,
    is_running_elsewhere,
    last_run,
    versions_of,
)
from autocoder_jupyter.magics.references import named_samples
from autocoder_jupyter.magics.versions import VersionManager
from autocoder_jupyter.request import Backend
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import headline, run_of, with_answers
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions.lost_edits import words_of_lost
from autocoder_jupyter.view import markup

if TYPE_CHECKING:
    from autocoder_jupyter.versions import Version, Versions


def status(notebook: Notebook, arguments: Arguments) -> None:
    """Show a table of the jobs of this kernel, and of the recorded runs of earlier kernels."""
    jobs = notebook.jobs.all_jobs()
    rows = [(job.name, *_doing(notebook, job), job.run_id) for job in jobs]
    rows += _recorded(notebook, {job.name for job in jobs})
    rows = [(name, state, _with_uses(notebook, name, words), run) for name, state, words, run in rows]
    if not rows:
        print("No jobs yet. %autocode help shows how to start.")
        return
    notebook.show(markup.table(("name", "state", "", "run"), rows), markup.columns(rows))


def _with_uses(notebook: Notebook, name: str, words: str) -> str:
    """The words, and on which helpers the function stands."""
    job = notebook.jobs.current(name)
    helpers = getattr(job.request, "helpers", None) if job is not None else None
    if job is None:
        with suppress(InvalidRequest):
            counting = versions_of(notebook, name).last_good()
            helpers = counting.report.helpers if counting is not None else None
    uses = f"builds on {', '.join(helpers.digests)}" if helpers else ""
    return "; ".join(filter(None, (words, uses)))


def _recorded(notebook: Notebook, known: Collection[str]) -> Iterator[tuple[str, str, str, str]]:
    """Rows for names that are only on disk."""
    root = notebook.journal_root
    for name in Folder(root.parent).names(root.name):
        if name in known or not is_input_name(name):
            continue
        try:
            yield from _recorded_as(notebook, name)
        except InvalidRequest as error:
            yield name, "not readable", error.what, ""


def _recorded_as(notebook: Notebook, name: str) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a name: its interrupted run, and its current version."""
    from autocoder_jupyter.versions.verification import shown

    root = notebook.journal_root
    if (answered := load_record(root, name)) is not None:
        yield name, answered.state.replace("_", " "), "an answer; run its cell, or --continue it", ""
        return
    if unanswered := [run for run in Folder(root / name).names("") if run.startswith(PREFIX)]:
        what = "an answer of --mode tools; run its cell again, recorded answers are used"
        yield name, "interrupted", what, unanswered[-1]
    versions = versions_of(notebook, name)
    if interrupted := versions.interrupted():
        if is_running_elsewhere(notebook, name, interrupted[-1]):
            yield name, "running", "in another kernel", interrupted[-1]
        else:
            yield name, "interrupted", f"%autocode retry {name} continues it", interrupted[-1]
    if (counting := versions.last_good()) is not None:
        number = f"{counting.number}{', by backend claude' if counting.report.trace else ''}"
        state, report = shown(versions, counting)
        way = "calls it" if state == "ready" else "calls it, and .verify() of that tests it here"
        words = f'version {number}; autocoder_jupyter.load("{name}") {way}'
        yield name, headline(run_of(report, state)).lower(), _with_lost(notebook, name, words), counting.id
    elif not interrupted and (finished := versions.all()):
        error = shown(versions, finished[-1])[1].error or ""
        yield name, "failed", markup.clipped(error, 100), finished[-1].id


def _with_lost(notebook: Notebook, name: str, words: str) -> str:
    """The words, and which edits are not in what runs."""
    try:
        lost = tuple(words_of_lost(versions_of(notebook, name)).values())
    except InvalidRequest as error:
        lost = (error.what,)
    return "; ".join(filter(None, (words, *lost)))


def cancel(notebook: Notebook, arguments: Arguments) -> None:
    """Cancel one job, or all running jobs."""
    everything = bool(arguments.given.get("all"))
    if everything == bool(arguments.positional):
        raise InvalidRequest("Write %autocode cancel NAME, or %autocode cancel --all.")
    jobs = list(notebook.jobs.all_jobs()) if everything else [find_job(notebook, arguments.positional[0])]
    for job in jobs:
        if not job.done:
            job.cancel()
            print(f"{job.name} is being cancelled.")
        elif not everything:
            print(f"{job.name} has ended already ({job.state.replace('_', ' ')}).")


def wait(notebook: Notebook, arguments: Arguments) -> None:
    """Wait until a job has ended. An interrupt ends the waiting, not the job."""
    find_job(notebook, arguments.positional[0]).result.wait()


def retry(notebook: Notebook, arguments: Arguments) -> None:
    """Ask the model the same request again. An interrupted run continues: recorded answers are not asked again.

    The data of a request that only the folder has are named on the line.
    """
    name, *data = arguments.positional
    job, waiting = notebook.jobs.current(name), waits(notebook, notebook.settings())
    if job is not None:
        if data:
            raise InvalidRequest(f"{name} is sent again with its own data.", hint=f"Write %autocode retry {name}.")
        launch(notebook, job.request, dataclasses.replace(notebook.config_again(job), cache="override"), waits=waiting)
        return
    run = last_run(notebook, name)
    if not run:
        find_job(notebook, name)
    refuse_to_shadow(notebook.namespace, name, replace=False)
    from autocoder_jupyter.magics.versions import recorded_request

    versions = versions_of(notebook, name)
    passed, own_tests = named_samples(data, notebook.namespace), notebook.own_tests_of(name)
    request = recorded_request(versions, _begun(versions, run), passed, own_tests)
    config = notebook.settings().agent_config()
    if run not in versions.interrupted():
        config = dataclasses.replace(config, cache="override")
    launch(notebook, request, config, waits=waiting, notices=_other_backend(versions.request(run), config.backend))


def _other_backend(record: Mapping[str, Any], backend: Backend) -> tuple[str, ...]:
    """A sentence, if a run was begun with another backend than the one that continues it.

    The record is not trusted, so it does not choose the backend.
    """
    settings = record.get("settings")
    before = settings.get("backend") if isinstance(settings, dict) else None
    if before == backend or before not in get_args(Backend):
        return ()
    return (
        f"The run was started with backend {before} and continues with {backend}. For {before}, run its cell again.",
    )


def _begun(versions: Versions, run: str) -> Version:
    """An unfinished run as a version, which contains only its request."""
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.versions import Version
    from autocoder_jupyter.versions.request_fields import unreadable

    if (finished := versions.get(run)) is not None:
        return finished
    record = versions.request(run)
    prompt, wishes = record.get("prompt"), record.get("wishes") or []
    if not isinstance(prompt, str) or not isinstance(wishes, list):
        raise unreadable(versions.name)
    report = Report(
        name=versions.name, run_id=run, prompt=prompt, success=False, wishes=tuple(str(wish) for wish in wishes)
    )
    return Version(run, 0, report)


def _doing(notebook: Notebook, job: NotebookJob) -> tuple[str, str]:
    """The state of a job, at its end in the words of its card, and the rest of its line."""
    run = job.tracker.run
    shown = with_answers(run) if isinstance(run, FunctionRun) and run.is_ready else run
    doing = status_line(shown).removeprefix(f"{job.name}  ")
    title, _, rest = doing.partition(" · ")
    state, what = (title.lower(), rest) if job.done else (job.state.replace("_", " "), doing)
    return state, _with_lost(notebook, job.name, what)


# Edited code


def retest(notebook: Notebook, arguments: Arguments) -> None:
    """Test code and tests as they are in the editor of a page, or on disk now. No model is asked."""
    name, *data = arguments.positional
    code, tests = notebook.edits.pop(name, (None, None))
    retesting.retest(notebook, name, code, tests, passed=named_samples(data, notebook.namespace))


def take(notebook: Notebook, arguments: Arguments) -> None:
    """Take an edit over into the version that counts, and test that. No model is asked."""
    name, word, *data = arguments.positional
    code, tests = VersionManager(notebook, name).with_edit(word)
    retesting.retest(notebook, name, code, tests, passed=named_samples(data, notebook.namespace))
