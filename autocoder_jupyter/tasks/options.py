"""How one call of a function is done: limits, environment variables, cache, where files go."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autocoder_jupyter import parameters
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, CachePolicy, SandboxChoice
from autocoder_jupyter.tiers import SandboxMinimum
from autocoder_jupyter.types import ImageConfig, Resources, Secret

Tables = Literal["pandas", "same"]
"""Of which library the tables are that come back."""


@dataclass(frozen=True)
class CallOptions:
    """The options of `run()`, `as_task()` and `with_options()`.

    Args:
        name: label of the call in its errors.
        resources: cores and memory of the sandbox.
        retries: how often a call is repeated when the sandbox, not the program, gave way.
        timeout: seconds, wall clock; the whole process tree is killed then.
        env_vars: environment variables that the program sees.
        secrets: variables of the notebook that the program sees; looked up when a call is made, never stored.
        cache: `disable` computes (the default here, because a call should compute: a program may read the clock or
            a file); `auto` answers from an earlier call with the same code, environment, variables and input
            *contents*; `override` computes and stores.
        reuse: run in the process of the previous such call: faster, less separate.
        output_dir: where `File` and `Dir` outputs go, under their outputs' names, and beside what is there; a fresh
            folder in the journal by default.
        tables: `pandas`, or `same`: each table that comes back is of the library that the first table given is of.
        network: whether the program has a network.
        sandbox: which sandbox.
        sandbox_minimum: what it must hold at least; in a weaker one no call is made.
        image_config: for Docker.
        withheld: packages that a stranger's file wants and nobody agreed to; while there are any, no call is made.
        worker_seconds: the time limit that workers are started with, so that calls share them whatever their timeout.
    """

    name: str = ""
    resources: Resources = Resources()
    retries: int = 0
    timeout: float = 120.0
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[Secret, ...] = ()
    cache: CachePolicy = "disable"
    reuse: bool = False
    output_dir: Path | None = None
    tables: Tables = "pandas"
    network: bool = False
    sandbox: SandboxChoice = "auto"
    sandbox_minimum: SandboxMinimum = SandboxMinimum()
    image_config: ImageConfig = ImageConfig()
    withheld: tuple[str, ...] = ()
    worker_seconds: float = 120.0

    @classmethod
    def of(cls, config: AgentConfig) -> CallOptions:
        """What a generation used is what its function is called with; only the cache is not inherited."""
        return cls(
            resources=config.resources,
            retries=config.sandbox_retries,
            timeout=config.timeout,
            env_vars=dict(config.env_vars),
            secrets=config.secrets,
            network=not config.block_network,
            sandbox=config.sandbox,
            sandbox_minimum=config.sandbox_minimum,
            image_config=config.image_config,
            worker_seconds=config.timeout,
        )

    def changed(self, options: Mapping[str, Any]) -> CallOptions:
        """A copy with some options set.

        Raises:
            InvalidRequest: an unknown option or a value that cannot be one.
        """
        for option in options:
            if option not in OPTION_CHECKS:
                raise InvalidRequest(
                    f"There is no option {option!r}.",
                    hint=parameters.did_you_mean(option, OPTION_CHECKS) or f"Options: {', '.join(OPTION_CHECKS)}.",
                )
        checked = {option: OPTION_CHECKS[option](value) for option, value in options.items()}
        if "sandbox_minimum" in checked:
            checked["sandbox_minimum"] = self.sandbox_minimum.narrowed_by(checked["sandbox_minimum"])
        return dataclasses.replace(self, **checked)


def _resources(value: Any) -> Resources:
    resources: Resources = parameters.record("resources", value, Resources)
    parameters.memory("resources.memory", resources.memory)
    return resources


OPTION_CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": lambda value: parameters.text("name", value),
    "resources": _resources,
    "retries": lambda value: parameters.count("retries", value, least=0),
    "timeout": lambda value: parameters.seconds("timeout", value),
    "env_vars": lambda value: parameters.env_vars("env_vars", value),
    "secrets": lambda value: parameters.secrets("secrets", value),
    "cache": lambda value: parameters.choice("cache", value, CachePolicy),
    "reuse": lambda value: parameters.flag("reuse", value),
    "output_dir": lambda value: parameters.folder("output_dir", value),
    "sandbox_minimum": lambda value: parameters.sandbox_minimum("sandbox_minimum", value),
    "tables": lambda value: parameters.choice("tables", value, Tables),
}
"""The options that a person can set, each with its check."""
