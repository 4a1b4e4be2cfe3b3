"""The text about versions of Python and pandas for the model. It follows the data and is the same for every stage.

Versions are given without their last part, and as they were when the request was first asked. So a journal that was
recorded with another Python can be replayed; the code is then tested in today's environment.
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
"""A valid recorded text. The journal is untrusted."""


def versions(config: AgentConfig, lock: Sequence[str]) -> str:
    """`Python 3.11, pandas 3.1`, and the packages from the user's settings.

    Args:
        config: has the Python version and the packages.
        lock: the lock of the environment, if it is already known.
    """
    python = config.image_config.python_version or sys.version_info[:2]
    pins = {name_of(line): _short(pin_of(line).partition("==")[2]) for line in lock}
    if not pins and python == sys.version_info[:2]:
        pins["pandas"] = _short(metadata.version("pandas"))  # the notebook's, see `sandbox.environments`
    told = [f"Python {python[0]}.{python[1]}", *([f"pandas {pins['pandas']}"] if "pandas" in pins else [])]
    for wanted in config.base_packages:
        name = requirement_name(wanted)
        told += [f"{name} {pins[name]}" if name in pins else wanted] if name != "pandas" else []
    return ", ".join(told)


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def recalled(journal: Journal, request_key: str) -> str:
    """The recorded text of this request; "" if there is none."""
    text = (journal.find_step(_STEP, request_key) or {}).get("told")
    return text if isinstance(text, str) and _HARMLESS.fullmatch(text) else ""


def record(journal: Journal, request_key: str, told: str) -> None:
    """Record the text."""
    journal.add_step(_STEP, request_key, {"told": told})


def with_versions(data_context: str, told: str) -> str:
    """The text about the data, followed by that about the environment."""
    return "\n\n".join(filter(None, (data_context, block("environment", told))))
