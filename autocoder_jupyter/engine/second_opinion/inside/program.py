"""The program that holds both solutions: it makes the modules beside it importable, and calls the last of them.

`second_opinion.trial` sets the constants when it sends the program.
"""

from __future__ import annotations

import sys
import types
from typing import Any

SOURCES: dict[str, str] = {}
"""The sources of the modules by name, each after those that it imports; the last one is `trial`."""

FIRST: tuple[str, list[str]] = ("", [])
SECOND: tuple[str, list[str]] = ("", [])
"""The solutions: code, and the names of the outputs."""

PAIRS: list[tuple[str, str]] = []
"""Names of the outputs that are compared: in the first solution, and in the second."""


ONCE: bool = False
"""Whether they are only compared on the given input, and no variations are tried."""


def run(**inputs: Any) -> Any:
    """The result of `run_trial`, or of `run_once`, for these inputs."""
    name = ""
    for name, source in SOURCES.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        exec(compile(source, "<" + name + ">", "exec"), module.__dict__)
    trial = sys.modules[name]
    return (trial.run_once if ONCE else trial.run_trial)(FIRST, SECOND, PAIRS, inputs)
