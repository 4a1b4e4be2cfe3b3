"""Virtual environments on this machine's disk: one for each key, shared by all notebooks.

An environment is built in a temporary folder and then renamed, so an incomplete one is never visible. A lock file
prevents two kernels from building the same environment. uv links files from its cache, which saves time and disk.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.file_locks import exclusive
from autocoder_jupyter.errors import PackageError
from autocoder_jupyter.sandbox.environments import installed
from autocoder_jupyter.sandbox.environments.installed import mark_used
from autocoder_jupyter.sandbox.environments.locking import (
    FORMAT,
    LEFT_OVER,
    environment_key,
    host_platform,
    host_python,
    install_target,
    lock,
)
from autocoder_jupyter.sandbox.environments.uv import disk_is_full, index_identity, run_uv
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import UNWATCHED, BuildWatch, Environment, EnvironmentSpec
from autocoder_jupyter.sandbox.worker import removal

_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors of a system that lacks something now."""

_MARKER = "autocode.json"
"""This file is written last. If it exists, the environment was built completely."""


@dataclass(frozen=True)
class VenvInterpreter:
    """The Python of a virtual environment.

    Args:
        prefixes: the folders that it must read.
        release: its `sys.version`.
    """

    python: str
    prefixes: tuple[str, ...]
    release: str


def build(spec: EnvironmentSpec, *, watch: BuildWatch = UNWATCHED) -> Environment:
    """Lock `spec` and build its environment, or return it if it is already built."""
    interpreter = find_interpreter(spec.python_version)
    packages = lock(spec, watch=watch)
    platform = f"{host_platform()} {interpreter.python} {interpreter.release}"
    key = environment_key(spec.python_version, platform, packages, index=index_identity())
    folder = cache_folder() / "environments" / key
    environment = Environment(key, str(folder), packages, spec.python_version)
    use(environment)  # before the check below, so that no cleanup removes it in between
    if _is_whole(environment):
        return _dated(environment)
    with exclusive(folder.with_suffix(".lock"), watch.token.raise_if_cancelled):
        if not _is_whole(environment):
            try:
                _build(environment, interpreter, watch)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise disk_is_full() from None
                raise
    installed.daily("environments", installed.clear_local)
    installed.keep_within_bound()
    return _dated(environment)


def examine(environment: Environment) -> str:
    """Check an environment whose programs fail.

    A damaged environment is marked, so that the next `build` builds it again. The damaged packages are removed from the
    cache of uv, so that they are downloaded again.
    """
    folder = Path(environment.location)
    if not _is_whole(environment):
        return "parts of it were removed"
    if _dated(environment) != environment:
        return "it was built again while it was in use"
    found = installed.differences(folder)
    if words := found.in_words():
        _remove_from_cache(
            installed.distributions_with(_site_packages(folder), [folder / path for path in found.changed]),
            UNWATCHED,
        )
        (folder / _MARKER).unlink(missing_ok=True)
    return words


def use(environment: Environment) -> None:
    """Record that it is used now. No cleanup removes it while this process runs."""
    mark_used(Path(environment.location).with_suffix(".use"))


def interpreter_of(environment: Environment) -> VenvInterpreter:
    """The Python with which an environment was built."""
    if not _is_whole(environment):
        raise PackageError(
            "The environment is damaged or was removed.",
            why=environment.location,
            hint="Build it again: run the cell once more.",
        )
    recorded = _read_marker(Path(environment.location))["interpreter"]
    return VenvInterpreter(recorded["python"], tuple(recorded["prefixes"]), recorded["release"])


def python_of(environment: Environment) -> Path:
    """The interpreter inside the environment."""
    return Path(environment.location) / "bin" / "python"


def find_interpreter(python_version: tuple[int, int]) -> VenvInterpreter:
    """A Python of this version: the one of the notebook, or one that uv finds on this machine."""
    if python_version == sys.version_info[:2]:
        return _interpreter(host_python(), (sys.base_prefix, sys.base_exec_prefix), sys.version)
    wanted = ".".join(map(str, python_version))
    try:
        python = run_uv(["python", "find", "--no-project", "--system", "--resolve-links", wanted]).strip()
        printed = subprocess.run(
            [python, "-I", "-S", "-c", program_text("interpreter_facts")],
            capture_output=True,
            text=True,
            check=True,
        )
        *prefixes, release = json.loads(printed.stdout)
        return _interpreter(python, prefixes, release)
    except (PackageError, OSError, subprocess.CalledProcessError, ValueError):
        raise PackageError(
            f"There is no Python {wanted} on this machine, and the local sandbox cannot install one.",
            hint=f"uv python install {wanted}, or use the notebook's own version, or sandbox = 'docker'",
        ) from None


def _interpreter(python: str, prefixes: Any, release: str) -> VenvInterpreter:
    both = dict.fromkeys(path for prefix in prefixes for path in (str(prefix), str(Path(prefix).resolve())))
    return VenvInterpreter(python, tuple(both), release)


def _dated(environment: Environment) -> Environment:
    """Set `made` from the present files. Workers of an earlier build at this location cannot read these files."""
    with suppress(OSError):
        status = (Path(environment.location) / _MARKER).stat()
        return replace(environment, made=f"{status.st_ino:x}-{status.st_mtime_ns:x}")
    return environment


def _is_whole(environment: Environment) -> bool:
    """Whether the marker has the right lock, and the interpreter and all packages exist."""
    folder = Path(environment.location)
    try:
        marker = _read_marker(folder)
        names = {name.name.partition("-")[0] for name in _site_packages(folder).glob("*.dist-info")}
        return (
            marker["lock"] == list(environment.lock)
            and python_of(environment).exists()
            and len(names) >= len(environment.lock)
        )
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise
        return False
    except (ValueError, KeyError, TypeError):
        return False


def _read_marker(folder: Path) -> dict[str, Any]:
    marker = json.loads((folder / _MARKER).read_text("utf-8"))
    if not isinstance(marker, dict):
        raise ValueError("the marker is not an object")
    return marker


def _build(environment: Environment, interpreter: VenvInterpreter, watch: BuildWatch) -> None:
    place = Path(environment.location)
    for left_over in place.parent.glob(f"{place.name}{LEFT_OVER}*"):
        removal.remove(left_over)
    work = Path(tempfile.mkdtemp(prefix=f"{place.name}{LEFT_OVER}", dir=place.parent))
    try:
        made = work / "environment"
        run_uv(
            ["venv", "--quiet", "--no-project", "--relocatable", "--python", interpreter.python, str(made)], watch=watch
        )
        _install(environment, made, watch)
        damaged = installed.damaged_distributions(_site_packages(made))
        if damaged:  # in uv's cache, from which files are linked
            _remove_from_cache(damaged, watch)
            _install(environment, made, watch)
        _compile(environment, made, interpreter, watch, alone=place.exists())
        installed.write_list(made)
        marker = {"format": FORMAT, "lock": environment.lock, "interpreter": asdict(interpreter)}
        (made / _MARKER).write_text(json.dumps(marker), "utf-8")
        if place.exists():
            place.rename(work / "damaged")
        made.rename(place)
    finally:
        removal.remove(work)


def _install(environment: Environment, folder: Path, watch: BuildWatch) -> None:
    """Install the packages into a new, empty folder.

    uv runs the interpreter that it is told, to know its properties, and Python runs `.pth` files of packages at its
    start. So that is the interpreter of the notebook, and never the one of an environment that has packages.
    """
    site_packages = _site_packages(folder)
    removal.remove(site_packages)
    install_target(environment.lock, environment.python_version, None, site_packages, watch=watch)


def _remove_from_cache(distributions: Sequence[str], watch: BuildWatch) -> None:
    """Remove distributions from the cache of uv."""
    if distributions:
        run_uv(["cache", "clean", "--quiet", *distributions], watch=watch)


def _compile(
    environment: Environment, folder: Path, interpreter: VenvInterpreter, watch: BuildWatch, *, alone: bool
) -> None:
    """Compile the modules, after copying bytecode from the most similar environment.

    With `alone` nothing is copied: the environment replaces a damaged one, and the other's bytecode may be the cause.
    """
    site_packages = _site_packages(folder)
    installed.remove_shipped_bytecode(site_packages)
    neighbour = None if alone else _most_similar(environment)
    if neighbour is not None and not installed.differences(neighbour).changed:
        with suppress(FileNotFoundError):  # a cleanup may be removing it
            installed.adopt_bytecode(site_packages, _site_packages(neighbour))
    tag = installed.cache_tag(environment.python_version)
    installed.compile_missing(site_packages, interpreter.python, tag, watch.token)


def _most_similar(environment: Environment) -> Path | None:
    """The finished environment that has the most packages in common with this one."""
    shared = {folder: len(set(pins) & set(environment.lock)) for folder, pins in _finished(Path(environment.location))}
    return max(shared, key=lambda folder: shared[folder], default=None)


def _finished(place: Path) -> Iterator[tuple[Path, list[str]]]:
    for marker in place.parent.glob(f"*/{_MARKER}"):
        if marker.parent != place:
            try:
                content = _read_marker(marker.parent)
                if content["format"] == FORMAT:  # other formats may have shipped bytecode
                    yield marker.parent, list(content["lock"])
            except (OSError, ValueError, KeyError):
                continue


def _site_packages(folder: Path) -> Path:
    """Its folder of packages."""
    found = next(folder.glob("lib/python*/site-packages"), None)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "The folder of its packages was removed", str(folder))
    return found
