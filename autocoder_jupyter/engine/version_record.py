"""The record of a generation: its attempts, its report, and the version in which they are kept and offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.capture import drawn_samples
from autocoder_jupyter.data.drift import has_shape
from autocoder_jupyter.data.schema import table_schema
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.data.value_drift import value_profiles
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.engine.acceptance import own_module
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.evidence.second_opinion import SOLUTION
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.journal import conversation
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.engine.prepare import environment_text, recorded_environment, request_record, with_environment
from autocoder_jupyter.engine.start import Start, verified_on
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import Writer
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.run.events import (
    BuildsOn,
    DatabasesUsed,
    Finished,
    FunctionVerified,
    KeptVerified,
    Noticed,
    OpinionGiven,
    SamplesDrawn,
    SuiteChanged,
    VersionBegun,
)
from autocoder_jupyter.run.of_report import SECOND, facts_of
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.types import Attempt, CodeSolution, ErrorDiagnosis, Evidence, Report, SecondOpinion, Trace, Usage
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.version import VERSION
from autocoder_jupyter.versions.store import Version
from autocoder_jupyter.versions.verification import keep_evidence, new_key_problem, without_others_evidence

# The open version


@dataclass(frozen=True)
class OpenVersion:
    """The version whose folder is open.

    Args:
        environment: the text about versions of Python and packages for the model.
        context: the text about the data and the environment for the model.
    """

    start: Start
    environment: str
    context: str


async def open_version(setup: GenerationSetup, packages: GenerationPackages, start: Start) -> OpenVersion:
    """Open the folder of a version. The request is written there before anything is sent."""
    journal, config = setup.services.journal, setup.config
    await call_blocking(lambda: journal.begin(start.version))
    environment = _environment_of(setup, packages)
    is_made = start.kept is None and (not config.locked or start.previous is not None)
    if is_made:  # a run that asks no model sends nothing
        record = request_record(setup.request, config, setup.prepared.key)
        journal.write_request(record, setup.prepared.context.sent())
    setup.services.emit_notes()
    is_kept = start.kept is not None
    author = start.draft.author if start.draft is not None else "model"
    is_new = start.has_before and start.draft is None and not start.parent and config.cache == "auto"
    writer = _writer_of_version(setup, start)
    setup.emit(VersionBegun(start.version, start.why, is_kept, start.has_before, author, is_new, writer))
    if drawn := drawn_samples(setup.request.samples):
        setup.emit(SamplesDrawn(drawn))
    if setup.request.databases:
        setup.emit(DatabasesUsed(setup.request.databases))
    builds_on = BuildsOn(start.helpers(setup.request), tuple(rule.line for rule in setup.request.rules))
    if builds_on.helpers or builds_on.house_rules:
        setup.emit(builds_on)
    if start.withheld:
        setup.emit(Noticed(start.withheld))
    return OpenVersion(start, environment, with_environment(setup.prepared.context.text, environment))


async def open_again(setup: GenerationSetup, version: OpenVersion) -> None:
    """Open the folder of a version that was left for another one."""
    journal, start = setup.services.journal, version.start
    await call_blocking(lambda: journal.begin(start.version))
    record = request_record(setup.request, setup.config, setup.prepared.key)
    journal.write_request(record, setup.prepared.context.sent())
    setup.emit(VersionBegun(start.version, start.why, False, start.has_before, writer=_writer_of_version(setup, start)))


def _writer_of_version(setup: GenerationSetup, start: Start) -> str:
    """Who writes or wrote the version; "" for a person."""
    is_of_model = start.kept is None and (start.draft is None or start.draft.author == "model")
    return start.author_note or (setup.config.model if is_of_model else "")


def _environment_of(setup: GenerationSetup, packages: GenerationPackages) -> str:
    """The text about the environment for the model: the recorded one, if the journal has one."""
    journal, key = setup.services.journal, setup.prepared.key.id
    before = recorded_environment(journal, key) if setup.config.cache == "auto" else ""
    lock = setup.prepared.pinned or setup.session.recorded_lock(packages.of_the_base(), ())
    return before or environment_text(setup.config, lock)


# The report


@dataclass(frozen=True)
class Turn:
    """One attempt with its sources."""

    number: int
    code: str
    tests: str
    verdict: Verdict
    blind: str = ""
    diagnosis: ErrorDiagnosis | None = None

    @property
    def sources(self) -> tuple[str, str, str]:
        """The code, the tests and the blind tests."""
        return self.code, self.tests, self.blind

    def record(self) -> Attempt:
        """The attempt's record in the report."""
        return Attempt(
            number=self.number,
            code=self.code,
            tests=self.tests,
            evidence=self.verdict.evidence,
            diagnosis=self.diagnosis,
            error=None if self.verdict.success else self.verdict.summary,
        )


@dataclass(frozen=True)
class GenerationOutcome:
    """How a generation ended, besides its attempts and what is in the record of the run.

    Args:
        reason: why it failed; "" on success.
        trace: what an agent did; None if no agent wrote the function.
        schemas: the schemas of the samples, from `sample_schemas`.
        values: the values of the samples in figures, as far as they may be recorded.
    """

    reason: str
    trace: Trace | None = None
    schemas: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    values: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def build_report(
    setup: GenerationSetup,
    start: Start,
    context: str,
    state: GenerationState | None,
    packages: GenerationPackages,
    turns: Sequence[Turn],
    outcome: GenerationOutcome,
) -> Report:
    """The report of the best attempt; of equally good ones, the last."""
    tracker = setup.services.tracker
    best = max(turns, key=lambda turn: (turn.verdict.score, turn.number), default=None)
    request = state.brief.request if state else setup.request
    plan = state.brief.plan if state else None
    environment, prepared = setup.session.environment, setup.prepared
    code, tests, blind = best.sources if best else (sources_of(state) if state else ("", "", ""))
    run = best.verdict.run if best else None
    success = best is not None and best.verdict.success
    own_tests = own_module(request.own_tests, request.name, plan).source if request.own_tests and plan else ""
    system_packages = environment.system_packages if environment else ()
    return Report(
        name=request.name,
        run_id=start.version,
        request_key=prepared.key.id,
        parent=start.parent,
        change=start.why,
        written_by=_writer_of_code(setup, start, code),
        prompt=request.prompt,
        success=success,
        solution=CodeSolution(code=code, system_packages=system_packages) if code else None,
        tests=tests,
        blind_tests=blind,
        own_tests=own_tests,
        plan=plan,
        output=run.output if run else "",
        exit_code=run.exit_code if run else (0 if success else -1),
        error=None if success else outcome.reason,
        attempts=len(turns),
        history=tuple(turn.record() for turn in turns),
        evidence=best.verdict.evidence if best else Evidence(),
        conversation_history=setup.exchanges,
        detected_packages=packages.of_the_code(state.brief.plan, state.code) if state else (),
        detected_system_packages=system_packages,
        lock=environment.lock if environment else (),
        python_version=setup.session.python_version,
        verified_with=verified_with(setup, packages, state) if best else {},
        image=environment.image if environment else None,
        sandbox=setup.services.sandbox.name,
        sandbox_tier=setup.services.tier,
        declared_inputs=plan.inputs if plan else prepared.inputs,
        declared_outputs=plan.outputs if plan else request.outputs,
        data_context=context or None,
        sample_schemas=dict(outcome.schemas),
        contracts={name: dict(contract.record) for name, contract in request.contracts.items()},
        sample_shapes=_shapes_as_verified(prepared.context.shapes, start, state),
        sample_values=dict(outcome.values),
        renames=dict(request.renames),
        helpers=request.helpers,
        usage=setup.budget.used,
        overspent=setup.budget.overspent,
        seconds=tracker.seconds,
        started=tracker.started,
        wishes=request.wishes,
        answers=request.answers,
        timeline=tracker.run.steps.in_order,
        **facts_of(tracker.run),
        trace=outcome.trace,
    )


def _shapes_as_verified(
    shapes: Mapping[str, dict[str, Any]], start: Start, state: GenerationState | None
) -> dict[str, dict[str, Any]]:
    """The shapes of the samples, with the dtypes of the record in which a kept function was verified on them."""
    if start.existing is None or state is None:
        return dict(shapes)
    recorded, found = start.existing.report.sample_shapes, dict(shapes)
    for name, shape in shapes.items():
        value = state.brief.request.samples[name]
        if has_shape(value, shape):
            continue
        made = shape_of(value)
        known = {**recorded.get(name, {}).get("categories", {}), **shape.get("categories", {})}
        categories = {literal: known[literal] for literal in made.get("categories", {}) if literal in known}
        details = {"categories": categories, "objects": made.get("objects", {})}
        plain = {key: part for key, part in shape.items() if key not in details}
        found[name] = {**plain, "columns": made["columns"], **{key: part for key, part in details.items() if part}}
    return found


_BASE = ("pandas", "numpy", "pyarrow")


def verified_with(
    setup: GenerationSetup, packages: GenerationPackages, state: GenerationState | None
) -> dict[str, str]:
    """The versions of what the current environment has for the function, and of this package."""
    environment, code = setup.session.environment, state.code if state else ""
    pins = dict(pin_of(line).split("==") for line in (environment.lock if environment else ()))
    own = packages.of_the_code(state.brief.plan, code) if state else ()
    names = dict.fromkeys((*_BASE, *(requirement_name(need) or need for need in own)))
    found = {"autocoder-jupyter": VERSION, "python": ".".join(map(str, setup.session.python_version))}
    return found | {name: pins[name] for name in names if name in pins}


def other_versions(report: Report, now: Mapping[str, str]) -> str:
    """What a recorded function was verified with and is not there now: `pandas 2.2.3, here 3.1.1`; "" if all is."""
    then = dict(report.verified_with) or dict(pin.split("==") for pin in report.pins)
    words = [
        f"{name} {visible(then[name])[:40]}, here {version}"
        for name, version in now.items()
        if name != "autocoder-jupyter" and then.get(name, version) != version
    ]
    return "; ".join(words)


def version_words(recorded: Report, report: Report) -> str:
    """What to tell if a kept function ran with other versions than it was made with, or than those of the notebook."""
    words, name = other_versions(recorded, report.verified_with), report.name
    inside, here = report.verified_with.get("pandas", ""), pd.__version__
    if words:
        return f"{name} was verified with {words}. It passes here too."
    if not inside or inside.partition(".")[0] == here.partition(".")[0]:
        return ""
    return (
        f"{name} runs with pandas {inside}, with which it was verified; this notebook has {here}. So its tables can "
        "have other dtypes than those of this pandas: text, for example, is object before pandas 3."
    )


def _writer_of_code(setup: GenerationSetup, start: Start, code: str) -> str:
    """The model that wrote the code: the one of this run, unless the code is that of the version before."""
    return start.draft.written_by if start.draft and start.draft.code == code else setup.config.model


def sources_of(state: GenerationState) -> tuple[str, str, str]:
    """The current code, tests and blind tests; "" for what does not exist."""
    suite = state.suite
    return state.code, suite.source if suite else "", suite.blind.source if suite and suite.blind else ""


def sample_schemas(setup: GenerationSetup, constraints: Constraints | None) -> dict[str, dict[str, Any]]:
    """The schemas of the samples as data, with the constraints on them. Reads all rows."""
    return {
        name: table_schema(value, constraints.on(name) if constraints else ()).model_dump(mode="json")
        for name, value in setup.shared_samples.items()
        if isinstance(value, pd.DataFrame | pd.Series)
    }


def recordable_values(setup: GenerationSetup) -> dict[str, dict[str, Any]]:
    """The values of the samples in figures, as far as they may be recorded. Reads up to 20,000 rows of each."""
    config = setup.config
    return value_profiles(setup.request.samples, config.share, WithheldColumns.of(config.hide, config.mask))


def kept_report(report: Report, setup: GenerationSetup, kept: Version) -> Report:
    """The report of an existing version: with new evidence, and the recorded history."""
    journal = setup.services.journal
    recorded = without_others_evidence(journal.versions, kept)
    return report.model_copy(
        update={
            "kept": verified_on(setup.request.samples),
            "author": recorded.author,
            "parent": recorded.parent,
            "change": recorded.change,
            "written_by": report.written_by,
            "sample_values": recorded.sample_values or report.sample_values,
            "attempts": recorded.attempts,
            "history": recorded.history,
            "second_opinion": _better(report.second_opinion, recorded.second_opinion),
            "changes": report.changes or recorded.changes,
            "answers": recorded.answers,
            "trace": recorded.trace,
            "conversation_history": conversation(journal.root, journal.name, kept.id),
        }
    )


def previous_report(report: Report, setup: GenerationSetup, version: Version) -> Report:
    """The report of a version with the code of an existing one: with what is recorded about this code."""
    recorded = without_others_evidence(setup.services.journal.versions, version)
    return report.model_copy(
        update={"second_opinion": _as_recorded(recorded.second_opinion), "trace": report.trace or recorded.trace}
    )


def _better(opinion: SecondOpinion | None, recorded: SecondOpinion | None) -> SecondOpinion | None:
    """The opinion of this run; the recorded one if this run has none, or could not complete that."""
    if opinion is None or recorded is None or not (opinion.state == "none" and recorded.cut):
        return opinion or _as_recorded(recorded)
    return _as_recorded(recorded.model_copy(update={"cut": opinion.cut}))


def _as_recorded(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """The recorded opinion on a kept function: without cost, and with a note that its values are from an old sample."""
    if opinion is None or opinion.state == "none":
        return opinion
    return opinion.model_copy(update={"usage": Usage(), "note": "Result on the original sample."})


# The record


@dataclass(frozen=True)
class VerifiedTurn:
    """An attempt that passed, with its tests."""

    turn: Turn
    suite: TestSuite | None


SampleFacts = tuple[Constraints | None, Mapping[str, dict[str, Any]], Mapping[str, dict[str, Any]]]
"""The constraints, and the schemas and values of the samples under them."""


class VersionRecord:
    """What a generation made so far, and the version that keeps it.

    Of each version there is one report on disk: of a new one, of the one that a second opinion overturned, and of the
    failed change. A function that can be used before all is known is offered from here too.

    Args:
        version: the open version. Another one replaces it if a kept function fails, or a verified one is doubted.
    """

    def __init__(self, setup: GenerationSetup, packages: GenerationPackages, version: OpenVersion) -> None:
        self._setup = setup
        self._packages = packages
        self._version = version
        self._superseded: OpenVersion | None = None  # the version of a verified function that was doubted
        self._offered: Report | None = None  # of a function that can be used already
        self._sample_facts: SampleFacts | None = None  # the samples, which are read once
        self.state: GenerationState | None = None  # a generation may end before there is a plan
        self.writer: Writer | None = None  # like the state
        self.turns: list[Turn] = []

    @property
    def start(self) -> Start:
        """What the open version starts from."""
        return self._version.start

    @property
    def version(self) -> OpenVersion:
        """The open version."""
        return self._version

    @property
    def is_second(self) -> bool:
        """Whether the open version changes one that was verified in this generation."""
        return self._superseded is not None and self._superseded is not self._version

    @property
    def may_be_changed(self) -> bool:
        """Whether the function is new. One that was verified before, or that the user wrote, is only compared."""
        return self.start.kept is None and not self.start.as_is

    @property
    def same_failures(self) -> int:
        """How many of the last attempts failed in exactly the same way."""
        signatures = [turn.verdict.signature for turn in reversed(self.turns)]
        return next((n for n, signature in enumerate(signatures) if signature != signatures[0]), len(signatures))

    def change_last(self, **changes: Any) -> None:
        """Change fields of the last attempt."""
        self.turns[-1] = replace(self.turns[-1], **changes)

    # The report

    async def describe(self) -> SampleFacts:
        """The samples as a report describes them. They are read once."""
        setup, constraints = self._setup, self.state.constraints if self.state is not None else None
        if self._sample_facts is None or self._sample_facts[0] is not constraints:
            schemas = await call_blocking(lambda: sample_schemas(setup, constraints))
            self._sample_facts = constraints, schemas, await call_blocking(lambda: recordable_values(setup))
        return self._sample_facts

    async def report(self, reason: str, turns: Sequence[Turn] | None = None) -> Report:
        """The report of what was made so far."""
        _, schemas, values = await self.describe()
        outcome = GenerationOutcome(
            reason="\n".join(line for line in (reason, self._packages.advice) if line),
            trace=self.writer.trace if self.writer is not None else None,
            schemas=schemas,
            values=values,
        )
        return self._built(self.turns if turns is None else turns, outcome)

    def _built(self, turns: Sequence[Turn], outcome: GenerationOutcome) -> Report:
        context = self.state.brief.context if self.state is not None else self._version.context
        return build_report(self._setup, self.start, context, self.state, self._packages, turns, outcome)

    def finished(self, report: Report) -> Report:
        """The report that the caller gets. That of a new version is written to disk."""
        setup = self._setup
        if (kept := self.start.kept) is not None:
            if not report.success:
                return report
            self._keep_sources(kept.report)
            report = kept_report(report, setup, kept)
            keep_evidence(setup.services.journal.versions, kept, report)
            self._emit_key_problem()
            if words := version_words(kept.report, report):
                setup.emit(Noticed(words))
            setup.emit(KeptVerified(report.kept or ""))
            self._emit_recorded_facts(report)
        elif setup.config.cache != "disable":
            if (previous := self.start.previous) is not None and report.success:
                report = previous_report(report, setup, previous)
                self._emit_recorded_facts(report)
            self._keep(report)
        return report

    def _emit_recorded_facts(self, report: Report) -> None:
        if report.second_opinion is not None:
            self._setup.emit(OpinionGiven(report.second_opinion))
        if report.trace is not None and report.trace.suite_changed:
            self._setup.emit(SuiteChanged(report.trace.suite_changed))

    def _keep(self, report: Report, *, is_last: bool = True) -> None:
        """Write the report. If the disk is full, a function that passed is still returned."""
        journal = self._setup.services.journal
        try:
            journal.write_report(report, is_last=is_last)
            if report.success:
                journal.versions.made(report.request_key, report.run_id)
                self._emit_key_problem()
            journal.show_current()
            if report.author == "you" and not report.success:
                where = journal.folder
                self._setup.emit(Noticed(f"Your edit is kept in {where}. Edit it there, or again what runs now."))
        except AutocodeError as error:
            self._setup.emit(
                Noticed(
                    f"The report of {report.name} could not be written ({error.why.rstrip('.')}). It is lost when this "
                    "kernel ends. Free space and run the cell again; that asks no model."
                )
            )
        self._setup.services.emit_notes()

    def _emit_key_problem(self) -> None:
        if problem := new_key_problem():
            self._setup.emit(Noticed(problem))

    def _keep_sources(self, report: Report) -> None:
        """Restore lost or damaged files of a kept version. The function itself needs none of them."""
        with suppress(AutocodeError):
            self._setup.services.journal.write_sources(report)
            self._setup.services.journal.show_current()
        self._setup.services.emit_notes()

    # A function that can be used already

    async def offer_draft(self) -> None:
        """Let the code be run as it is, for whoever does not want to wait until it is verified."""
        self._setup.services.offer(self._built((), GenerationOutcome("It is a draft: it has passed no test yet.")))

    async def offer_verified(self, beside: tuple[str, ...]) -> None:
        """Let the verified function be used while the rest runs, and record it, so that nothing loses it."""
        setup, start, waits = self._setup, self.start, SECOND in beside
        report = await self.report("")
        if start.kept is not None:
            report = kept_report(report, setup, start.kept)
        elif start.previous is not None:
            report = previous_report(report, setup, start.previous)
        if start.kept is None and setup.config.cache != "disable":
            note = "It was still running when this was recorded."
            missing = SecondOpinion(note=note, unanswered=(SOLUTION,)) if waits else report.second_opinion
            self._keep(report.model_copy(update={"second_opinion": missing}), is_last=False)
        running = SecondOpinion(state="running") if waits else report.second_opinion
        self._offer(report.model_copy(update={"second_opinion": running}))
        setup.emit(FunctionVerified(setup.stages.attempt, beside))

    @property
    def is_offered(self) -> bool:
        """Whether there is a verified function that can be used already."""
        return self._offered is not None

    def end_with_offered(self, opinion: SecondOpinion | None) -> None:
        """End the run with the function that was offered, with what is known of it."""
        if self._offered is None:
            return
        changes = {"second_opinion": opinion or self._offered.second_opinion}
        self._offer(self._offered.model_copy(update={**changes, "usage": self._setup.budget.used}))
        self._setup.emit(Finished("ready"))

    def _offer(self, report: Report | None) -> None:
        self._offered = report
        self._setup.services.offer(report)

    # Another version

    async def begin_another(self, doubted: VerifiedTurn, opinion: SecondOpinion | None, by: str) -> None:
        """Keep the verified function as a version, and open a new one for its change."""
        setup, journal = self._setup, self._setup.services.journal
        if setup.config.cache != "disable":
            report = await self.report("", (*self.turns[:-1], doubted.turn))
            self._keep(report.model_copy(update={"second_opinion": opinion}), is_last=False)
            key, made = setup.prepared.key.id, self.start.version
            version = await call_blocking(lambda: journal.versions.free_id(key))
            known = await call_blocking(lambda: journal.versions.get(made))
            self._superseded = self._version
            start = self.start.superseded(version, known.number if known else 1, by)
            self._version = await open_version(setup, self._packages, start)
        await self.offer_draft()
        self._offer(None)
        setup.emit(FunctionVerified(setup.stages.attempt))

    async def return_to(self, verified: Turn) -> None:
        """Take a verified attempt as the last. The attempts to change it are recorded as a failed version."""
        if self._superseded is not None:
            later = [turn for turn in self.turns if turn.number != verified.number]
            self._keep(await self.report("No change of the function passed.", later))
            self._version = self._superseded
            await open_again(self._setup, self._version)
        self.turns = [verified if other.number == verified.number else other for other in self.turns]

    def judge_previous(self, verdict: Verdict) -> None:
        """An existing function was tested with what is demanded now. That attempt does not count if it failed."""
        start, setup = self.start, self._setup
        start = start.previous_passed() if verdict.success else start.previous_failed(verdict.summary)
        if not verdict.success:
            setup.stages.attempts_allowed += 1
            if self.state is not None:  # a new version is made for the data as they are
                self.state.brief = replace(self.state.brief, request=setup.request)
        self._version = replace(self._version, start=start)
        author = start.draft.author if start.draft is not None else "model"
        writer = start.author_note or (setup.config.model if author == "model" and not start.as_is else "")
        setup.emit(VersionBegun(start.version, start.why, False, start.has_before, author, writer=writer))

    async def ask_anew(self, state: GenerationState, failure: str) -> None:
        """The kept function failed today: it becomes the first attempt of a new version. It does not count as one."""
        setup = self._setup
        versions, key = setup.services.journal.versions, setup.prepared.key.id
        version = await call_blocking(lambda: versions.free_id(key))
        assert self.start.kept is not None
        other = other_versions(self.start.kept.report, verified_with(setup, self._packages, state))
        self._version = await open_version(setup, self._packages, self.start.kept_failed(version, failure, other))
        state.brief = replace(state.brief, request=setup.request, context=self._version.context)
        if not setup.config.skip_tests:
            setup.stages.attempts_allowed += 1
