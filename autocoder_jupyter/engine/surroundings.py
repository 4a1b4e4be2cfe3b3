"""Which versions of Python and pandas the model is told: with the data, the same for every stage.

Versions are told without their last part, and as they were told when the request was first asked: a journal that was
recorded under another Python is then replayed like any other, and what it says is tested in the environment of today.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import metadata

from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.environments.pins import name_of, pin_of

_STEP = "versions"
_HARMLESS = re.compile(r"[A-Za-z0-9 ._,<>=!~\[\]-]{1,400}")
"""What a recorded text may be: the journal may come from somebody else."""


def versions(config: AgentConfig, lock: Sequence[str]) -> str:
    """`Python 3.11, pandas 3.1`, and the packages that the user wants in any case.

    Args:
        config: names the Python and the packages.
        lock: the lock of the environment, if one is known beforehand.
    """
    python = config.image_config.python_version or sys.version_info[:2]
    pins = {name_of(line): _short(pin_of(line).partition("==")[2]) for line in lock}
    if not pins and python == sys.version_info[:2]:
        pins["pandas"] = _short(metadata.version("pandas"))  # as beside the notebook, see `sandbox.environments`
    told = [f"Python {python[0]}.{python[1]}", *([f"pandas {pins['pandas']}"] if "pandas" in pins else [])]
    for wanted in config.base_packages:
        name = requirement_name(wanted)
        told += [f"{name} {pins[name]}" if name in pins else wanted] if name != "pandas" else []
    return ", ".join(told)


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def recalled(journal: Journal, request_key: str) -> str:
    """What was told when this request was asked before; "" when it was not."""
    text = (journal.find_step(_STEP, request_key) or {}).get("told")
    return text if isinstance(text, str) and _HARMLESS.fullmatch(text) else ""


def record(journal: Journal, request_key: str, told: str) -> None:
    """Keep what is told now."""
    journal.add_step(_STEP, request_key, {"told": told})


def with_versions(data_context: str, told: str) -> str:
    """What is told about the data, and then about the environment."""
    return "\n\n".join(filter(None, (data_context, block("environment", told))))
