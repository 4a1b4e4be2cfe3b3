"""Run the `main` of a module of `sandbox.local` in an interpreter without site-packages.

Arguments: the folder of this package, the name of the module, and the file descriptors for its `main`.
"""

import importlib
import sys


def main(import_path: str, module: str, *descriptors: str) -> None:
    """Import the module, and call its `main`."""
    sys.path.append(import_path)
    importlib.import_module(f"autocoder_jupyter.sandbox.local.{module}").main(*map(int, descriptors))


if __name__ == "__main__":
    main(*sys.argv[1:])
