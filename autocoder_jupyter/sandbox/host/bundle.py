"""Send the worker's code into the sandbox: a loader on the command line reads the modules from the first frame.

So no file of this package must be in the sandbox. It works in a container, with Podman and with a remote engine.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import marshal
import zlib
from pathlib import Path

from autocoder_jupyter.sandbox.programs import program_text

_LEVEL = 1
"""The fastest compression, which makes the frame half as large. The best one takes three times as long for a tenth."""

LOADER = program_text("loader")
"""The program that the interpreter in the sandbox runs. The modules that it loads have the file name `<name>`."""


def worker_command(python: str) -> list[str]:
    """The command that starts a worker with the interpreter `python`, a path inside the sandbox."""
    return [python, "-I", "-B", "-c", LOADER]


@functools.cache
def bundle() -> bytes:
    """The first frame: every module of the worker and the codec, compiled and as source.

    A worker whose Python has the same bytecode need not compile, which takes a tenth of its start. Layout: length,
    `importlib.util.MAGIC_NUMBER`, size of the code, the code (marshal), the sources (JSON), both objects by module
    name and compressed with zlib. Numbers have four bytes, the first is the highest.
    """
    root = Path(__file__).parent.parent
    sources = _sources(root / "worker", "autocoder_worker")
    sources |= _sources(root.parent / "codec", "autocoder_codec")
    code = {
        name: compile(source, f"<{name.removesuffix('.__init__')}>", "exec", dont_inherit=True)
        for name, source in sources.items()
    }
    packed = zlib.compress(marshal.dumps(code), _LEVEL)
    body = importlib.util.MAGIC_NUMBER + len(packed).to_bytes(4, "big") + packed
    body += zlib.compress(json.dumps(sources).encode(), _LEVEL)
    return len(body).to_bytes(4, "big") + body


def _sources(folder: Path, package: str) -> dict[str, str]:
    return {f"{package}.{file.stem}": file.read_text("utf-8") for file in sorted(folder.glob("*.py"))}
