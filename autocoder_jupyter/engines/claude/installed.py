"""Whether the Claude Agent SDK is here, with a program that can be started. Nothing is imported to find out."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from autocoder_jupyter.errors import ModelError

_PIP = 'pip install "autocoder-jupyter[agent]"'


def require_program() -> str:
    """The path of the program that the SDK comes with, or of one that is installed on this machine.

    Raises:
        ModelError: the SDK is not installed, or there is no program that can be started.
    """
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        raise ModelError(
            "The Claude backend needs the Claude Agent SDK, which is not installed.",
            hint=f"Install it and restart the kernel: {_PIP}. Or leave out --backend claude.",
        )
    name = "claude.exe" if sys.platform == "win32" else "claude"
    bundled = Path(spec.origin).parent / "_bundled" / name
    program = str(bundled) if bundled.is_file() else shutil.which(name)
    if program is None:
        raise ModelError(
            "The Claude Agent SDK is installed without its program.",
            why=f"There is no {bundled}, and no {name} on the path.",
            hint=f"Install it anew: {_PIP} --force-reinstall. There are wheels with the program for most systems.",
        )
    if not os.access(program, os.X_OK):
        raise ModelError(
            "The program of the Claude Agent SDK cannot be started.",
            why=f"{program} may not be executed.",
            hint=f"Make it executable (chmod +x), or install it anew: {_PIP} --force-reinstall.",
        )
    return program
