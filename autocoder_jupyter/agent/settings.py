"""Checks the settings of an agent. The options of a cell are checked here, too."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.engine.packages import refuse_lookalikes
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.settings.config import RECORDS, AgentConfig, without_effect


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Frozen copies of the settings, in the form of `AgentConfig`."""
    for name in settings:
        if name not in RECORDS:
            raise InvalidRequest(f"There is no setting {name!r}.", hint=check.suggestion(name, RECORDS))
    checked = {name: RECORDS[name].checked(value) for name, value in settings.items()}
    refuse_lookalikes(checked.get("base_packages", ()))
    return checked


def agent_config(**settings: Any) -> AgentConfig:
    """An `AgentConfig` from settings in the user's forms; the other settings have their defaults.

    Raises:
        InvalidRequest: see `checked_settings`.
    """
    return AgentConfig(**checked_settings(settings))


def freeze(config: AgentConfig, given: Mapping[str, Any]) -> None:
    """Set the checked settings of a new config. Warns about a setting that has no effect."""
    for setting, value in checked_settings({name: given[name] for name in RECORDS}).items():
        object.__setattr__(config, setting, value)
    for setting, backend in sorted(without_effect(config.backend).items()):
        if getattr(config, setting) != RECORDS[setting].default:
            message = f'{setting} has no effect with backend="{config.backend}"; it is for backend="{backend}".'
            warnings.warn(message, stacklevel=3)
