"""Restore, pin and remove versions of a function, for the line magics and the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.line.lookup import find_result, find_version, versions_of
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted, spending
from autocoder_jupyter.view.markup import Html, join
from autocoder_jupyter.view.source import side_by_side

if TYPE_CHECKING:
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.versions import Version, Versions

HEADINGS = ("", "version", "started", "state", "made by", "passed", "cost", "reason", "request")

_PASSED = HEADINGS.index("passed")

_LONGEST = 60


class VersionManager:
    """Manages the versions of one name. Each action returns a sentence that describes its effect.

    Args:
        notebook: the notebook in which the name is bound.
        name: the name of the function.
    """

    def __init__(self, notebook: Notebook, name: str) -> None:
        self._notebook = notebook
        self._name = name

    @property
    def _versions(self) -> Versions:
        return versions_of(self._notebook, self._name)

    def rows(self) -> list[tuple[str, ...]]:
        """One row per version, oldest first, with the columns `HEADINGS`. The first cell is the number.

        The same evidence, or the same error, is said once; later versions refer to the first that has it.
        """
        versions = self._versions
        counting = versions.last_good()
        rows = []
        first: dict[str, str] = {}
        for version in versions.all():
            row = _row(version, versions, counts=counting is not None and version.id == counting.id)
            told = row[_PASSED]
            number = first.setdefault(told, row[0])
            rows.append(row if number == row[0] or not told else (*row[:_PASSED], f"as {number}", *row[_PASSED + 1 :]))
        return rows

    def table(self) -> Html:
        """The rows as a table."""
        return markup.table(HEADINGS, self.rows())

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
            f"model nor fixes the code. %autocode pin {self._name} --off unpins it.{notes}"
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
        """Let the files at the top of the folder say what runs. Returns what the user must know, after a blank."""
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
    from autocoder_jupyter.run.events import state_words
    from autocoder_jupyter.versions.edits import shown

    ended, report = shown(versions, version)
    state = state_words(ended)
    if versions.choice.pinned == version.id:
        state += ", pinned"
    elif counts:
        state += ", current"
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
    """Require that no job of this name is running.

    Raises:
        InvalidRequest: one is running.
    """
    job = notebook.jobs.current(name)
    if job is not None and not job.done:
        raise InvalidRequest(f"{name} is running.", hint=f"Wait until it is done, or run %autocode cancel {name}.")
