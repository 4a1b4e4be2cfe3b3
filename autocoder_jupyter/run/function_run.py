"""The record of a generation, and of the agent in it, computed from their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Literal

from autocoder_jupyter.run import events
from autocoder_jupyter.run.events import (
    AgentText,
    Event,
    SampleOutputs,
    SuiteChanged,
    ToolCalled,
    ToolEnded,
    TurnBegun,
)
from autocoder_jupyter.run.record import RunRecord
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.types import (
    Author,
    Changes,
    CodePlan,
    ErrorDiagnosis,
    Evidence,
    Helpers,
    PlanQuestion,
    SampledDatabase,
    SecondOpinion,
    TestOutcome,
    ToolUse,
    Trace,
)
from autocoder_jupyter.types.interface import KnownSplits
from autocoder_jupyter.types.records import STAGES, Drawn, StageName

# The agent

AGENT_TEXT_CHARACTERS = 2000
"""Characters kept of the agent's text: the last ones."""

ARGUMENT_CHARACTERS = 500
"""Characters kept of a call's argument; the whole call is in the report."""


@dataclass(frozen=True)
class AgentState:
    """The state of an agent.

    Args:
        trace: the calls that have ended, and the turns.
        under_way: the calls that are running, each with its id.
        text: the last text of the agent between its calls.
    """

    trace: Trace = Trace()
    under_way: tuple[tuple[str, ToolUse], ...] = ()
    text: str = ""

    def begun(self, event: TurnBegun) -> AgentState:
        text = f"{self.text.rstrip()}\n" if self.text.strip() else ""
        return replace(self._with(turns=event.turn, max_turns=event.of), text=text)

    def wrote(self, event: AgentText) -> AgentState:
        return replace(self, text=(self.text + event.text)[-AGENT_TEXT_CHARACTERS:])

    def called(self, event: ToolCalled) -> AgentState:
        use = ToolUse(
            turn=event.turn,
            tool=event.tool,
            argument=event.argument[:ARGUMENT_CHARACTERS],
            kind=event.kind,
            reason=event.reason,
        )
        return replace(self, under_way=(*self.under_way, (event.call, use)))

    def ended(self, event: ToolEnded) -> AgentState:
        """A call has ended; one without a start event is not counted."""
        use = dict(self.under_way).get(event.call)
        if use is None:
            return self
        outcome = {"outcome": event.outcome, "seconds": event.seconds, "replayed": event.replayed}
        others = tuple((call, other) for call, other in self.under_way if call != event.call)
        calls = (*self.trace.calls, use.model_copy(update=outcome))
        return replace(self._with(calls=calls), under_way=others)

    def changed_suite(self, event: SuiteChanged) -> AgentState:
        return self._with(suite_changed=event.tests)

    def stopped(self) -> AgentState:
        """The run has ended; calls without an end were cancelled."""
        cancelled = (use.model_copy(update={"outcome": "cancelled"}) for _, use in self.under_way)
        return replace(self._with(calls=(*self.trace.calls, *cancelled)), under_way=())

    def _with(self, **fields: object) -> AgentState:
        return replace(self, trace=self.trace.model_copy(update=fields))


# The generation

SLOW_SECONDS = 30.0
"""Seconds after which a first attempt takes longer than usual."""

LOG_LINES = 200

_OPINIONS = {
    "agree": "agrees",
    "differ": "differs",
    "not compared": "not all outputs were compared",
    "none": "there is none",
    "running": "running",
}
"""The states of a second opinion in the log."""

TAIL_CHARACTERS = 2000
"""Characters kept of an answer while it is written; the source comes in its own event."""

BUILD_LINES = 8
"""Lines kept of the log of the environment's build."""


@dataclass(frozen=True)
class StageState:
    """The status of a stage; `replayed` is True if its answer came from the journal."""

    status: Literal["running", "done", "failed"]
    detail: str = ""
    replayed: bool = False


@dataclass(frozen=True)
class LogLine:
    """One line of the log.

    Args:
        at: its time, in seconds since the start.
        text: the line; "" for a call.
        is_decision: whether it is a decision of the user.
        call: a tool call of an agent that has ended.
    """

    at: float
    text: str
    is_decision: bool = False
    call: ToolUse | None = None


@dataclass(frozen=True)
class StreamedAnswer:
    """An answer of the model in a stage: the number of characters, and the last of them; `whole` when it is complete.

    `fault` is why a request failed that is retried now.
    """

    stage: StageName
    written: int = 0
    tail: str = ""
    whole: bool = False
    fault: str = ""

    def extended(self, text: str) -> StreamedAnswer:
        """The answer with more text; after a complete answer, the next answer of the same stage."""
        if self.whole:
            return StreamedAnswer(self.stage).extended(text)
        return StreamedAnswer(self.stage, self.written + len(text), (self.tail + text)[-TAIL_CHARACTERS:])


@dataclass(frozen=True)
class FunctionRun(RunRecord):
    """The record of a generation.

    Args:
        solutions: the solutions from which the current one was made, the oldest first; without those that were given up
            for an earlier one.
        answers: the answer of the model in each running stage, the oldest first.
        building: the last log lines while the environment is built; empty when it is ready.
        replies: the answers of the user, one line each.
        author: who wrote the code or the tests last.
        refinement: the change that `--refine` asks for.
        house_rules: those that apply, a line each.
        databases: those whose tables are inputs.
        why: the reason for this version; empty for the first one.
        writer: the model that wrote it, and what `--refresh` would change about that.
        is_kept: whether an existing function is only verified again.
        kept: the data on which it was verified.
        is_new_request: whether it is written from scratch although there is a version that could be refined.
        effort: what the generation will ask and take; "" once there is a plan.
        drawn: of which rows the samples are that were drawn from tables whose rows are elsewhere.
        helpers: the code that the function may import.
        drift: how the values of today's samples differ from the recorded ones, one sentence for each difference.
        option: options with which the cell would keep the existing function; "" for none.
        has_before: whether the name had a good function before this run.
        outputs: the first rows of the outputs on the sample; None before the function ran. They are of code that is not
            verified (any more) if their `is_verified` is False.
        backend: the name of the backend if it is not the default; otherwise "".
        agent: the state of the agent; None without an agent.
        packages: distributions in the sandbox besides the preinstalled ones.
        sandbox: the sandbox and its tier in one line; "" until it is known.
        splits: what is known of how it may be split.
        beside: what still runs beside a function that is verified, in a few words each; empty before and after that.
        answered: the questions about the function that the user answered with *keep it as it is*.
        replaced: by what a later cell has replaced the function, in a sentence; "" if it has not.
        later: what has become of a later cell of this name that has not replaced it; "" if there is none.
    """

    stage: StageName | None = None
    attempt: int = 0
    of: int = 0
    stages: tuple[tuple[StageName, StageState], ...] = ()
    plan: CodePlan | None = None
    solution: str = ""
    solutions: tuple[str, ...] = ()
    tests: str = ""
    expected: tuple[str, ...] = ()
    outcomes: tuple[TestOutcome, ...] = ()
    evidence: Evidence | None = None
    second_opinion: SecondOpinion | None = None
    diagnosis: ErrorDiagnosis | None = None
    approval: tuple[str, ...] = ()
    answers: tuple[StreamedAnswer, ...] = ()
    environment: str = ""
    building: tuple[str, ...] = ()
    questions: tuple[PlanQuestion, ...] = ()
    replies: tuple[str, ...] = ()
    author: Author = "model"
    refinement: str = ""
    house_rules: tuple[str, ...] = ()
    changes: Changes | None = None
    why: str = ""
    writer: str = ""
    is_kept: bool = False
    kept: str = ""
    effort: str = ""
    drawn: Mapping[str, Drawn] = field(default_factory=dict)
    helpers: Helpers = field(default_factory=Helpers)
    databases: tuple[SampledDatabase, ...] = ()
    drift: tuple[str, ...] = ()
    option: str = ""
    has_before: bool = False
    is_new_request: bool = False
    outputs: SampleOutputs | None = None
    backend: str = ""
    agent: AgentState | None = None
    packages: tuple[str, ...] = ()
    sandbox: str = ""
    splits: KnownSplits = KnownSplits()
    beside: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    replaced: str = ""
    later: str = ""
    log: tuple[LogLine, ...] = ()

    def after(self, event: Event) -> FunctionRun:
        """The record after an event at the current time."""
        return _after(event, self)

    @property
    def still(self) -> FunctionRun:
        """See `RunRecord.still`."""
        still = super().still
        seconds = SLOW_SECONDS if self.is_slow else still.seconds
        answers = tuple(StreamedAnswer(answer.stage, fault=answer.fault) for answer in self.answers if answer.fault)
        agent = replace(self.agent, text="") if self.agent else None
        return replace(still, seconds=seconds, answers=answers, building=(), agent=agent)

    @property
    def doing(self) -> str:
        """`attempt 1 of 3, step run`."""
        return f"attempt {self.attempt} of {self.of}, step {self.stage}" if self.stage else "starting"

    @property
    def question(self) -> str:
        """The key of the consent that the run waits for; "" if it waits for none."""
        return ", ".join(self.approval)

    @property
    def consent(self) -> tuple[str, ...]:
        """The words that name it in a typed answer: the packages."""
        return self.approval

    @property
    def asks(self) -> str:
        """The question about it."""
        return f"May it install {', '.join(self.approval)}?" if self.approval else ""

    @property
    def is_ready(self) -> bool:
        """Whether the function can be used: it is verified, though its second opinion may still run."""
        return bool(self.beside) or super().is_ready

    @property
    def is_current(self) -> bool:
        """Whether it can be used, and no later cell has replaced it."""
        return self.is_ready and not self.replaced

    @property
    def is_slow(self) -> bool:
        """Whether the first attempt takes longer than usual."""
        return self.phase == "running" and self.seconds >= SLOW_SECONDS and self.attempt <= 1

    @property
    def replayed(self) -> bool:
        """Whether every answer of the model came from the journal."""
        asked = [state for stage, state in self.stages if STAGES[stage].asks]
        return bool(asked) and all(state.replayed for state in asked)

    @property
    def trace(self) -> Trace | None:
        """The calls of the agent; None without an agent."""
        return self.agent.trace if self.agent else None

    @property
    def previous_solution(self) -> str:
        """The solution that the last fix changed; "" if there is none."""
        return self.solutions[-1] if self.solutions else ""

    @property
    def passed(self) -> int:
        """The number of tests that passed."""
        return sum(outcome.outcome == "passed" for outcome in self.outcomes)

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of tests without an outcome, in order; a parametrized test has one after its first case."""
        reported = {outcome.id.partition("[")[0] for outcome in self.outcomes}
        return tuple(test for test in self.expected if test not in reported)

    @property
    def test_count(self) -> int:
        """The number of tests, including those without an outcome."""
        return len(self.outcomes) + len(self.pending)

    @property
    def written(self) -> int:
        """Characters of the answers that the model is writing."""
        return sum(answer.written for answer in self.answers)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why requests to the model failed that are retried now; each reason once."""
        return tuple(dict.fromkeys(answer.fault for answer in self.answers if answer.fault))

    @property
    def progress(self) -> float:
        """An estimate of the progress of the first attempt, between 0 and 1."""
        if self.finished:
            return 1.0
        done = sum(state.status == "done" for stage, state in self.stages if not STAGES[stage].is_optional)
        return min(done / sum(not stage.is_optional for stage in STAGES.values()), 0.95)

    def stage_state(self, stage: StageName) -> StageState | None:
        """The status of a stage; None if it was not reached."""
        return dict(self.stages).get(stage)


@singledispatch
def _after(event: Event, state: FunctionRun) -> FunctionRun:
    return state.of_model(event)


@_after.register
def _(event: events.StageStarted, state: FunctionRun) -> FunctionRun:
    state = replace(state, stage=event.stage, attempt=max(event.attempt, state.attempt), of=event.of)
    state = replace(state, answers=(*_others(state, event.stage), StreamedAnswer(event.stage)))
    if STAGES[event.stage].finds == "tests" and not state.beside:
        state = replace(state, outcomes=(), evidence=None)
    state = _with_stage(state, event.stage, StageState("running", event.detail))
    return _noted(state, f"{event.stage}{_detail(event.detail)}")


@_after.register
def _(event: events.StageFinished, state: FunctionRun) -> FunctionRun:
    status: Literal["done", "failed"] = "done" if event.ok else "failed"
    state = replace(state, answers=_others(state, event.stage))
    state = _with_stage(state, event.stage, StageState(status, event.detail, event.replayed))
    how = "replayed" if event.replayed and event.ok else status
    return _noted(state, f"{event.stage} {how}{_detail(event.detail)}")


@_after.register
def _(event: events.VersionBegun, state: FunctionRun) -> FunctionRun:
    state = replace(state, why=event.why, is_kept=event.kept, has_before=event.has_before, author=event.author)
    state = replace(state, is_new_request=event.is_new_request, writer=event.writer)
    if not event.kept:
        return _noted(state, f"version {event.version} is made{_detail(event.why)}")
    for stage, record in STAGES.items():
        if record.is_writing:
            state = _with_stage(state, stage, StageState("done", "kept", replayed=True))
    return _noted(state, f"version {event.version} is kept{_detail(event.why)}")


@_after.register
def _(event: events.KeptVerified, state: FunctionRun) -> FunctionRun:
    return _noted(replace(state, kept=event.verified_on), f"verified on {event.verified_on}")


@_after.register
def _(event: events.EffortPlanned, state: FunctionRun) -> FunctionRun:
    return _noted(replace(state, effort=event.words), event.words)


@_after.register
def _(event: events.SamplesDrawn, state: FunctionRun) -> FunctionRun:
    words = "; ".join(f"{name} is {drawn.words}" for name, drawn in event.drawn.items())
    return _noted(replace(state, drawn=dict(event.drawn)), words)


@_after.register
def _(event: events.BuildsOn, state: FunctionRun) -> FunctionRun:
    own = (one.name for one in event.helpers.given if one.kind != "built-in")
    named = (*own, *(["house rules"] if event.house_rules else []))
    state = replace(state, helpers=event.helpers, house_rules=event.house_rules)
    return _noted(state, f"builds on {', '.join(named)}") if named else state


@_after.register
def _(event: events.DatabasesUsed, state: FunctionRun) -> FunctionRun:
    return replace(state, databases=event.databases)


@_after.register
def _(event: events.DriftFound, state: FunctionRun) -> FunctionRun:
    return _noted(replace(state, drift=event.differences), f"the data differ{_detail('; '.join(event.differences))}")


@_after.register
def _(event: events.OptionOffered, state: FunctionRun) -> FunctionRun:
    return replace(state, option=event.option, asks_for="name")


@_after.register
def _(event: events.PlanReady, state: FunctionRun) -> FunctionRun:
    return replace(state, plan=event.plan, effort="")


@_after.register
def _(event: events.TextStreamed, state: FunctionRun) -> FunctionRun:
    return replace(
        state,
        answers=tuple(
            answer.extended(event.text) if answer.stage == event.stage else answer for answer in state.answers
        ),
    )


@_after.register
def _(event: events.TokensUsed, state: FunctionRun) -> FunctionRun:
    answers = (replace(answer, whole=answer.whole or answer.stage == event.stage) for answer in state.answers)
    return replace(state, usage=event.total, answers=tuple(answers))


@_after.register
def _(event: events.Retrying, state: FunctionRun) -> FunctionRun:
    fault = f"{event.reason}; next try after {max(event.seconds, 1):.0f} s"
    anew = (
        StreamedAnswer(event.stage, fault=fault) if answer.stage == event.stage else answer for answer in state.answers
    )
    return _noted(replace(state, answers=tuple(anew)), f"{event.stage}: {fault}")


@_after.register
def _(event: events.LoadingClient, state: FunctionRun) -> FunctionRun:
    words = "the model client is loaded" if event.done else "loading the model client"
    return _noted(replace(state, loading=not event.done), words)


@_after.register
def _(event: events.TestsCollected, state: FunctionRun) -> FunctionRun:
    return replace(state, expected=event.ids)


@_after.register
def _(event: events.TestReported, state: FunctionRun) -> FunctionRun:
    others = tuple(outcome for outcome in state.outcomes if outcome.id != event.outcome.id)
    return replace(state, outcomes=(*others, event.outcome))


@_after.register
def _(event: events.Diagnosed, state: FunctionRun) -> FunctionRun:
    kinds = ", ".join(dict.fromkeys(failure.error_type for failure in event.diagnosis.failures))
    return _noted(replace(state, diagnosis=event.diagnosis), f"diagnosis{_detail(kinds)}")


@_after.register
def _(event: events.SourceWritten, state: FunctionRun) -> FunctionRun:
    if event.which == "tests":
        return replace(state, tests=event.text)
    known = (*state.solutions, state.solution) if state.solution else ()
    made_from = known[: known.index(event.text)] if event.text in known else known
    return replace(state, solutions=made_from, solution=event.text)


@_after.register
def _(event: events.ApprovalNeeded, state: FunctionRun) -> FunctionRun:
    state = replace(state, phase="waiting", approval=event.packages)
    return _noted(state, f"waits for approval of {', '.join(event.packages)}")


@_after.register
def _(event: events.ApprovalGiven, state: FunctionRun) -> FunctionRun:
    state = replace(state, phase="running", approval=())
    words = f"{'approved' if event.approved else 'declined'}: {', '.join(event.packages)}"
    return _noted(state, words, is_decision=True)


@_after.register
def _(event: events.QuestionsAsked, state: FunctionRun) -> FunctionRun:
    return _noted(replace(state, phase="waiting", questions=event.questions), "the plan asks")


@_after.register
def _(event: events.QuestionsAnswered, state: FunctionRun) -> FunctionRun:
    state = replace(state, phase="running", questions=(), replies=event.lines)
    return _noted(state, f"answered{_detail('; '.join(event.lines))}")


@_after.register
def _(event: events.EnvironmentProgress, state: FunctionRun) -> FunctionRun:
    state = replace(state, building=(*state.building, event.text)[-BUILD_LINES:])
    return _noted(state, f"environment: {event.text}")


@_after.register
def _(event: events.EnvironmentReady, state: FunctionRun) -> FunctionRun:
    where = sandbox_line(event.sandbox, event.tier)
    state = replace(state, environment=event.image, packages=event.requested, sandbox=where, building=())
    return _noted(state, f"environment ready after {event.seconds:.1f} s")


@_after.register
def _(event: events.Noticed, state: FunctionRun) -> FunctionRun:
    return _noted(state.noticed(event.text), event.text)


@_after.register
def _(event: events.WaitsForRun, state: FunctionRun) -> FunctionRun:
    return _noted(replace(state, waits=event.words), event.words or "it waits no longer")


@_after.register
def _(event: events.EvidenceGathered, state: FunctionRun) -> FunctionRun:
    return replace(state, evidence=event.evidence, outcomes=event.evidence.tests or state.outcomes)


@_after.register
def _(event: events.FunctionVerified, state: FunctionRun) -> FunctionRun:
    if event.beside:
        return _noted(replace(state, beside=event.beside), f"verified; {' and '.join(event.beside)} still running")
    outputs = replace(state.outputs, is_verified=False) if state.outputs is not None else None
    return _noted(replace(state, beside=(), outputs=outputs), "it must be changed")


@_after.register
def _(event: events.SampleOutputs, state: FunctionRun) -> FunctionRun:
    state = replace(state, outputs=event)
    return state if event.is_verified else _noted(state, "the code ran on the sample, before its tests")


@_after.register
def _(event: events.OpinionGiven, state: FunctionRun) -> FunctionRun:
    opinion = event.opinion
    words = _OPINIONS[opinion.state]
    if opinion.state == "agree" and opinion.not_compared:
        words = f"{words} in what was compared"
    return _noted(replace(state, second_opinion=opinion), f"second opinion: {words}{_detail(opinion.note)}")


@_after.register
def _(event: events.VersionsCompared, state: FunctionRun) -> FunctionRun:
    return replace(state, changes=event.changes)


@_after.register
def _(event: events.TurnBegun, state: FunctionRun) -> FunctionRun:
    return _with_agent(state, _agent(state).begun(event))


@_after.register
def _(event: events.AgentText, state: FunctionRun) -> FunctionRun:
    return _with_agent(state, _agent(state).wrote(event))


@_after.register
def _(event: events.ToolCalled, state: FunctionRun) -> FunctionRun:
    return _with_agent(state, _agent(state).called(event))


@_after.register
def _(event: events.ToolEnded, state: FunctionRun) -> FunctionRun:
    state = _with_agent(state, _agent(state).ended(event))
    calls = state.trace.calls if state.trace else ()
    return _noted(state, call=calls[-1]) if calls else state


@_after.register
def _(event: events.SuiteChanged, state: FunctionRun) -> FunctionRun:
    state = replace(state, agent=_agent(state).changed_suite(event))
    return _noted(state, f"the agent changed its tests{_detail(', '.join(event.tests))}")


@_after.register
def _(event: events.Finished, state: FunctionRun) -> FunctionRun:
    state = replace(
        state, phase=event.state, reason=event.reason, approval=(), questions=(), answers=(), building=(), stage=None
    )
    state = replace(state, beside=())
    if event.attempts is not None:  # an attempt that was stopped before its verdict is in no report
        state = replace(state, attempt=event.attempts)
    elif not state.solution:  # it ended before there was anything to try
        state = replace(state, attempt=0)
    state = replace(
        state,
        waits="",
        silent=(),
        loading=False,
        limit=event.limit,
        needs=event.needs,
        agent=state.agent.stopped() if state.agent else None,
    )
    first, *_ = event.reason.partition("\n")  # a row of the card has the rest
    return _noted(state, f"{event.state.replace('_', ' ')}{_detail(first)}")


def _agent(state: FunctionRun) -> AgentState:
    return state.agent or AgentState()


def _with_agent(state: FunctionRun, agent: AgentState) -> FunctionRun:
    """The state after an event of the agent, which shows that the model service answers again."""
    answers = (replace(answer, fault="") if STAGES[answer.stage].has_agent else answer for answer in state.answers)
    return replace(state, agent=agent, answers=tuple(answers))


def _others(state: FunctionRun, stage: StageName) -> tuple[StreamedAnswer, ...]:
    """The answers of the other stages."""
    return tuple(answer for answer in state.answers if answer.stage != stage)


def _with_stage(state: FunctionRun, stage: StageName, now: StageState) -> FunctionRun:
    stages = {**dict(state.stages), stage: now}
    return replace(state, stages=tuple((name, stages[name]) for name in STAGES if name in stages))


def _noted(
    state: FunctionRun, text: str = "", *, is_decision: bool = False, call: ToolUse | None = None
) -> FunctionRun:
    return replace(state, log=(*state.log, LogLine(state.seconds, text, is_decision, call))[-LOG_LINES:])


def _detail(detail: str) -> str:
    return f": {detail}" if detail else ""
