"""Programs that another interpreter runs: in a sandbox, in a container, or as the supervisor of a worker.

Each program is a file, so that linters, type checkers and tests can read it. Its text is passed to `python -c`, with
its parameters as arguments. A program imports only the standard library, and does nothing when it is imported. It must
not begin with an import from `__future__`, because a container runs two of the programs joined into one text.

Programs for other interpreters: the loader of a worker, the start of a supervisor, trials; files that are read as
text.
"""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def program_text(name: str) -> str:
    """The source of the program in `name`.py."""
    return Path(__file__).with_name(f"{name}.py").read_text("utf-8")
