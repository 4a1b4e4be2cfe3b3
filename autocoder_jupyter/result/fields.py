"""What can be read from a result: the report's fields under the names that Flyte's result gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.contracts.of_report import schemas_of, sources_of
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
    """Attributes over a report. On a pending result each of them waits; an interrupt leaves the job running."""

    __slots__ = ()

    @property
    def report(self) -> Report:
        """Everything as one record of plain data."""
        raise NotImplementedError

    @property
    def success(self) -> bool:
        """Whether there is a function with all the evidence asked for."""
        return self.report.success

    @property
    def solution(self) -> CodeSolution | None:
        """The generated module; on a failure the best attempt, if there was one."""
        return self.report.solution

    @property
    def code(self) -> str:
        """The source of the generated module, or ""."""
        return self.report.solution.code if self.report.solution else ""

    @property
    def tests(self) -> str:
        """The source of its tests."""
        return self.report.tests

    @property
    def blind_tests(self) -> str:
        """The source of further tests, whose writer saw neither code nor tests (`backend="claude"`); "" for none."""
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
        """The test runner's last exit code; -1 when none ran. It proves nothing: see `evidence`."""
        return self.report.exit_code

    @property
    def error(self) -> str | None:
        """Why there is no function that can be trusted; None on success."""
        return self.report.error

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.report.attempts

    @property
    def history(self) -> tuple[Attempt, ...]:
        """Each attempt: code, tests, their outcome, the diagnosis."""
        return self.report.history

    @property
    def evidence(self) -> Evidence:
        """The evidence for `success`: tests, checks, vacuity, changed tests."""
        return self.report.evidence

    @property
    def trace(self) -> Trace | None:
        """What an agent did that wrote on its own (`backend="claude"`), call by call; None for the staged loop."""
        return self.report.trace

    @property
    def image(self) -> str | None:
        """The image that it was tested in; `local:<key>` for an environment of the local sandbox."""
        return self.report.image

    @property
    def detected_packages(self) -> tuple[str, ...]:
        """Distributions that the code needs."""
        return self.report.detected_packages

    @property
    def detected_system_packages(self) -> tuple[str, ...]:
        """Packages of apt that the code needs."""
        return self.report.detected_system_packages

    @property
    def declared_inputs(self) -> tuple[InputSpec, ...]:
        """The function's arguments, in order."""
        return self.report.declared_inputs

    @property
    def declared_outputs(self) -> tuple[OutputSpec, ...]:
        """What the function returns, in order."""
        return self.report.declared_outputs

    @property
    def data_context(self) -> str | None:
        """What the model was told about the data."""
        return self.report.data_context

    @property
    def generated_schemas(self) -> Mapping[str, str] | None:
        """A pandera schema as Python code for each sample, written when it is read; see `schemas` for the objects."""
        return sources_of(self.report)

    @property
    def schemas(self) -> Mapping[str, Any]:
        """A pandera `DataFrameSchema` (of a Series a `SeriesSchema`) for each sample, to be executed.

        It checks the dtypes of the sample, the columns without missing values, and the constraints that the sample
        satisfies. `schema.metadata["autocode"]` names the constraints that are not in it. Built from data, also for a
        result that was recorded. A result from before there were these has `generated_schemas` only.

        Raises:
            InvalidRequest: pandera is missing, or what was recorded cannot be read.
        """
        return schemas_of(self.report)

    @property
    def usage(self) -> Usage:
        """Tokens and money over all exchanges."""
        return self.report.usage

    @property
    def cost(self) -> float | None:
        """US dollars; None when the price of the model is not known."""
        return self.report.usage.cost

    @property
    def total_input_tokens(self) -> int:
        """Input tokens over all exchanges."""
        return self.report.total_input_tokens

    @property
    def total_output_tokens(self) -> int:
        """Output tokens over all exchanges."""
        return self.report.total_output_tokens

    @property
    def conversation_history(self) -> list[dict[str, Any]]:
        """Every message to and from the model, in order: `role` and `content`, the `stage`, tokens on each answer."""
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
