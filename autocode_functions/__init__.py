"""The recorded functions of a project as a module: `from autocode_functions import growth`.

A name is looked up as `autocoder_jupyter.load` does it: in the `.autocode` folder beside the notebook or the script, or
above it, up to the root of the project. No model is asked. What comes back is the same as in the notebook: a function
that runs in its sandbox. No code of a folder is imported or run in this process.

This is an ordinary module with `__getattr__`, and no import hook, so that Jupyter, VS Code and type checkers know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocoder_jupyter.result import CodeGenEvalResult


def __getattr__(name: str) -> CodeGenEvalResult:
    """The recorded function of this name.

    Raises:
        ImportError: there is none; the message says where it was looked for.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from autocoder_jupyter.agent.agent import load
    from autocoder_jupyter.errors import InvalidRequest

    try:
        return load(name)
    except InvalidRequest as error:
        raise ImportError(str(error), name=__name__) from None


def __dir__() -> list[str]:
    from autocoder_jupyter.agent.agent import loadable

    return loadable()
