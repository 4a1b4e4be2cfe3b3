"""The loop of a generation, one file per stage, and what all writers share.

It may import `versions`, `models`, `sandbox`, `contracts` and what is below them, and no writer (`engines`).
`generate` and `preview` are loaded on first use, because modules that must start fast import others of this package.

- `loop`: from the request to the report; `planning`, `attempt`, `fault_attribution`: its steps
- `prepare`, `start`: everything before the first question, and the draft or version that a generation starts from
- `generation`: stages, setup and state of one generation
- `prompt`: the shared beginning of all questions; `conversation`, `budget`: how they are asked
- `plan`, `tests`, `repair`, `constraints`: one stage each, with its prompt
- `probes`: expressions with which the model looks at the data, and how values are told to it
- `queries`: the queries of a function that reads a database
- `acceptance`, `sample_run`, `verdict`: the evidence of one attempt, and what follows from it
- `first_run`: runs while the model still writes
- `environment`, `packages`, `sandbox_session`: packages and workers
- `journal`, `run_folder`, `version_record`: what is recorded
- `difference_words`: differences of values as text
- `writer`: the interface of writers
- `evidence/`: what a verified function is worth; `programs/`: texts of programs for the sandbox
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
