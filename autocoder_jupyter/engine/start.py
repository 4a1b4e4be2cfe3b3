"""What a generation starts from: nothing, the kept function of its request, or a draft.

The model is not asked for the parts that a draft has. A kept function, the user's edit and a function to refine are
all drafts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.drift import check_drift, shape_of
from autocoder_jupyter.engine.earlier import evidence_text
from autocoder_jupyter.engine.interface import interface_problem
from autocoder_jupyter.engine.prepare import Prepared, request_record
from autocoder_jupyter.engine.tests import read_suite, suite_problem
from autocoder_jupyter.engine.withheld_since import withheld_since
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import Author, CodePlan
from autocoder_jupyter.untrusted.parsing import complaint
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.changes import changes
from autocoder_jupyter.versions.edits import EditedVersion, edit_of
from autocoder_jupyter.versions.keys import schema_of
from autocoder_jupyter.versions.store import Version, Versions, edited_id, unrecorded_id


@dataclass(frozen=True)
class Draft:
    """A function that exists before the first question. The model is not asked for its parts.

    Args:
        plan: the interface and the assumptions.
        code: the module.
        tests: the module of the tests; "" if there are none.
        blind: the module of the blind tests; "" if there are none.
        author: who wrote the code or tests last.
        parent: the version that it was made from; "" for none.
        change: the reason for a new version, in one line.
        as_is: whether it is only tested, and not fixed.
        kept: the recorded version that it is. That version is verified, and no new one is made.
    """

    plan: CodePlan
    code: str
    tests: str = ""
    blind: str = ""
    author: Author = "model"
    parent: str = ""
    change: str = ""
    as_is: bool = False
    kept: Version | None = None


EDITED = "edited by you"
"""The reason for a version that the user wrote."""


def edited_draft(edit: EditedVersion) -> Draft:
    """The user's edit as a draft. It is only tested: nobody but the user changes it.

    Raises:
        InvalidRequest: the edit cannot run; the message says why.
    """
    plan = edit.version.report.plan
    if plan is None:
        raise InvalidRequest("There is no plan yet, so your code cannot be tested.", hint="Run the cell again.")
    problem = interface_problem(edit.code, plan)
    if problem:
        raise InvalidRequest(
            f"Your code cannot be tested: {problem}.",
            why="It must be a module that defines the function of the plan.",
            hint="Correct it, then test it again. Delete the file to undo your edit.",
        )
    if edit.tests and (problem := tests_problem(edit.tests)):
        raise InvalidRequest(
            f"Your tests cannot be run: {problem}", hint="Correct them, or delete the file to undo your edit."
        )
    blind, parent = edit.version.report.blind_tests, edit.version.id
    return Draft(plan, edit.code, edit.tests, blind, author="you", parent=parent, change=EDITED, as_is=True)


def tests_problem(source: str) -> str:
    """Why a module of tests proves nothing; "" if there is no problem."""
    try:
        return suite_problem(read_suite(source))
    except SyntaxError as error:
        return f"they do not parse: {complaint(error)}."


@dataclass(frozen=True)
class Start:
    """What a generation starts from, and the version that it makes or verifies.

    Args:
        version: the folder of its run.
        draft: the existing parts; None if the model is to write everything.
        kept: the existing version that is only verified again.
        why: the reason to ask the model or to make another version, in one line; "" if nothing existed before.
        parent: the version that it is made from; "" for none.
        has_before: whether the name has a good version already.
    """

    version: str
    draft: Draft | None = None
    kept: Version | None = None
    why: str = ""
    parent: str = ""
    has_before: bool = False

    @property
    def as_is(self) -> bool:
        """Whether a failure is only reported, not fixed."""
        return self.draft is not None and self.draft.as_is

    def failed(self, version: str, failure: str) -> Start:
        """The start of a new version that is made from the kept one, because that failed on this data."""
        assert self.kept is not None and self.draft is not None
        why = f"version {self.kept.number} does not hold on this data: {visible(' '.join(failure.split()))}"
        return Start(version, replace(self.draft, author="model"), why=why, parent=self.kept.id, has_before=True)


def start_of(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, given: Draft | None
) -> Start:
    """Decide where a generation starts.

    Args:
        request: the request.
        config: the settings. `cache` decides whether existing versions are used.
        prepared: has the request's key.
        versions: the versions of the name.
        given: a function to start from. It takes precedence over kept versions.

    Raises:
        InvalidRequest: the version to refine may contain what is withheld now.
    """
    known = versions.all()
    if given is not None:
        start = _given(given, prepared, versions)
    elif config.cache == "auto":
        start = _kept_for(request, prepared, versions, known) or Start(
            prepared.key.id, why=_why(request, config, prepared, versions, known)
        )
    elif config.cache == "override":
        start = Start(versions.free_id(prepared.key.id), why="generated again (--refresh)" if known else "")
    else:
        start = Start(unrecorded_id(prepared.key.id), why="nothing recorded is used (--cache disable)")
    if start.draft is None:
        _require_nothing_withheld(request, config, versions)
    elif start.kept is not None:
        asked, sources = versions.request(start.kept.id), (start.draft.code, start.draft.tests)
        if withheld_since(asked, sources, config):
            start = replace(start, draft=replace(start.draft, as_is=True))  # it is not sent to be fixed
    parent = request.earlier.version if request.earlier and start.draft is None else start.parent
    return replace(start, parent=parent, has_before=any(version.is_good for version in known))


def _require_nothing_withheld(request: Request, config: AgentConfig, versions: Versions) -> None:
    earlier = request.earlier
    if earlier is None:
        return
    plan = earlier.plan.model_dump_json()
    texts = (plan, earlier.code, earlier.tests, earlier.agent_tests, evidence_text(earlier.evidence), *request.answers)
    if why := withheld_since(versions.request(earlier.version), texts, config):
        raise InvalidRequest(
            f"{request.name} cannot be refined with what is withheld now: {why}.",
            why="To refine a version, its plan, code and tests are sent to the model.",
            hint=f"Run the cell of {request.name} with the options of this one first, then refine that version.",
        )


def _given(given: Draft, prepared: Prepared, versions: Versions) -> Start:
    if given.kept is not None:
        return Start(given.kept.id, given, given.kept, parent=given.kept.report.parent)
    key = prepared.key.id
    version = edited_id(key, given.code, given.tests) if given.author == "you" else versions.free_id(key)
    return Start(version, given, why=given.change, parent=given.parent)


def _kept_for(request: Request, prepared: Prepared, versions: Versions, known: list[Version]) -> Start | None:
    """The start from an existing version, if one counts for the request."""
    key = prepared.key.id
    if (pinned := versions.pinned()) is not None and pinned.is_good:
        return _kept(pinned, f"version {pinned.number} is pinned", as_is=True)
    kept = versions.chosen(key) or _kept_for_other_columns(request, prepared, versions, known)
    if (edited := _taken_up(versions, key, kept or versions.get(key))) is not None:
        return edited
    if kept is None:
        return None
    is_restored = kept.report.request_key not in ("", key) and versions.choice.chosen.get(key) == kept.id
    return _kept(kept, f"version {kept.number} was restored" if is_restored else "")


def _taken_up(versions: Versions, key: str, version: Version | None) -> Start | None:
    """The start of a version from the user's edit of an existing version's files. Each edit is used once.

    Without this, a run of the cell would ignore or overwrite the edit.
    """
    edit = edit_of(versions, version) if version is not None else None
    if edit is None or versions.get(edited_id(key, edit.code, edit.tests)) is not None:
        return None
    draft = edited_draft(edit)
    return Start(edited_id(key, draft.code, draft.tests), draft, why=draft.change, parent=draft.parent)


def _kept(version: Version, why: str = "", *, as_is: bool = False) -> Start:
    report = version.report
    assert report.plan is not None and report.solution is not None, "a good version has both"
    tests, blind = report.tests, report.blind_tests
    draft = Draft(report.plan, report.solution.code, tests, blind, author=report.author, as_is=as_is)
    return Start(version.id, draft, version, why, report.parent)


def _kept_for_other_columns(
    request: Request, prepared: Prepared, versions: Versions, known: list[Version]
) -> Version | None:
    """The newest good version of the same request whose function accepts these samples, though their schema differs."""
    for version in reversed(known):
        asked = versions.request(version.id).get("key")
        if version.is_good and isinstance(asked, dict) and asked.get("asked") == prepared.key.asked:
            chosen = versions.chosen(version.report.request_key) or version
            return chosen if _takes(chosen, asked, request) else None
    return None


def _takes(version: Version, recorded: Mapping[str, Any], request: Request) -> bool:
    """Whether a call of the function would accept the samples, and the request names none of their new columns."""
    report = version.report
    shapes, schemas = report.sample_shapes, recorded.get("schemas")
    reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
    for name, value in request.samples.items():
        if name in shapes:
            if check_drift(name, value, shapes[name], reads) or _names_a_new_column(request, value, shapes[name]):
                return False
        elif not isinstance(schemas, dict) or schemas.get(name) != schema_of(value):
            return False
    return True


def _names_a_new_column(request: Request, frame: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any]) -> bool:
    """Whether the request names a column that did not exist before. Such a column is relevant."""
    words = " ".join((request.prompt, *request.constraints, *request.checks, request.schema or ""))
    then = [literal for literal, _ in shape["columns"]]
    labels = frame.columns if isinstance(frame, pd.DataFrame) else ()
    literals = [literal for literal, _ in shape_of(frame)["columns"]]
    new = (str(label) for label, literal in zip(labels, literals, strict=False) if literal not in then)
    return any(re.search(rf"(?<!\w){re.escape(label)}(?!\w)", words) for label in new)


def _why(request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]) -> str:
    """How the request differs from that of the version before; "" if this is the first."""
    if request.earlier is not None:
        return f"refined: {visible(' '.join(request.wishes[-1].split()))}"
    before = next((version for version in reversed(known) if version.is_good), None)
    if before is None:
        return ""
    return changes(versions.request(before.id), request_record(request, config, prepared.key))


def verified_on(samples: Mapping[str, Any]) -> str:
    """The data of the evidence as text: "5,061 rows"; for several samples each with its name."""
    rows = {name: len(value) for name, value in samples.items() if isinstance(value, pd.DataFrame | pd.Series)}
    if len(samples) == len(rows) == 1:
        return _rows(*rows.values())
    told = [f"{_rows(count)} of {name}" for name, count in rows.items()]
    told += [name for name in samples if name not in rows]
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1]))) if told else "its own tests"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
