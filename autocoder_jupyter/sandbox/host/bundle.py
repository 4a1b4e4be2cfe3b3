"""Send the worker's code into the sandbox: a loader on the command line reads the sources from the first frame.

So no file of this package must be in the sandbox. It works in a container, with Podman and with a remote engine.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

from autocoder_jupyter.sandbox.programs import program_text

LOADER = program_text("loader")
"""The program that the interpreter in the sandbox runs. The modules that it loads have the file name `<name>`."""


def worker_command(python: str) -> list[str]:
    """The command that starts a worker with the interpreter `python`, a path inside the sandbox."""
    return [python, "-I", "-B", "-c", LOADER]


@functools.cache
def bundle() -> bytes:
    """The first frame: the source of every module of the worker and the codec, as a JSON object by module name."""
    root = Path(__file__).parent.parent
    sources = _sources(root / "worker", "autocoder_worker")
    sources |= _sources(root.parent / "codec", "autocoder_codec")
    body = json.dumps(sources).encode()
    return len(body).to_bytes(4, "big") + body


def _sources(folder: Path, package: str) -> dict[str, str]:
    return {f"{package}.{file.stem}": file.read_text("utf-8") for file in sorted(folder.glob("*.py"))}
