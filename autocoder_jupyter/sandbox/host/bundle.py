"""How our part of a worker gets inside: a loader on the command line, and the sources as the first frame it reads.

A sandbox therefore needs nothing of ours on its disk; it works in a container, in Podman and over a remote engine.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

LOADER = """
import importlib.abc, importlib.util, json, os, sys

def read(size):
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, sources):
        self.sources = sources
    def find_spec(self, name, path=None, target=None):
        if name + ".__init__" in self.sources:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        if name in self.sources:
            return importlib.util.spec_from_loader(name, self)
    def exec_module(self, module):
        name = module.__name__
        source = self.sources.get(name) or self.sources.get(name + ".__init__", "")
        exec(compile(source, "<" + name + ">", "exec"), module.__dict__)

sys.meta_path.insert(0, Sources(json.loads(read(int.from_bytes(read(4), "big")))))
from autocoder_worker.start import main
main()
""".strip()
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
