"""The answers of the language model besides the plan: code, edits, diagnoses; and the usage of an answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from autocoder_jupyter.types.record import Count, Record


class CodeSolution(Record):
    """The generated module. It defines one typed function, `run`."""

    language: Literal["python"] = "python"
    code: str
    system_packages: tuple[str, ...] = ()


ErrorType = Literal["logic", "environment", "test_error"]


class Edit(Record):
    """A replacement in a source text: `find` stands there exactly once, `replace` takes its place."""

    find: str
    replace: str


class TestFailure(Record):
    """One failing test and what the diagnosis makes of it."""

    __test__ = False  # the name starts with "Test", but pytest must not collect the class

    test_name: str
    error_message: str
    expected_behavior: str = ""
    actual_behavior: str = ""
    root_cause: str = ""
    suggested_fix: str = ""
    error_type: ErrorType


class ErrorDiagnosis(Record):
    """Why a test run failed, a failure at a time, and what the environment lacks."""

    failures: tuple[TestFailure, ...] = ()
    needs_system_packages: tuple[str, ...] = ()
    needs_language_packages: tuple[str, ...] = ()

    def of_type(self, error_type: ErrorType) -> tuple[TestFailure, ...]:
        """The failures of one kind."""
        return tuple(failure for failure in self.failures if failure.error_type == error_type)


class Usage(Record):
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


STOPPED = "stopped"
"""The finish reason of an answer for which nobody waits any more. Its tokens are estimated."""


class Exchange(Record):
    """One question to the language model and its answer, as they crossed the wire.

    `stage` is what it was for ("plan", "code" …), `key` the content key of the question, `seconds` the latency of
    the real call, `replayed` whether the answer came from the journal. `usage` is what it cost this run, so nothing if
    it was replayed; `recorded` is then what it cost when it was recorded. Of an answer that was cut off, `room` is the
    number of tokens that it could have.
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
    room: Count | None = None
    recorded: Usage = Field(default=Usage(), exclude=True)

    def as_replayed(self) -> Exchange:
        """The same, from the journal and without cost."""
        return self.model_copy(update={"replayed": True, "usage": Usage(), "recorded": self.usage})
