"""What the card shows, folded from the engine's events. Pure: no clock, no output, no lock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal, get_args

from autocoder_jupyter.display import tool_calls
from autocoder_jupyter.display.agent_state import AgentState
from autocoder_jupyter.display.run_state import RunState
from autocoder_jupyter.engine import events
from autocoder_jupyter.engine.events import Event, SampleOutputs, Stage
from autocoder_jupyter.settings.tiers import sandbox_line
from autocoder_jupyter.types import (
    Author,
    Changes,
    CodePlan,
    ErrorDiagnosis,
    Evidence,
    PlanQuestion,
    SecondOpinion,
    TestOutcome,
    Trace,
)

STAGES: tuple[Stage, ...] = get_args(Stage)

SELDOM: tuple[Stage, ...] = ("second", "diagnose", "fix")
"""Stages that many generations do not need."""

AGENT_STAGES: tuple[Stage, ...] = ("code", "fix")
"""Stages in which an agent works, where one writes."""

LOG_LINES = 200

TAIL_CHARACTERS = 2000
"""How much of an answer is kept while it is written; the whole of it comes with the source."""

BUILD_LINES = 8
"""Lines kept of the log of the environment's build."""


@dataclass(frozen=True)
class StageState:
    """How far a stage is; `replayed` when its answer came from the journal."""

    status: Literal["running", "done", "failed"]
    detail: str = ""
    replayed: bool = False


@dataclass(frozen=True)
class LogLine:
    """One line of the log, when it happened, in seconds since the start, and whether a person decided it."""

    at: float
    text: str
    is_decision: bool = False


@dataclass(frozen=True)
class Answer:
    """What the model says in a stage: how many characters, and the last of them; `whole` when it has ended.

    `fault` is why it says nothing yet, after a call that failed and is tried again.
    """

    stage: Stage
    written: int = 0
    tail: str = ""
    whole: bool = False
    fault: str = ""

    def and_then(self, text: str) -> Answer:
        """The answer with another piece; after a whole one it is the next, to another question of the same stage."""
        if self.whole:
            return Answer(self.stage).and_then(text)
        return Answer(self.stage, self.written + len(text), (self.tail + text)[-TAIL_CHARACTERS:])


@dataclass(frozen=True)
class CardState(RunState[Event]):
    """All that the card shows, and the strip below it.

    Args:
        answers: what the model says in each stage that runs, the first to begin first.
        building: the last lines of what is done to the environment; empty when it stands.
        questions: what the plan asks the person at this moment.
        replies: what the person answered, a line each.
        author: who wrote the code or the tests last.
        wish: what `--refine` asks to change in the earlier version.
        changes: what changed from that version.
        why: the reason for this version; empty for the first.
        is_kept: whether the function was there already, and is only verified anew.
        kept: what it was verified on, when it held.
        is_new_request: whether it is written from scratch although there is a version that could be refined.
        has_before: whether the name had a good function before this run.
        outputs: the first rows of the function's outputs on the sample; None until it ran.
        backend: its name where it is not the default; else "".
        agent: what an agent that writes on its own has done; None where none does.
        packages: distributions in the sandbox beside those that are always there.
        sandbox: where code runs, and by what it is held, in one line; "" until that is known.
    """

    stage: Stage | None = None
    attempt: int = 0
    of: int = 0
    stages: tuple[tuple[Stage, StageState], ...] = ()
    plan: CodePlan | None = None
    solution: str = ""
    previous_solution: str = ""
    tests: str = ""
    expected: tuple[str, ...] = ()
    outcomes: tuple[TestOutcome, ...] = ()
    evidence: Evidence | None = None
    opinion: SecondOpinion | None = None
    diagnosis: ErrorDiagnosis | None = None
    approval: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    environment: str = ""
    building: tuple[str, ...] = ()
    questions: tuple[PlanQuestion, ...] = ()
    replies: tuple[str, ...] = ()
    author: Author = "model"
    wish: str = ""
    changes: Changes | None = None
    why: str = ""
    is_kept: bool = False
    kept: str = ""
    has_before: bool = False
    is_new_request: bool = False
    outputs: SampleOutputs | None = None
    backend: str = ""
    agent: AgentState | None = None
    packages: tuple[str, ...] = ()
    sandbox: str = ""
    log: tuple[LogLine, ...] = ()

    def after(self, event: Event) -> CardState:
        """The state after an event that happened now."""
        return _after(event, self)

    @property
    def replayed(self) -> bool:
        """Whether every answer that the model was asked for came from the journal."""
        asked = [
            state for stage, state in self.stages if stage in ("plan", "code", "tests", "diagnose", "fix", "second")
        ]
        return bool(asked) and all(state.replayed for state in asked)

    @property
    def trace(self) -> Trace | None:
        """What an agent has done, call by call; None where none writes on its own."""
        return self.agent.trace if self.agent else None

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(outcome.outcome == "passed" for outcome in self.outcomes)

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of tests that were not reported yet, in order; a test with cases counts from its first one on."""
        reported = {outcome.id.partition("[")[0] for outcome in self.outcomes}
        return tuple(test for test in self.expected if test not in reported)

    @property
    def test_count(self) -> int:
        """How many tests there are; those that are not reported yet included."""
        return len(self.outcomes) + len(self.pending)

    @property
    def written(self) -> int:
        """How many characters the model has said in the answers that it gives at this moment."""
        return sum(answer.written for answer in self.answers)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the model says nothing at this moment, in the stages that wait for its service; each reason once."""
        return tuple(dict.fromkeys(answer.fault for answer in self.answers if answer.fault))

    @property
    def progress(self) -> float:
        """A guess between 0 and 1 of how much of a first attempt is done."""
        if self.finished:
            return 1.0
        done = sum(state.status == "done" for stage, state in self.stages if stage not in SELDOM)
        return min(done / (len(STAGES) - len(SELDOM)), 0.95)

    def stage_state(self, stage: Stage) -> StageState | None:
        """How far a stage is; None when it was not reached."""
        return dict(self.stages).get(stage)


@singledispatch
def _after(event: Event, state: CardState) -> CardState:
    return state


@_after.register
def _(event: events.StageStarted, state: CardState) -> CardState:
    state = replace(state, stage=event.stage, attempt=max(event.attempt, state.attempt), of=event.of)
    state = replace(state, answers=(*_others(state, event.stage), Answer(event.stage)))
    if event.stage == "run":
        state = replace(state, outcomes=(), evidence=None)
    state = _with_stage(state, event.stage, StageState("running", event.detail))
    return _noted(state, f"{event.stage}{_detail(event.detail)}")


@_after.register
def _(event: events.StageFinished, state: CardState) -> CardState:
    status: Literal["done", "failed"] = "done" if event.ok else "failed"
    state = replace(state, answers=_others(state, event.stage))
    state = _with_stage(state, event.stage, StageState(status, event.detail, event.replayed))
    how = "replayed" if event.replayed and event.ok else status
    return _noted(state, f"{event.stage} {how}{_detail(event.detail)}")


@_after.register
def _(event: events.VersionBegun, state: CardState) -> CardState:
    state = replace(state, why=event.why, is_kept=event.kept, has_before=event.has_before, author=event.author)
    state = replace(state, is_new_request=event.is_new_request)
    if not event.kept:
        return _noted(state, f"version {event.version} is made{_detail(event.why)}")
    for stage in ("plan", "code", "tests"):
        state = _with_stage(state, stage, StageState("done", "kept", replayed=True))
    return _noted(state, f"version {event.version} is kept{_detail(event.why)}")


@_after.register
def _(event: events.KeptHolds, state: CardState) -> CardState:
    return _noted(replace(state, kept=event.verified_on), f"verified on {event.verified_on}")


@_after.register
def _(event: events.PlanReady, state: CardState) -> CardState:
    return replace(state, plan=event.plan)


@_after.register
def _(event: events.TextStreamed, state: CardState) -> CardState:
    return replace(
        state,
        answers=tuple(
            answer.and_then(event.text) if answer.stage == event.stage else answer for answer in state.answers
        ),
    )


@_after.register
def _(event: events.TokensUsed, state: CardState) -> CardState:
    answers = (replace(answer, whole=answer.whole or answer.stage == event.stage) for answer in state.answers)
    return replace(state, usage=event.total, answers=tuple(answers))


@_after.register
def _(event: events.Retrying, state: CardState) -> CardState:
    fault = f"{event.reason}; next try after {max(event.seconds, 1):.0f} s"
    anew = (Answer(event.stage, fault=fault) if answer.stage == event.stage else answer for answer in state.answers)
    return _noted(replace(state, answers=tuple(anew)), f"{event.stage}: {fault}")


@_after.register
def _(event: events.LoadingClient, state: CardState) -> CardState:
    words = "the model client is loaded" if event.done else "loading the model client"
    return _noted(replace(state, loading=not event.done), words)


@_after.register
def _(event: events.TestsCollected, state: CardState) -> CardState:
    return replace(state, expected=event.ids)


@_after.register
def _(event: events.TestReported, state: CardState) -> CardState:
    others = tuple(outcome for outcome in state.outcomes if outcome.id != event.outcome.id)
    return replace(state, outcomes=(*others, event.outcome))


@_after.register
def _(event: events.Diagnosed, state: CardState) -> CardState:
    kinds = ", ".join(dict.fromkeys(failure.error_type for failure in event.diagnosis.failures))
    return _noted(replace(state, diagnosis=event.diagnosis), f"diagnosis{_detail(kinds)}")


@_after.register
def _(event: events.SourceWritten, state: CardState) -> CardState:
    if event.which == "tests":
        return replace(state, tests=event.text)
    return replace(state, previous_solution=state.solution, solution=event.text)


@_after.register
def _(event: events.ApprovalNeeded, state: CardState) -> CardState:
    state = replace(state, phase="waiting", approval=event.packages)
    return _noted(state, f"waits for approval of {', '.join(event.packages)}")


@_after.register
def _(event: events.ApprovalGiven, state: CardState) -> CardState:
    state = replace(state, phase="running", approval=())
    words = f"{'approved' if event.approved else 'declined'}: {', '.join(event.packages)}"
    return _noted(state, words, is_decision=True)


@_after.register
def _(event: events.QuestionsAsked, state: CardState) -> CardState:
    return _noted(replace(state, phase="waiting", questions=event.questions), "the plan asks")


@_after.register
def _(event: events.QuestionsAnswered, state: CardState) -> CardState:
    state = replace(state, phase="running", questions=(), replies=event.lines)
    return _noted(state, f"answered{_detail('; '.join(event.lines))}")


@_after.register
def _(event: events.EnvironmentProgress, state: CardState) -> CardState:
    state = replace(state, building=(*state.building, event.text)[-BUILD_LINES:])
    return _noted(state, f"environment: {event.text}")


@_after.register
def _(event: events.EnvironmentReady, state: CardState) -> CardState:
    where = sandbox_line(event.sandbox, event.tier)
    state = replace(state, environment=event.image, packages=event.requested, sandbox=where, building=())
    return _noted(state, f"environment ready after {event.seconds:.1f} s")


@_after.register
def _(event: events.Noticed, state: CardState) -> CardState:
    return _noted(state.noticed(event.text), event.text)


@_after.register
def _(event: events.EvidenceGathered, state: CardState) -> CardState:
    return replace(state, evidence=event.evidence, outcomes=event.evidence.tests or state.outcomes)


@_after.register
def _(event: events.SampleOutputs, state: CardState) -> CardState:
    return replace(state, outputs=event)


@_after.register
def _(event: events.OpinionGiven, state: CardState) -> CardState:
    words = {"agree": "agrees", "differ": "differs", "none": "there is none"}[event.opinion.state]
    return _noted(replace(state, opinion=event.opinion), f"second opinion: {words}{_detail(event.opinion.note)}")


@_after.register
def _(event: events.Compared, state: CardState) -> CardState:
    return replace(state, changes=event.changes)


@_after.register
def _(event: events.TurnBegun, state: CardState) -> CardState:
    return _with_agent(state, _agent(state).begun(event))


@_after.register
def _(event: events.AgentSaid, state: CardState) -> CardState:
    return _with_agent(state, _agent(state).spoke(event))


@_after.register
def _(event: events.ToolCalled, state: CardState) -> CardState:
    return _with_agent(state, _agent(state).called(event))


@_after.register
def _(event: events.ToolEnded, state: CardState) -> CardState:
    state = _with_agent(state, _agent(state).ended(event))
    calls = state.trace.calls if state.trace else ()
    return _noted(state, tool_calls.call_line(calls[-1])) if calls else state


@_after.register
def _(event: events.SuiteChanged, state: CardState) -> CardState:
    state = replace(state, agent=_agent(state).changed_suite(event))
    return _noted(state, f"the agent changed tests after a failure{_detail(', '.join(event.tests))}")


@_after.register
def _(event: events.Finished, state: CardState) -> CardState:
    state = replace(
        state, phase=event.state, reason=event.reason, approval=(), questions=(), answers=(), building=(), stage=None
    )
    state = replace(state, loading=False, limit=event.limit, agent=state.agent.stopped() if state.agent else None)
    return _noted(state, f"{event.state.replace('_', ' ')}{_detail(event.reason)}")


def _agent(state: CardState) -> AgentState:
    return state.agent or AgentState()


def _with_agent(state: CardState, agent: AgentState) -> CardState:
    """The state after a sign of life of the agent, so its service answers again."""
    answers = (replace(answer, fault="") if answer.stage in AGENT_STAGES else answer for answer in state.answers)
    return replace(state, agent=agent, answers=tuple(answers))


def _others(state: CardState, stage: Stage) -> tuple[Answer, ...]:
    """The answers of the other stages."""
    return tuple(answer for answer in state.answers if answer.stage != stage)


def _with_stage(state: CardState, stage: Stage, now: StageState) -> CardState:
    stages = {**dict(state.stages), stage: now}
    return replace(state, stages=tuple((name, stages[name]) for name in STAGES if name in stages))


def _noted(state: CardState, text: str, *, is_decision: bool = False) -> CardState:
    return replace(state, log=(*state.log, LogLine(state.seconds, text, is_decision))[-LOG_LINES:])


def _detail(detail: str) -> str:
    return f": {detail}" if detail else ""
