"""Convert the settings of a cell to arguments of `CodeModeAgent`."""

from __future__ import annotations

from inspect import signature
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.settings.config import RECORDS


def agent_settings(settings: Settings) -> dict[str, Any]:
    """The arguments for the settings that are set. For the others, code mode uses its own defaults.

    Raises:
        InvalidRequest: a setting has a value that is not allowed.
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
    """Refuse a privacy setting that code mode cannot apply.

    Raises:
        InvalidRequest: such a setting is set.
    """
    if settings.origins["max_sample_rows"] != "default" and settings["share"] == "rows":
        raise InvalidRequest(
            f"max_sample_rows is set ({settings.origins['max_sample_rows']}), and --mode tools does not support it.",
            hint="With --share stats the model sees no rows at all.",
        )
