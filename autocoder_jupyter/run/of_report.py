"""The record of a finished generation, from its report: a result is shown as its card was.

`FACTS` are copied by name, in both directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autocoder_jupyter.run.agent_state import AgentState
from autocoder_jupyter.run.function_run import FunctionRun, StageState
from autocoder_jupyter.run.run_record import Phase
from autocoder_jupyter.run.steps import Steps
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.types import CodePlan
from autocoder_jupyter.types.records import STAGES

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report

FACTS = ("author", "changes", "drawn", "drift", "second_opinion")
"""What was found about a function, and is a field of the record and of the report."""


def facts_of(run: FunctionRun) -> dict[str, Any]:
    """The fields of the report that are those of the record."""
    return {name: getattr(run, name) for name in FACTS}


def run_of(report: Report, phase: Phase) -> FunctionRun:
    """The last record of a generation.

    Args:
        report: its report; it may come from a file that is not trusted.
        phase: how it ended.
    """
    asked: dict[str, bool] = {}
    for exchange in report.conversation_history:
        asked[exchange.stage] = asked.get(exchange.stage, True) and exchange.replayed
    return FunctionRun(
        report.name,
        phase=phase,
        reason=report.error or report.overspent,
        seconds=report.seconds,
        attempt=report.attempts,
        of=report.attempts,
        stages=tuple((stage, StageState("done", replayed=asked[stage])) for stage in STAGES if stage in asked),
        plan=_declared(report),
        solution=report.solution.code if report.solution else "",
        tests=report.tests,
        outcomes=report.evidence.tests,
        evidence=report.evidence,
        usage=report.usage,
        writer=report.written_by if report.author == "model" else "",
        refinement="; ".join(report.wishes),
        backend="claude" if report.trace else "",
        agent=AgentState(report.trace) if report.trace else None,
        environment=report.image or "",
        packages=report.detected_packages,
        sandbox=sandbox_line(report.sandbox or "", report.sandbox_tier),
        steps=Steps(report.timeline),
        **{name: getattr(report, name) for name in FACTS},
    )


def _declared(report: Report) -> CodePlan | None:
    """The plan with the interface of the report; None if the run ended before there was one."""
    if report.plan is None and not report.success:
        return None
    if not report.declared_outputs and report.plan is not None:
        return report.plan
    plan = report.plan or CodePlan(description="", approach="")
    return plan.model_copy(update={"inputs": report.declared_inputs, "outputs": report.declared_outputs})
