"""Settings of a cell as the arguments of `CodeModeAgent`."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.magics.settings import Settings

_SAME = (
    "model",
    "api_key",
    "api_base",
    "litellm_params",
    "max_cost",
    "max_tokens",
    "max_seconds",
    "share",
    "cache",
    "locked",
)


def agent_settings(settings: Settings) -> dict[str, Any]:
    """The arguments that settings decide. What nobody set is left to code mode, whose defaults are other ones.

    Raises:
        InvalidRequest: a value that a setting cannot have.
    """
    from autocoder_jupyter.codemode import Limits

    config = settings.agent_config()
    arguments: dict[str, Any] = {name: getattr(config, name) for name in _SAME}
    arguments["system_prompt_prefix"] = config.system_prompt
    if settings.origins["max_iterations"] != "default":
        arguments["max_retries"] = config.max_iterations - 1
    limits: dict[str, Any] = {}
    if settings.origins["memory"] != "default":
        limits["memory"] = config.resources.memory
    if settings.origins["timeout"] != "default":
        limits["seconds"] = config.timeout
    if limits:
        arguments["limits"] = Limits(**limits)
    return arguments
