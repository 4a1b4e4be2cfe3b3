"""What a person asked for, and how it is to be done: two frozen records that go down through the house."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import CodePlan, Evidence, ImageConfig, InputSpec, OutputSpec, Report, Resources, Secret

Share = Literal["rows", "stats", "schema"]
"""How much of the data the model may see: sample rows too, only statistics, or only names and dtypes."""

SandboxChoice = Literal["auto", "docker", "local"]
CachePolicy = Literal["auto", "override", "disable"]
Backend = Literal["litellm", "claude"]
Switch = Literal["on", "off"]

ONLY_CLAUDE = frozenset({"agent_max_turns", "blind_tests"})
"""Fields of `AgentConfig` that have an effect with the backend `claude` only; whoever gives one else is told so."""


@dataclass(frozen=True)
class AgentConfig:
    """How generations are done. Every field is an option of `AutoCoderAgent`, most are one of the cell too.

    Args:
        name: what the agent is called, in its `repr` and in the journal.
        model: identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"` or `"openai/gpt-5"`.
        system_prompt: takes the place of our instructions to the writer of code; the output rules are always appended.
        api_key: NAME of the environment variable that holds the key; never the key itself.
        api_base: address of the model's service, for proxies and local models.
        litellm_params: passed to every call, and wins over our own values.
        base_packages: installed in every environment.
        packages_from: a pylock.toml (PEP 751): these versions, with these hashes, are in every environment.
        resources: limits of every sandbox of this agent.
        image_config: registry, Python version and base image of Docker images.
        max_iterations: attempts (code, tests, run) at most; 1 when tests are skipped.
        max_sample_rows: rows, or lines of a text file, that the model may see.
        skip_tests: write no tests and run none.
        sandbox_retries: how often a sandbox that died for reasons outside the program is started again.
        timeout: seconds for one run in the sandbox.
        env_vars: environment variables of the sandbox.
        secrets: environment variables of the notebook that the sandbox may see.
        cache: `auto` replays model answers from the journal, `override` asks anew and records, `disable` does neither.
        log: file to which the events of generations are written as JSON lines; none by default.
        locked: ask no model; what is not recorded is an error that names the question.
        backend: `litellm`, the loop of this package; `claude`, the Claude Agent SDK.
        agent_max_turns: turns of the Claude backend; without effect on the loop of this package.
        blind_tests: `on` has tests written that the Claude backend does not see, beside its own; likewise.
        block_network: no network while generated code runs. Off only by choice.
        sandbox: `docker`, `local`, or the best that answers.
        share: how much of the data the model may see.
        hide: columns of the samples that the model is not told of; they are in the data all the same.
        mask: columns of the samples of which the model is told no value.
        max_cost: US dollars at most for one generation.
        max_tokens: tokens, in and out, at most for one generation.
        max_seconds: wall-clock seconds at most for one generation.
        approved_packages: distributions, and Debian packages as `"apt:libpq5"`, that need no further consent.
        second_opinion: `on` has an independent second solution written and compared with the function.
        second_model: identifier of the model that writes it; `model` by default. The key, the address and the
            parameters are its own, unless both are of one provider.
        ask: whether the plan may ask the person up to three questions before any code.
    """

    name: str = "auto-coder"
    model: str = "openai/gpt-4.1"
    system_prompt: str | None = None
    api_key: str | None = None
    api_base: str | None = None
    litellm_params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    base_packages: tuple[str, ...] = ()
    packages_from: str | None = None
    resources: Resources = Resources()
    image_config: ImageConfig = ImageConfig()
    max_iterations: int = 10
    max_sample_rows: int = 100
    skip_tests: bool = False
    sandbox_retries: int = 0
    timeout: float = 120.0
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[Secret, ...] = ()
    cache: CachePolicy = "auto"
    locked: bool = False
    log: str | None = None
    backend: Backend = "litellm"
    agent_max_turns: int = 50
    blind_tests: Switch = "on"
    block_network: bool = True
    sandbox: SandboxChoice = "auto"
    share: Share = "rows"
    hide: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    approved_packages: tuple[str, ...] = ()
    second_opinion: Switch = "on"
    second_model: str | None = None
    ask: bool = False


@dataclass(frozen=True)
class Earlier:
    """The version that a request starts from.

    Args:
        version: its id.
        request_key: names the request that it was made for.
        plan: its interface and assumptions.
        code: its module.
        tests: its test module, of several the one whose writer saw no code; "" when it has none.
        agent_tests: the test module of an agent that wrote the code too; "" when it has none.
        evidence: what its success rested on.
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
        """A version that has a plan and code."""
        assert report.plan is not None and report.solution is not None
        key = report.request_key or report.run_id
        tests, agent_tests = report.blind_tests or report.tests, report.tests if report.blind_tests else ""
        return cls(report.run_id, key, report.plan, report.solution.code, tests, report.evidence, agent_tests)


@dataclass(frozen=True)
class Example:
    """An input, and what the function must give for it.

    Args:
        text: as the person wrote it; names the example.
        given: (name of the input, value); the name is "" where the person left it to the order of the inputs. What is
            not given is the sample's, or the default.
        expected: (name of the output, value), likewise.
    """

    text: str
    given: tuple[tuple[str, Any], ...]
    expected: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Request:
    """One thing to build.

    Args:
        name: what the result is called; names its folder in the journal.
        prompt: the request in words.
        samples: live values by input name: DataFrame, Series, `File` or `Dir`. Captured: nobody changes them later.
        inputs: declared inputs; samples that are not among them are added by the engine, in order, as required inputs.
        outputs: declared outputs; the plan proposes them when there are none.
        constraints: sentences that must hold.
        checks: Python expressions over inputs and outputs (and `pd`, `np`) that must be true on the sample.
        schema: free text about the data, handed to the model as it is.
        own_tests: pytest functions of the person's own, one module; "" when there are none. They are run first, nobody
            changes them, and whoever writes code or tests does not see them.
        examples: inputs and what must come out for them.
        wishes: what the person said since, a line each; a later one wins over an earlier one, and over the prompt.
        answers: what the person answered to questions of the plan, a line each.
        earlier: the version in which all wishes but the last are granted; None when there is none to start from.
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

    @property
    def has_acceptance(self) -> bool:
        """Whether the person gave tests or examples."""
        return bool(self.own_tests or self.examples)


def secret_values(secrets: Iterable[Secret]) -> dict[str, str]:
    """The values of secrets by the name under which a program sees them, read now; never written or shown.

    Raises:
        InvalidRequest: a variable is not set; it is named.
    """
    values = {}
    for secret in secrets:
        if secret.key not in os.environ:
            raise InvalidRequest(
                f"The secret {secret.key} is not set.",
                why="It is read from the environment variables of the notebook when it is needed.",
                hint=f"Set it before the kernel starts, or with %env {secret.key}=… in a cell you do not save.",
            )
        values[secret.as_env_var or secret.key] = os.environ[secret.key]
    return values
