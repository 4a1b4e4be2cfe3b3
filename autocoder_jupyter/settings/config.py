"""`AgentConfig`: the single definition of every setting.

The constructor of `AutoCoderAgent`, its docstring and checks, the options of `%%autocode`, `%config`,
`[tool.autocode]`, the environment and JupyterLab's settings page are made from the annotations of its bases, some of
them by `tools/generated.py`. A setting has a type and a default like any field. `Setting` describes it, each `Option`
says how it is written, `Page` how JupyterLab shows it.

This module does not import pydantic, because `%load_ext` imports it. The annotations are evaluated instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.choices import (
    ANY,
    EFFORTS,
    ENGINES,
    MET_BY,
    MINIMUMS,
    TIERS,
    Backend,
    CachePolicy,
    EffortName,
    Opinion,
    SandboxChoice,
    SandboxMinimum,
    Share,
    Switch,
    by_permissiveness,
    titles,
)
from autocoder_jupyter.settings.setting import BOTH, Option, Page, Setting, records

if TYPE_CHECKING:
    from autocoder_jupyter.types import ImageConfig, Resources, Secret

__all__ = [
    "RECORDS",
    "AgentConfig",
    "Backend",
    "CachePolicy",
    "EffortName",
    "Opinion",
    "SandboxChoice",
    "Share",
    "Switch",
    "without_effect",
]


# Generation: model, tests, limits, journal


def _resources() -> "Resources":
    return check.resources("resources", None)


@dataclass(frozen=True)
class GenerationSettings:
    """How a function is generated."""

    name: Annotated[str, Setting("name of the agent, in its `repr` and in the journal")] = "auto-coder"

    model: Annotated[
        str,
        Setting(
            'identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"`', check.model, shapes="the model"
        ),
        Option(
            help="the language model",
            flags=("-m", "--model"),
            placeholder="MODEL",
            rule="asks",
            risk="your requests, and the shared part of your data, are sent to this model, and you pay for it",
            modes=BOTH,
            example="anthropic/claude-sonnet-4-5",
        ),
        Page(
            "Model",
            "The name of the model for litellm: anthropic/claude-sonnet-4-5, openai/gpt-4.1, "
            "ollama/qwen3-coder. Leave it empty for the default.",
        ),
    ] = "openai/gpt-4.1"
    api_key: Annotated[
        str | None,
        Setting(
            "NAME of the environment variable that holds the key; the provider's usual one by default",
            check.variable_name,
        ),
        Option(
            help="NAME of the environment variable that holds the model's key",
            kind="variable",
            rule="asks",
            risk="the value of this environment variable is sent as the key of the model's service",
            example='"TEAM_OPENAI_KEY"',
        ),
        Page(
            "API key variable",
            "NAME of the environment variable that holds the model's key, never the key itself. Empty: the default "
            "of the model's provider.",
        ),
    ] = None
    backend: Annotated[
        Backend,
        Setting(
            f"what writes code: {'; '.join(f'`{name}`, {engine.help}' for name, engine in ENGINES.items())}",
            shapes="the backend",
        ),
        Option(
            help="what writes code and tests: the stages of this package, or Claude as an agent with tools in the "
            "sandbox",
            flags=("--backend",),
            rule="asks",
            risk="another program writes the code with your key, and sends more requests",
            example="claude",
        ),
        Page(
            "Backend: what writes code and tests",
            'The agent needs pip install "autocoder-jupyter[agent]" and a model of Anthropic. What it does runs in the '
            "sandbox; it makes more requests than the stages of this package.",
            {name: engine.title for name, engine in ENGINES.items()},
        ),
    ] = "litellm"
    agent_max_turns: Annotated[
        int,
        Setting(
            "maximum number of turns of the Claude backend; no effect with other backends", minimum=1, only="claude"
        ),
        Option(
            help="maximum number of turns of the agent (--backend claude)",
            flags=("--agent-max-turns",),
            placeholder="N",
            rule="stricter",
            risk="more turns cost more",
            example="20",
        ),
        Page(
            "Turns of the agent",
            "Maximum number of turns for one function; {default} by default. Leave it empty for the default.",
        ),
    ] = 50
    blind_tests: Annotated[
        Switch,
        Setting("`on` adds tests that the Claude backend does not see; no effect with other backends", only="claude"),
        Option(
            help="with --backend claude, add tests that the agent does not see",
            flags=("--blind-tests",),
            instead={},
            rule="asks",
            risk="`off`: only the tests of the code's author run; `on`: more tests are paid for",
            example="off",
        ),
        Page(
            "Tests that the agent does not see",
            "They are written from the request alone and run in addition to the agent's own tests.",
            {"on": "Written and run", "off": "Only the agent's own tests"},
        ),
    ] = "on"
    base_packages: Annotated[
        tuple[str, ...],
        Setting(
            'installed in every environment, such as `"scikit-learn>=1.5"`',
            check.requirements,
            takes="Iterable[str] | None",
            shapes="the packages",
        ),
        Option(
            "packages",
            "install this distribution without asking; apt:NAME allows a Debian package",
            flags=("-p", "--package"),
            kind="names",
            placeholder="PACKAGE",
            repeatable=True,
            field="base_packages",
            check=check.consents,
            rule="asks",
            risk="these are installed without asking you",
            example="scikit-learn",
        ),
    ] = ()
    packages_from: Annotated[
        str | None,
        Setting("path of a pylock.toml (PEP 751); its versions and hashes are in every environment", check.path),
        Option(
            help="a pylock.toml; its versions, with their hashes, are in every environment",
            flags=("--packages-from",),
            instead={},
            placeholder="FILE",
            rule="asks",
            risk="the packages that this file names are installed",
            example="pylock.toml",
        ),
    ] = None
    max_iterations: Annotated[
        int,
        Setting("maximum number of attempts (code, tests, run); 1 if tests are skipped", minimum=1),
        Option(
            help="maximum number of attempts",
            flags=("--max-iterations",),
            placeholder="N",
            rule="stricter",
            risk="more attempts cost more",
            modes=BOTH,
            example="5",
        ),
    ] = 10
    max_cost: Annotated[
        float | None,
        Setting("maximum cost of one generation in US dollars", check.positive),
        Option(
            help="maximum cost in US dollars",
            flags=("--max-cost",),
            placeholder="DOLLARS",
            rule="stricter",
            risk="a generation may cost you more",
            modes=BOTH,
            example="0.50",
        ),
        Page("Budget in US dollars", "Maximum cost of one function. Leave it empty for the default."),
    ] = None
    max_tokens: Annotated[
        int | None,
        Setting("maximum number of tokens of one generation, input and output", minimum=1),
        Option(
            help="maximum number of tokens, input and output",
            flags=("--max-tokens",),
            placeholder="TOKENS",
            rule="stricter",
            risk="a generation may cost you more",
            modes=BOTH,
            example="200_000",
        ),
    ] = None
    timeout: Annotated[
        float,
        Setting(
            "seconds (or a timedelta) for one run in the sandbox; {default} by default",
            check.seconds,
            takes="float | dt.timedelta | None",
        ),
        Option(
            help="seconds for one run in the sandbox",
            flags=("--timeout",),
            placeholder="SECONDS",
            rule="stricter",
            risk="generated code may run longer",
            modes=BOTH,
            example="300",
        ),
    ] = 120.0
    resources: Annotated[
        "Resources",
        Setting(
            'cores and memory of every sandbox: `Resources(cpu=2, memory="4Gi")` or the same as a dict',
            check.resources,
            takes="Resources | Mapping[str, Any] | None",
        ),
        Option(
            "memory",
            "maximum memory of the sandbox, such as 2Gi",
            flags=("--memory",),
            kind="size",
            placeholder="SIZE",
            field="resources.memory",
            rule="stricter",
            risk="generated code may use more memory",
            modes=BOTH,
            example="4Gi",
        ),
        Option(
            "cpu",
            "maximum number of processor cores of the sandbox",
            flags=("--cpu",),
            instead={},
            kind="number",
            placeholder="CORES",
            field="resources.cpu",
            check=check.positive,
            expects="a number above 0",
            rule="stricter",
            risk="generated code may use more processor cores",
            example="2",
        ),
    ] = field(default_factory=_resources)
    skip_tests: Annotated[
        bool,
        Setting("write no tests and run none", shapes="whether there are tests"),
        Option(
            flags=("--skip-tests",),
            rule="stricter",
            order=(True, False),
            risk="the generated code is not tested",
            instead={True: "--effort none"},
        ),
    ] = False
    effort: Annotated[
        EffortName,
        Setting(
            "what is done to find out how much the tests of a function are worth: `quick`, nothing; `normal`, a second "
            "solution, mutation testing, and more tests if too few mutations are caught; `high`, more mutations"
        ),
        Option(
            help="how much is checked: tests (quick), also a second solution and mutations (normal), or more (high)",
            flags=("--effort",),
            rule="asks",
            risk="`quick`: less is checked; `normal` and `high`: more questions are paid for",
            in_cell={"none": {"skip_tests": True, "effort": "quick"}},
            example="high",
        ),
        Page(
            "Verification effort",
            "More effort costs more tokens and seconds, and finds more errors. The documentation has a table.",
            {name: effort.title for name, effort in EFFORTS.items()},
        ),
    ] = "normal"
    second_opinion: Annotated[
        Opinion,
        Setting(
            "`on` has an independent second solution written and compared with the function; `auto` does so unless the "
            "effort is `quick`"
        ),
        Option(
            help="have a second solution written from the request and the data alone, and show where it differs",
            flags=("--second-opinion",),
            rule="asks",
            risk="`off`: no second solution is compared with the function; `on`: one is paid for",
            instead={},
            example="off",
        ),
    ] = "auto"
    cache: Annotated[
        CachePolicy,
        Setting("`auto` replays model answers from the journal, `override` asks again, `disable` records nothing"),
        Option(
            help="replay the answers in the journal, ask again, or record none",
            flags=("--cache",),
            instead={"override": "--refresh"},
            rule="asks",
            risk="the model is asked again, and you pay again",
            modes=BOTH,
            example="override",
        ),
    ] = "auto"
    locked: Annotated[
        bool,
        Setting("ask no model; a question without an answer in the journal raises `Locked`"),
        Option(
            help="ask no model: what is not recorded in .autocode is an error",
            flags=("--locked",),
            rule="stricter",
            order=(False, True),
            risk="the model is asked although you did not want that",
            modes=BOTH,
        ),
    ] = False

    @property
    def wants_second_opinion(self) -> bool:
        """Whether a second solution is written."""
        has_one = EFFORTS[self.effort].has_second_opinion
        return has_one if self.second_opinion == "auto" else self.second_opinion == "on"


# Access: sandbox, data, network


@dataclass(frozen=True)
class AccessSettings:
    """What generated code and the model may access."""

    sandbox: Annotated[
        SandboxChoice,
        Setting("`docker`, `local`, or `auto` for the strongest that works"),
        Option(
            help="where generated code runs",
            flags=("--sandbox",),
            instead={},
            rule="stricter",
            order=by_permissiveness(),
            risk="generated code runs in a weaker sandbox",
            example="docker",
        ),
        Page(
            "Sandbox",
            "Where generated code runs. It never runs in the notebook's own kernel.",
            titles(),
        ),
    ] = "auto"
    sandbox_minimum: Annotated[
        SandboxMinimum,
        Setting(
            "the weakest sandbox that is accepted: `docker`, `full`, `landlock`, `namespaces` or `any`",
            check.sandbox_minimum,
            takes="MinimumTier | None",
        ),
        Option(
            "sandbox_minimum",
            "the weakest sandbox that is accepted: a container, or a tier of the local sandbox; otherwise nothing runs",
            flags=("--sandbox-minimum",),
            instead={},
            kind="choice",
            choices=MINIMUMS,
            field="sandbox_minimum.tier",
            rule="stricter",
            order=MINIMUMS,
            allowed=MET_BY,
            example="full",
            risk="generated code may run in a weaker sandbox",
            modes=BOTH,
        ),
        Page(
            "The weakest sandbox that is accepted",
            "If no sandbox meets it, nothing runs. The minimum of an administrator applies as well.",
            {"any": "Any sandbox that works", **{minimum: TIERS[minimum].title for minimum in MINIMUMS[1:]}},
        ),
    ] = ANY
    share: Annotated[
        Share,
        Setting("`rows`, `stats` or `schema`: how much of the data the model may see", shapes="how much is shared"),
        Option(
            help="how much of the data the model may see",
            flags=("--share",),
            rule="stricter",
            order=("rows", "stats", "schema"),
            risk="the model sees more of your data",
            modes=BOTH,
            example="stats",
        ),
        Page(
            "What the model may see of the data",
            "Secrets, e-mail addresses and card numbers are masked in any case.",
            {
                "rows": "A profile and a few sample rows",
                "stats": "Only statistics: no rows and no single texts",
                "schema": "Names and types of columns only",
            },
        ),
    ] = "rows"
    hide: Annotated[
        tuple[str, ...],
        Setting(
            "columns of the samples that are hidden from the model; the function still gets them",
            takes="Iterable[str] | None",
            shapes="the hidden columns",
        ),
        Option(
            help="a column that is hidden from the model; the function still gets it",
            flags=("--hide",),
            kind="columns",
            placeholder="COLUMN",
            repeatable=True,
            rule="asks",
            risk="the model may see columns that you wanted to hide",
            modes=BOTH,
            example="customer_name",
        ),
    ] = ()
    mask: Annotated[
        tuple[str, ...],
        Setting(
            "columns of the samples whose values are hidden from the model",
            takes="Iterable[str] | None",
            shapes="the masked columns",
        ),
        Option(
            help="a column whose values are hidden from the model",
            flags=("--mask",),
            kind="columns",
            placeholder="COLUMN",
            repeatable=True,
            rule="asks",
            risk="the model may see values that you wanted to hide",
            modes=BOTH,
            example="salary",
        ),
    ] = ()
    drift: Annotated[
        Switch,
        Setting("`on` compares the values of later tables with the recorded ones, and warns of large differences"),
        Option(
            help="compare the values of later tables with the recorded ones, and warn of large differences",
            flags=("--drift",),
            instead={},
            rule="stricter",
            order=("off", "on"),
            risk="you get no warning when data values change",
            example="off",
        ),
    ] = "on"
    block_network: Annotated[
        bool,
        Setting("no network while generated code runs"),
        Option(
            "allow_network",
            "let generated code reach the network",
            flags=("--allow-network",),
            kind="flag",
            rule="stricter",
            order=(True, False),
            risk="generated code may send your data anywhere",
        ),
    ] = True
    ask: Annotated[
        bool,
        Setting("let the model ask up to three questions before its code is used; `generate(answer=…)` answers them"),
        Option(
            help="let the model ask you up to three questions before its code is used",
            flags=("--ask",),
            rule="free",
        ),
    ] = False


# Advanced: what cannot be written as a flag in a cell

NO_KEY = "not-needed"
"""Sent in the place of a key to a server that needs none, because the client library requires one."""

OWN_PRICES = ("input_cost_per_token", "output_cost_per_token")
"""Parameters with the user's price of a token in US dollars, with litellm's names. They are never sent."""


def _image_config() -> "ImageConfig":
    return check.image_config("image_config", None)


@dataclass(frozen=True)
class AdvancedSettings:
    """Settings without a flag."""

    second_model: Annotated[
        str | None,
        Setting("identifier of the model that writes the second solution; `model` by default", check.model),
        Option(
            help="the language model that writes the second solution; the first one's by default",
            rule="asks",
            risk="your requests, and the shared part of your data, are also sent to this model, and you pay for it",
            example='"openai/gpt-4.1-mini"',
        ),
    ] = None
    second_opinion_seconds: Annotated[
        float,
        Setting(
            "maximum wall-clock seconds that verified functions of one run wait for a second opinion and further tests",
            check.seconds,
            takes="float | dt.timedelta",
        ),
        Option(
            help="maximum wall-clock seconds of the second opinion and of further tests, once the function is verified",
            rule="asks",
            risk="fewer seconds: less is checked; more: a run may take longer",
            example="60",
        ),
    ] = 120.0
    api_base: Annotated[
        str | None,
        Setting("address of the model's service, for proxies and local models", check.address),
        Option(
            rule="asks",
            risk="your requests, the shared part of your data, and the key of the model are sent to this address",
            example='"http://localhost:4000"',
        ),
        Page(
            "Address of the model's server",
            "For a server of your own or of your company: http://localhost:8000/v1. Requests, and the model's key, go "
            "there. Leave it empty for the default.",
            pattern=check.ADDRESS,
        ),
    ] = None
    litellm_params: Annotated[
        Mapping[str, Any],
        Setting(
            "passed to every call of the model; overrides the values of this package; `timeout`: seconds without a "
            "piece of the answer (600)",
            takes="Mapping[str, Any] | None",
            shapes="the parameters of the model",
        ),
        Option(
            help="passed to every call of the model",
            rule="asks",
            risk="these are sent with every request; an address or a key among them replaces yours",
            example='{"temperature": 0.2}',
        ),
        Page(
            "Keyless models and custom prices",
            "For a server that needs no key, and for a model whose price is not known. Leave it empty for the default.",
            parts={
                "api_key": ("Key", NO_KEY),
                OWN_PRICES[0]: ("US dollars for one input token", None),
                OWN_PRICES[1]: ("US dollars for one output token", None),
            },
        ),
    ] = field(default_factory=dict, repr=False)
    log: Annotated[
        str | None,
        Setting("file to which the events of runs are written as JSON lines, masked; none by default", check.path),
        Option(rule="asks", risk="a file of this name is written", example='"autocode.jsonl"'),
    ] = None
    system_prompt: Annotated[
        str | None,
        Setting(
            "replaces the default instructions for writing code; the output rules are appended",
            shapes="the system prompt",
        ),
        Option(
            help="instructions for writing code, instead of the default ones",
            rule="asks",
            risk="these instructions replace the default ones",
            example='"Write NumPy docstrings."',
        ),
    ] = None
    max_sample_rows: Annotated[
        int,
        Setting(
            "rows (of a table 8 in a question), or lines of a text file, that the model may see",
            minimum=0,
            shapes="the number of sample rows",
        ),
        Option(
            help="rows of a sample that the model may see",
            rule="stricter",
            risk="the model sees more rows of your data",
            example="20",
        ),
    ] = 100
    max_seconds: Annotated[
        float | None,
        Setting("maximum wall-clock seconds of one generation", check.seconds, takes="float | dt.timedelta | None"),
        Option(
            help="maximum wall-clock seconds",
            rule="stricter",
            risk="a generation may take longer",
            example="900",
        ),
    ] = None
    env_vars: Annotated[
        Mapping[str, str],
        Setting("environment variables of the sandbox", check.env_vars, takes="Mapping[str, str] | None"),
        Option(
            kind="mapping",
            rule="asks",
            risk="these environment variables change what programs in the sandbox do",
            example='{"TZ": "Europe/Berlin"}',
        ),
    ] = field(default_factory=dict, repr=False)
    secrets: Annotated[
        tuple["Secret", ...],
        Setting(
            "names of environment variables of the notebook, or `Secret`, that the sandbox may see",
            check.secrets,
            takes="Iterable[Secret | str] | None",
        ),
        Option(
            help="NAMES of environment variables of the notebook that the sandbox may see",
            kind="variables",
            check=check.variable_names,
            rule="asks",
            risk="generated code reads the values of these variables of yours",
            example='["FX_TOKEN"]',
        ),
    ] = ()
    image_config: Annotated[
        "ImageConfig",
        Setting(
            "registry, Python version and base image of Docker images",
            check.image_config,
            takes="ImageConfig | Mapping[str, Any] | None",
        ),
        Option(
            "python_version",
            "Python inside the sandbox; the notebook's own by default",
            kind="version",
            field="image_config.python_version",
            rule="asks",
            risk="this Python is downloaded and used",
            example='"3.12"',
        ),
        Option(
            "base_image",
            "Docker image to build upon",
            field="image_config.base_image",
            rule="asks",
            risk="this Docker image is downloaded, and generated code runs in it",
            example='"python:3.12-slim"',
        ),
    ] = field(default_factory=_image_config)

    # Parameters of `AutoCoderAgent` only
    approved_packages: Annotated[
        tuple[str, ...],
        Setting(
            'distributions, and Debian packages as `"apt:libpq5"`, that are installed without asking',
            check.consents,
            takes="Iterable[str] | None",
        ),
    ] = ()
    sandbox_retries: Annotated[
        int,
        Setting("how often a sandbox is started again after it was killed or stopped from outside", minimum=0),
    ] = 0


# All settings


@dataclass(frozen=True)
class AgentConfig(AdvancedSettings, AccessSettings, GenerationSettings):
    """The settings of a generation. Every field is a parameter of `AutoCoderAgent`, most are also options of a cell.

    A dataclass puts the fields of its last base first.
    """


RECORDS = records(AgentConfig)
"""The settings by name."""


def without_effect(backend: Backend) -> dict[str, Backend]:
    """The settings that have an effect only with another backend, and that backend."""
    only = {name: record.setting.only for name, record in RECORDS.items()}
    return {name: other for name, other in only.items() if other not in (None, backend)}
