"""The events of a run, in both modes: plain frozen records.

A generation emits the first ones; code mode emits those of a turn, of calls and of blocks, and some of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from autocoder_jupyter.settings.choices import SandboxTier
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
    ToolClass,
    ToolOutcome,
    Usage,
)
from autocoder_jupyter.types.records import Asking, Drawn, Glimpse, StageName
from autocoder_jupyter.untrusted.visible import visible

# Arguments of a call that needs approval

LINE_CHARACTERS = 200
"""The maximum number of characters of an argument in a line of text."""


@dataclass(frozen=True)
class ShownArgument:
    """One argument as shown to the user who decides. Private values are not masked; hidden characters are escaped.

    Args:
        text: the value; of a very long one the beginning and the end.
        size: how long it is: `5,000 characters`, `1,000 rows × 3 columns`.
        digest: the first 16 hexadecimal digits of the SHA-256 of the complete value.
    """

    name: str
    text: str
    size: str
    digest: str

    @property
    def is_short(self) -> bool:
        """Whether it fits into a line."""
        return len(self.text) <= LINE_CHARACTERS and "\n" not in self.text

    @property
    def facts(self) -> str:
        """`5,000 characters, SHA-256 1f2e…`."""
        return f"{self.size}, SHA-256 {self.digest}…"

    @property
    def line(self) -> str:
        """`to='a@b.org'`; of a long one the beginning with the facts."""
        shown = self.text if self.is_short else f"{visible(self.text[:LINE_CHARACTERS])}… ({self.facts})"
        return f"{self.name}={shown}"


# How a run ends

EndState = Literal["ready", "failed", "cancelled", "over_budget", "not_verified"]
"""The ways in which a run can end; `not_verified`: it is a record, and its evidence was not gathered here."""


# Events of a generation


@dataclass(frozen=True)
class StageStarted:
    """A stage began. `attempt` counts from 1, `of` is the maximum number of attempts; `detail` is one short line."""

    stage: StageName
    attempt: int
    of: int
    detail: str = ""


@dataclass(frozen=True)
class StageFinished:
    """A stage ended, with or without success; `replayed` if its answer came from the journal."""

    stage: StageName
    attempt: int
    ok: bool
    detail: str = ""
    replayed: bool = False


@dataclass(frozen=True)
class EffortPlanned:
    """The expected questions and cost of a generation, shown before its first question."""

    words: str


@dataclass(frozen=True)
class PlanReady:
    """The plan is complete: interface and assumptions."""

    plan: CodePlan


@dataclass(frozen=True)
class TextStreamed:
    """A piece of the model's answer arrived."""

    stage: Asking
    text: str


@dataclass(frozen=True)
class TokensUsed:
    """An exchange with the model ended; `total` is the sum so far, `seconds` its latency."""

    stage: Asking
    usage: Usage
    total: Usage
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class Retrying:
    """A transient fault of the model's service; the next try starts in `seconds`."""

    stage: Asking
    reason: str
    seconds: float


@dataclass(frozen=True)
class NoAnswerYet:
    """The model has said nothing for a while to these questions; emitted again when that changes."""

    stages: tuple[Asking, ...]


@dataclass(frozen=True)
class LoadingClient:
    """The client of the model (litellm) is imported, which takes seconds once per kernel; `done` when it is loaded."""

    done: bool = False


@dataclass(frozen=True)
class TestsCollected:
    """The ids of the tests that must pass."""

    __test__ = False  # pytest would take it for a test class because of its name

    ids: tuple[str, ...]


@dataclass(frozen=True)
class TestReported:
    """One test ended."""

    __test__ = False

    outcome: TestOutcome


@dataclass(frozen=True)
class Diagnosed:
    """The cause of a failure was found."""

    diagnosis: ErrorDiagnosis


@dataclass(frozen=True)
class SourceWritten:
    """The solution or the tests changed; `text` is the complete new source."""

    which: Literal["solution", "tests"]
    attempt: int
    text: str


@dataclass(frozen=True)
class ApprovalNeeded:
    """These distributions are not well known; the loop waits for the user's approval."""

    packages: tuple[str, ...]


@dataclass(frozen=True)
class ApprovalGiven:
    """The user approved or declined."""

    packages: tuple[str, ...]
    approved: bool


@dataclass(frozen=True)
class QuestionsAsked:
    """The plan has questions; the loop waits for the user."""

    questions: tuple[PlanQuestion, ...]


@dataclass(frozen=True)
class QuestionsAnswered:
    """The questions are answered, by the user or from the journal; has the lines that the request has now."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class EnvironmentProgress:
    """The environment is being built; `text` is one short line about the current step."""

    text: str


@dataclass(frozen=True)
class EnvironmentReady:
    """The environment is built. `seconds` is how long it took, `image` names the environment.

    `packages` is the lock, `requested` the packages that were asked for besides the base. `sandbox` and `tier` say
    where code runs and how it is isolated.
    """

    image: str
    packages: tuple[str, ...]
    seconds: float
    requested: tuple[str, ...] = ()
    sandbox: str = ""
    tier: SandboxTier | None = None


@dataclass(frozen=True)
class Noticed:
    """A problem on this machine was repaired; `text` is one sentence for the user."""

    text: str


@dataclass(frozen=True)
class WaitsForRun:
    """The run waits for another one of the same request; `words` is one sentence, and "" when the wait is over."""

    words: str


@dataclass(frozen=True)
class EvidenceGathered:
    """The verdict on an attempt."""

    attempt: int
    evidence: Evidence


@dataclass(frozen=True)
class FunctionVerified:
    """The function passed all that it must pass, and can be used; `beside` names what still runs, in a few words each.

    It is emitted again with nothing in `beside` if the second opinion shows that the function must be changed.
    """

    attempt: int
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleOutputs:
    """An overview of the function's outputs on the real sample; `withheld` if rows may not be shown.

    `is_verified` is False if they are of code that has not passed its tests.
    """

    glimpses: tuple[Glimpse, ...] = ()
    withheld: bool = False
    is_verified: bool = True


@dataclass(frozen=True)
class VersionsCompared:
    """How this version differs from the one that it was made from."""

    changes: Changes


@dataclass(frozen=True)
class OpinionGiven:
    """The second solution was compared with the function, or there is none."""

    opinion: SecondOpinion


@dataclass(frozen=True)
class VersionBegun:
    """Which version is made or verified again, and why the model is asked for it; emitted again if that changes.

    `kept` is True for an existing version: the model is asked only if it fails. `has_before` is True if the name has a
    good version, which stays callable. `author` wrote the version last.
    `is_new_request` is True if the model writes a new function although an earlier version exists, because the request
    changed. The user could refine that version instead.
    `writer` is the model that writes or wrote it, and what `--refresh` would change about that.
    """

    version: str
    why: str = ""
    kept: bool = False
    has_before: bool = False
    author: Author = "model"
    is_new_request: bool = False
    writer: str = ""


@dataclass(frozen=True)
class KeptVerified:
    """The existing version passed on today's samples; `verified_on` describes them."""

    verified_on: str


@dataclass(frozen=True)
class SamplesDrawn:
    """Of which rows the samples are that were drawn from tables whose rows are elsewhere, by their names."""

    drawn: Mapping[str, Drawn]


@dataclass(frozen=True)
class BuildsOn:
    """The code that the function may import, with its hashes, and the house rules that apply, a line each."""

    helpers: Helpers
    house_rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatabasesUsed:
    """The databases whose tables are inputs; with the queries of the function as soon as it is verified."""

    databases: tuple[SampledDatabase, ...]


@dataclass(frozen=True)
class DriftFound:
    """The values of today's samples differ from the recorded ones; one sentence for each difference."""

    differences: tuple[str, ...]


@dataclass(frozen=True)
class OptionOffered:
    """Options with which the cell would keep the existing function (`--rename price=unit_price`)."""

    option: str


@dataclass(frozen=True)
class ModelOffer:
    """Models that can be asked now, and why. `api_base` is the address that they need; "" for the usual one.

    A server at such an address gets no key, and costs nothing.
    """

    text: str
    models: tuple[str, ...]
    api_base: str = ""


@dataclass(frozen=True)
class ModelRefused:
    """The model cannot be asked: it has no key, the key is refused, or there is no such model. `offers` can be."""

    offers: tuple[ModelOffer, ...]


@dataclass(frozen=True)
class PriceAsked:
    """The model was not asked, because the cost is limited and its price is not known."""


# Events of an agent, and of code mode


@dataclass(frozen=True)
class TurnBegun:
    """A turn began: the model is asked; `of` is the maximum number of turns."""

    turn: int
    of: int


@dataclass(frozen=True)
class AgentText:
    """A piece of the text that an agent writes between its tool calls."""

    turn: int
    text: str


@dataclass(frozen=True)
class ToolCalled:
    """An agent calls a tool. `call` identifies the call until `ToolEnded`; the other fields are those of `ToolUse`."""

    call: str
    turn: int
    tool: str
    argument: str
    kind: ToolClass
    reason: str = ""


@dataclass(frozen=True)
class ToolEnded:
    """A call of a tool ended or was denied; `observed` is the beginning of the result that the model got."""

    call: str
    outcome: ToolOutcome
    observed: str = ""
    seconds: float = 0.0
    replayed: bool = False


@dataclass(frozen=True)
class SuiteChanged:
    """These tests of an agent are not as it first wrote them. Emitted with the full list each time."""

    tests: tuple[str, ...]


@dataclass(frozen=True)
class CodeStarted:
    """A block of the model's code starts."""

    turn: int
    code: str


@dataclass(frozen=True)
class FunctionCalled:
    """The program calls a tool. `call` identifies the call until `ToolEnded`; `argument` is the arguments in short."""

    call: str
    turn: int
    tool: str
    argument: str
    line: int
    ask: bool = False
    effects: bool = False


@dataclass(frozen=True)
class CallWaits:
    """The call waits for the user's approval.

    `arguments` are complete and unmasked, for the user who decides. `recorded` is True if the code, or the conversation
    before it, comes from a record.
    """

    call: str
    tool: str
    argument: str
    arguments: tuple[ShownArgument, ...] = ()
    recorded: bool = False


@dataclass(frozen=True)
class CallAllowed:
    """The user decided, now or earlier in this session."""

    call: str
    approved: bool


@dataclass(frozen=True)
class CodeEnded:
    """A block ended; `observed` is the message to the model about it, `error` its error, `printed` its output."""

    turn: int
    ok: bool
    observed: str
    error: str | None = None
    printed: str = ""


# The last event


@dataclass(frozen=True)
class Finished:
    """The run ended. `state` is the card's state; `limit` the setting whose limit ended it, if any.

    `attempts` is the number of attempts in the report; None if there is no report. `needs` is the least that the next
    question may take of the limit; 0 if that is not known.
    """

    state: EndState
    reason: str = ""
    limit: str = ""
    attempts: int | None = None
    needs: float = 0


Event = (
    StageStarted
    | StageFinished
    | PlanReady
    | TextStreamed
    | TokensUsed
    | Retrying
    | NoAnswerYet
    | LoadingClient
    | TestsCollected
    | TestReported
    | Diagnosed
    | EffortPlanned
    | SourceWritten
    | ApprovalNeeded
    | ApprovalGiven
    | QuestionsAsked
    | QuestionsAnswered
    | EnvironmentProgress
    | EnvironmentReady
    | Noticed
    | WaitsForRun
    | EvidenceGathered
    | FunctionVerified
    | SampleOutputs
    | VersionsCompared
    | OpinionGiven
    | VersionBegun
    | KeptVerified
    | SamplesDrawn
    | BuildsOn
    | DatabasesUsed
    | DriftFound
    | OptionOffered
    | ModelRefused
    | PriceAsked
    | TurnBegun
    | AgentText
    | ToolCalled
    | ToolEnded
    | SuiteChanged
    | CodeStarted
    | FunctionCalled
    | CallWaits
    | CallAllowed
    | CodeEnded
    | Finished
)

Emit = Callable[[Event], None]
"""Receives events. It must return at once and must not raise."""
