"""Compile an environment's modules in advance, because the sandboxes that import them cannot write.

Without bytecode a worker would compile pandas at each start (measured: seconds in place of 0.6 s). Compiling takes
seconds too, so an environment first takes over, by hard links, what its most similar neighbour has: Python itself
checks by time and size that bytecode belongs to its source, and uv's hard links keep both.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from autocoder_jupyter.sandbox.cancellation import CancellationToken, run_cancellable

_SKIPPED = frozenset({"tests", "test"})


def remove_shipped(site_packages: Path) -> None:
    """Remove the bytecode that packages brought along. It can lie beside the sources of others and claim to be theirs,
    and `adopt` would carry it into environments that never held the package.
    """
    for parent, folders, _ in os.walk(site_packages):
        if "__pycache__" in folders:
            shutil.rmtree(Path(parent, "__pycache__"))
            folders.remove("__pycache__")


def adopt(site_packages: Path, neighbour: Path) -> None:
    """Link the bytecode of `neighbour`'s modules that `site_packages` has as the same file."""
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
    """Compile what has no bytecode yet; tests of libraries are left out, and so is what does not compile.

    Raises:
        Cancelled: it was stopped.
    """
    missing = [str(source) for source in _sources(site_packages) if not _compiled(source, cache_tag).exists()]
    if not missing:
        return
    jobs = "0" if len(missing) > 200 else "1"
    # This runs outside of any sandbox: by the interpreter below the environment, which no package can have changed, and
    # with `-S`, so that no `.pth` file and no `sitecustomize` is run.
    compiler = [python, "-I", "-S", "-m", "compileall", "-qq", "-j", jobs, "-i", "-"]
    run_cancellable(compiler, input="\n".join(missing), token=token)


def cache_tag(python_version: tuple[int, int]) -> str:
    """The part of a bytecode file's name that tells the interpreter."""
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
