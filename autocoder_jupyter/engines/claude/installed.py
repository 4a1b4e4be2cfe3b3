"""Checks that the Claude Agent SDK and its program are installed, without importing them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.errors import ModelError

_PIP = 'pip install "autocoder-jupyter[agent]"'


def require_program() -> str:
    """The path of the SDK's bundled program, or of one that is installed on this machine.

    Raises:
        ModelError: the SDK is not installed, or there is no executable program.
    """
    origin = _origin()
    if origin is None:
        raise not_installed()
    name = "claude.exe" if sys.platform == "win32" else "claude"
    bundled = Path(origin).parent / "_bundled" / name
    program = str(bundled) if bundled.is_file() else shutil.which(name)
    if program is None:
        raise ModelError(
            "The Claude Agent SDK is installed without its program.",
            why=f"There is no {bundled}, and no {name} on the path.",
            hint=f"Install it again: {_PIP} --force-reinstall. There are wheels with the program for most systems.",
        )
    if not os.access(program, os.X_OK):
        raise ModelError(
            "The program of the Claude Agent SDK cannot be started.",
            why=f"{program} is not executable.",
            hint=f"Make it executable (chmod +x), or install it again: {_PIP} --force-reinstall.",
        )
    return program


def not_installed(why: str = "") -> ModelError:
    """The error if the SDK cannot be imported."""
    return ModelError(
        "The Claude backend needs the Claude Agent SDK, which is not installed.",
        why=why,
        hint=f"Install it and restart the kernel: {_PIP}. Or leave out --backend claude.",
    )


def _origin() -> str | None:
    """The path of the SDK's package; None if there is none."""
    with suppress(ImportError, ValueError):  # raised by a hidden or broken module
        spec = importlib.util.find_spec("claude_agent_sdk")
        return spec.origin if spec is not None else None
    return None
