"""The outcome of a generation as one plain record, from its best attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from autocoder_jupyter.data.schema import table_schema
from autocoder_jupyter.engine.constraints import Constraints
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.journal import conversation
from autocoder_jupyter.engine.own_tests import own_module
from autocoder_jupyter.engine.start import Start, verified_on
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.run.of_report import facts_of
from autocoder_jupyter.types import (
    Attempt,
    CodeSolution,
    ErrorDiagnosis,
    Evidence,
    Report,
    SecondOpinion,
    Trace,
    Usage,
)
from autocoder_jupyter.versions.edits import without_others_evidence
from autocoder_jupyter.versions.store import Version


@dataclass(frozen=True)
class Turn:
    """One attempt: its sources, its verdict, and the diagnosis."""

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
    packages: Packages,
    turns: Sequence[Turn],
    outcome: GenerationOutcome,
) -> Report:
    """The report of the best attempt; of equally good ones, the last.

    Args:
        setup: the setup of the generation.
        start: what it started from, and the version that it makes.
        context: the text about the data and the environment.
        state: None if it ended before there was a plan.
        packages: its packages.
        turns: the attempts.
        outcome: how it ended.
    """
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
        written_by=_writer(setup, start, code),
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
        image=environment.image if environment else None,
        sandbox=setup.services.sandbox.name,
        sandbox_tier=setup.services.tier,
        declared_inputs=plan.inputs if plan else prepared.inputs,
        declared_outputs=plan.outputs if plan else request.outputs,
        data_context=context or None,
        sample_schemas=dict(outcome.schemas),
        contracts={name: dict(contract.record) for name, contract in request.contracts.items()},
        sample_shapes=dict(prepared.context.shapes),
        sample_values=dict(outcome.values),
        renames=dict(request.renames),
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


def _writer(setup: GenerationSetup, start: Start, code: str) -> str:
    """The model that wrote the code: the one of this run, unless the code is that of the version before."""
    return start.draft.written_by if start.draft and start.draft.code == code else setup.config.model


def sources_of(state: GenerationState) -> tuple[str, str, str]:
    """The current code, tests and blind tests; "" for what does not exist."""
    suite = state.suite
    return state.code, suite.source if suite else "", suite.blind.source if suite and suite.blind else ""


def sample_schemas(setup: GenerationSetup, constraints: Constraints | None) -> dict[str, dict[str, Any]]:
    """The schemas of the samples as data, with the constraints on them. Reads all rows.

    Args:
        setup: the setup of the generation.
        constraints: None if the generation ended before there was a plan.
    """
    return {
        name: table_schema(value, constraints.on(name) if constraints else ()).model_dump(mode="json")
        for name, value in setup.told_samples.items()
        if isinstance(value, pd.DataFrame | pd.Series)
    }


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
            "second_opinion": report.second_opinion or _as_recorded(recorded.second_opinion),
            "changes": report.changes or recorded.changes,
            "answers": recorded.answers,
            "trace": recorded.trace,
            "conversation_history": conversation(journal.root, journal.name, kept.id),
        }
    )


def carried_report(report: Report, setup: GenerationSetup, version: Version) -> Report:
    """The report of a version whose code is that of an existing one: with what is recorded about the code."""
    recorded = without_others_evidence(setup.services.journal.versions, version)
    return report.model_copy(
        update={"second_opinion": _as_recorded(recorded.second_opinion), "trace": report.trace or recorded.trace}
    )


def _as_recorded(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """The recorded opinion on a kept function: without cost, and with a note that its values are from an old sample."""
    if opinion is None or opinion.state == "none":
        return opinion
    return opinion.model_copy(update={"usage": Usage(), "note": "Result on the original sample."})
