"""The state of a run, rebuilt from its report: a finished result is shown as its card was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display.agent_state import AgentState
from autocoder_jupyter.display.run_state import Phase
from autocoder_jupyter.display.state import CardState, StageState
from autocoder_jupyter.settings.tiers import sandbox_line
from autocoder_jupyter.types import CodePlan
from autocoder_jupyter.types.stages import STAGES

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report


def state_of(report: Report, phase: Phase) -> CardState:
    """The last state of a run.

    Args:
        report: its report; it may come from a file that is not trusted.
        phase: how it ended.
    """
    replayed = dict.fromkeys(STAGES, True)
    for exchange in report.conversation_history:
        for stage in STAGES:
            if exchange.stage == stage:
                replayed[stage] = replayed[stage] and exchange.replayed
    asked = {exchange.stage for exchange in report.conversation_history}
    return CardState(
        report.name,
        phase=phase,
        reason=report.error or report.overspent,
        seconds=report.seconds,
        attempt=report.attempts,
        of=report.attempts,
        stages=tuple((stage, StageState("done", replayed=replayed[stage])) for stage in STAGES if stage in asked),
        plan=_declared(report),
        solution=report.solution.code if report.solution else "",
        tests=report.tests,
        outcomes=report.evidence.tests,
        evidence=report.evidence,
        opinion=report.second_opinion,
        usage=report.usage,
        author=report.author,
        refinement="; ".join(report.wishes),
        changes=report.changes,
        backend="claude" if report.trace else "",
        agent=AgentState(report.trace) if report.trace else None,
        environment=report.image or "",
        packages=report.detected_packages,
        sandbox=sandbox_line(report.sandbox or "", report.sandbox_tier),
    )


def _declared(report: Report) -> CodePlan | None:
    """The plan with the interface of the report."""
    if not report.declared_outputs and (report.plan is not None or not report.success):
        return report.plan
    plan = report.plan or CodePlan(description="", approach="")
    return plan.model_copy(update={"inputs": report.declared_inputs, "outputs": report.declared_outputs})
