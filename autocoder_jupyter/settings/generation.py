"""The settings that decide how a function is generated: model, tests, limits, journal."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.choices import CachePolicy, Opinion, Switch
from autocoder_jupyter.settings.efforts import EFFORTS, EffortName
from autocoder_jupyter.settings.engines import ENGINES, Backend
from autocoder_jupyter.settings.option import BOTH, Option
from autocoder_jupyter.settings.setting import Page, Setting

if TYPE_CHECKING:
    from autocoder_jupyter.types import Resources


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
            "ollama/qwen3-coder. Empty: not set here.",
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
            "Maximum number of turns for one function; {default} by default. Empty: not set here.",
        ),
    ] = 50
    blind_tests: Annotated[
        Switch,
        Setting("`on` adds tests that the Claude backend does not see; no effect with other backends", only="claude"),
        Option(
            help="with --backend claude, add tests that the agent does not see",
            flags=("--blind-tests",),
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
        Setting("path of a pylock.toml (PEP 751); its versions and hashes are in every environment"),
        Option(
            help="a pylock.toml; its versions, with their hashes, are in every environment",
            flags=("--packages-from",),
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
        Page("Budget in US dollars", "Maximum cost of one function. Empty: not set here."),
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
        Option(flags=("--skip-tests",), rule="stricter", order=(True, False), risk="the generated code is not tested"),
    ] = False
    effort: Annotated[
        EffortName,
        Setting(
            "what is done to find out how much the tests of a function are worth: `quick`, nothing; `normal`, a second "
            "solution, small changes of the code, and more tests if they notice too few; `high`, more changes"
        ),
        Option(
            help="how much is done to find out what the tests are worth, in tokens and seconds",
            flags=("--effort",),
            rule="asks",
            risk="`quick`: less is checked; `normal` and `high`: more questions are paid for",
            example="high",
        ),
        Page(
            "Effort: what is done beyond the tests",
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
            example="off",
        ),
    ] = "auto"
    cache: Annotated[
        CachePolicy,
        Setting("`auto` replays model answers from the journal, `override` asks again, `disable` records nothing"),
        Option(
            help="replay the answers in the journal, ask again, or record none",
            flags=("--cache",),
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
