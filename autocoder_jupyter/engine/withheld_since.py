"""Whether a version may contain what the user withholds now.

Its plan, code and tests are sent to the model that changes it. They were written with what was shared when it was made.
If less is shared now, they may quote values of the data, or name a column that is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from autocoder_jupyter.request import AgentConfig

_LEVELS = ("schema", "stats", "rows")


def withheld_since(record: Mapping[str, Any], texts: Iterable[str], config: AgentConfig) -> str:
    """What is withheld now and was not when a version was made; "" if nothing is.

    Args:
        record: the recorded request of the version; without settings, everything was shared.
        texts: the texts of the version that would be sent.
        config: the settings of this run.
    """
    recorded = record.get("settings")
    settings = recorded if isinstance(recorded, dict) else {}
    share = settings.get("share")
    then = share if share in _LEVELS else "rows"
    if _LEVELS.index(config.share) < _LEVELS.index(then):
        return f"it was made with --share {then}, and now {config.share} is shared"
    hidden, masked = _names(settings, "hide"), _names(settings, "mask")
    text = "\n".join(texts)
    for name in config.hide:
        if name not in hidden or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return f"{name} is to be hidden, and it was made with that column or names it"
    for name in config.mask:
        if then != "schema" and name not in hidden | masked:
            return f"{name} is to be masked, and it was made with the values of that column"
    return ""


def _names(settings: Mapping[str, Any], what: str) -> frozenset[str]:
    names = settings.get(what)
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
