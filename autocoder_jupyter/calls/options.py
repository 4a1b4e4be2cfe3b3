"""`CallOptions`: limits, environment variables, cache and folder of one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.option_specs import OPTIONS, Tables
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, CachePolicy, SandboxChoice, Switch
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.types import ImageConfig, Resources, Secret
from autocoder_jupyter.untrusted.parsing import visible


@dataclass(frozen=True)
class CallOptions:
    """The options of `run()`, `as_task()` and `with_options()`.

    `GivenOptions` describes those that the user can set.

    Args:
        sandbox_minimum: the weakest accepted sandbox; in a weaker one no call is made.
        withheld: packages of an untrusted file that the user has not approved; see `require_agreed`.
        given_back: the classes of Flyte that outputs were declared as, by name. Outputs are returned as such.
        worker_seconds: the time limit of workers. It is the same for all calls, so that they can share workers.
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
    output: str = ""
    drift: Switch = "on"
    network: bool = False
    sandbox: SandboxChoice = "auto"
    sandbox_minimum: SandboxMinimum = SandboxMinimum()
    image_config: ImageConfig = ImageConfig()
    withheld: tuple[str, ...] = ()
    given_back: Mapping[str, type] = field(default_factory=dict)
    worker_seconds: float = 120.0

    @classmethod
    def of(cls, config: AgentConfig) -> CallOptions:
        """The options of the generation, which calls inherit, except for the cache."""
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
            drift=config.drift,
        )

    def require_agreed(self, name: str) -> None:
        """Check that no package waits for a yes, so that the function of this name may be called or exported.

        Raises:
            InvalidRequest: one does.
        """
        if self.withheld:
            raise InvalidRequest(
                f"{name} needs packages that were not approved: {visible(', '.join(self.withheld))}.",
                why="The result was loaded from a file that somebody else may have written.",
                hint="Load it with trusted=True if you want them to be installed for it.",
            )

    def changed(self, options: Mapping[str, Any]) -> CallOptions:
        """A copy with some options set.

        Raises:
            InvalidRequest: an unknown option or an invalid value.
        """
        for option in options:
            if option not in OPTIONS:
                raise InvalidRequest(
                    f"There is no option {option!r}.",
                    hint=parameters.did_you_mean(option, OPTIONS) or f"Options: {', '.join(OPTIONS)}.",
                )
        checked = {name: OPTIONS[name].check(name, value) for name, value in options.items()}
        if "sandbox_minimum" in checked:
            checked["sandbox_minimum"] = self.sandbox_minimum.narrowed_by(checked["sandbox_minimum"])
        return dataclasses.replace(self, **checked)
