"""The settings that cannot be written as flags in a cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.option import Option
from autocoder_jupyter.settings.setting import Page, Setting

if TYPE_CHECKING:
    from autocoder_jupyter.types import ImageConfig, Secret

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
            risk="fewer seconds: less is checked; more: the end of a run is waited for longer",
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
            "there. Empty: not set here.",
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
            "A model without a key, or with a price of your own",
            "For a server that needs no key, and for a model whose price is not known. Empty: not set here.",
            parts={
                "api_key": ("Key", NO_KEY),
                OWN_PRICES[0]: ("US dollars for one input token", None),
                OWN_PRICES[1]: ("US dollars for one output token", None),
            },
        ),
    ] = field(default_factory=dict, repr=False)
    log: Annotated[
        str | None,
        Setting("file to which the events of runs are written as JSON lines, masked; none by default"),
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
