"""Which evidence of a recorded version counts: only that which this user's runs gathered.

Anybody can write a `report.json`. So the run that writes it seals it (see `trust.seals`), and evidence without a valid
seal is not shown. A record of somebody else does not change when it is verified here, because it may be shared: the
evidence is kept in a sealed file in the user's configuration.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from autocoder_jupyter.redaction.messages import redacted_record
from autocoder_jupyter.trust.formats import is_later, stamp
from autocoder_jupyter.trust.own_files import own_folder
from autocoder_jupyter.trust.seals import is_sealed, key_problem, sealed
from autocoder_jupyter.types import Evidence, Report, SecondOpinion
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.versions.edits import differing_files
from autocoder_jupyter.versions.store import Version, Versions

FOLDER = "verified"
"""In the user's configuration."""

FILE_BYTES = 8 * 2**20
"""A larger file was not written by us and is ignored."""

_unwritten: dict[str, bytes] = {}
"""The content of files that could not be written. It counts until this process ends."""

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
        "verified_with",
        "image",
        "sandbox",
        "sandbox_tier",
    }
)
"""The fields of a report that the run fills in that verifies a recorded function."""


_OWN = frozenset({"evidence", "second_opinion"})
"""What a later run adds to a record of this user."""


def shown(versions: Versions, version: Version) -> tuple[RecordedState, Report]:
    """The state of a recorded version and its report, with the evidence that was gathered here."""
    report, name = version.report, version.report.name
    if not report.success:
        # The evidence of a renamed function is kept in the user's configuration.
        return "failed", unverified_failure(report) if _found(versions, version) is None else report
    found = _found(versions, version)
    if found is None:
        return "not_verified", unverified(report)
    if changed := differing_files(versions, version):
        way = f"%autocode retest {name} tests the file; without it, the recorded function counts."
        return "not_verified", unverified(report, f"{changed[0]} is not as it was tested. {way}")
    if not found:
        return "ready", report
    own = report if _is_own(found) else without_evidence(report)
    return "ready", _with_found(own, {field: value for field, value in found.items() if field in GATHERED | _OWN})


def _with_found(report: Report, fields: Mapping[str, Any]) -> Report:
    """A report with other values of these fields, which are JSON."""
    empty = {"name": report.name, "run_id": report.run_id, "prompt": "", "success": True}
    read = Report.model_validate({**empty, **fields})
    return report.model_copy(update={field: value for field, value in read if field in fields})


def without_others_evidence(versions: Versions, version: Version) -> Report:
    """The report as recorded if this user's run wrote it; otherwise without its evidence."""
    found = _found(versions, version)
    if found is None or not _is_own(found):
        return without_evidence(version.report)
    return _with_found(version.report, {"second_opinion": found["second_opinion"]} if "second_opinion" in found else {})


def unverified(report: Report, why: str = "") -> Report:
    """The report of a function that is not verified here: all that it says about itself, and no evidence."""
    why = why or f"No run of yours tested it here. {report.name}.verify() does that, and so does its cell."
    return without_evidence(report).model_copy(update={"success": False, "error": why})


def unverified_failure(report: Report) -> Report:
    """The report of a failed run that no run of this user wrote: what it says about itself, and no outcomes."""
    error = (
        f"It is not verified here: no run of yours wrote this record. The record says: {report.error or 'it failed'}"
    )
    return without_evidence(report).model_copy(update={"error": error})


def without_evidence(report: Report) -> Report:
    """A report without what it says that somebody tested or compared."""
    history = tuple(attempt.model_copy(update={"evidence": Evidence()}) for attempt in report.history)
    gone: dict[str, Any] = {"evidence": Evidence(), "output": "", "exit_code": -1, "kept": None, "history": history}
    return report.model_copy(update={**gone, "second_opinion": _not_compared(report.second_opinion)})


def _not_compared(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """A second opinion without what it confirms. Where it differs, it still shows how else the request can be read.

    It is not completed either: the code that it names could be the function itself, which agrees with itself. Nor does
    it make this user pay for a question that it says had no answer.
    """
    if opinion is None or opinion.state != "agree":
        return opinion.model_copy(update={"confirms": "", "cut": False, "unanswered": ()}) if opinion else None
    return SecondOpinion(note="The record names a second solution, which was not compared here.", code=opinion.code)


def keep_evidence(versions: Versions, version: Version, report: Report) -> None:
    """Keep the evidence of a run that verified a recorded function, if it is the first one here, the first to find
    out what the tests are worth or which rows are used, or if it completes what the time had cut.
    """
    found, (state, before) = _found(versions, version), shown(versions, version)
    strength, earlier, opinion = report.evidence.strength, before.evidence.strength, before.second_opinion
    is_more = strength is not None and (earlier is None or (earlier != strength and earlier.is_less_than(strength)))
    is_more |= report.evidence.rows_used is not None and before.evidence.rows_used is None
    now = report.second_opinion
    completes = opinion is not None and opinion.cut and now is not None and not now.cut
    if version.digest and (found is None or (state == "ready" and (is_more or completes))):
        fields = {"evidence"} if _is_own(found) else set(GATHERED)
        fields |= _OWN if completes else set()
        kept = dict(found or {}) if _is_own(found) else {}
        _keep(versions, version, kept | redacted_record(report.model_dump(mode="json", include=fields)))


def rename(versions: Versions, name: str) -> Versions:
    """Give a function another name, with all its versions. Those that were verified here still are.

    Raises:
        InvalidRequest: something of that name is there, or the folder cannot be written.
    """
    known = {version.id: _found(versions, version) for version in versions.all()}
    versions.rename(name)
    renamed = Versions(versions.root, name)
    for version in renamed.all():
        if (found := known.get(version.id)) is not None:
            _keep(renamed, version, found)
    return renamed


_shown_problems: set[str] = set()


def new_key_problem() -> str:
    """Why what is verified now counts in this process only; "" if it counts from now on, or this was shown before."""
    problem = key_problem()
    if not problem or problem in _shown_problems:
        return ""
    _shown_problems.add(problem)
    return f"The verification is remembered only until this kernel ends: {problem}"


def _found(versions: Versions, version: Version) -> Mapping[str, Any] | None:
    """The fields of `GATHERED` that are not as in the record; None if it was not verified here."""
    place, path = _place(versions, version)
    with contextlib.suppress(OSError, ValueError):
        content = _unwritten.get(path) or Folder(own_folder()).read_bytes(path, FILE_BYTES)
        if is_sealed(content, *place) and not is_later(record := parse(content)):
            return dict(record["found"])
    return {} if version.is_sealed else None


def _is_own(found: Mapping[str, Any] | None) -> bool:
    """Whether a run of this user wrote the record, also if it was renamed: then a later run adds its evidence only."""
    return found is not None and found.keys() <= _OWN


def _keep(versions: Versions, version: Version, found: Mapping[str, Any]) -> None:
    place, path = _place(versions, version)
    content, files = sealed({**stamp(), "found": dict(found)}, *place).encode(), Folder(own_folder())
    with contextlib.suppress(OSError, ValueError):
        if is_later(parse(files.read_bytes(path, FILE_BYTES))):
            return  # that of a later version of this package
    try:
        files.write(path, content)
    except OSError:
        _unwritten[path] = content


def _place(versions: Versions, version: Version) -> tuple[tuple[str, ...], str]:
    """What a seal belongs to, and the path of its file."""
    place = ("verified", versions.name, version.id, version.digest)
    return place, f"{FOLDER}/{hashlib.sha256(json.dumps(place).encode()).hexdigest()}.json"
