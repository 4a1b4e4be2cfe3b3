"""How our part of a worker gets into the sandbox: a loader on the command line, which reads the sources as first frame.

A sandbox therefore needs nothing of ours on its disk; it works in a container, in Podman and over a remote engine.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

from autocoder_jupyter.sandbox.programs import program_text

LOADER = program_text("loader")
"""What the interpreter in the sandbox runs. Our modules bear the file name `<name>`."""


def worker_command(python: str) -> list[str]:
    """The command that turns the interpreter at `python` (a path inside the sandbox) into a worker."""
    return [python, "-I", "-B", "-c", LOADER]


@functools.cache
def bundle() -> bytes:
    """The first frame: every source that runs inside, as a JSON object from module name to text."""
    root = Path(__file__).parent.parent
    sources = _sources(root / "worker", "autocoder_worker")
    sources |= _sources(root.parent / "codec", "autocoder_codec")
    body = json.dumps(sources).encode()
    return len(body).to_bytes(4, "big") + body


def _sources(folder: Path, package: str) -> dict[str, str]:
    return {f"{package}.{file.stem}": file.read_text("utf-8") for file in sorted(folder.glob("*.py"))}
