"""Programs of ours that another interpreter runs: in a sandbox, in a container, or as the supervisor of a worker.

Each is a file here, so that linters, types and tests see it. It is read as text and given to `python -c`; its
parameters are arguments. A program imports only the standard library, and it does nothing when it is imported.
None begins with an import from `__future__`: a container runs two of them, one after the other, as one text.
"""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def program_text(name: str) -> str:
    """The source of the program in `name`.py."""
    return Path(__file__).with_name(f"{name}.py").read_text("utf-8")
