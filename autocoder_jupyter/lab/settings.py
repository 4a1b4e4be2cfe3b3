"""Receives the settings of JupyterLab's settings page, and returns the effective values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.lab.messages import SettingValue, TakenSettings
from autocoder_jupyter.lab.requests import sentence
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.settings import read_lab


def take_settings(notebook: Notebook, given: Mapping[str, Any]) -> TakenSettings:
    """Replace the earlier values of the page, and return the effective settings."""
    usable, refused = read_lab(given)
    notebook.front_end.settings = usable
    try:
        settings = notebook.settings()
    except AutocodeError as error:
        return {"settings": {}, "refused": refused, "error": sentence(error)}
    effective: dict[str, SettingValue] = {
        name: {"value": _plain(value), "origin": settings.origins[name]} for name, value in settings.values.items()
    }
    return {"settings": effective, "refused": refused}


def _plain(value: Any) -> Any:
    """A value as JSON; of a dictionary only the keys, because values may be secrets."""
    return list(value) if isinstance(value, tuple | list | dict) else value
