"""Forks kernels from a process that has imported what they need. Run it as `python -m tests.magics.fork_server`.

A kernel imports ipykernel, pandas, litellm and this package, which takes over three seconds of processor time. A forked
kernel is a separate process with its own session, threads and memory. Nothing of this package has run in it before:
modules that start something, or count from their process id, are not in this list.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

MODULES = (
    "tests.light_jsonschema",
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets"),
    *("pandas", "pyarrow", "docker", "psutil"),
    *("litellm", "litellm.litellm_core_utils.default_encoding", "openai.resources"),
    *("autocoder_jupyter.lab", "autocoder_jupyter.magics", "autocoder_jupyter.display.card"),
    *("autocoder_jupyter.agent.agent", "autocoder_jupyter.agent.generation", "autocoder_jupyter.jobs.registry"),
    *("autocoder_jupyter.engine.loop", "autocoder_jupyter.engines.staged.writer", "autocoder_jupyter.models.client"),
    "autocoder_jupyter.codemode.agent",
)


def load() -> None:
    """Import everything; litellm without its price list from the network and without a `.env` file."""
    os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
    gc.disable()
    for module in MODULES:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # otherwise a collection in a child copies the memory that it shares with this process
    gc.enable()


def serve() -> Mapping[str, Any] | None:
    """Answer requests, one per line, until the input ends. In a forked child it returns the request."""
    with os.fdopen(os.dup(0), "rb", buffering=0) as requests, os.fdopen(os.dup(1), "wb", buffering=0) as answers:
        while line := requests.readline():
            request = json.loads(line)
            if "poll" in request:
                answer = exit_code(request["poll"])
            elif (answer := os.fork()) == 0:
                return request
            answers.write(json.dumps(answer).encode() + b"\n")
    return None


def exit_code(pid: int) -> int | None:
    """The exit code of a child that has ended, as `subprocess` reports it."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def become_kernel(arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
    """Do the same as `python -m ipykernel_launcher`, until the kernel ends."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.argv[:] = list(arguments)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    load()
    assert threading.active_count() == 1 and "autocoder_jupyter.sandbox.local.policy" not in sys.modules
    del sys.path[0]  # the folder that it was started in
    if (kernel := serve()) is not None:
        become_kernel(**kernel)
