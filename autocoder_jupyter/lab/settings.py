"""The settings of JupyterLab's page, taken in; and what then holds, told to the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.lab.messages import Setting, TakenSettings
from autocoder_jupyter.lab.requests import sentence
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.settings import read_lab


def take_settings(notebook: Notebook, given: Mapping[str, Any]) -> TakenSettings:
    """Let these values take the place of those that the page gave before, and answer what holds now."""
    usable, refused = read_lab(given)
    notebook.front_end.settings = usable
    try:
        settings = notebook.settings()
    except AutocodeError as error:
        return {"settings": {}, "refused": refused, "error": sentence(error)}
    effective: dict[str, Setting] = {
        name: {"value": _plain(value), "origin": settings.origins[name]} for name, value in settings.values.items()
    }
    return {"settings": effective, "refused": refused}


def _plain(value: Any) -> Any:
    """A value as JSON; of a dictionary the keys only, because values may be secrets."""
    return list(value) if isinstance(value, tuple | list | dict) else value
