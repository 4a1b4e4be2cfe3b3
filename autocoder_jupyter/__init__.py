"""Describe a function in a notebook cell; get it back, tested on your data in a sandbox.

    %load_ext autocoder_jupyter

The public names are imported on first use, so the extension itself imports neither pandas nor litellm.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.version import VERSION

if TYPE_CHECKING:
    from autocoder_jupyter.agent.agent import AutoCoderAgent, load
    from autocoder_jupyter.codemode import AgentResult, CodeModeAgent, tool
    from autocoder_jupyter.result import CodeGenEvalResult
    from autocoder_jupyter.types import (
        CodePlan,
        CodeSolution,
        Dir,
        ErrorDiagnosis,
        Figure,
        File,
        ImageConfig,
        Resources,
        Secret,
        TestFailure,
    )

__version__ = VERSION

_HOMES = {
    "AgentResult": "autocoder_jupyter.codemode",
    "AutoCoderAgent": "autocoder_jupyter.agent.agent",
    "CodeGenEvalResult": "autocoder_jupyter.result",
    "CodeModeAgent": "autocoder_jupyter.codemode",
    "CodePlan": "autocoder_jupyter.types",
    "CodeSolution": "autocoder_jupyter.types",
    "Dir": "autocoder_jupyter.types",
    "ErrorDiagnosis": "autocoder_jupyter.types",
    "Figure": "autocoder_jupyter.types",
    "File": "autocoder_jupyter.types",
    "ImageConfig": "autocoder_jupyter.types",
    "Resources": "autocoder_jupyter.types",
    "Secret": "autocoder_jupyter.types",
    "TestFailure": "autocoder_jupyter.types",
    "load": "autocoder_jupyter.agent.agent",
    "tool": "autocoder_jupyter.codemode",
}

__all__ = [
    "AgentResult",
    "AutoCoderAgent",
    "CodeGenEvalResult",
    "CodeModeAgent",
    "CodePlan",
    "CodeSolution",
    "Dir",
    "ErrorDiagnosis",
    "Figure",
    "File",
    "ImageConfig",
    "Resources",
    "Secret",
    "TestFailure",
    "__version__",
    "load",
    "load_ipython_extension",
    "tool",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Register `%%autocode` and `%autocode`, and open the connection to JupyterLab. `%load_ext` calls it."""
    from autocoder_jupyter.lab import connect
    from autocoder_jupyter.magics import register

    connect(register(ipython).notebook)
    if (ask := getattr(ipython, "get_parent", None)) is not None and ask():  # a cell, and not a kernel that starts
        from autocoder_jupyter.models.spawn import spawn_early

        spawn_early()


def unload_ipython_extension(ipython: Any) -> None:
    """Remove the magics, the completer and the connection, and cancel running jobs."""
    from autocoder_jupyter.lab import disconnect
    from autocoder_jupyter.magics import unregister

    disconnect(ipython)
    unregister(ipython)
