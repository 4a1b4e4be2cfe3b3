"""The report of a generation: attempts, steps, tool calls, and the whole report."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import Field

from autocoder_jupyter.types.databases import SampledDatabase
from autocoder_jupyter.types.evidence import (
    Changes,
    CodeSolution,
    ErrorDiagnosis,
    Evidence,
    Exchange,
    SecondOpinion,
    Usage,
)
from autocoder_jupyter.types.helpers import Helpers
from autocoder_jupyter.types.interface import CodePlan, InputSpec, OutputSpec
from autocoder_jupyter.types.records import Count, Drawn, Record


class Attempt(Record):
    """One attempt of the loop: its sources, the outcomes of its tests, and the diagnosis."""

    number: Count
    code: str
    tests: str
    evidence: Evidence
    diagnosis: ErrorDiagnosis | None = None
    error: str | None = None


Author = Literal["model", "you"]
"""The last author of a version's code or tests."""


class Step(Record):
    """One step of a generation and its time: a stage, a question to the model, work in the sandbox, a tool call.

    `begin` is in seconds since the generation began, `seconds` is the duration; both are 0 or more.
    """

    kind: Literal["stage", "model", "sandbox", "tool"]
    name: str
    attempt: Count = 1
    begin: float = Field(default=0.0, ge=0, le=1e9)
    seconds: float = Field(default=0.0, ge=0, le=1e9)
    ok: bool = True
    replayed: bool = False
    detail: str = ""


ToolClass = Literal["safe", "intercepted", "denied"]
"""The class of a tool call: it runs unchanged, our code runs instead, or it does not run."""


ToolOutcome = Literal["ok", "failed", "denied", "cancelled", "uncertain"]
"""How a tool call ended; `uncertain`: a call with effects was begun earlier, and its end is not on record."""


class ToolUse(Record):
    """One tool call of a writing agent.

    `argument` is a short form of the arguments (`pytest -q`, `solution.py`), `reason` why the call has its class.
    `observed` is the beginning of the result for the agent; `seconds` is the duration of the call. `replayed` is True
    if the result was taken from the journal.
    """

    turn: Count
    tool: str
    argument: str
    kind: ToolClass
    reason: str = ""
    outcome: ToolOutcome = "ok"
    observed: str = ""
    seconds: float = Field(default=0.0, ge=0, le=1e9)
    replayed: bool = False


class Trace(Record):
    """The tool calls of a writing agent.

    `suite_changed` names the tests that are not as it first wrote them.
    """

    calls: tuple[ToolUse, ...] = ()
    turns: Count = 0
    max_turns: Count = 0
    session: str = ""
    suite_changed: tuple[str, ...] = ()


class Report(Record):
    """Everything that a generation produced, as plain data that can be converted to JSON and back.

    `run_id` is the id of the version, the folder of its run; `request_key` is the key of its request and of the schemas
    of its samples, `parent` the version that it was made from ("" for none), `change` the reason for it, in one line.
    `written_by` is the model that wrote the code last; "" in old reports.
    `verified_with` are the versions with which it was verified: of Python, pandas, numpy, pyarrow, the packages of the
    function and this package; empty in old reports.
    `kept` is None for a function that was made in this run. For an existing function that was verified again, it
    describes the data: "5,061 rows".
    `sandbox_tier` is the tier of the sandbox, one of `tiers.TIERS`; None in old reports.
    `overspent` is a sentence about an exceeded limit; "" if no limit was exceeded.
    `sample_schemas` are the schemas of the samples as data; `generated_schemas` is their source in old reports.
    `sample_values` are the values of the samples in figures (`data.value_drift`), `drift` how today's samples differ
    from those of an existing function, one sentence for each difference.
    `drawn` says of which rows a sample is, for tables whose rows are elsewhere.
    `renames` are names of columns in the data, by the names that the function reads.
    `house_rules` are those that applied to the request, a line each.
    `databases` are those whose tables are inputs, with their catalogue as it was.
    `helpers` is the code that the function may import: what it builds on.
    `contracts` are the user's schemas as data, without code that could be run.
    `trace` has the tool calls of a writing agent; None for the staged loop. `blind_tests` are the tests that the agent
    did not see.
    """

    name: str
    run_id: str
    request_key: str = ""
    author: Author = "model"
    parent: str = ""
    change: str = ""
    written_by: str = ""
    kept: str | None = None
    prompt: str
    success: bool
    solution: CodeSolution | None = None
    tests: str = ""
    blind_tests: str = ""
    own_tests: str = ""
    plan: CodePlan | None = None
    output: str = ""
    exit_code: int = -1
    error: str | None = None
    attempts: Count = 0
    history: tuple[Attempt, ...] = ()
    evidence: Evidence = Evidence()
    second_opinion: SecondOpinion | None = None
    conversation_history: tuple[Exchange, ...] = ()
    detected_packages: tuple[str, ...] = ()
    detected_system_packages: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    python_version: tuple[int, int] | None = None
    verified_with: dict[str, str] = Field(default_factory=dict, max_length=300)
    image: str | None = None
    sandbox: str | None = None
    sandbox_tier: str | None = None
    declared_inputs: tuple[InputSpec, ...] = ()
    declared_outputs: tuple[OutputSpec, ...] = ()
    data_context: str | None = None
    generated_schemas: dict[str, str] | None = None
    sample_schemas: dict[str, dict[str, Any]] = Field(default_factory=dict)
    contracts: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sample_shapes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sample_values: dict[str, dict[str, Any]] = Field(default_factory=dict)
    drift: tuple[str, ...] = ()
    drawn: dict[str, Drawn] = Field(default_factory=dict, max_length=300)
    renames: dict[str, str] = Field(default_factory=dict, max_length=300)
    databases: tuple[SampledDatabase, ...] = Field(default=(), max_length=10)
    helpers: Helpers = Helpers()
    usage: Usage = Usage()
    overspent: str = ""
    seconds: float = 0.0
    started: dt.datetime | None = None
    wishes: tuple[str, ...] = ()
    house_rules: tuple[str, ...] = Field(default=(), max_length=300)
    answers: tuple[str, ...] = ()
    changes: Changes | None = None
    timeline: tuple[Step, ...] = ()
    trace: Trace | None = None

    @property
    def pins(self) -> tuple[str, ...]:
        """The exact versions of `lock` (`pandas==3.1.1`), without the hashes of their files."""
        return tuple(line.partition(" ")[0] for line in self.lock)

    @property
    def is_cut(self) -> bool:
        """Whether a later run may complete its evidence, because the time was up."""
        strength, opinion = self.evidence.strength, self.second_opinion
        return (strength is not None and strength.is_cut) or (opinion is not None and opinion.cut)

    @property
    def total_input_tokens(self) -> int:
        """The number of input tokens of all exchanges, including cached ones."""
        return self.usage.input_tokens

    @property
    def total_output_tokens(self) -> int:
        """The number of output tokens of all exchanges."""
        return self.usage.output_tokens
