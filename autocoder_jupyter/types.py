"""The records that every room shares, beside the values and type names of `kinds`.

Three groups: what an input or output is (the specs), what the
language model is asked for (`CodePlan`, `CodeSolution`, `ErrorDiagnosis` …), and what comes out of a generation
(`Report`, with its `Evidence`). Field names follow Flyte's code-generation plugin where it has them.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from autocoder_jupyter.element_types import canonical, written
from autocoder_jupyter.kinds.kind import TypeName as TypeName
from autocoder_jupyter.kinds.table import INPUT_TYPE_NAMES as INPUT_TYPE_NAMES
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.kinds.table import TYPE_NAMES as TYPE_NAMES
from autocoder_jupyter.kinds.table import type_name as type_name
from autocoder_jupyter.kinds.values import Dir as Dir
from autocoder_jupyter.kinds.values import Figure as Figure
from autocoder_jupyter.kinds.values import FigureKind as FigureKind
from autocoder_jupyter.kinds.values import File as File


class _Record(BaseModel):
    """A frozen record. Unknown keys are ignored, because models like to add some.

    It may come from a stranger's file, so its numbers are such as can be shown and computed with.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


Count = Annotated[int, Field(ge=0, le=2**53)]
"""How many of something."""


Elements = Annotated[str, AfterValidator(canonical)]
"""The type of what a list or dict holds; "" where nobody said."""


class ColumnSpec(_Record):
    """One column of a DataFrame output: its name, its pandas dtype and what it means."""

    name: str
    dtype: str
    meaning: str = ""


class InputSpec(_Record):
    """One argument of the function. `default` is a JSON value and counts only when `required` is false.

    Times are ISO text; a duration is ISO text too, or a number of seconds. `elements` is as in `OutputSpec`.
    """

    name: str
    type: TypeName
    required: bool = True
    default: Any = None
    meaning: str = ""
    elements: Elements = ""

    @property
    def written_type(self) -> str:
        """The type with that of its elements, as Python writes it: `list[str]`."""
        return written(self.type, self.elements)

    def default_value(self) -> Any:
        """The default as a value of the input's type.

        Raises:
            ValueError, TypeError: it is none.
        """
        return KINDS[self.type].from_json(self.default)


class OutputSpec(_Record):
    """One value that the function returns. `columns` is for a DataFrame, when the plan fixed them.

    `elements` is the type of what a list or dict holds: `str` of `list[str]`, `float` of `dict[str, float]`.
    """

    name: str
    type: TypeName
    meaning: str = ""
    columns: tuple[ColumnSpec, ...] = ()
    elements: Elements = ""

    @property
    def written_type(self) -> str:
        """The type with that of its elements, as Python writes it: `list[str]`."""
        return written(self.type, self.elements)


class CodePlan(_Record):
    """The interface, fixed before code and tests are written, and how the request was read.

    `assumptions` name how the plan reads what the request leaves open; a person who disagrees says so in the next run.
    `packages` are distributions (as on the package index) beyond the standard library, `system_packages` are apt's.
    """

    description: str
    approach: str
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    assumptions: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()


class PlanQuestion(_Record):
    """What a plan asks the person before any code: at most four options, and the one that it took meanwhile."""

    text: str
    options: tuple[str, ...] = ()
    assumed: str = ""


class CodeSolution(_Record):
    """The generated module. It defines one typed function, `run`."""

    language: Literal["python"] = "python"
    code: str
    system_packages: tuple[str, ...] = ()


ErrorType = Literal["logic", "environment", "test_error"]


class Edit(_Record):
    """A replacement in a source text: `find` stands there exactly once, `replace` takes its place."""

    find: str
    replace: str


class TestFailure(_Record):
    """One failing test and what the diagnosis makes of it."""

    __test__ = False  # the name is the field's; pytest must not collect it

    test_name: str
    error_message: str
    expected_behavior: str = ""
    actual_behavior: str = ""
    root_cause: str = ""
    suggested_fix: str = ""
    error_type: ErrorType


class ErrorDiagnosis(_Record):
    """Why a test run failed, a failure at a time, and what the environment lacks."""

    failures: tuple[TestFailure, ...] = ()
    needs_system_packages: tuple[str, ...] = ()
    needs_language_packages: tuple[str, ...] = ()

    def of_type(self, error_type: ErrorType) -> tuple[TestFailure, ...]:
        """The failures of one kind."""
        return tuple(failure for failure in self.failures if failure.error_type == error_type)


class ImageConfig(_Record):
    """Where a Docker image is built from and kept.

    Args:
        registry: prefix of the image's name; a built image is pushed there when `registry_secret` is given.
        registry_secret: name of an environment variable that holds `user:password` for that registry.
        python_version: (major, minor) inside the sandbox; the notebook's own by default.
        base_image: image to build upon; needs Python of `python_version`.
    """

    registry: str | None = None
    registry_secret: str | None = None
    python_version: tuple[int, int] | None = None
    base_image: str | None = None


class Resources(_Record):
    """What a sandbox may use. `memory` is bytes, or a quantity such as `"512Mi"`, `"2Gi"`, `"1G"`."""

    cpu: float = Field(default=1.0, gt=0)
    memory: int | str = "2Gi"


class Secret(_Record):
    """A secret, handed to the sandbox under `as_env_var`; `key` names the variable of the notebook that holds it."""

    key: str
    as_env_var: str | None = None


class Usage(_Record):
    """Tokens and money. `cost` is US dollars; None means that nobody knows, which is not zero.

    Of the input tokens, `cached_tokens` were read from a provider's cache and `written_tokens` were written into it.
    """

    input_tokens: Count = 0
    cached_tokens: Count = 0
    written_tokens: Count = 0
    output_tokens: Count = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=cost,
        )


class Exchange(_Record):
    """One question to the language model and its answer, as they crossed the wire.

    `stage` is what it was for ("plan", "code" …), `key` the content key of the question, `seconds` the latency of
    the real call, `replayed` whether the answer came from the journal.
    """

    stage: str
    key: str
    model: str
    messages: tuple[dict[str, Any], ...]
    answer: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    seconds: float = 0.0
    replayed: bool = False


Outcome = Literal["passed", "failed", "error", "missing"]


BLIND = "blind::"
"""Before the ids of blind tests, where they stand beside others."""


class TestOutcome(_Record):
    """One test: its id (`test_x`, `TestC::test_x`, `test_x[1-a]`), the sentence it checks, and how it went."""

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float = 0.0
    sentence: str = ""
    message: str = ""

    @property
    def is_blind(self) -> bool:
        """Whether it is of a suite that the writer of code and tests has not seen."""
        return self.id.startswith(BLIND)


class CheckOutcome(_Record):
    """One condition that is not a test: a user's `--check`, a constraint, types, determinism, untouched inputs.

    `message` is what a model may be told too. `in_full` is for the person's eyes and is never written down.
    """

    name: str
    passed: bool
    message: str = ""
    in_full: str = Field(default="", exclude=True, repr=False)


class Evidence(_Record):
    """What `success` rests on. `success` needs every part of it; a part that was not reached is empty.

    `acceptance` is what the person demands: examples, own tests and checks, in this order. Nobody else changes them.
    """

    acceptance: tuple[CheckOutcome, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    vacuous_tests: tuple[str, ...] = ()
    tests_changed: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[CheckOutcome, ...]:
        """All but the tests of the model; what the person demands comes first."""
        return (*self.acceptance, *self.checks)


class TestChoice(_Record):
    """What became of a test of the earlier version: it stayed as it was, went, or was derived anew, and why."""

    __test__ = False

    id: str
    sentence: str = ""
    fate: Literal["kept", "dropped", "changed"] = "kept"
    reason: str = ""


class OutputChange(_Record):
    """In what an output on the sample differs from the earlier version's, a sentence a line."""

    name: str
    lines: tuple[str, ...] = ()


class Changes(_Record):
    """What a version has that the one that it was made from had not, as far as that is not in its own record.

    `plan` and `code` are those of the earlier version. `outputs` are compared on the sample of this one; `None` when
    the earlier version could not be run on it.
    """

    plan: CodePlan
    code: str
    tests: tuple[TestChoice, ...] = ()
    outputs: tuple[OutputChange, ...] | None = None


class Difference(_Record):
    """One place where the function and the second solution differ.

    `where` is an output, a column of one (`monthly.growth`) or the rows of one; `first` is what the function gives
    there, `second` the other, `at` the row of the example; `count` of `of` rows differ. `on` names the variation of
    the sample on which that is so; it is "" for the sample itself.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: Count = 1
    of: Count = 1
    on: str = ""


class Reading(_Record):
    """Another way to read the request: in some `words` ("year on year"), and as a `line` for the request.

    `assumption` is the one of the plan that says the opposite, or "".
    """

    words: str
    line: str
    assumption: str = ""


class SecondOpinion(_Record):
    """What an independent second solution of the request showed.

    `state`: both `agree`; they `differ`; or there is `none`, and `note` says why. `tried` names the variations of the
    sample on which both ran, `not_compared` what has no counterpart. `smallest` is a small input on which they differ,
    as Python source, and `derivation` what must come out there by an independent sum; `confirms` says which of the two
    that is. `tests` are the tests that came of it. `usage` is part of the report's.
    """

    state: Literal["agree", "differ", "none"] = "none"
    note: str = ""
    code: str = ""
    model: str = ""
    differences: tuple[Difference, ...] = ()
    readings: tuple[Reading, ...] = ()
    tried: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    smallest: str = ""
    derivation: str = ""
    confirms: Literal["first", "second", ""] = ""
    tests: tuple[str, ...] = ()
    usage: Usage = Usage()


class Attempt(_Record):
    """One turn of the loop: what was tried, how its tests went, and what was made of the failure."""

    number: Count
    code: str
    tests: str
    evidence: Evidence
    diagnosis: ErrorDiagnosis | None = None
    error: str | None = None


Author = Literal["model", "you"]
"""Who wrote a version's code or tests last."""


class Step(_Record):
    """One step of a generation and its time: a stage, a question to the model, work in the sandbox, a tool call.

    `begin` is in seconds since the generation began, `seconds` what it took; both are 0 or more.
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
"""How a tool call was judged: it runs as it is, something of ours takes its place, or it never runs."""

ToolOutcome = Literal["ok", "failed", "denied", "cancelled"]
"""How a tool call ended."""


class ToolUse(_Record):
    """One tool call of an agent that writes on its own.

    `argument` is what was asked in little (`pytest -q`, `solution.py`), `reason` why the call has its class.
    `observed` is the beginning of what the agent was told; `seconds` is how long the call took. `replayed` is True for
    one that was not done again, because the journal has what came of it.
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


class Trace(_Record):
    """What an agent that writes on its own has done, call by call.

    `suite_changed` names the tests that it changed, took out or added after it had seen one fail.
    """

    calls: tuple[ToolUse, ...] = ()
    turns: Count = 0
    max_turns: Count = 0
    session: str = ""
    suite_changed: tuple[str, ...] = ()


class Report(_Record):
    """Everything that a generation produced, as plain data that survives a round trip through JSON.

    `run_id` names the version, the folder of its run; `request_key` the request and the schema of the samples that it
    was made for, `parent` the version that it was made from ("" for none), `change` why it was made, in one line.
    `kept` is None for a function that was made in this run. Of one that was there already, and was verified anew, it
    says on what: "5,061 rows".
    `sandbox_tier` is by what that sandbox held, one of `tiers.WORDS`; None in reports of before that was recorded.
    `overspent` says in a sentence that more was used than the limits allowed; "" when they were kept.
    `sample_schemas` are the schemas of the samples as data; `generated_schemas` is their source in reports of before.
    `contracts` are the schemas that the person demanded, as data: what they say, and nothing that could be run.
    `trace` is what an agent did that wrote on its own; None for the staged loop. `blind_tests` are the tests that such
    an agent did not see.
    """

    name: str
    run_id: str
    request_key: str = ""
    author: Author = "model"
    parent: str = ""
    change: str = ""
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
    usage: Usage = Usage()
    overspent: str = ""
    seconds: float = 0.0
    started: dt.datetime | None = None
    wishes: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    changes: Changes | None = None
    timeline: tuple[Step, ...] = ()
    trace: Trace | None = None

    @property
    def pins(self) -> tuple[str, ...]:
        """The exact versions of `lock` (`pandas==3.1.1`), without the hashes of their files."""
        return tuple(line.partition(" ")[0] for line in self.lock)

    @property
    def total_input_tokens(self) -> int:
        """Input tokens over all exchanges, cached ones included."""
        return self.usage.input_tokens

    @property
    def total_output_tokens(self) -> int:
        """Output tokens over all exchanges."""
        return self.usage.output_tokens


def parse_memory(quantity: int | str) -> int:
    """Bytes of a quantity such as `"512Mi"`, `"2Gi"`, `"1.5G"` or a plain number.

    Raises:
        ValueError: the text is not a quantity, or one that no machine has.
    """
    if isinstance(quantity, int):
        size: float = quantity
    else:
        text = quantity.strip()
        units = {
            "Ki": 2**10,
            "Mi": 2**20,
            "Gi": 2**30,
            "Ti": 2**40,
            "k": 1e3,
            "K": 1e3,
            "M": 1e6,
            "G": 1e9,
            "T": 1e12,
        }
        unit = next((u for u in units if text.removesuffix("B").endswith(u)), "")
        number = text.removesuffix("B").removesuffix(unit)
        try:
            size = float(number) * units.get(unit, 1)
        except ValueError:
            raise ValueError(f"{quantity!r} is not an amount of memory; write for instance '512Mi' or '2Gi'") from None
    if not 1 <= size < 2**63:
        raise ValueError(f"{str(quantity)[:80]!r} is not an amount of memory that a machine can have")
    return int(size)
