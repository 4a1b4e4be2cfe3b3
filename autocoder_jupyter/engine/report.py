"""The outcome of a generation as one plain record, taken from its best attempt."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from autocoder_jupyter.data.schema import table_schema
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.journal import conversation
from autocoder_jupyter.engine.own_tests import own_module
from autocoder_jupyter.engine.start import verified_on
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.work import Work
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
from autocoder_jupyter.versions.store import Version


@dataclass(frozen=True)
class Turn:
    """One attempt: its sources, what it showed, and what was made of it."""

    number: int
    code: str
    tests: str
    verdict: Verdict
    blind: str = ""
    diagnosis: ErrorDiagnosis | None = None

    def record(self) -> Attempt:
        """As it stands in the report."""
        return Attempt(
            number=self.number,
            code=self.code,
            tests=self.tests,
            evidence=self.verdict.evidence,
            diagnosis=self.diagnosis,
            error=None if self.verdict.success else self.verdict.summary,
        )


@dataclass(frozen=True)
class Clock:
    """When a generation began."""

    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since then."""
        return time.monotonic() - self._began


def build_report(
    work: Work,
    packages: Packages,
    turns: Sequence[Turn],
    clock: Clock,
    reason: str,
    trace: Trace | None = None,
    schemas: Mapping[str, dict[str, Any]] | None = None,
) -> Report:
    """The report, from the best attempt; of equals, the later one.

    Args:
        work: the generation, at least prepared.
        packages: its packages.
        turns: the attempts.
        clock: when it began.
        reason: why it was given up, when it was.
        trace: what an agent did, if one wrote.
        schemas: of the samples, from `sample_schemas`.
    """
    best = max(turns, key=lambda turn: (turn.verdict.score, turn.number), default=None)
    plan = getattr(work, "plan", None)
    environment, context = work.session.environment, work.prepared.context
    code = best.code if best else work.code
    run = best.verdict.run if best else None
    success = best is not None and best.verdict.success
    request = work.request
    own_tests = own_module(request.own_tests, request.name, plan).source if request.own_tests and plan else ""
    system_packages = environment.system_packages if environment else ()
    return Report(
        name=work.request.name,
        run_id=work.start.version,
        request_key=work.prepared.key.id,
        author=work.start.draft.author if work.start.draft else "model",
        parent=work.start.parent,
        change=work.start.why,
        prompt=work.request.prompt,
        success=success,
        solution=CodeSolution(code=code, system_packages=system_packages) if code else None,
        tests=best.tests if best else (work.suite.source if work.suite else ""),
        blind_tests=best.blind if best else (work.suite.blind.source if work.suite and work.suite.blind else ""),
        own_tests=own_tests,
        plan=plan,
        output=run.output if run else "",
        exit_code=run.exit_code if run else (0 if success else -1),
        error=None if success else reason,
        attempts=len(turns),
        history=tuple(turn.record() for turn in turns),
        evidence=best.verdict.evidence if best else Evidence(),
        second_opinion=work.second_opinion,
        conversation_history=work.exchanges,
        detected_packages=packages.of_the_code() if plan else (),
        detected_system_packages=system_packages,
        lock=environment.lock if environment else (),
        python_version=work.session.python_version,
        image=environment.image if environment else None,
        sandbox=work.services.sandbox.name,
        sandbox_tier=work.services.tier,
        declared_inputs=plan.inputs if plan else work.prepared.inputs,
        declared_outputs=plan.outputs if plan else work.request.outputs,
        data_context=work.context or None,
        sample_schemas=dict(schemas or {}),
        contracts={name: dict(contract.record) for name, contract in request.contracts.items()},
        sample_shapes=dict(context.shapes),
        usage=work.budget.used,
        overspent=work.budget.overspent,
        seconds=clock.seconds,
        started=clock.started,
        wishes=work.request.wishes,
        answers=work.request.answers,
        changes=work.changes,
        timeline=work.timeline.steps,
        trace=trace,
    )


def sample_schemas(work: Work) -> dict[str, dict[str, Any]]:
    """The schemas of the samples as data, with what the constraints say of them. Looks at all rows."""
    constraints = getattr(work, "constraints", None)
    return {
        name: table_schema(value, constraints.on(name) if constraints else ()).model_dump(mode="json")
        for name, value in work.told_samples.items()
        if isinstance(value, pd.DataFrame | pd.Series)
    }


def kept_report(report: Report, work: Work, kept: Version) -> Report:
    """The report on a version that was there already: the evidence is new, how it came to be is what was recorded."""
    journal, recorded = work.services.journal, kept.report
    return report.model_copy(
        update={
            "kept": verified_on(work.request.samples),
            "author": recorded.author,
            "parent": recorded.parent,
            "change": recorded.change,
            "attempts": recorded.attempts,
            "history": recorded.history,
            "second_opinion": _as_recorded(recorded.second_opinion),
            "changes": report.changes or recorded.changes,
            "answers": recorded.answers,
            "trace": recorded.trace,
            "conversation_history": conversation(journal.root, journal.name, kept.id),
        }
    )


def _as_recorded(opinion: SecondOpinion | None) -> SecondOpinion | None:
    """An opinion on a function that is kept: it costs nothing again, and its values are those of the sample of then."""
    if opinion is None or opinion.state == "none":
        return opinion
    return opinion.model_copy(update={"usage": Usage(), "note": "That was so on the sample that it was made on."})
