"""Evaluates the user's checks over inputs and outputs.

`engine.sample_run` sets the constants when it sends the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

EXPRESSIONS: list[str] = []

SHOW_VALUES = True
"""Whether a message may hold values."""

LONGEST = 2_000
"""Characters of a message."""


def run(**values: Any) -> list[dict[str, Any]]:
    """For each expression whether it is true, as `passed`, and its value or error, as `message`."""
    outcomes = []
    for expression in EXPRESSIONS:
        try:
            value = eval(expression, {"pd": pd, "np": np, **values})
            passed = bool(np.all(value))
            message = "it is " + repr(value)
        except Exception as error:
            passed, message = False, type(error).__name__ + ": " + str(error)
        cut = f"…(+{len(message) - LONGEST})" if len(message) > LONGEST else ""
        told = message[:LONGEST] + cut if SHOW_VALUES and not passed else ""
        outcomes.append({"passed": passed, "message": told})
    return outcomes
