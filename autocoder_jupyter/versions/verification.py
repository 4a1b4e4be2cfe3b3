"""What may be shown of a record: the evidence of a folder counts only if this user's runs gathered it.

Anybody can write a `report.json`. So the run that verified it adds a file `seal.json` (see `trust.seals`), and evidence
without a valid seal is not shown. A seal of another user is not valid, and is replaced when the function is verified
here. The record itself does not change then, because it may be shared.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from autocoder_jupyter.redaction.records import redacted_record
from autocoder_jupyter.trust.seals import is_sealed, key_problem, sealed
from autocoder_jupyter.types import Evidence, Report, SecondOpinion
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.versions.edits import differing_files
from autocoder_jupyter.versions.store import Version, Versions

FILE = "seal.json"

FILE_BYTES = 8 * 2**20
"""A larger file was not written by us and is ignored."""

_FORMAT = 1

RecordedState = Literal["ready", "failed", "not_verified"]

GATHERED = frozenset(
    {
        "kept",
        "evidence",
        "output",
        "exit_code",
        "detected_packages",
        "detected_system_packages",
        "lock",
        "python_version",
        "image",
        "sandbox",
        "sandbox_tier",
    }
)
"""The fields of a report that the run fills in that verifies a recorded function."""


def shown(versions: Versions, version: Version) -> tuple[RecordedState, Report]:
    """The state of a recorded version and its report, with the evidence that was gathered here.

    Args:
        versions: the versions of its name.
        version: one of them.
    """
    report, name = version.report, version.report.name
    if not report.success:
        return "failed", report
    if changed := differing_files(versions, version):
        tested = f"%autocode retest {name} tests the changed file, {name}.verify() what the record has."
        return "not_verified", unverified(report, f"{changed[0]} is not as it was tested. {tested}")
    found = _found(versions, version)
    if found is None:
        return "not_verified", unverified(report)
    if not found:
        return "ready", report
    gathered = {field: value for field, value in found.items() if field in GATHERED}
    return "ready", Report.model_validate({**without_evidence(report).model_dump(), **gathered, "success": True})


def without_others_evidence(versions: Versions, version: Version) -> Report:
    """The report as recorded if this user's run wrote it; otherwise without its evidence."""
    return version.report if _found(versions, version) == {} else without_evidence(version.report)


def unverified(report: Report, why: str = "") -> Report:
    """The report of a function that is not verified here: all that it says about itself, and no evidence.

    Args:
        report: as recorded.
        why: the reason, and what to do next. By default, that nobody verified it here.
    """
    why = why or (
        f"No run of yours gathered the evidence in its record. {report.name}.verify() runs its tests in the sandbox; "
        "running its cell does the same."
    )
    return without_evidence(report).model_copy(update={"success": False, "error": f"Not verified here. {why}"})


def without_evidence(report: Report) -> Report:
    """A report without what it says that somebody tested or compared."""
    history = tuple(attempt.model_copy(update={"evidence": Evidence()}) for attempt in report.history)
    gone: dict[str, Any] = {"evidence": Evidence(), "output": "", "exit_code": -1, "kept": None, "history": history}
    return report.model_copy(update={**gone, "second_opinion": _not_compared(report.second_opinion)})


def _not_compared(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """A second opinion without what it confirms. Where it differs, it still shows how else the request can be read."""
    if opinion is None or opinion.state != "agree":
        return opinion.model_copy(update={"confirms": ""}) if opinion else None
    return SecondOpinion(note="The record names a second solution, which was not compared here.", code=opinion.code)


def seal(versions: Versions, version: str, content: bytes) -> None:
    """Seal a record that this run verified and wrote.

    Args:
        versions: the versions of its name.
        version: its id.
        content: of the record.
    """
    _write(versions, version, hashlib.sha256(content).hexdigest(), {})


def seal_verified(versions: Versions, version: Version, report: Report) -> None:
    """Seal a recorded function that was verified again, with the evidence of that run. A valid seal is kept.

    Args:
        versions: the versions of its name.
        version: the recorded one.
        report: of the run that verified it.
    """
    if version.digest and _found(versions, version) is None:
        found = redacted_record(report.model_dump(mode="json", include=set(GATHERED)))
        _write(versions, version.id, version.digest, found)


def rename(versions: Versions, name: str) -> Versions:
    """Give a function another name, with all its versions and valid seals. Returns them.

    Raises:
        InvalidRequest: something of that name is there, or the folder cannot be written.
    """
    kept = {version.id: _found(versions, version) for version in versions.all()}
    versions.rename(name)
    renamed = Versions(versions.root, name)
    for version in renamed.all():
        if (found := kept.get(version.id)) is not None:
            _write(renamed, version.id, version.digest, found)
    return renamed


_told: set[str] = set()


def untold_problem() -> str:
    """Why what is verified now counts in this process only; "" if it counts from now on, or if this was told before."""
    problem = key_problem()
    if not problem or problem in _told:
        return ""
    _told.add(problem)
    return f"What is verified here is known as verified only until this kernel ends: {problem}"


def _found(versions: Versions, version: Version) -> Mapping[str, Any] | None:
    """The fields of `GATHERED` that are not as in the record; None if it has no valid seal."""
    with contextlib.suppress(OSError, ValueError):
        content = _files(versions).read_bytes(_path(versions, version.id), FILE_BYTES)
        if is_sealed(content, versions.name, version.id):
            record = parse(content)
            if record["format"] == _FORMAT and record["record"] == version.digest:
                return dict(record["found"])
    return None


def _write(versions: Versions, version: str, digest: str, found: Mapping[str, Any]) -> None:
    """Write a seal. Without it, the record counts as not verified; that is no reason to fail."""
    record = {"format": _FORMAT, "record": digest, "found": dict(found)}
    with contextlib.suppress(OSError):
        _files(versions).write(_path(versions, version), sealed(record, versions.name, version).encode())


def _files(versions: Versions) -> Folder:
    return Folder(versions.root.parent)


def _path(versions: Versions, version: str) -> str:
    return f"{versions.root.name}/{versions.name}/{version}/{FILE}"
