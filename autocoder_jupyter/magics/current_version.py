"""Find the current version of a name, with its request and report, in this kernel or in the record on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.references import kind_of
from autocoder_jupyter.request import Earlier, Request
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.versions import Version, Versions


@dataclass(frozen=True)
class CurrentVersion:
    """A version of a function, and its request.

    Args:
        request: the request, with the samples of this kernel's run, or the variables that have their names now.
        report: the report of the version.
    """

    request: Request
    report: Report


def find_current_version(notebook: Notebook, name: str, *, good: bool) -> CurrentVersion | None:
    """The version of a name in this kernel, or else the newest on disk; None if there is none.

    Waits for a running job of that name.

    Args:
        notebook: the notebook.
        name: the name of the function.
        good: whether only a version that passed is accepted; otherwise the newest, which may have failed.

    Raises:
        InvalidRequest: the notebook does not have the data that it was generated for.
    """
    job = notebook.jobs.current(name)
    if job is not None and (job.result.success or not good) and job.result.report.plan is not None:
        return CurrentVersion(replace(job.request, answers=job.result.report.answers), job.result.report)
    versions = Versions(notebook.journal_root, name)
    version = versions.last_good() if good else next(iter(reversed(versions.all())), None)
    if version is None or version.report.plan is None:
        return None
    return CurrentVersion(recorded_request(versions, version, notebook.namespace), version.report)


def recorded_request(versions: Versions, version: Version, namespace: Mapping[str, Any]) -> Request:
    """The request of a version, with the variables that have the names of its samples now.

    The record is not trusted: values that do not have the expected form are left out.

    Raises:
        InvalidRequest: a variable does not exist, or is not data.
    """
    from autocoder_jupyter.data.capture import capture

    record, report = versions.request(version.id), version.report
    samples = {}
    for sample in record["samples"] if isinstance(record.get("samples"), dict) else ():
        if kind_of(namespace.get(sample)) is None:
            raise InvalidRequest(
                f"{versions.name} was built with the data {sample}, and the notebook has no such variable.",
                hint=f"Run the cell that defines {sample} first.",
            )
        samples[sample] = capture(namespace[sample])
    schema, own_tests = record.get("schema"), record.get("own_tests")
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
    return Request(
        versions.name,
        report.prompt,
        samples=samples,
        inputs=tuple(InputSpec.model_validate(spec) for spec in _list(record, "inputs")),
        outputs=tuple(OutputSpec.model_validate(spec) for spec in _list(record, "outputs")),
        constraints=_texts(record, "constraints"),
        checks=_texts(record, "checks"),
        schema=schema if isinstance(schema, str) else None,
        own_tests=own_tests if isinstance(own_tests, str) else "",
        wishes=report.wishes,
        answers=report.answers,
        earlier=earlier_of(versions, version.id) if report.wishes else None,
    )


def earlier_of(versions: Versions, version: str) -> Earlier | None:
    """The version that a refinement started from; None if it was removed."""
    recorded = versions.request(version).get("earlier")
    known = versions.get(recorded) if isinstance(recorded, str) else None
    return Earlier.of(known.report) if known is not None and known.is_good else None


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    found = record.get(key)
    return found if isinstance(found, list) else []


def _texts(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text for text in _list(record, key) if isinstance(text, str))
