"""Evaluates properties, which a tester wrote, of inputs and outputs.

`engine.evidence.properties` sets the constants when it sends the program.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

CODE = ""
"""The source of a module that defines them."""

PROPERTIES: list[tuple[str, list[str]]] = []
"""Their names, and those of their parameters."""


def run(**values: Any) -> list[str]:
    """For each property `holds` or `fails`; "" if that cannot be said, because it raises another error."""
    module: dict[str, Any] = {"__name__": "properties"}
    exec(CODE, module)
    return [
        _outcome(module[name], [copy.deepcopy(values[one]) for one in parameters]) for name, parameters in PROPERTIES
    ]


def _outcome(function: Any, arguments: list[Any]) -> str:
    try:
        held = function(*arguments)
        return "holds" if held is None or bool(np.all(held)) else "fails"
    except AssertionError:
        return "fails"
    except Exception:
        return ""
