"""`%%autocode NAME --refine`: the request of the function that has the name, with one more wish."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import collect_samples, read_schema
from autocoder_jupyter.request import Earlier, Request
from autocoder_jupyter.types import InputSpec, OutputSpec, Report


def refined_request(command: CellCommand, notebook: Notebook) -> Request:
    """What a cell with `--refine` asks for: all that was asked before, its wish, and what its options add.

    Waits for a function that is in the making, so that a notebook can be run as a whole. A wish that is granted
    already is not granted twice: the cell then asks for the version that was made for it.

    Raises:
        InvalidRequest: there is no function of that name, or none that can be trusted.
    """
    base, report = _present(notebook, command.name)
    wish = command.prompt.strip()
    if wish not in base.wishes:
        base = replace(base, wishes=(*base.wishes, wish), answers=report.answers, earlier=_earlier(report))
    return replace(
        base,
        samples={**base.samples, **collect_samples(command, notebook.namespace)},
        inputs=_by_name(base.inputs, command.inputs),
        outputs=_by_name(base.outputs, command.outputs),
        constraints=tuple(dict.fromkeys((*base.constraints, *command.constraints))),
        checks=tuple(dict.fromkeys((*base.checks, *command.checks))),
        schema=read_schema(command.schema, notebook.namespace) or base.schema,
    )


def _present(notebook: Notebook, name: str) -> tuple[Request, Report]:
    """The function that has the name: what was asked, and what came of it."""
    job = notebook.jobs.current(name)
    if job is None:
        raise InvalidRequest(
            f"There is no function named {name!r} to refine.",
            hint=f"Run a cell with %%autocode {name}, without --refine, first.",
        )
    result = job.result
    if not result.success:
        raise InvalidRequest(
            f"{name} is not ready, so there is nothing to refine.",
            why=result.error or "",
            hint="Change the request in its own cell.",
        )
    return job.request, result.report


def _earlier(report: Report) -> Earlier:
    """A function to start from."""
    assert report.plan is not None and report.solution is not None
    key = report.request_key or report.run_id
    return Earlier(report.run_id, key, report.plan, report.solution.code, report.tests, report.evidence)


Spec = TypeVar("Spec", bound=InputSpec | OutputSpec)


def _by_name(before: tuple[Spec, ...], added: tuple[Spec, ...]) -> tuple[Spec, ...]:
    """What was declared, and what is declared now; of two with a name the later one."""
    again = {spec.name for spec in added}
    return (*(spec for spec in before if spec.name not in again), *added)
