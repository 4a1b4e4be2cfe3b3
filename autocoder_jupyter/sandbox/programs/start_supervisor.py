"""Run `sandbox.local.supervisor` in an interpreter without site-packages.

Arguments: the folder of this package, and the arguments of its `main`: what it serves, and file descriptors.
"""

import sys


def main(import_path: str, kind: str, *descriptors: str) -> None:
    """Import the module, and call its `main`."""
    sys.path.append(import_path)
    from autocoder_jupyter.sandbox.local import supervisor

    supervisor.main(kind, *map(int, descriptors))


if __name__ == "__main__":
    main(*sys.argv[1:])
