"""The program that holds both solutions: it makes the modules beside it importable, and calls `trial.run_trial`.

The constants are set where it is shipped (`second_opinion.trial`).
"""

from __future__ import annotations

import sys
import types
from typing import Any

SOURCES: dict[str, str] = {}
"""The modules by name, each after those that it imports; the last one has `run_trial`."""

FIRST: tuple[str, list[str]] = ("", [])
SECOND: tuple[str, list[str]] = ("", [])
"""A solution: its code and the names of its outputs."""

PAIRS: list[tuple[str, str]] = []
"""Names of outputs that are compared: of the first solution, and of the second."""


def run(**inputs: Any) -> Any:
    """What `run_trial` returns for these inputs."""
    name = ""
    for name, source in SOURCES.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        exec(compile(source, "<" + name + ">", "exec"), module.__dict__)
    return sys.modules[name].run_trial(FIRST, SECOND, PAIRS, inputs)
