"""The versions of a function: find the current one, refine it, and restore, pin or remove others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.agent.databases import connected, with_databases, with_tables
from autocoder_jupyter.agent.rules import RuleFile, usable_rules
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.display import parts
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.contracts import with_contracts
from autocoder_jupyter.magics.examples import collect_example
from autocoder_jupyter.magics.notebook import (
    Notebook,
    NotebookJob,
    find_result,
    find_version,
    is_result,
    versions_of,
)
from autocoder_jupyter.magics.references import collect_helpers, collect_samples, helper_names, read_schema
from autocoder_jupyter.request import Earlier, Request
from autocoder_jupyter.types import Report
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.lost_edits import lost_edits, taken_over, words_of_lost
from autocoder_jupyter.versions.request_fields import joined, read_fields
from autocoder_jupyter.versions.store import CODE_FILE, TESTS_FILE
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, spending
from autocoder_jupyter.view.markup import Html, join
from autocoder_jupyter.view.source import side_by_side

if TYPE_CHECKING:
    from autocoder_jupyter.result import CodeGenEvalResult


# The current version of a name, with its request, in this kernel or in the record on disk


@dataclass(frozen=True)
class CurrentVersion:
    """A version of a function, and its request.

    Args:
        request: the request, with the samples of this kernel's run, or those that the user passes now.
    """

    request: Request
    report: Report


def find_current_version(
    notebook: Notebook, name: str, passed: Mapping[str, Any], *, good: bool
) -> CurrentVersion | None:
    """The version of a name in this kernel, or else the newest on disk; None if there is none.

    Waits for a running job of that name. If the name was bound to another version since (`restore`, `pin`), that
    version is the one in this kernel, with the data that the job had.
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
            f"{versions.name} has tests that its user wrote, and no cell of this kernel has them.",
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


# The fields of a request that a cell gives

_NEEDS_THE_REQUEST = frozenset({"name", "prompt", "contracts"})

_AS_WRITTEN = tuple(
    field.name
    for field in dataclasses.fields(CellCommand)
    if field.name in Request.__dataclass_fields__ and field.name not in _NEEDS_THE_REQUEST
)
"""The fields whose value is that of the parsed cell, except for those that are looked up."""


def given_fields(command: CellCommand, notebook: Notebook) -> dict[str, Any]:
    """The fields that a cell gives, without its text and its contracts. The data are captured as they are now."""
    helpers = helper_names(command, notebook.namespace)
    collected = collect_samples(command, notebook.namespace, helpers=helpers)
    words = (command.prompt, *command.constraints, *(f"{spec.name} {spec.meaning}" for spec in command.outputs))

    def rules() -> tuple[RuleFile, ...]:
        return usable_rules(notebook.journal_root.parent, locked=notebook.settings()["locked"])

    samples, databases = background.run(with_tables(connected(collected), words, rules))
    looked_up = {
        "samples": samples,
        "databases": databases,
        "schema": read_schema(command.schema, notebook.namespace),
        "own_tests": notebook.own_tests_of(command.name),
        "examples": tuple(collect_example(option, notebook.namespace) for option in command.examples),
    }
    return {**{name: getattr(command, name) for name in _AS_WRITTEN}, **looked_up}


# `--refine`: the request of the existing function, with one more change


def refined_request(command: CellCommand, notebook: Notebook) -> Request:
    """The request of a cell with `--refine`: the existing request, the requested change, and the options of the cell.

    Waits for a running job of that name, so that *Run All* works. A change that was made already is not made twice:
    the request is then that of the version which has it.
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
    fields["helpers"] = collect_helpers(command, notebook.namespace, base.helpers)
    refined = with_databases(replace(base, **fields))
    return with_contracts(refined, command, notebook.namespace)


def _require_not_pinned(name: str, change: str, versions: Versions) -> None:
    """Refuse a new change of a pinned function: the pinned version would be used as it is. A change that was made
    before is not a new one, so that a notebook still runs from top to bottom; its card says that it is not used.
    """
    pinned = versions.pinned()
    if pinned is not None and not any(change in version.report.wishes for version in versions.all()):
        raise InvalidRequest(
            f"{name} is pinned to version {pinned.number}, so it cannot be refined.",
            why="A pinned version is used for every request, as it is.",
            hint=f"Run %autocode versions {name} pin --off, then this cell again.",
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


# Restore, pin and remove versions, for the line magics and the inspector

HEADINGS = ("", "version", "started", "state", "made by", "passed", "cost", "reason", "request")

_PASSED = HEADINGS.index("passed")
_REASON = HEADINGS.index("reason")

_LONGEST = 60


class VersionManager:
    """Manages the versions of one name. Each action returns a sentence that describes its effect.

    Args:
        notebook: the notebook in which the name is bound.
    """

    def __init__(self, notebook: Notebook, name: str) -> None:
        self._notebook = notebook
        self._name = name

    @property
    def _versions(self) -> Versions:
        return versions_of(self._notebook, self._name)

    def rows(self) -> list[tuple[str, ...]]:
        """One row per version, oldest first, with the columns `HEADINGS`. The first cell is the number.

        The same evidence, or the same error, is shown once; later versions refer to the first that has it.
        """
        versions = self._versions
        counting = versions.last_good()
        rows = []
        first: dict[str, str] = {}
        known = versions.all()
        lost = words_of_lost(versions, known)
        for version in known:
            row = _row(version, versions, counts=counting is not None and version.id == counting.id)
            if version.id in lost:
                row = (*row[:_REASON], "; ".join(filter(None, (row[_REASON], lost[version.id]))), *row[_REASON + 1 :])
            evidence = row[_PASSED]
            number = first.setdefault(evidence, row[0])
            rows.append(
                row if number == row[0] or not evidence else (*row[:_PASSED], f"as {number}", *row[_PASSED + 1 :])
            )
        return rows

    def table(self) -> Html:
        """The rows as a table."""
        return markup.table(HEADINGS, self.rows())

    def with_edit(self, word: str) -> tuple[str, str]:
        """Code and tests of the current version with the changes of an edited one.

        Raises:
            InvalidRequest: there is no such version, it is no edit, or its changes are in conflict.
        """
        require_idle(self._notebook, self._name)
        edit, current = self._good(word), self._versions.last_good()
        known = self._versions.all()
        if current is None or edit.id not in [version.id for version in lost_edits(known, current)]:
            raise InvalidRequest(
                f"Version {edit.number} of {self._name} has no edit that the current version lacks.",
                hint=f"%autocode history {self._name} lists the versions.",
            )
        merged = taken_over(edit, current, {version.id: version for version in known})
        if merged is None:
            raise InvalidRequest(
                f"Version {edit.number} and version {current.number} of {self._name} change the same lines.",
                why="Only a person can say which of them is right.",
                hint=f"%autocode diff {self._name} {edit.number} {current.number} shows both. Edit the code of version "
                f"{current.number}, then %autocode retest {self._name}.",
            )
        return merged[CODE_FILE], merged[TESTS_FILE]

    def restore(self, word: str) -> str:
        """Make an earlier version the current one, and bind the name to it.

        Raises:
            InvalidRequest: there is no such version, it never passed its tests, or a job of that name is running.
        """
        require_idle(self._notebook, self._name)
        version = self._good(word)
        self._versions.restore(version)
        notes = self._shown()
        bind(self._notebook, self._name, version)
        return (
            f"{self._name} is version {version.number} again, also when its cell is run unchanged. "
            f"A changed cell, or --refresh, makes a new version.{notes}"
        )

    def pin(self, word: str = "") -> str:
        """Pin a version, so that it is used for any request. By default the current version.

        Raises:
            InvalidRequest: as for `restore`.
        """
        require_idle(self._notebook, self._name)
        counting = self._versions.last_good()
        if not word and counting is None:
            find_result(self._notebook, self._name)
            raise InvalidRequest(
                f"{self._name} has no version that can be pinned.", hint=f"%autocode history {self._name}"
            )
        version = self._good(word) if word or counting is None else counting
        self._versions.pin(version.id)
        notes = self._shown()
        bind(self._notebook, self._name, version)
        return (
            f"{self._name} is pinned to version {version.number}: its cell verifies this version, and neither asks a "
            f"model nor fixes the code. %autocode versions {self._name} pin --off unpins it.{notes}"
        )

    def unpin(self) -> str:
        """Unpin the pinned version."""
        if self._versions.choice.pinned is None:
            return f"{self._name} was not pinned."
        self._versions.pin(None)
        return f"{self._name} is no longer pinned; its cell chooses the version again.{self._shown()}"

    def remove(self, word: str) -> str:
        """Remove a version from disk.

        Raises:
            InvalidRequest: there is no such version, or a job of that name is running.
        """
        require_idle(self._notebook, self._name)
        version = find_version(self._notebook, self._name, word)
        self._versions.remove(version.id)
        return (
            f"Version {version.number} of {self._name} is removed; later versions have new numbers: "
            f"%autocode history {self._name}.{self._shown()}"
        )

    def _shown(self) -> str:
        """Update the files at the top of the folder. Returns notes for the user, each after a blank."""
        return "".join(f" {note}" for note in self._versions.show_current())

    def difference(self, before: str, after: str) -> Html:
        """The differences in request, assumptions and code between two versions."""
        old, new = (find_version(self._notebook, self._name, word) for word in (before, after))
        was, now = (version.report.solution.code if version.report.solution else "" for version in (old, new))
        asked = markup.text_lines(asked_otherwise(self._versions, old, new))
        return join(asked, side_by_side(was, now, f"version {old.number}", f"version {new.number}"))

    def _good(self, word: str) -> Version:
        version = find_version(self._notebook, self._name, word)
        if not version.is_good:
            raise InvalidRequest(
                f"Version {version.number} of {self._name} never passed its tests.",
                hint=f"%autocode history {self._name}",
            )
        return version


def asked_otherwise(versions: Versions, old: Version, new: Version) -> list[str]:
    """The differences between the requests and between the assumptions of two versions, one line each."""
    from autocoder_jupyter.versions.request_fields import changes

    changed = changes(versions.request(old.id), versions.request(new.id)) or "none"
    was, now = ((version.report.plan.assumptions if version.report.plan else ()) for version in (old, new))
    return [
        f"Changes in the request: {changed.removesuffix('.')}.",
        *(f"No longer assumed: {line}" for line in was if line not in now),
        *(f"Newly assumed: {line}" for line in now if line not in was),
    ]


def _row(version: Version, versions: Versions, *, counts: bool) -> tuple[str, ...]:
    from autocoder_jupyter.run.of_report import headline, run_of
    from autocoder_jupyter.versions.verification import shown

    ended, report = shown(versions, version)
    state = headline(run_of(report, ended)).lower()
    if versions.choice.pinned == version.id:
        state += " · pinned"
    elif counts:
        state += " · current"
    return (
        str(version.number),
        version.id,
        f"{report.started.astimezone():%Y-%m-%d %H:%M}" if report.started else "",
        state,
        _writer(report),
        _short(", ".join(parts.passed(report.evidence))) if report.success else _short(report.error or ""),
        spending(report.usage, None),
        _short(report.change),
        _short("; ".join((report.prompt.strip(), *report.wishes))),
    )


def _writer(report: Report) -> str:
    if report.author == "you":
        return "you"
    who = "the model" if report.trace is None else f"an agent (claude), {counted(len(report.trace.calls), 'tool call')}"
    return f"{who}, {counted(report.attempts, 'attempt')}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def bind(notebook: Notebook, name: str, version: Version, held: CodeGenEvalResult | None = None) -> None:
    """Bind the name to a recorded version. The captured samples remain its default arguments: those of `held`, by
    default the result that the name has now.
    """
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.result.recorded import result_of

    if name in notebook.namespace and not is_result(notebook.namespace[name]):
        return
    held = held if held is not None else notebook.namespace.get(name)
    options = CallOptions.of(notebook.settings().agent_config())
    samples = held.original_samples if held is not None else {}
    contracts = held.contracts_in_force if held is not None else {}
    notebook.namespace[name] = result_of(version, notebook.journal_root, options, samples=samples, contracts=contracts)


def require_idle(notebook: Notebook, name: str) -> None:
    """Require that no job of this name is running."""
    job = notebook.jobs.current(name)
    if job is not None and not job.done:
        raise InvalidRequest(f"{name} is running.", hint=f"Wait until it is done, or run %autocode cancel {name}.")
