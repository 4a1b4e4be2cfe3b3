"""Send the worker's code into the sandbox: a loader on the command line reads the modules from the first frame.

So no file of this package must be in the sandbox. It works in a container, with Podman and with a remote engine.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import marshal
import zlib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

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
    files = _files(root / "worker", "autocoder_worker") | _files(root.parent / "codec", "autocoder_codec")
    sources = {name: file.read_text("utf-8") for name, file in files.items()}
    code = {name: _compiled(name, file) for name, file in files.items()}
    packed = zlib.compress(marshal.dumps(code), _LEVEL)
    body = importlib.util.MAGIC_NUMBER + len(packed).to_bytes(4, "big") + packed
    body += zlib.compress(json.dumps(sources).encode(), _LEVEL)
    return len(body).to_bytes(4, "big") + body


def _files(folder: Path, package: str) -> dict[str, Path]:
    return {f"{package}.{file.stem}": file for file in sorted(folder.glob("*.py"))}


def _compiled(name: str, file: Path) -> CodeType:
    """The code of a module, from Python's cache of bytecode if it is there. Compiling all takes 50 ms."""
    code = SourceFileLoader(name, str(file)).get_code(name)
    assert code is not None  # only a loader without sources returns None
    return _renamed(code, f"<{name.removesuffix('.__init__')}>")


def _renamed(code: CodeType, file_name: str) -> CodeType:
    """The code with another file name, as if the loader had compiled it. No path of this machine is sent."""
    constants = (_renamed(each, file_name) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=file_name, co_consts=tuple(constants))
