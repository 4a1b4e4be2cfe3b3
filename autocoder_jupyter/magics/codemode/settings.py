"""Settings of a cell as the arguments of `CodeModeAgent`."""

from __future__ import annotations

from inspect import signature
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.settings.config import RECORDS


def agent_settings(settings: Settings) -> dict[str, Any]:
    """The arguments that settings decide. What nobody set is left to code mode, whose defaults are other ones.

    Raises:
        InvalidRequest: a value that a setting cannot have.
    """
    from autocoder_jupyter.codemode import CodeModeAgent, Limits

    _require_privacy(settings)
    config = settings.agent_config()
    shared = RECORDS.keys() & signature(CodeModeAgent).parameters.keys() - {"name"}
    arguments: dict[str, Any] = {name: getattr(config, name) for name in shared}
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


def _require_privacy(settings: Settings) -> None:
    """Do not send what a setting keeps back from the model.

    Raises:
        InvalidRequest: a setting does, and code mode cannot.
    """
    if settings.origins["max_sample_rows"] != "default" and settings["share"] == "rows":
        raise InvalidRequest(
            f"max_sample_rows is set ({settings.origins['max_sample_rows']}), and --mode tools does not count rows.",
            hint="With --share stats the model sees no rows at all.",
        )
