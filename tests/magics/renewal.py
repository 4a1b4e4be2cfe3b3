"""Resets a used kernel, so that it looks like a new one. Runs inside of the kernel."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython

PATIENCE = 30.0
LASTING = ("autocode", "autocode-idle", "autocode-pool", "autocode-warm", "autocode-supervisor")
"""Threads of ours that live as long as their process or the idle workers: the event loop, threads without work, the
threads of idle workers, and those that wait for the end of supervisors.
"""

_home = Path.cwd()
_environment = dict(os.environ)


def enter(folder: str, environment: Mapping[str, str]) -> None:
    """Work in this folder, with these environment variables in addition to the initial ones."""
    os.chdir(folder)
    os.environ.update(environment)


def leave() -> list[str]:
    """Reset everything except imports and idle workers. Returns what could not be reset."""
    shell: Any = get_ipython()
    shell.extension_manager.unload_extension("autocoder_jupyter")
    _forget_jobs()
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()
    shell.reset(new_session=True)
    shell.user_module.__spec__ = None  # `reset` deletes it, and `multiprocessing` reads it to start a process
    shell.config.pop("Autocode", None)  # settings that `%config` has set
    os.environ.clear()
    os.environ.update(_environment)
    os.chdir(_home)
    deadline = time.monotonic() + PATIENCE
    while (threads := _threads()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [*threads, *_traces_in(shell)]


def _forget_jobs() -> None:
    registry = sys.modules.get("autocoder_jupyter.jobs.registry")
    dialects = sys.modules.get("autocoder_jupyter.models.questions")
    if registry is not None:
        for job in registry.all_jobs():
            job.cancel()
        registry._jobs.clear()
    if dialects is not None:
        dialects._learned.clear()  # an endpoint of a later test may get the same port


def _threads() -> list[str]:
    names = {thread.name for thread in threading.enumerate()}
    return [f"thread {name}" for name in sorted(names) if name.startswith("autocode") and name not in LASTING]


def _traces_in(shell: Any) -> Iterator[str]:
    """The objects of this package, or of the cells that ran, that the shell still references."""
    from comm import get_comm_manager

    visible = sorted(name for name in shell.user_ns if name[0] != "_" and name not in shell.user_ns_hidden)
    yield from (f"variable {name}" for name in visible)
    hooks = [(event, hook) for event, hooks in shell.events.callbacks.items() for hook in hooks]
    yield from (f"hook {event}" for event, hook in hooks if _is_ours(hook))
    for place in (shell.configurables, shell.Completer.custom_matchers, shell.input_transformers_cleanup):
        yield from (repr(held) for held in place if _is_ours(held))
    yield from (f"comm {comm.target_name}" for comm in get_comm_manager().comms.values() if _is_ours(comm.target_name))


def _is_ours(held: Any) -> bool:
    home = held if isinstance(held, str) else getattr(held, "__module__", type(held).__module__)
    return str(home).startswith("autocoder_jupyter")
