"""What is derived from a finished report: the record of its run, and what speaks for the function."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from autocoder_jupyter.run.function_run import AgentState, FunctionRun, StageState
from autocoder_jupyter.run.record import AsksFor, Phase, Steps
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.trust import answers
from autocoder_jupyter.types import CodePlan, Evidence
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.view.amounts import counted

if TYPE_CHECKING:
    from autocoder_jupyter.types import Report, SecondOpinion, Strength, Trace


# The record
#
# A result is shown as its card was.

FACTS = ("author", "changes", "databases", "drawn", "drift", "house_rules", "second_opinion")
"""Findings about a function that are copied by name between the record and the report."""


def facts_of(run: FunctionRun) -> dict[str, Any]:
    """The fields of the report that are those of the record."""
    return {name: getattr(run, name) for name in FACTS}


def run_of(report: Report, phase: Phase, asks_for: AsksFor = "") -> FunctionRun:
    """The last record of a generation, with the user's answers to its questions."""
    asked: dict[str, bool] = {}
    for exchange in report.conversation_history:
        asked[exchange.stage] = asked.get(exchange.stage, True) and exchange.replayed
    run = FunctionRun(
        report.name,
        phase=phase,
        asks_for=asks_for,
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
        helpers=report.helpers,
        **{name: getattr(report, name) for name in FACTS},
    )
    return with_answers(run) if phase == "ready" else run


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

OF_OTHERS = "no second opinion of yours (--refresh makes it anew, with one)"


READY, WITH_QUESTION, NOT_FULLY_CHECKED = "Ready", "Ready, with a question for you", "Ready, not fully checked"
"""The headlines of a function that can be used."""


Subject = Literal["second opinion", "losses", "outputs", "invariants", "data"]

SUBJECTS: tuple[Subject, ...] = get_args(Subject)


@dataclass(frozen=True)
class OpenQuestion:
    """What a person must decide: whether the function is right in spite of a finding.

    Args:
        words: the finding in a few words.
        whole: the whole finding with its numbers. An answer is valid as long as it stays the same.
    """

    about: Subject
    words: str
    whole: str


@dataclass(frozen=True)
class Verified:
    """What was found out about a function, in a few words each.

    Args:
        rests_on: what speaks for it.
        questions: what a person must decide.
        unchecked: checks that are missing, were cut short, or show little; and that it is slow.
    """

    rests_on: tuple[str, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What does not speak for it."""
        return (*(question.words for question in self.questions), *self.unchecked)

    @property
    def headline(self) -> str:
        """The verdict, which is the same wherever the function is shown."""
        return WITH_QUESTION if self.questions else NOT_FULLY_CHECKED if self.unchecked else READY

    @property
    def start(self) -> str:
        """`verified` or `verified in part`."""
        return "verified in part" if self.weaknesses else "verified"

    @property
    def line(self) -> str:
        """`verified: 7 tests catch 10 of 12 code mutations · second opinion agrees on 2 of 2 outputs`."""
        return f"{self.start}: {' · '.join((*self.rests_on, *self.weaknesses))}"


def verified_run(run: FunctionRun) -> Verified:
    """What the function of a run rests on. Questions that the user has answered speak for it."""
    evidence = run.evidence or Evidence()
    found = _together(
        verified(evidence, run.second_opinion, len(run.plan.outputs) if run.plan else 0, run.beside),
        Verified(questions=(OpenQuestion("data", "the data differ", "\n".join(run.drift)),) if run.drift else ()),
        Verified(unchecked=("tests were changed",) if has_changed_tests(evidence, run.trace) else ()),
        Verified(unchecked=("over its budget",) if run.reason else ()),
    )
    answered = tuple(f"kept by you: {one.words}" for one in found.questions if one.whole in run.answered)
    still_open = tuple(one for one in found.questions if one.whole not in run.answered)
    return Verified((*found.rests_on, *answered), still_open, found.unchecked)


def headline(run: FunctionRun) -> str:
    """The state of a run in a few words, the same on each card and page, in a terminal, and in `repr`."""
    if run.replaced:
        return "Replaced"
    if run.is_ready:
        return verified_run(run).headline
    if run.phase == "running":
        return STAGES[run.stage].doing if run.stage else "Starting"
    return "Waiting for your answers" if run.questions else run.headline


def has_changed_tests(evidence: Evidence, trace: Trace | None) -> bool:
    """Whether tests were changed after they were first written."""
    return bool(evidence.tests_changed or (trace and trace.suite_changed))


def open_questions(run: FunctionRun) -> tuple[OpenQuestion, ...]:
    """What is asked about the function of a run; nothing before it can be used, and after it was replaced."""
    return verified_run(run).questions if run.is_current else ()


def question_key(run: FunctionRun) -> str:
    """Identifies the open questions about a function; "" if there are none."""
    asked = [question.whole for question in open_questions(run)]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32] if asked else ""


def with_answers(run: FunctionRun) -> FunctionRun:
    """The record with the questions that the user has answered, in this notebook or another one."""
    asked = [question.whole for question in verified_run(run).questions]
    return replace(run, answered=(*run.answered, *answers.kept(run.solution, asked))) if asked else run


def keep(run: FunctionRun) -> FunctionRun:
    """Answer all questions about a function: it stays as it is. Returns the record with the answers.

    Raises:
        InvalidRequest: the record of the answers cannot be written.
    """
    asked = tuple(question.whole for question in verified_run(run).questions)
    answers.keep(run.solution, asked)
    return replace(run, answered=(*run.answered, *asked))


def verified(evidence: Evidence, opinion: SecondOpinion | None, outputs: int, beside: tuple[str, ...] = ()) -> Verified:
    """What a function that passed rests on."""
    tests = _tests(evidence, opinion)
    if TRIAL in beside and evidence.strength is None:
        tests = Verified(tests.rests_on, unchecked=(f"{TRIAL} running",))
    second = Verified(unchecked=(RUNNING,)) if SECOND in beside and opinion is None else _opinion(opinion, outputs)
    empty = OpenQuestion("outputs", evidence.remarks[0], "\n".join(evidence.remarks)) if evidence.remarks else None
    return _together(
        tests,
        second,
        Verified(unchecked=("not enough time for rows used",) if evidence.rows_cut else ()),
        Verified(questions=tuple(OpenQuestion("losses", one.words, one.words) for one in evidence.losses if one.asks)),
        _user_checks(evidence),
        _probes(evidence.strength),
        Verified(questions=(empty,) if empty else ()),
    )


def _together(*found: Verified) -> Verified:
    fields = [(one.rests_on, one.questions, one.unchecked) for one in found]
    return Verified(*(tuple(itertools.chain.from_iterable(words)) for words in zip(*fields, strict=True)))


def _tests(evidence: Evidence, opinion: SecondOpinion | None) -> Verified:
    """What the tests are worth. If no mutation shows it, that counts only without a second opinion that agrees."""
    from autocoder_jupyter.types.evidence import NO_CHANGE

    passed, strength = sum(outcome.outcome == "passed" for outcome in evidence.tests), evidence.strength
    examples, own, _ = _user_check_counts(evidence)
    if not passed and not examples and not own:
        return Verified(unchecked=("no tests",))
    tests = counted(passed, "test") if passed else "your tests"
    if strength is None:
        return Verified((tests,), unchecked=("tests not tried on mutated code",))
    if not strength.changes:
        is_missed = strength.ended != NO_CHANGE or opinion is None or opinion.state != "agree"
        unchecked = (f"tests not tried on mutated code: {strength.ended}",) if strength.ended and is_missed else ()
        return Verified((tests,), unchecked=unchecked)
    verb = "catches" if passed == 1 else "catch"
    caught = f"{strength.noticed} of {counted(len(strength.changes), 'code mutation')}"
    cut = (f"not all code mutations were tried: {strength.ended}",) if strength.ended else ()
    if strength.is_weak:
        return Verified(unchecked=(f"{tests} {verb} only {caught}", *cut))
    return Verified((f"{tests} {verb} {caught}",), unchecked=cut)


def _opinion(opinion: SecondOpinion | None, outputs: int) -> Verified:
    if opinion is not None and opinion.state == "running":
        return Verified(unchecked=(RUNNING,))
    if opinion is None or opinion.state == "none":
        of_others = opinion is not None and opinion.code and not opinion.cut  # a record that no run of this user wrote
        return Verified(unchecked=(OF_OTHERS if of_others else "no second opinion",))
    if opinion.state == "differ":
        return Verified(questions=(OpenQuestion("second opinion", "the second opinion differs", _differing(opinion)),))
    if not opinion.compared and opinion.state == "not compared":
        return Verified(unchecked=("the second opinion could not be compared",))
    agrees = f"second opinion agrees on {len(opinion.compared)} of {counted(outputs, 'output')}"
    parts = (counted(opinion.parts, "subsample"),) if opinion.parts else ()
    cut = ("not enough time to compare all variations",) if opinion.cut else ()
    return (
        Verified((agrees, *parts), unchecked=cut) if opinion.state == "agree" else Verified(parts, unchecked=(agrees,))
    )


def _differing(opinion: SecondOpinion) -> str:
    """All that a second opinion says against a function."""
    record = opinion.model_dump(mode="json", include={"differences", "readings", "confirms"})
    return json.dumps(record, ensure_ascii=False)


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
    cut = (f"not enough time for {' and '.join(strength.cut)}",) if strength.cut else ()
    fails = (f"fails {counted(len(strength.dropped), 'further test')}",) if strength.dropped else ()
    concern = strength.stability.concern if strength.stability is not None else ""
    words = (*depends, *(one.words for one in strength.broken), *fails, *((concern,) if concern else ()))
    slow = (strength.pace,) if strength.pace else ()
    return Verified(questions=tuple(OpenQuestion("invariants", one, one) for one in words), unchecked=(*cut, *slow))
