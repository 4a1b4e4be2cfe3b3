"""What is derived from a finished report: the record of its run, and what speaks for the function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.run.function_run import AgentState, FunctionRun, StageState
from autocoder_jupyter.run.record import Phase, Steps
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.types import CodePlan
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.view.amounts import counted

if TYPE_CHECKING:
    from autocoder_jupyter.types import Evidence, Report, SecondOpinion, Strength


# The record
#
# A result is shown as its card was.

FACTS = ("author", "changes", "drawn", "drift", "second_opinion")
"""Findings about a function that are copied by name between the record and the report."""


def facts_of(run: FunctionRun) -> dict[str, Any]:
    """The fields of the report that are those of the record."""
    return {name: getattr(run, name) for name in FACTS}


def run_of(report: Report, phase: Phase) -> FunctionRun:
    """The last record of a generation."""
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


# What a verified function rests on

SECOND, TRIAL = "second opinion", "trial of the tests"
"""What runs beside a verified function, as `FunctionVerified` names it."""

RUNNING = f"{SECOND} running"


@dataclass(frozen=True)
class Verified:
    """What was found out about a function.

    Args:
        rests_on: what speaks for it, in a few words each.
        weaknesses: what is missing or weak, in a few words each.
    """

    rests_on: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()

    @property
    def start(self) -> str:
        """`verified` or `verified in part`."""
        return "verified in part" if self.weaknesses else "verified"

    @property
    def line(self) -> str:
        """`verified: 7 tests catch 10 of 12 code mutations · second opinion agrees on 2 of 2 outputs`."""
        return f"{self.start}: {' · '.join((*self.rests_on, *self.weaknesses))}"


def verified(evidence: Evidence, opinion: SecondOpinion | None, outputs: int, beside: tuple[str, ...] = ()) -> Verified:
    """What a function that passed rests on."""
    tests = _tests(evidence, opinion)
    if TRIAL in beside and evidence.strength is None:
        tests = Verified(tests.rests_on, (f"{TRIAL} running",))
    second = Verified(weaknesses=(RUNNING,)) if SECOND in beside and opinion is None else _opinion(opinion, outputs)
    found = (
        tests,
        second,
        _user_checks(evidence),
        _probes(evidence.strength),
        Verified(weaknesses=evidence.remarks[:1]),
    )
    return Verified(
        tuple(words for one in found for words in one.rests_on),
        tuple(words for one in found for words in one.weaknesses),
    )


def _tests(evidence: Evidence, opinion: SecondOpinion | None) -> Verified:
    """What the tests are worth. If no mutation shows it, that counts only without a second opinion that agrees."""
    from autocoder_jupyter.types.evidence import NO_CHANGE

    passed, strength = sum(outcome.outcome == "passed" for outcome in evidence.tests), evidence.strength
    examples, own, _ = _user_check_counts(evidence)
    if not passed and not examples and not own:
        return Verified(weaknesses=("no tests",))
    tests = counted(passed, "test") if passed else "your tests"
    if strength is None:
        return Verified((tests,), ("tests not tried on mutated code",))
    if not strength.changes:
        is_missed = strength.ended != NO_CHANGE or opinion is None or opinion.state != "agree"
        weaknesses = (f"tests not tried on mutated code: {strength.ended}",) if strength.ended and is_missed else ()
        return Verified((tests,), weaknesses)
    verb = "catches" if passed == 1 else "catch"
    caught = f"{strength.noticed} of {counted(len(strength.changes), 'code mutation')}"
    if strength.is_weak:
        return Verified(weaknesses=(f"{tests} {verb} only {caught}",))
    return Verified((f"{tests} {verb} {caught}",))


def _opinion(opinion: SecondOpinion | None, outputs: int) -> Verified:
    if opinion is not None and opinion.state == "running":
        return Verified(weaknesses=(RUNNING,))
    if opinion is None or opinion.state == "none":
        return Verified(weaknesses=("no second opinion",))
    if opinion.state == "differ":
        return Verified(weaknesses=("the second opinion differs",))
    if not opinion.compared and opinion.state == "not compared":
        return Verified(weaknesses=("the second opinion could not be compared",))
    agrees = f"second opinion agrees on {len(opinion.compared)} of {counted(outputs, 'output')}"
    parts = (counted(opinion.parts, "subsample"),) if opinion.parts else ()
    return Verified((agrees, *parts)) if opinion.state == "agree" else Verified(parts, (agrees,))


def _user_check_counts(evidence: Evidence) -> tuple[int, int, int]:
    """How many examples, tests and checks of the user passed."""
    from autocoder_jupyter.types.evidence import OWN_EXAMPLE, OWN_TEST

    passed = [outcome.name for outcome in evidence.acceptance if outcome.passed]
    examples, tests = (sum(name.startswith(kind) for name in passed) for kind in (OWN_EXAMPLE, OWN_TEST))
    return examples, tests, len(passed) - examples - tests


def _user_checks(evidence: Evidence) -> Verified:
    counts = zip(_user_check_counts(evidence), ("example", "test", "check"), strict=True)
    return Verified(tuple(f"your {counted(count, one) if count > 1 else one}" for count, one in counts if count))


def _probes(strength: Strength | None) -> Verified:
    """What runs without a second solution found against it."""
    if strength is None:
        return Verified()
    depends = (f"depends on {one.on}" for one in strength.dependences if one.differs)
    fails = (f"fails {counted(len(strength.dropped), 'further test')}",) if strength.dropped else ()
    return Verified(weaknesses=(*depends, *(one.words for one in strength.broken), *fails))
