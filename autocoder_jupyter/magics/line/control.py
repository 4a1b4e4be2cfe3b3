"""Subcommands that look at jobs and steer them."""

from __future__ import annotations

import dataclasses

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.card import status_line
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.cell import launch, waits
from autocoder_jupyter.magics.line.lookup import find_job, find_waiting
from autocoder_jupyter.magics.notebook import Job, Notebook
from autocoder_jupyter.magics.questions import ask_at_prompt, read_answers


def status(notebook: Notebook, arguments: Arguments) -> None:
    """A table of the jobs of this kernel."""
    rows = [
        (job.name, job.state.replace("_", " "), _doing(notebook, job), job.run_id) for job in notebook.jobs.all_jobs()
    ]
    if not rows:
        print("No jobs yet. %autocode help tells how to begin.")
        return
    notebook.show(markup.table(("name", "state", "", "run"), rows), markup.columns(rows))


def cancel(notebook: Notebook, arguments: Arguments) -> None:
    """Stop one, or all that run."""
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
    """Wait for the end; an interrupt lets it go on."""
    find_job(notebook, arguments.positional[0]).result.wait()


def retry(notebook: Notebook, arguments: Arguments) -> None:
    """Ask the model anew for the same request."""
    job = find_job(notebook, arguments.positional[0])
    config = dataclasses.replace(job.config, cache="override")
    launch(notebook, job.request, config, waits=waits(notebook, notebook.settings()))


def approve(notebook: Notebook, arguments: Arguments) -> None:
    """Allow what a job waits for; names of packages, when given, must be those."""
    job, packages = find_waiting(notebook, arguments.positional[0])
    given = {word.strip(",") for word in arguments.positional[1:]} - {""}
    if given and given != set(packages):
        raise InvalidRequest(
            f"{job.name} waits for {', '.join(packages)}, not for {', '.join(sorted(given))}.",
            hint=f"%autocode approve {job.name} allows exactly that; -p in the cell gives more.",
        )
    job.approve()
    print(f"{job.name} may install {', '.join(packages)}.")


def decline(notebook: Notebook, arguments: Arguments) -> None:
    """Refuse what a job waits for."""
    job, packages = find_waiting(notebook, arguments.positional[0])
    job.decline()
    print(f"{job.name} must do without {', '.join(packages)}.")


def answer(notebook: Notebook, arguments: Arguments) -> None:
    """Answer the questions of a plan; without answers, ask for them one by one."""
    name, *words = arguments.positional
    job = find_job(notebook, name)
    questions = job.pending_questions
    if questions is None:
        raise InvalidRequest(f"{name} asks nothing; it is {job.state.replace('_', ' ')}.")
    if not words and not notebook.is_headless:
        ask_at_prompt(job)
        return
    job.answer(read_answers(questions, words))
    print(f"{name} goes on with your answers.")


def _doing(notebook: Notebook, job: Job) -> str:
    started = notebook.launched.get(job.name)
    if started is None or started.job is not job:
        return ""
    doing = status_line(started.card.state).removeprefix(f"{job.name}  ")
    return doing.partition(" · ")[2] if job.done else doing  # the state stands in the column beside it
