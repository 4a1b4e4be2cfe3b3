"""The first program of a worker: read the worker's modules from standard input, make them importable, start them."""

import importlib
import importlib.abc
import importlib.util
import json
import marshal
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads modules from their code or source text. The key of a package is its name with `.__init__`."""

    def __init__(self, modules: Mapping[str, CodeType | str]) -> None:
        self.modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is known, else None."""
        if name + ".__init__" in self.modules:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        if name in self.modules:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the code. The file name of a source is `<name>`."""
        name = module.__name__
        code = self.modules[name if name in self.modules else name + ".__init__"]
        exec(compile(code, "<" + name + ">", "exec") if isinstance(code, str) else code, module.__dict__)


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


def unpack(frame: bytes) -> Mapping[str, CodeType | str]:
    """The modules by name: their code if the host has the same version of bytecode, else their sources.

    Args:
        frame: as `host.bundle` makes it, without the length.
    """
    end = 8 + int.from_bytes(frame[4:8], "big")
    if frame[:4] == importlib.util.MAGIC_NUMBER:
        code: Mapping[str, CodeType] = marshal.loads(zlib.decompress(frame[8:end]))
        return code
    sources: Mapping[str, str] = json.loads(zlib.decompress(frame[end:]))
    return sources


def main() -> None:
    """Read the first frame (four bytes of length, then the modules), and start the worker."""
    sys.meta_path.insert(0, Modules(unpack(read(int.from_bytes(read(4), "big")))))
    importlib.import_module("autocoder_worker.start").main()


if __name__ == "__main__":
    main()
