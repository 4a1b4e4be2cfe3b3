"""The loop: plan, code and tests, packages, run, diagnose, fix, verify; one file a stage.

`generate` and `preview` are loaded on first use, because modules that must start fast import others of this
package.

The loop, one module per stage, and what all writers share; `prompt`: the common beginning of all questions,
`surroundings`: the versions in the prompts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocoder_jupyter.engine.loop import generate
    from autocoder_jupyter.engine.planning import preview
    from autocoder_jupyter.engine.sandbox_session import Services

__all__ = ["Services", "generate", "preview"]

_HOMES = {
    "Services": "autocoder_jupyter.engine.sandbox_session",
    "generate": "autocoder_jupyter.engine.loop",
    "preview": "autocoder_jupyter.engine.planning",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
