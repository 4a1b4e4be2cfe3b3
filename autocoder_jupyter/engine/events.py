"""The events of a generation: plain frozen records. Cards, controls and tests only listen to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from autocoder_jupyter.settings.tiers import SandboxTier
from autocoder_jupyter.types import (
    Author,
    Changes,
    CodePlan,
    ErrorDiagnosis,
    Evidence,
    PlanQuestion,
    SecondOpinion,
    TestOutcome,
    ToolClass,
    ToolOutcome,
    Usage,
)
from autocoder_jupyter.types.overview import Glimpse

Stage = Literal["plan", "code", "tests", "environment", "run", "verify", "second", "diagnose", "fix"]
"""The steps of the loop, in the order in which a first attempt meets them. The second opinion begins with the plan."""


EndState = Literal["ready", "failed", "cancelled", "over_budget"]
"""How a generation can end."""


@dataclass(frozen=True)
class StageStarted:
    """A stage began. `attempt` counts from 1, `of` is the most there can be; `detail` is one short line."""

    stage: Stage
    attempt: int
    of: int
    detail: str = ""


@dataclass(frozen=True)
class StageFinished:
    """A stage ended, well or not; `replayed` when its answer came from the journal."""

    stage: Stage
    attempt: int
    ok: bool
    detail: str = ""
    replayed: bool = False


@dataclass(frozen=True)
class PlanReady:
    """The interface is fixed and the assumptions are named."""

    plan: CodePlan


@dataclass(frozen=True)
class TextStreamed:
    """A piece of the model's answer arrived."""

    stage: Stage
    text: str


@dataclass(frozen=True)
class TokensUsed:
    """An exchange with the model ended; `total` is the sum so far, `seconds` the latency of the call."""

    stage: Stage
    usage: Usage
    total: Usage
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class Retrying:
    """A passing fault of the model's service; the next try comes in `seconds`."""

    stage: Stage
    reason: str
    seconds: float


@dataclass(frozen=True)
class LoadingClient:
    """What speaks to the model is imported, which takes seconds once in a kernel; `done` when that is over."""

    done: bool = False


@dataclass(frozen=True)
class TestsCollected:
    """The ids that must all be reported as passed."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    ids: tuple[str, ...]


@dataclass(frozen=True)
class TestReported:
    """One test ended."""

    __test__ = False

    outcome: TestOutcome


@dataclass(frozen=True)
class Diagnosed:
    """A failure was understood."""

    diagnosis: ErrorDiagnosis


@dataclass(frozen=True)
class SourceWritten:
    """The solution or the tests changed; `text` is the whole new source."""

    which: Literal["solution", "tests"]
    attempt: int
    text: str


@dataclass(frozen=True)
class ApprovalNeeded:
    """These distributions are not known to be harmless; the loop waits for the user."""

    packages: tuple[str, ...]


@dataclass(frozen=True)
class ApprovalGiven:
    """The user decided."""

    packages: tuple[str, ...]
    approved: bool


@dataclass(frozen=True)
class QuestionsAsked:
    """The plan asks; the loop waits for the user."""

    questions: tuple[PlanQuestion, ...]


@dataclass(frozen=True)
class QuestionsAnswered:
    """The user answered, or it is known what was answered before; the lines that the request has now."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class EnvironmentProgress:
    """The environment is being built; `text` is one short line that says what is done now."""

    text: str


@dataclass(frozen=True)
class EnvironmentReady:
    """The packages are there; `seconds` is what it took, `image` names the environment.

    `packages` is the lock, `requested` what was asked for beside the distributions that are always there. `sandbox`
    and `tier` say where code runs and by what it is held.
    """

    image: str
    packages: tuple[str, ...]
    seconds: float
    requested: tuple[str, ...] = ()
    sandbox: str = ""
    tier: SandboxTier | None = None


@dataclass(frozen=True)
class Noticed:
    """Something went wrong on this machine and was put right; `text` is one sentence for the user."""

    text: str


@dataclass(frozen=True)
class EvidenceGathered:
    """The verdict on an attempt."""

    attempt: int
    evidence: Evidence


@dataclass(frozen=True)
class SampleOutputs:
    """What the function put out on the real sample, in little; `withheld` where rows may not be seen."""

    glimpses: tuple[Glimpse, ...] = ()
    withheld: bool = False


@dataclass(frozen=True)
class Compared:
    """What is otherwise than in the version that this one was made from."""

    changes: Changes


@dataclass(frozen=True)
class OpinionGiven:
    """The second solution was compared with the function, or there is none."""

    opinion: SecondOpinion


@dataclass(frozen=True)
class VersionBegun:
    """Which version is made, or verified anew, and why the model is asked for it; told again when that changes.

    `kept` is True for one that is there already: nothing is asked as long as it holds. `has_before` says that the name
    had a good version, which stays callable. `author` wrote it last.
    `is_new_request` says that a model writes from nothing because the request is another one than that of a version
    before, from which one could start as well.
    """

    version: str
    why: str = ""
    kept: bool = False
    has_before: bool = False
    author: Author = "model"
    is_new_request: bool = False


@dataclass(frozen=True)
class KeptHolds:
    """The version that was there already holds on today's samples; `verified_on` says what they are."""

    verified_on: str


@dataclass(frozen=True)
class TurnBegun:
    """An agent that writes on its own was asked what to do next; `of` is the most turns that it has."""

    turn: int
    of: int


@dataclass(frozen=True)
class AgentSaid:
    """A piece of what such an agent says between its tool calls."""

    turn: int
    text: str


@dataclass(frozen=True)
class ToolCalled:
    """It calls a tool. `call` names the call until `ToolEnded`; the other fields are those of `ToolUse`."""

    call: str
    turn: int
    tool: str
    argument: str
    kind: ToolClass
    reason: str = ""


@dataclass(frozen=True)
class ToolEnded:
    """That call has ended, or was denied; `observed` is the beginning of what the agent was told."""

    call: str
    outcome: ToolOutcome
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class SuiteChanged:
    """It changed, took out or added these tests after it had seen one fail; all of them, whenever one is new."""

    tests: tuple[str, ...]


@dataclass(frozen=True)
class Finished:
    """The generation ended. `state` is what the card shows; `limit` the setting that ended it, if one did."""

    state: EndState
    reason: str = ""
    limit: str = ""


Event = (
    StageStarted
    | StageFinished
    | PlanReady
    | TextStreamed
    | TokensUsed
    | Retrying
    | LoadingClient
    | TestsCollected
    | TestReported
    | Diagnosed
    | SourceWritten
    | ApprovalNeeded
    | ApprovalGiven
    | QuestionsAsked
    | QuestionsAnswered
    | EnvironmentProgress
    | EnvironmentReady
    | Noticed
    | EvidenceGathered
    | SampleOutputs
    | Compared
    | OpinionGiven
    | VersionBegun
    | KeptHolds
    | TurnBegun
    | AgentSaid
    | ToolCalled
    | ToolEnded
    | SuiteChanged
    | Finished
)

Emit = Callable[[Event], None]
"""How the engine tells; must return at once and must not raise."""
