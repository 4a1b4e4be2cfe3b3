"""What a generation starts from: nothing, the kept function of its request, or a draft.

The model is not asked for the parts that a draft has. A kept function, the user's edit and a function to refine are
all drafts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.data.capture import origin_of, with_origin
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.drift import check_drift, missing_columns, restore_dtypes
from autocoder_jupyter.data.renames import call_with, likely_renames, option_of
from autocoder_jupyter.data.shapes import plain_shape
from autocoder_jupyter.data.value_drift import recorded_values
from autocoder_jupyter.engine.prepare import Prepared, is_mentioned, request_record
from autocoder_jupyter.engine.prompt import FUNCTION, evidence_text, interface_problem
from autocoder_jupyter.engine.tests import read_suite, suite_problem, with_earlier_defaults
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.request import AgentConfig, Request, Share
from autocoder_jupyter.types import Author, CodePlan, Helpers, InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.parsing import complaint, parse
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions.edits import EditedVersion, edit_of
from autocoder_jupyter.versions.field_changes import Change
from autocoder_jupyter.versions.request_fields import (
    differences,
    in_words,
    schema_of,
    texts_of,
    written_otherwise,
)
from autocoder_jupyter.versions.store import Version, Versions, edited_id, key_of, numbered_id, unrecorded_id

# An existing function for a request that demands more
#
# It is adapted without a model. Further demands change nothing of it. Another default of an input is changed in its
# signature, and its tests still get the default that they were written for. Declared outputs that it returns already
# become a part of its plan.

_TYPES_WITH_LITERALS = ("int", "float", "str", "bool")
"""The types of inputs whose default is changed here."""


@dataclass(frozen=True)
class Adapted:
    """An existing function for a request that demands more.

    Args:
        blind: its blind tests; "" if there are none.
    """

    plan: CodePlan
    code: str
    tests: str
    blind: str


def adapted(report: Report, request: Request, found: Sequence[Change]) -> Adapted | None:
    """The function of a report for a request; None if the request needs another one."""
    plan, solution, kinds = report.plan, report.solution, {change.what for change in found}
    if plan is None or solution is None or not kinds or not kinds <= {"demand", "default", "output"}:
        return None
    outputs = _outputs(plan.outputs, request.outputs) if "output" in kinds else plan.outputs
    if outputs is None:
        return None
    plan = plan.model_copy(update={"outputs": outputs})
    made = Adapted(plan, solution.code, report.tests, report.blind_tests)
    if "default" in kinds:
        with_them = _with_defaults(made, request.inputs)
        if with_them is None:
            return None
        made = with_them
    return None if interface_problem(made.code, made.plan) else made


def _outputs(returned: Sequence[OutputSpec], declared: Sequence[OutputSpec]) -> tuple[OutputSpec, ...] | None:
    """The outputs as they are declared now; None if the function returns others."""
    if [(spec.name, spec.type) for spec in returned] != [(spec.name, spec.type) for spec in declared]:
        return None
    pairs = list(zip(returned, declared, strict=True))
    for has, wants in pairs:
        columns = {column.name: column.dtype for column in wants.columns}
        if columns and columns != {column.name: column.dtype for column in has.columns}:
            return None
        if wants.elements not in ("", has.elements):
            return None
    return tuple(has.model_copy(update={"meaning": wants.meaning or has.meaning}) for has, wants in pairs)


def _with_defaults(made: Adapted, declared: Sequence[InputSpec]) -> Adapted | None:
    """With the declared defaults; None if they cannot be changed in the source."""
    before = {spec.name: spec for spec in made.plan.inputs}
    changed = {
        spec.name: spec for spec in declared if spec.name in before and spec.default != before[spec.name].default
    }
    code = made.code
    for name, spec in changed.items():
        if (
            spec.type not in _TYPES_WITH_LITERALS
            or before[name].type != spec.type
            or not KINDS[spec.type].takes_json(spec.default)
        ):
            return None
        written = _with_default(code, name, KINDS[spec.type].source(spec.default))
        if written is None:
            return None
        code = written
    inputs = [
        spec.model_copy(update={"default": changed[spec.name].default}) if spec.name in changed else spec
        for spec in made.plan.inputs
    ]
    try:
        tests, blind = (
            with_earlier_defaults(source, made.plan.inputs, changed) if source else ""
            for source in (made.tests, made.blind)
        )
    except SyntaxError:
        return None
    return Adapted(made.plan.model_copy(update={"inputs": tuple(inputs)}), code, tests, blind)


def _with_default(code: str, name: str, default: str) -> str | None:
    """A module with another default of one parameter; None if that parameter has no literal as its default."""
    try:
        functions = [node for node in parse(code).body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    except SyntaxError:
        return None
    if not functions:
        return None
    given = functions[-1].args
    positional = dict(zip(reversed(given.args), reversed(given.defaults), strict=False))
    named = {**positional, **dict(zip(given.kwonlyargs, given.kw_defaults, strict=True))}
    old = next((value for argument, value in named.items() if argument.arg == name), None)
    place = old.operand if isinstance(old, ast.UnaryOp) else old
    if old is None or not isinstance(place, ast.Constant) or old.lineno != old.end_lineno:
        return None
    lines = [line.encode() for line in code.split("\n")]  # columns of a syntax tree count bytes
    line = lines[old.lineno - 1]
    lines[old.lineno - 1] = line[: old.col_offset] + default.encode() + line[old.end_col_offset :]
    return b"\n".join(lines).decode()


# Versions that may contain withheld data
#
# The plan, code and tests of a version are sent to the model that changes it. They were written with what was shared
# then. If less is shared now, they may quote values of the data, or name a column that is hidden.

_LEVELS: tuple[Share, ...] = ("schema", "stats", "rows")

C = TypeVar("C", bound=AgentConfig)


def shared_then(record: Mapping[str, Any]) -> tuple[Share, frozenset[str], frozenset[str]]:
    """What was shared when a version was made: the level, and the hidden and the masked columns. The record of its
    request is not trusted.
    """
    recorded = record.get("settings")
    settings = recorded if isinstance(recorded, dict) else {}
    level: Share = next((level for level in _LEVELS if level == settings.get("share")), "rows")
    return level, _names(settings, "hide"), _names(settings, "mask")


def less_shared(one: Share, other: Share) -> Share:
    """The level of two at which less is shared."""
    return min(one, other, key=_LEVELS.index)


def no_more_than_then(config: C, record: Mapping[str, Any]) -> C:
    """The settings, with no more shared than when a version was made."""
    then, hidden, masked = shared_then(record)
    hide = (*config.hide, *sorted(hidden.difference(config.hide)))
    mask = (*config.mask, *sorted(masked.difference(config.mask)))
    return replace(config, share=less_shared(config.share, then), hide=hide, mask=mask)


def withheld_since(record: Mapping[str, Any], texts: Iterable[str], config: AgentConfig) -> str:
    """What is withheld now and was not when a version was made; "" if nothing is."""
    then, hidden, masked = shared_then(record)
    if _LEVELS.index(config.share) < _LEVELS.index(then):
        return f"it was made with --share {then}, and now {config.share} is shared"
    text = "\n".join(texts)
    for name in config.hide:
        if name not in hidden or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return f"{name} is to be hidden, and it was made with that column or names it"
    for name in config.mask:
        if then != "schema" and name not in hidden | masked:
            return f"{name} is to be masked, and it was made with the values of that column"
    return ""


def _names(settings: Mapping[str, Any], what: str) -> frozenset[str]:
    names = settings.get(what)
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


# Drafts


@dataclass(frozen=True)
class Draft:
    """A function that exists before the first question. The model is not asked for its parts.

    Args:
        tests: the module of the tests; "" if there are none.
        blind: the module of the blind tests; "" if there are none.
        author: who wrote the code or tests last.
        parent: the version that it was made from; "" for none.
        change: the reason for a new version, in one line.
        as_is: whether it is only tested, and not fixed.
        kept: the recorded version that it is. That version is verified, and no new one is made.
        written_by: the model that wrote the code; "" if that is not known.
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
    written_by: str = ""


_LONGEST_MODEL = 100
"""The number of characters of a model's name that are used."""

EDITED = "edited by you"
"""The reason for a version that the user wrote."""


def edited_draft(edit: EditedVersion) -> Draft:
    """The user's edit as a draft. It is only tested: only the user changes it.

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


# The start of a generation


@dataclass(frozen=True)
class Start:
    """What a generation starts from, and the version that it makes or verifies.

    Args:
        draft: the existing parts; None if the model is to write everything.
        kept: the existing version that is only verified again.
        why: the reason to ask the model or to make another version, in one line; "" if nothing existed before.
        parent: the version that it is made from; "" for none.
        has_before: whether the name has a good version already.
        author_note: who wrote the function, and what `--refresh` would change about that, in one line.
        withheld: what of the function was shared when it was made and is not shared now, in one sentence.
        previous: the existing version whose function is tested first with what is demanded now; None if there is none.
        added: the constraints that are new since that version.
    """

    version: str
    draft: Draft | None = None
    kept: Version | None = None
    why: str = ""
    parent: str = ""
    has_before: bool = False
    author_note: str = ""
    withheld: str = ""
    previous: Version | None = None
    added: tuple[str, ...] = ()

    @property
    def existing(self) -> Version | None:
        """The existing version whose function is tested."""
        return self.kept or self.previous

    def helpers(self, request: Request) -> Helpers:
        """The helpers of the function: those of the request, but for a version that counts for other ones (a pinned or
        restored one) those that it was verified with.
        """
        recorded = self.kept.report.helpers if self.kept is not None else request.helpers
        return request.helpers if recorded.digests == request.helpers.digests else recorded

    @property
    def as_is(self) -> bool:
        """Whether a failure is only reported, not fixed."""
        return self.draft is not None and self.draft.as_is

    def previous_passed(self) -> Start:
        """The start of a version with the code of the existing one, because that meets the new demands."""
        assert self.previous is not None
        return replace(self, why=f"{self.why}; version {self.previous.number} satisfies it unchanged")

    def previous_failed(self, failure: str) -> Start:
        """The start of a version that is made from the existing one, because that does not meet the new demands."""
        assert self.previous is not None and self.draft is not None
        why = f"{self.why}; version {self.previous.number} does not satisfy it: {visible(' '.join(failure.split()))}"
        return replace(self, draft=replace(self.draft, author="model"), why=why, author_note="", previous=None)

    def superseded(self, version: str, number: int, by: str) -> Start:
        """The start of a new version that is made from this one, because `by` found an error in it."""
        why = f"{by} found an error in version {number}"
        return Start(version, why=why, parent=self.version, has_before=True)

    def kept_failed(self, version: str, failure: str, other: str = "") -> Start:
        """The start of a new version that is made from the kept one, because that failed on this data.

        Args:
            version: the folder of the new one.
            failure: how it failed.
            other: the versions of packages with which it was made, if these are others now.
        """
        assert self.kept is not None and self.draft is not None
        made = f" (it was verified with {other})" if other else ""
        why = f"version {self.kept.number} fails on this data{made}: {visible(' '.join(failure.split()))}"
        return Start(version, replace(self.draft, author="model"), why=why, parent=self.kept.id, has_before=True)


def start_of(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, given: Draft | None
) -> Start:
    """Decide where a generation starts."""
    known, record = versions.all(), request_record(request, config, prepared.key)
    if given is not None:
        start = _start_of_draft(given, prepared, versions)
    elif config.cache == "auto":
        start = _kept_for(request, config, prepared, versions, known) or Start(
            _open_id(versions, prepared.key.id, record), why=_reason(request, record, versions, known)
        )
    elif config.cache == "override":
        start = Start(versions.free_id(prepared.key.id), why="generated again (--refresh)" if known else "")
    else:
        start = Start(unrecorded_id(prepared.key.id), why="nothing recorded is used (cache = disable)")
    if start.draft is None:
        _require_nothing_withheld(request, config, versions)
    elif start.kept is not None:
        start = _with_author(start, start.kept, config, versions, record)
    parent = request.earlier.version if request.earlier and start.draft is None else start.parent
    return replace(start, parent=parent, has_before=any(version.is_good for version in known))


def _with_author(
    start: Start, version: Version, config: AgentConfig, versions: Versions, record: Mapping[str, Any]
) -> Start:
    """A start from a recorded version, with who wrote it. If less is shared now, it is not sent to be fixed."""
    draft, recorded = start.draft, versions.request(version.id)
    assert draft is not None, "it starts from a version"
    writer = draft.written_by or _writer_of(version, recorded)
    author_note = ""
    if writer and draft.author == "model":
        other = written_otherwise(recorded, record)
        author_note = f"{writer}{f'; --refresh asks {config.model}' if writer != config.model else ''}"
        author_note += f"; only --refresh uses {other}" if other else ""
    why = withheld_since(recorded, (draft.code, draft.tests), config)
    withheld = (
        f"{versions.name} stays as it is: {why}. What was sent then stays sent; nothing is sent now." if why else ""
    )
    draft = replace(draft, written_by=writer, as_is=draft.as_is or bool(why))
    return replace(start, draft=draft, author_note=author_note, withheld=withheld)


def _writer_of(version: Version, recorded: Mapping[str, Any]) -> str:
    """The model that wrote a version; "" if its record does not say so. The record is untrusted."""
    settings = recorded.get("settings")
    writer = version.report.written_by or (settings.get("model") if isinstance(settings, dict) else "")
    return visible(writer)[:_LONGEST_MODEL] if isinstance(writer, str) else ""


def _open_id(versions: Versions, request_key: str, record: Mapping[str, Any]) -> str:
    """The folder of a new version: that of a run which did not succeed and was made in the same way, or a new one."""
    number = 1
    while (folder := numbered_id(request_key, number)) in versions.folders():
        recorded, known = versions.request(folder), versions.get(folder)
        is_same = not any(change.what == "setting" for change in differences(recorded, record)) if recorded else True
        if is_same and not (known and known.is_good):
            break
        number += 1
    return folder


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


def _start_of_draft(given: Draft, prepared: Prepared, versions: Versions) -> Start:
    if given.kept is not None:
        return Start(given.kept.id, given, given.kept, parent=given.kept.report.parent)
    key = prepared.key.id
    version = edited_id(key, given.code, given.tests) if given.author == "you" else versions.free_id(key)
    return Start(version, given, why=given.change, parent=given.parent)


def _kept_for(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]
) -> Start | None:
    """The start from an existing version, if one counts for the request."""
    key = prepared.key.id
    if (pinned := versions.pinned()) is not None and pinned.is_good:
        return _start_of_kept(pinned, f"version {pinned.number} is pinned{_not_refined(request, pinned)}", as_is=True)
    kept = versions.chosen(key)
    if kept is None or not _is_tested_enough(kept, config) or not _has_same_order(kept, request):
        kept = _kept_for_same_request(request, config, prepared, versions, known)
    if (edited := _adopted_edit(versions, key, kept or versions.get(key))) is not None:
        return edited
    if kept is None:
        _require_no_likely_renames(request, config, prepared, versions, known)
        return _tested_first(request, config, prepared, versions, known)
    is_restored = kept.report.request_key not in ("", key) and versions.choice.chosen.get(key) == kept.id
    return _start_of_kept(kept, f"version {kept.number} was restored" if is_restored else "")


def _not_refined(request: Request, pinned: Version) -> str:
    """What a pinned version does not have of a request, and the way out; "" if it has every refinement."""
    lacking = [visible(" ".join(wish.split())) for wish in request.wishes if wish not in pinned.report.wishes]
    if not lacking:
        return ""
    return f", so it is not refined ({'; '.join(lacking)}): %autocode versions {request.name} pin --off unpins it"


def _adopted_edit(versions: Versions, key: str, version: Version | None) -> Start | None:
    """The start from the user's edit of an existing version's files. When it is tested, these files are restored.

    Without this, a run of the cell would ignore or overwrite the edit.
    """
    edit = edit_of(versions, version) if version is not None else None
    if edit is None:
        return None
    draft = edited_draft(edit)
    return Start(edited_id(key, draft.code, draft.tests), draft, why=draft.change, parent=draft.parent)


def _start_of_kept(version: Version, why: str = "", *, as_is: bool = False) -> Start:
    report = version.report
    assert report.plan is not None and report.solution is not None, "a good version has both"
    tests, blind = report.tests, report.blind_tests
    draft = Draft(report.plan, report.solution.code, tests, blind, author=report.author, as_is=as_is)
    return Start(version.id, draft, version, why, report.parent)


def _is_tested_enough(version: Version, config: AgentConfig) -> bool:
    """Whether a version has tests, if the request wants some."""
    return config.skip_tests or bool(version.report.tests or version.report.blind_tests)


def _kept_for_same_request(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]
) -> Version | None:
    """The newest good version of the same request whose function accepts these samples, though their schema differs.

    The requests are compared, and not their keys: those of older records contain settings.
    """
    for version, found in _made_for(request, config, prepared, versions, known):
        if not found and _is_tested_enough(version, config):
            chosen = versions.chosen(version.report.request_key) or version
            return chosen if _accepts(chosen, versions.request(version.id).get("key"), request) else None
    return None


def _require_no_likely_renames(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]
) -> None:
    """Require that the newest function of this request lacks no column that is likely to have a new name."""
    for version, found in _made_for(request, config, prepared, versions, known):
        report = version.report
        if not _is_tested_enough(version, config) or any(change.what in ("request", "output") for change in found):
            continue
        reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
        for name, shape in report.sample_shapes.items():
            frame = request.samples.get(name)
            if not isinstance(frame, pd.DataFrame) or shape.get("type") != "DataFrame":
                continue
            lacking = missing_columns(frame, shape, reads)
            withheld = {*config.hide, *config.mask}
            shown = frame[[label for label in frame.columns if str(label) not in withheld]] if withheld else frame
            pairs = likely_renames(shown, shape, recorded_values(report.sample_values.get(name)), reads)
            if lacking and len(pairs) == len(lacking) and (option := option_of(pairs)):
                raise _renamed(request.name, name, pairs, option)
        return


def _renamed(function: str, name: str, pairs: Mapping[str, str], option: str) -> DataDrift:
    lacks, has = (", ".join(map(repr, names)) for names in (pairs, pairs.values()))
    return DataDrift(
        visible(f"{name} lacks {lacks}, and has the new {has}."),
        why="They are alike, so the function can be kept if they are the same. Nothing was sent.",
        hint=visible(
            f"If they are: add {option} to the first line of the cell, or call {call_with(function, name, pairs)}. "
            "If not: --refresh writes the function for the new columns."
        ),
        option=option,
    )


def _tested_first(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]
) -> Start | None:
    """The start from the newest function that may meet what is demanded now, though its request demanded less."""
    record = request_record(request, config, prepared.key)
    for version, found in _made_for(request, config, prepared, versions, known):
        recorded = versions.request(version.id)
        if not _is_tested_enough(version, config) or not _accepts(version, recorded.get("key"), request):
            continue
        if (made := adapted(version.report, request, found)) is not None:
            author = version.report.author
            draft = Draft(made.plan, made.code, made.tests, made.blind, author=author, parent=version.id)
            added = tuple(
                sentence for sentence in request.constraints if sentence not in _recorded_constraints(recorded)
            )
            folder = _open_id(versions, prepared.key.id, record)
            start = Start(folder, draft, why=in_words(found), parent=version.id, previous=version, added=added)
            return _with_author(start, version, config, versions, record)
    return None


def _recorded_constraints(recorded: Mapping[str, Any]) -> list[Any]:
    """The recorded constraints."""
    lines = recorded.get("constraints")
    return lines if isinstance(lines, list) else []


def _made_for(
    request: Request, config: AgentConfig, prepared: Prepared, versions: Versions, known: list[Version]
) -> Iterator[tuple[Version, tuple[Change, ...]]]:
    """The good versions, the newest first, each with the differences of its request from this one.

    Columns and settings are not among the differences.
    """
    record = request_record(request, config, prepared.key)
    for version in reversed(known):
        recorded = versions.request(version.id)
        if version.is_good and recorded and _is_same_refinement(versions, recorded, request):
            found = differences(recorded, record)
            yield version, tuple(change for change in found if change.what not in ("schema", "setting"))


def _is_same_refinement(versions: Versions, recorded: Mapping[str, Any], request: Request) -> bool:
    """Whether a recorded request refines the same version by the same wishes, or both refine none."""
    if recorded.get("wishes", []) != list(request.wishes):
        return False
    named, now = recorded.get("earlier"), request.earlier
    if now is None or named == now.version:
        return now is not None or named is None or versions.get(str(named)) is None
    before = versions.get(named) if isinstance(named, str) else None
    return before is not None and key_of(before) == now.request_key


def _accepts(version: Version, key: Any, request: Request) -> bool:
    """Whether the function accepts the samples, and the request names none of their new columns."""
    report = version.report
    shapes, schemas = report.sample_shapes, key.get("schemas") if isinstance(key, dict) else None
    reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
    for name, value in request.samples.items():
        if name in shapes:
            if check_drift(name, value, shapes[name], reads) or _names_a_new_column(request, value, shapes[name]):
                return False
        elif not isinstance(schemas, dict) or schemas.get(name) != schema_of(value):
            return False
    return True


def _has_same_order(version: Version, request: Request) -> bool:
    """Whether the samples have the recorded order of categories, which is not a part of a request's key."""
    for name, shape in version.report.sample_shapes.items():
        records, value = shape.get("categories", {}), request.samples.get(name)
        if records and isinstance(value, pd.DataFrame | pd.Series):
            only = {**shape, "columns": [pair for pair in shape["columns"] if pair[0] in records], "index": []}
            if check_drift(name, value, only):
                return False
    return True


def _names_a_new_column(request: Request, frame: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any]) -> bool:
    """Whether the request names a column that did not exist before. Such a column is relevant."""
    words = " ".join(texts_of(request))
    then = [literal for literal, _ in shape["columns"]]
    labels = frame.columns if isinstance(frame, pd.DataFrame) else ()
    literals = [literal for literal, _ in plain_shape(frame)["columns"]]
    new = (str(label) for label, literal in zip(labels, literals, strict=False) if literal not in then)
    return any(is_mentioned(label, words) for label in new)


def _reason(request: Request, record: Mapping[str, Any], versions: Versions, known: list[Version]) -> str:
    """How the request differs from that of the version before; "" if this is the first."""
    if request.earlier is not None:
        return f"refined: {visible(' '.join(request.wishes[-1].split()))}"
    before = next((version for version in reversed(known) if version.is_good), None)
    if before is None:
        return ""
    found = [change for change in differences(versions.request(before.id), record) if change.what != "setting"]
    return in_words(found) or ("" if before.report.tests else "there are no tests yet")


def as_recorded(request: Request, version: Version) -> Request:
    """The request with its samples in the dtypes of a version's, as a call of that function gets them."""
    report, samples = version.report, dict(request.samples)
    reads = columns_read(report.solution.code if report.solution else "", report.declared_inputs)
    for name, shape in report.sample_shapes.items():
        value = samples.get(name)
        if isinstance(value, pd.DataFrame | pd.Series) and not check_drift(name, value, shape, reads):
            made: Any = restore_dtypes(value, shape, reads)
            samples[name] = value if made is value else with_origin(made, origin_of(value))
    return replace(request, samples=samples)


def verified_on(samples: Mapping[str, Any]) -> str:
    """The data of the evidence as text: "5,061 rows"; for several samples each with its name."""
    rows = {name: _rows(value) for name, value in samples.items() if isinstance(value, pd.DataFrame | pd.Series)}
    if len(samples) == len(rows) == 1:
        return next(iter(rows.values()))
    parts = [f"{count} of {name}" for name, count in rows.items()]
    parts += [name for name in samples if name not in rows]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "its own tests"


def _rows(table: Any) -> str:
    drawn, count = origin_of(table).drawn, len(table)
    return drawn.words if drawn else f"{count:,} row{'' if count == 1 else 's'}"
