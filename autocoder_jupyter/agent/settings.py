"""The settings of an agent, checked one by one; the cell's options go through here as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autocoder_jupyter import parameters as check
from autocoder_jupyter.engine.lookalikes import refuse_lookalikes
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import AgentConfig, Backend, CachePolicy, SandboxChoice, Share, Switch
from autocoder_jupyter.types import ImageConfig, Resources


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Frozen copies of the settings, in the form of `AgentConfig`.

    Raises:
        InvalidRequest: an unknown setting, or a value it cannot have; the setting is named.
    """
    for name in settings:
        if name not in _CHECKS:
            raise InvalidRequest(f"There is no setting {name!r}.", hint=check.did_you_mean(name, _CHECKS))
    return {name: _CHECKS[name](name, value) for name, value in settings.items()}


def agent_config(**settings: Any) -> AgentConfig:
    """An `AgentConfig` from settings as a person gives them; what is not given is the default.

    Raises:
        InvalidRequest: see `checked_settings`.
    """
    return AgentConfig(**checked_settings(settings))


def _optional(inner: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else inner(name, value)


def _counted(least: int) -> Callable[[str, Any], int]:
    return lambda name, value: check.count(name, value, least=least)


def _choice(literal: Any) -> Callable[[str, Any], Any]:
    return lambda name, value: check.choice(name, value, literal)


def _resources(name: str, value: Any) -> Resources:
    resources = Resources() if value is None else check.record(name, value, Resources)
    check.memory(f"{name}.memory", resources.memory)
    return resources


def _image_config(name: str, value: Any) -> ImageConfig:
    image_config = ImageConfig() if value is None else check.record(name, value, ImageConfig)
    check.variable_name(f"{name}.registry_secret", image_config.registry_secret)
    return image_config


def _requirements(name: str, value: Any) -> tuple[str, ...]:
    requirements = check.requirements(name, value)
    refuse_lookalikes(requirements)
    return requirements


def _timeout(name: str, value: Any) -> float:
    return AgentConfig.timeout if value is None else check.seconds(name, value)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "name": check.text,
    "model": check.model,
    "system_prompt": _optional(check.text),
    "api_key": check.variable_name,
    "api_base": _optional(check.address),
    "litellm_params": check.mapping,
    "base_packages": _requirements,
    "packages_from": _optional(check.text),
    "resources": _resources,
    "image_config": _image_config,
    "max_iterations": _counted(1),
    "max_sample_rows": _counted(0),
    "skip_tests": check.flag,
    "ask": check.flag,
    "sandbox_retries": _counted(0),
    "timeout": _timeout,
    "env_vars": check.env_vars,
    "secrets": check.secrets,
    "cache": _choice(CachePolicy),
    "locked": check.flag,
    "log": _optional(check.text),
    "backend": _choice(Backend),
    "agent_max_turns": _counted(1),
    "blind_tests": _choice(Switch),
    "block_network": check.flag,
    "sandbox": _choice(SandboxChoice),
    "share": _choice(Share),
    "hide": check.texts,
    "mask": check.texts,
    "max_cost": _optional(check.positive),
    "max_tokens": _optional(_counted(1)),
    "max_seconds": _optional(check.seconds),
    "approved_packages": check.consents,
    "second_opinion": _choice(Switch),
    "second_model": _optional(check.model),
}
