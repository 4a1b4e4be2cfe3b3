"""Script: run one whole generation and a call, and print as JSON what has changed in the process.

python globals_script.py SANDBOX EFFORT MODEL API_BASE FOLDER
"""

from __future__ import annotations

import asyncio
import json
import locale
import logging
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import types
import warnings
from pathlib import Path
from typing import Any


def process() -> dict[str, Any]:
    """The global state of the process that a library could change."""
    import numpy as np

    os.umask(umask := os.umask(0))
    return {
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "signals": {number.name: repr(signal.getsignal(number)) for number in signal.valid_signals() if _named(number)},
        "warnings": [repr(entry) for entry in warnings.filters],
        "warnings.showwarning": repr(warnings.showwarning),
        "sys.path": list(sys.path),
        "sys.excepthook": repr(sys.excepthook),
        "threading.excepthook": repr(threading.excepthook),
        "sys.meta_path": [type(finder).__name__ for finder in sys.meta_path],
        "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "recursion limit": sys.getrecursionlimit(),
        "random": random.getstate()[1][:5],
        "numpy.random": [int(word) for word in np.random.get_state(legacy=False)["state"]["key"][:5]],
        "socket timeout": socket.getdefaulttimeout(),
        "locale": locale.setlocale(locale.LC_ALL),
        "root logger": [
            logging.root.level,
            [repr(handler) for handler in logging.root.handlers],
            logging.root.disabled,
        ],
        "event loop policy": type(asyncio.get_event_loop_policy()).__name__,
        "umask": umask,
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name},
        "temporary files": sorted(path.name for path in Path(tempfile.gettempdir()).iterdir()),
        "temporary folder": tempfile.gettempdir(),
    }


def _named(number: object) -> bool:
    return isinstance(number, signal.Signals)


def attributes(module: types.ModuleType) -> dict[str, str]:
    """The settings of a module: its public attributes with plain values."""
    plain = (str, int, float, bool, list, tuple, dict, set, type(None))
    return {n: repr(v)[:2000] for n, v in vars(module).items() if not n.startswith("_") and isinstance(v, plain)}


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """The differences: [before, after] by name."""
    names = before.keys() | after.keys()
    return {name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)}


def _pandas_options() -> dict[str, Any]:
    import pandas as pd

    return {name: pd.get_option(name) for name in ("display.max_rows", "display.width", "display.precision")}


def wait_until_gone(folder: str, seconds: float = 60.0) -> None:
    """Wait until the workers have removed their files. They do so when they end, and no call waits for it."""
    deadline = time.monotonic() + seconds
    while any(Path(folder).iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)


def main(sandbox: str, effort: str, model: str, api_base: str, folder: str) -> None:
    from autocoder_jupyter import AutoCoderAgent
    from autocoder_jupyter.calls.runtime import runtime_for
    from tests.runner import sales

    before = {**process(), "pandas": _pandas_options()}
    from autocoder_jupyter.models.library import load

    litellm = load()
    settings = attributes(litellm)
    imported = process()
    samples, inputs, outputs = {"sales": sales()}, {"note": str}, {"total": float}
    constraints = ["the total is plausible"]
    given: dict[str, Any] = {"samples": samples, "inputs": inputs, "outputs": outputs, "constraints": constraints}
    settings_of_agent: dict[str, Any] = {"sandbox": sandbox, "effort": effort, "model": model, "api_base": api_base}
    agent = AutoCoderAgent(**settings_of_agent, timeout=60)
    result = agent.generate("Total revenue of @sales.", **given, journal_root=folder)
    value = result.run(note="x")
    agent.generate("Total revenue of @sales.", **given, journal_root=folder)

    runtime_for(agent.sandbox, agent.image_config).pool.close()
    wait_until_gone(tempfile.gettempdir())
    after = {**process(), "pandas": _pandas_options()}
    told = {
        "value": value,
        "import": sorted(changes(before, {**before, **imported})),
        "generation": changes({**before, **imported}, after),
        "litellm": changes(settings, attributes(litellm)),
        "arguments": [
            {name: frame.equals(sales()) for name, frame in samples.items()},
            {name: kind.__name__ for name, kind in inputs.items()},
            {name: kind.__name__ for name, kind in outputs.items()},
            constraints,
        ],
    }
    print(json.dumps(told, default=repr))


if __name__ == "__main__":
    main(*sys.argv[1:])
