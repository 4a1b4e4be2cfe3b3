"""The fields of a result: those of the report, with the names of Flyte's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.contracts.applying import schemas_of, sources_of
from autocoder_jupyter.types import (
    Attempt,
    CodePlan,
    CodeSolution,
    Evidence,
    Exchange,
    InputSpec,
    OutputSpec,
    Report,
    Trace,
    Usage,
)


class ReportFields:
    """Properties that read a report. On a pending result each of them waits; an interrupt does not cancel the job."""

    __slots__ = ()

    @property
    def report(self) -> Report:
        """The complete report, as one record of plain data."""
        raise NotImplementedError

    @property
    def success(self) -> bool:
        """Whether there is a function with all required evidence. Of a record only evidence counts that was gathered
        here; see `state`.
        """
        return self.report.success

    @property
    def solution(self) -> CodeSolution | None:
        """The generated module; after a failure that of the best attempt, if there was one."""
        return self.report.solution

    @property
    def code(self) -> str:
        """The source of the generated module; "" if there is none."""
        return self.report.solution.code if self.report.solution else ""

    @property
    def tests(self) -> str:
        """The source of its tests."""
        return self.report.tests

    @property
    def blind_tests(self) -> str:
        """The source of the blind tests, whose writer saw neither code nor tests (`backend="claude"`); "" for none."""
        return self.report.blind_tests

    @property
    def plan(self) -> CodePlan | None:
        """The interface, the approach and the assumptions."""
        return self.report.plan

    @property
    def output(self) -> str:
        """The test runner's last report."""
        return self.report.output

    @property
    def exit_code(self) -> int:
        """The test runner's last exit code; -1 if no test ran. It proves nothing: see `evidence`."""
        return self.report.exit_code

    @property
    def error(self) -> str | None:
        """Why there is no function that passed; None on success."""
        return self.report.error

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.report.attempts

    @property
    def history(self) -> tuple[Attempt, ...]:
        """All attempts: code, tests, outcomes, diagnosis."""
        return self.report.history

    @property
    def evidence(self) -> Evidence:
        """The evidence for `success`: tests, checks, vacuity, changed tests."""
        return self.report.evidence

    @property
    def trace(self) -> Trace | None:
        """The tool calls of the agent that wrote the function (`backend="claude"`); None for the staged loop."""
        return self.report.trace

    @property
    def image(self) -> str | None:
        """The image in which it was tested; `local:<key>` for an environment of the local sandbox."""
        return self.report.image

    @property
    def detected_packages(self) -> tuple[str, ...]:
        """Distributions that the code needs."""
        return self.report.detected_packages

    @property
    def detected_system_packages(self) -> tuple[str, ...]:
        """Debian packages (apt) that the code needs."""
        return self.report.detected_system_packages

    @property
    def declared_inputs(self) -> tuple[InputSpec, ...]:
        """The function's arguments, in order."""
        return self.report.declared_inputs

    @property
    def declared_outputs(self) -> tuple[OutputSpec, ...]:
        """The function's outputs, in order."""
        return self.report.declared_outputs

    @property
    def data_context(self) -> str | None:
        """The text about the data that was sent to the model."""
        return self.report.data_context

    @property
    def generated_schemas(self) -> Mapping[str, str] | None:
        """A pandera schema for each sample, as Python code. It is generated on access; `schemas` has the objects."""
        return sources_of(self.report)

    @property
    def schemas(self) -> Mapping[str, Any]:
        """A pandera `DataFrameSchema` (for a Series a `SeriesSchema`) for each sample.

        It checks the dtypes of the sample, the columns without missing values, and the constraints that the sample
        satisfies. `schema.metadata["autocode"]` names the constraints that are not in it. It is also available for a
        recorded result. Results of older versions of this package have only `generated_schemas`.

        Raises:
            InvalidRequest: pandera is missing, or the record cannot be read.
        """
        return schemas_of(self.report)

    @property
    def usage(self) -> Usage:
        """Tokens and cost of all exchanges."""
        return self.report.usage

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None if the price of the model is unknown."""
        return self.report.usage.cost

    @property
    def total_input_tokens(self) -> int:
        """The number of input tokens of all exchanges."""
        return self.report.total_input_tokens

    @property
    def total_output_tokens(self) -> int:
        """The number of output tokens of all exchanges."""
        return self.report.total_output_tokens

    @property
    def conversation_history(self) -> list[dict[str, Any]]:
        """All messages to and from the model, in order: `role`, `content` and `stage`, and for answers the tokens."""
        return [message for exchange in self.report.conversation_history for message in _messages(exchange)]


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    asked = [{**message, "stage": exchange.stage} for message in exchange.messages]
    answer = {
        "role": "assistant",
        "content": exchange.answer,
        "stage": exchange.stage,
        "model": exchange.model,
        "input_tokens": exchange.usage.input_tokens,
        "output_tokens": exchange.usage.output_tokens,
        "replayed": exchange.replayed,
    }
    return [*asked, answer]
