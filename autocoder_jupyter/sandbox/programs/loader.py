"""The first program of a worker: read the worker's modules from standard input, make them importable, start them."""

import importlib
import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads modules from their source text. The key of a package is its name with `.__init__`."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module whose source is known, else None."""
        if name + ".__init__" in self.sources:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        if name in self.sources:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the source. Its file name is `<name>`."""
        name = module.__name__
        source = self.sources.get(name) or self.sources.get(name + ".__init__", "")
        exec(compile(source, "<" + name + ">", "exec"), module.__dict__)


def read(size: int) -> bytes:
    """Read `size` bytes from standard input. Exits the process at the end of the input."""
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    """Read the first frame (four bytes of length, then a JSON object of sources), and start the worker."""
    sys.meta_path.insert(0, Sources(json.loads(read(int.from_bytes(read(4), "big")))))
    importlib.import_module("autocoder_worker.start").main()


if __name__ == "__main__":
    main()
