"""The constructor of `AutoCoderAgent`, generated from `AgentConfig` by `tools/generated.py`. Change that."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from autocoder_jupyter.agent.settings import freeze
from autocoder_jupyter.settings.config import AgentConfig, Backend, CachePolicy, SandboxChoice, Share, Switch
from autocoder_jupyter.settings.tiers import MinimumTier
from autocoder_jupyter.types import ImageConfig, Resources, Secret


class Constructor(AgentConfig):
    """Accepts settings in the forms that users write, and documents them."""

    def __init__(
        self,
        *,
        name: str = "auto-coder",
        model: str = "openai/gpt-4.1",
        api_key: str | None = None,
        backend: Backend = "litellm",
        agent_max_turns: int = 50,
        blind_tests: Switch = "on",
        base_packages: Iterable[str] | None = None,
        packages_from: str | None = None,
        max_iterations: int = 10,
        max_cost: float | None = None,
        timeout: float | dt.timedelta | None = None,
        resources: Resources | Mapping[str, Any] | None = None,
        skip_tests: bool = False,
        second_opinion: Switch = "on",
        cache: CachePolicy = "auto",
        locked: bool = False,
        sandbox: SandboxChoice = "auto",
        sandbox_minimum: MinimumTier | None = None,
        share: Share = "rows",
        hide: Iterable[str] | None = None,
        mask: Iterable[str] | None = None,
        block_network: bool = True,
        ask: bool = False,
        second_model: str | None = None,
        api_base: str | None = None,
        litellm_params: Mapping[str, Any] | None = None,
        log: str | None = None,
        system_prompt: str | None = None,
        max_sample_rows: int = 100,
        max_tokens: int | None = None,
        max_seconds: float | dt.timedelta | None = None,
        env_vars: Mapping[str, str] | None = None,
        secrets: Iterable[Secret | str] | None = None,
        image_config: ImageConfig | Mapping[str, Any] | None = None,
        approved_packages: Iterable[str] | None = None,
        sandbox_retries: int = 0,
    ) -> None:
        """Check and freeze the settings.

        Args:
            name: name of the agent, in its `repr` and in the journal.
            model: identifier that litellm knows, such as `"anthropic/claude-sonnet-4-5"`.
            api_key: NAME of the environment variable that holds the key; the provider's usual one by default.
            backend: what writes code: `litellm`, the stages of this package; `claude`, an agent of the Claude Agent
                SDK.
            agent_max_turns: maximum number of turns of the Claude backend; no effect with other backends.
            blind_tests: `on` adds tests that the Claude backend does not see; no effect with other backends.
            base_packages: installed in every environment, such as `"scikit-learn>=1.5"`.
            packages_from: path of a pylock.toml (PEP 751); its versions and hashes are in every environment.
            max_iterations: maximum number of attempts (code, tests, run); 1 if tests are skipped.
            max_cost: maximum cost of one generation in US dollars.
            timeout: seconds (or a timedelta) for one run in the sandbox; 120 by default.
            resources: cores and memory of every sandbox: `Resources(cpu=2, memory="4Gi")` or the same as a dict.
            skip_tests: write no tests and run none.
            second_opinion: `on` has an independent second solution written and compared with the function.
            cache: `auto` replays model answers from the journal, `override` asks again, `disable` records nothing.
            locked: ask no model; a question without an answer in the journal raises `Locked`.
            sandbox: `docker`, `local`, or `auto` for the strongest that works.
            sandbox_minimum: the weakest sandbox that is accepted: `docker`, `full`, `landlock`, `namespaces` or `any`.
            share: `rows`, `stats` or `schema`: how much of the data the model may see.
            hide: columns of the samples that are hidden from the model; the function still gets them.
            mask: columns of the samples whose values are hidden from the model.
            block_network: no network while generated code runs.
            ask: let the plan ask up to three questions before any code is written; `generate(answer=…)` answers them.
            second_model: identifier of the model that writes the second solution; `model` by default.
            api_base: address of the model's service, for proxies and local models.
            litellm_params: passed to every call of the model; overrides the values of this package; `timeout`: seconds
                without a piece of the answer (600).
            log: file to which the events of generations are written as JSON lines, masked; none by default.
            system_prompt: replaces the default instructions for writing code; the output rules are appended.
            max_sample_rows: rows (of a table 8 in a question), or lines of a text file, that the model may see.
            max_tokens: maximum number of tokens of one generation, input and output.
            max_seconds: maximum wall-clock seconds of one generation.
            env_vars: environment variables of the sandbox.
            secrets: names of environment variables of the notebook, or `Secret`, that the sandbox may see.
            image_config: registry, Python version and base image of Docker images.
            approved_packages: distributions, and Debian packages as `"apt:libpq5"`, that are installed without asking.
            sandbox_retries: how often a sandbox is started again after it was killed or stopped from outside.

        Raises:
            InvalidRequest: a value is not valid for its setting. The message names the setting.
        """
        freeze(self, locals())
