"""Calls one of several modules, so that one process runs them all.

`engine.evidence.mutation` sets the constants when it sends the program.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

CODES: list[str] = []
"""The sources."""

DEFAULTS: dict[str, Any] = {}
"""The values of inputs that may be missing, if a function has no default of its own."""

_made: dict[int, types.ModuleType] = {}


def run(autocode_number: int, **inputs: Any) -> Any:
    """What `run` of the module with this number returns."""
    if autocode_number not in _made:
        module = sys.modules["solution"] = types.ModuleType("solution")
        exec(compile(CODES[autocode_number], "solution.py", "exec", dont_inherit=True), module.__dict__)
        _made[autocode_number] = module
    sys.modules["solution"] = _made[autocode_number]
    function: Callable[..., Any] = _made[autocode_number].run
    missing = {name: value for name, value in DEFAULTS.items() if name not in inputs}
    parameters = inspect.signature(function).parameters if missing else {}
    needed = (name for name in missing if name in parameters and parameters[name].default is inspect.Parameter.empty)
    return function(**inputs, **{name: missing[name] for name in needed})
