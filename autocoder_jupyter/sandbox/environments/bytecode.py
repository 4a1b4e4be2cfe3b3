"""Compile the modules of an environment in advance, because a sandbox cannot write the bytecode.

Without bytecode a worker would compile pandas at each start (measured: seconds instead of 0.6 s). Compiling takes
seconds, too, so the bytecode of the most similar environment is reused by hard links. Python checks by time and size
that bytecode belongs to its source, and the hard links of uv do not change these.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from autocoder_jupyter.sandbox.cancellation import CancellationToken, run_cancellable

_SKIPPED = frozenset({"tests", "test"})


def remove_shipped(site_packages: Path) -> None:
    """Remove the bytecode that is part of packages.

    A package could ship bytecode for the sources of another one, and `adopt` would copy it into further environments.
    """
    for parent, folders, _ in os.walk(site_packages):
        if "__pycache__" in folders:
            shutil.rmtree(Path(parent, "__pycache__"))
            folders.remove("__pycache__")


def adopt(site_packages: Path, neighbour: Path) -> None:
    """Link the bytecode of another environment for all modules whose source is the same file in both.

    Args:
        site_packages: the folder that gets the bytecode.
        neighbour: the same folder of the other environment.
    """
    for source in _sources(neighbour):
        twin = site_packages / source.relative_to(neighbour)
        if not _same_file(source, twin):
            continue
        for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
            target = twin.parent / "__pycache__" / compiled.name
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                os.link(compiled, target)


def compile_missing(site_packages: Path, python: str, cache_tag: str, token: CancellationToken) -> None:
    """Compile all modules without bytecode, except tests of libraries. Modules that do not compile are skipped.

    Args:
        site_packages: folder of the modules.
        python: the interpreter on which the environment is based.
        cache_tag: see `cache_tag`.
        token: cancels it.

    Raises:
        Cancelled: `token` was cancelled.
    """
    missing = [str(source) for source in _sources(site_packages) if not _compiled(source, cache_tag).exists()]
    if not missing:
        return
    jobs = "0" if len(missing) > 200 else "1"
    # This runs outside of the sandbox. So the base interpreter is used, which no package can change, and the option -S,
    # so that no `.pth` file and no `sitecustomize` runs.
    compiler = [python, "-I", "-S", "-m", "compileall", "-qq", "-j", jobs, "-i", "-"]
    run_cancellable(compiler, input="\n".join(missing), token=token)


def cache_tag(python_version: tuple[int, int]) -> str:
    """The part of the name of a bytecode file that identifies the interpreter: `cpython-311`."""
    return "cpython-" + "".join(map(str, python_version))


def _compiled(source: Path, tag: str) -> Path:
    return source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"


def _sources(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and name != "__pycache__"]
        yield from (Path(parent, name) for name in files if name.endswith(".py"))


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
