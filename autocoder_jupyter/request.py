"""The request of a user: an immutable record that all stages get, together with the settings (`settings/config`)."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings.config import AgentConfig as AgentConfig
from autocoder_jupyter.settings.config import Backend as Backend
from autocoder_jupyter.settings.config import CachePolicy as CachePolicy
from autocoder_jupyter.settings.config import SandboxChoice as SandboxChoice
from autocoder_jupyter.settings.config import Share as Share
from autocoder_jupyter.settings.config import Switch as Switch
from autocoder_jupyter.types import CodePlan, Evidence, Helpers, InputSpec, OutputSpec, Report, SampledDatabase, Secret


@dataclass(frozen=True)
class Earlier:
    """The version that a refinement starts from.

    Args:
        tests: its test module; if it has two, the one that was written without the code. "" if it has none.
        agent_tests: the test module of an agent that also wrote the code; "" if there is none.
    """

    version: str
    request_key: str
    plan: CodePlan
    code: str
    tests: str = ""
    evidence: Evidence = Evidence()
    agent_tests: str = ""

    @classmethod
    def of(cls, report: Report) -> Earlier:
        """From the report of a version that has a plan and code."""
        assert report.plan is not None and report.solution is not None
        key = report.request_key or report.run_id
        tests, agent_tests = report.blind_tests or report.tests, report.tests if report.blind_tests else ""
        return cls(report.run_id, key, report.plan, report.solution.code, tests, report.evidence, agent_tests)


@dataclass(frozen=True)
class Example:
    """Inputs, and the expected outputs.

    Args:
        text: the example as the user wrote it.
        given: (name of the input, value); the name is "" if inputs are given by position. An input that is not given
            has the value of the sample, or its default.
        expected: (name of the output, value); the name is "" likewise.
    """

    text: str
    given: tuple[tuple[str, Any], ...]
    expected: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Contract:
    """A pandera schema that a table must satisfy. It is code of the user and runs in the notebook's process.

    Args:
        given: the schema or the `DataFrameModel`, as the user passed it.
        record: its content as JSON; custom checks by their source.
        source: pandera code that defines it as `schema`; "" if it cannot be expressed as code.
    """

    given: Any = field(repr=False, compare=False)
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    text: str = ""
    source: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        """The name of the schema."""
        return str(self.record.get("name") or "its schema")

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            pickle.dumps(self.given)
        except Exception as error:
            raise TypeError(
                f"The contract {self.title} cannot be pickled ({error}). Define it as a DataFrameModel, "
                "best in a module that the other process can import."
            ) from None
        return Contract, (self.given, self.record, self.text, self.source)


@dataclass(frozen=True)
class HouseRule:
    """A section of an `autocode.md` that applies to a request.

    Args:
        title: its heading; "" for the text above the first one.
        text: what stands below the heading.
    """

    title: str
    text: str

    @property
    def checks(self) -> tuple[str, ...]:
        """The Python expressions of its `check:` lines."""
        return tuple(expression.strip().strip("`") for expression in _CHECK.findall(self.text))

    @property
    def line(self) -> str:
        """The rule in one line: its heading and its first line of prose."""
        prose = (line.strip(" \t-*") for line in _CHECK.sub("", self.text).splitlines())
        return ": ".join(filter(None, (self.title, next(filter(None, prose), ""))))


_CHECK = re.compile(r"(?m)^[ \t]*(?:[-*][ \t]+)?check:[ \t]*(\S.*)$")


@dataclass(frozen=True)
class Request:
    """A request to build a function.

    Args:
        name: the name of the result, and of its folder in the journal.
        samples: values by input name: DataFrame, Series, `File` or `Dir`. They are captured, so they do not change.
        inputs: the declared inputs. The engine adds other samples in order, as required inputs.
        outputs: the declared outputs; if there are none, the plan proposes them.
        constraints: sentences that must be true.
        checks: Python expressions over inputs and outputs (and `pd`, `np`) that must be true on the sample.
        schema: free text about the data, sent to the model as it is.
        own_tests: pytest functions of the user as one module; "" if there are none. They are run first and never
            changed, and the model that writes code and tests does not see them.
        wishes: the changes that the user asked for with `--refine`, in order. A later one takes precedence over an
            earlier one and over the prompt.
        answers: the user's answers to questions of the plan, one line each.
        earlier: the version that has all changes of `wishes` except the last; None if there is none.
        contracts: schemas of the user, by the input or output that must satisfy them.
        renames: the name of a column in the data, by the name that the function reads. The samples have the latter.
        split: how the function must be able to be called for pieces of its largest table, as `types.interface.demand`
            reads it; "" if that was not demanded.
        rules: the house rules that apply, those of outer folders first.
        helpers: the user's code, and verified functions, that the function may import.
        databases: those whose tables are samples. The connections are not part of a request.
    """

    name: str
    prompt: str
    samples: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    constraints: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    schema: str | None = None
    own_tests: str = ""
    examples: tuple[Example, ...] = ()
    wishes: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    earlier: Earlier | None = None
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    split: str = ""
    rules: tuple[HouseRule, ...] = ()
    helpers: Helpers = Helpers()
    databases: tuple[SampledDatabase, ...] = ()

    @property
    def has_acceptance(self) -> bool:
        """Whether the user gave tests or examples."""
        return bool(self.own_tests or self.examples)


def secret_values(secrets: Iterable[Secret]) -> dict[str, str]:
    """The current values of secrets, by the name of the environment variable in the program. Never written or shown."""
    values = {}
    for secret in secrets:
        if secret.key not in os.environ:
            raise InvalidRequest(
                f"The secret {secret.key} is not set.",
                why="It is read from the environment variables of the notebook when it is needed.",
                hint=f"Set it before the kernel starts, or with %env {secret.key}=… in a cell that is not saved.",
            )
        values[secret.as_env_var or secret.key] = os.environ[secret.key]
    return values
