"""Finds the key for a call. Keys are read when a call is made, passed with it, and not stored."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from types import ModuleType

from autocoder_jupyter.errors import AuthenticationFailed
from autocoder_jupyter.models.catalogue import known_providers
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.settings.advanced import NO_KEY

_FURTHER_PROVIDERS = (
    "aleph_alpha",
    "cohere",
    "google",
    "huggingface",
    "nvidia_nim",
    "openrouter",
    "palm",
    "perplexityai",
)
"""Names of providers in their variables, if the table of models has other names."""

_CLOUDS = frozenset({"cloudflare", "databricks", "heroku", "oci", "ovhcloud", "sagemaker", "scaleway", "snowflake"})
"""Providers whose keys give access to more than models."""

_OTHER_KEYS = frozenset({"ANTHROPIC_AUTH_TOKEN", "HF_TOKEN", "REPLICATE_API_TOKEN"})


def belongs_to_provider(variable: str) -> bool:
    """Whether the name of an environment variable is that of a model provider's key, such as `OPENAI_API_KEY`."""
    owner = variable.removesuffix("_API_KEY")
    if owner == variable:
        return variable in _OTHER_KEYS
    providers = {*known_providers(), *_FURTHER_PROVIDERS} - _CLOUDS
    return _letters(owner) in map(_letters, providers)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def find_key(config: ModelConfig, litellm: ModuleType) -> str | None:
    """The key to pass; None if litellm finds it itself or the parameters contain one.

    Raises:
        AuthenticationFailed: the variable that should hold the key is not set.
    """
    if "api_key" in config.params:
        return None
    if config.api_key:
        return named_key(config)
    missing = missing_variables(config, litellm)
    if not missing:
        return None
    if config.api_base is not None:
        return NO_KEY
    raise no_key(config, missing)


def named_key(config: ModelConfig) -> str:
    """The key in the variable that `config.api_key` names.

    Raises:
        AuthenticationFailed: the variable is not set.
    """
    key = os.environ.get(config.api_key or "", "").strip()
    if not key:
        raise AuthenticationFailed(
            f"There is no key for {config.model}.",
            why=f"api_key names the environment variable {config.api_key}, which is not set.",
            hint=f"Set it before the kernel starts, or run: %env {config.api_key}=…",
        )
    return key


def no_key(config: ModelConfig, missing: Sequence[str]) -> AuthenticationFailed:
    """The error for a provider whose usual variables are not set. One of `missing` is enough."""
    return AuthenticationFailed(
        f"There is no key for {config.model}.",
        why=f"The environment variable {' or '.join(missing)} is not set.",
        hint=f"Set it, name another variable with api_key=…, or choose another model. For this session: "
        f"%env {missing[0]}=…",
    )


def missing_variables(config: ModelConfig, litellm: ModuleType) -> tuple[str, ...]:
    """The provider's key variables that are not set. One of them is enough.

    Empty for providers that also accept other credentials (cloud roles, tokens, login files), because then a missing
    variable is not an error.
    """
    if litellm.api_key:
        return ()
    missing = litellm.validate_environment(config.model)["missing_keys"]
    return tuple(missing) if all(name.endswith("_API_KEY") for name in missing) else ()


def key_variable(config: ModelConfig, litellm: ModuleType) -> str:
    """Name of the variable for the key, even if it is not set; "" if the provider needs no key."""
    if config.api_key:
        return config.api_key
    missing = missing_variables(config, litellm)
    if missing:
        return missing[0]
    usual = f"{provider(config.model, litellm).upper()}_API_KEY"
    return usual if usual in os.environ else ""


def provider(model: str, litellm: ModuleType) -> str:
    """The provider as litellm names it; "" if the model's name does not say it."""
    prefix, _, name = model.partition("/")
    if name and prefix in {str(getattr(known, "value", known)) for known in litellm.provider_list}:
        return prefix
    for known, models in litellm.models_by_provider.items():
        if model in models:
            return str(known)
    return ""
