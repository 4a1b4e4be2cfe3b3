"""Environments as virtual environments on this machine's disk: one per key, shared by all notebooks.

Each is built beside its place and renamed into it, so half of one is never visible; a lock file keeps two kernels from
building the same. uv links files from its cache, so an environment costs little time and disk.
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

from autocoder_jupyter.concurrency.file_locks import exclusive
from autocoder_jupyter.errors import PackageError
from autocoder_jupyter.sandbox.cancellation import CancellationToken
from autocoder_jupyter.sandbox.environments import bytecode, cleanup, contents
from autocoder_jupyter.sandbox.environments.locking import (
    FORMAT,
    INSTALL,
    LEFT_OVER,
    Progress,
    cache_folder,
    environment_key,
    host_platform,
    host_python,
    lock,
)
from autocoder_jupyter.sandbox.environments.pins import name_of
from autocoder_jupyter.sandbox.environments.usage_locks import mark_used
from autocoder_jupyter.sandbox.environments.uv import disk_is_full, index_identity, run_uv
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import Environment, EnvironmentSpec
from autocoder_jupyter.sandbox.worker import removal

_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors of a system that lacks something now."""

_MARKER = "autocode.json"
"""Written last; its presence says that the environment is whole."""


@dataclass(frozen=True)
class Interpreter:
    """A Python below virtual environments: its program, the folders that it needs to read, and what it says it is."""

    python: str
    prefixes: tuple[str, ...]
    release: str


def build(
    spec: EnvironmentSpec, *, on_progress: Progress | None = None, token: CancellationToken | None = None
) -> Environment:
    """Lock `spec` and build its environment, or find it already built.

    Raises:
        PackageError: it cannot be locked or installed, or there is no such Python here.
        Cancelled: it was stopped; nothing of it is left.
    """
    token = token or CancellationToken()
    interpreter = find_interpreter(spec.python_version)
    packages = lock(spec, on_progress=on_progress, token=token)
    below = f"{host_platform()} {interpreter.python} {interpreter.release}"
    key = environment_key(spec.python_version, below, packages, index=index_identity())
    folder = cache_folder() / "environments" / key
    environment = Environment(key, str(folder), packages, spec.python_version)
    use(environment)  # before it is looked for, so that no cleanup removes it in between
    if _is_whole(environment):
        return _dated(environment)
    with exclusive(folder.with_suffix(".lock"), token.raise_if_cancelled):
        if not _is_whole(environment):
            if on_progress is not None:
                on_progress(f"installing {len(packages)} packages")
            try:
                _build(environment, interpreter, on_progress, token)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise disk_is_full() from None
                raise
    cleanup.daily("environments", cleanup.clear_local)
    cleanup.keep_within_bound()
    return _dated(environment)


def examine(environment: Environment, *, token: CancellationToken | None = None) -> str:
    """What is wrong with an environment whose programs fail, as a sentence; "" when it is complete.

    What is damaged is built anew by the next `build`, from packages that uv fetches anew where its own are damaged too.
    """
    folder = Path(environment.location)
    if not _is_whole(environment):
        return "parts of it were removed"
    if _dated(environment) != environment:
        return "it was made anew while it was in use"
    found = contents.departures(folder)
    if words := found.in_words():
        _fetch_anew(
            contents.owners(_site_packages(folder), [folder / path for path in found.changed]),
            token or CancellationToken(),
        )
        (folder / _MARKER).unlink(missing_ok=True)
    return words


def use(environment: Environment) -> None:
    """Note that it is used now, and keep it as long as this process lives."""
    mark_used(Path(environment.location).with_suffix(".use"))


def interpreter_of(environment: Environment) -> Interpreter:
    """The Python that an environment was built with.

    Raises:
        PackageError: the environment is not there, or not whole.
    """
    if not _is_whole(environment):
        raise PackageError(
            "The environment is damaged or was removed.",
            why=environment.location,
            hint="Build it again: run the cell once more.",
        )
    recorded = _read_marker(Path(environment.location))["interpreter"]
    return Interpreter(recorded["python"], tuple(recorded["prefixes"]), recorded["release"])


def python_of(environment: Environment) -> Path:
    """The interpreter inside the environment."""
    return Path(environment.location) / "bin" / "python"


def find_interpreter(python_version: tuple[int, int]) -> Interpreter:
    """A Python of this version: the notebook's own, or one that uv finds.

    Raises:
        PackageError: there is none.
    """
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
            f"There is no Python {wanted} on this machine, and the local sandbox cannot bring one along.",
            hint=f"uv python install {wanted}, or use the notebook's own version, or --sandbox docker",
        ) from None


def _interpreter(python: str, prefixes: Any, release: str) -> Interpreter:
    both = dict.fromkeys(path for prefix in prefixes for path in (str(prefix), str(Path(prefix).resolve())))
    return Interpreter(python, tuple(both), release)


def _dated(environment: Environment) -> Environment:
    """The environment that is there now: workers of one that was in its place before cannot read its files."""
    with suppress(OSError):
        status = (Path(environment.location) / _MARKER).stat()
        return replace(environment, made=f"{status.st_ino:x}-{status.st_mtime_ns:x}")
    return environment


def _is_whole(environment: Environment) -> bool:
    """Whether the marker is there and says what it must, and the interpreter and each package are still there.

    Raises:
        OSError: the notebook lacks memory or may open no further file, which tells nothing of the environment.
    """
    folder = Path(environment.location)
    try:
        marker = _read_marker(folder)
        installed = {name.name.partition("-")[0] for name in _site_packages(folder).glob("*.dist-info")}
        return (
            marker["lock"] == list(environment.lock)
            and python_of(environment).exists()
            and len(installed) >= len(environment.lock)
        )
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise
        return False
    except (ValueError, KeyError, TypeError, StopIteration):
        return False


def _read_marker(folder: Path) -> dict[str, Any]:
    marker = json.loads((folder / _MARKER).read_text("utf-8"))
    if not isinstance(marker, dict):
        raise ValueError("the marker is not an object")
    return marker


def _build(
    environment: Environment, interpreter: Interpreter, on_progress: Progress | None, token: CancellationToken
) -> None:
    place = Path(environment.location)
    for left_over in place.parent.glob(f"{place.name}{LEFT_OVER}*"):
        removal.remove(left_over)
    work = Path(tempfile.mkdtemp(prefix=f"{place.name}{LEFT_OVER}", dir=place.parent))
    try:
        made = work / "environment"
        run_uv(
            ["venv", "--quiet", "--no-project", "--relocatable", "--python", interpreter.python, str(made)], token=token
        )
        _install(environment, made, on_progress, token)
        if damaged := contents.misfits(_site_packages(made)):  # in uv's cache, from which files are linked
            _fetch_anew(damaged, token)
            _install(environment, made, on_progress, token, anew=True)
        _compile(environment, made, interpreter, token, alone=place.exists())
        contents.write_list(made)
        marker = {"format": FORMAT, "lock": environment.lock, "interpreter": asdict(interpreter)}
        (made / _MARKER).write_text(json.dumps(marker), "utf-8")
        if place.exists():
            place.rename(work / "damaged")
        made.rename(place)
    finally:
        removal.remove(work)


def _install(
    environment: Environment,
    folder: Path,
    on_progress: Progress | None,
    token: CancellationToken,
    *,
    anew: bool = False,
) -> None:
    again = ["--reinstall"] if anew else []
    run_uv(
        [*INSTALL, *again, "--python", str(folder / "bin" / "python")],
        input="\n".join(environment.lock),
        suspects=list(map(name_of, environment.lock)),
        on_progress=on_progress,
        token=token,
    )


def _fetch_anew(distributions: Sequence[str], token: CancellationToken) -> None:
    """Have uv forget its own copies of these."""
    if distributions:
        run_uv(["cache", "clean", "--quiet", *distributions], token=token)


def _compile(
    environment: Environment, folder: Path, interpreter: Interpreter, token: CancellationToken, *, alone: bool
) -> None:
    """Compile what has no bytecode; from a neighbour none is taken over when it may be what was damaged."""
    site_packages = _site_packages(folder)
    bytecode.remove_shipped(site_packages)
    neighbour = None if alone else _most_similar(environment)
    if neighbour is not None and not contents.departures(neighbour).changed:
        with suppress(FileNotFoundError, StopIteration):  # it may be cleared away just now
            bytecode.adopt(site_packages, _site_packages(neighbour))
    tag = bytecode.cache_tag(environment.python_version)
    bytecode.compile_missing(site_packages, interpreter.python, tag, token)


def _most_similar(environment: Environment) -> Path | None:
    """The finished environment that has the most packages in common with this one."""
    shared = {folder: len(set(pins) & set(environment.lock)) for folder, pins in _finished(Path(environment.location))}
    return max(shared, key=lambda folder: shared[folder], default=None)


def _finished(place: Path) -> Iterator[tuple[Path, list[str]]]:
    for marker in place.parent.glob(f"*/{_MARKER}"):
        if marker.parent != place:
            try:
                said = _read_marker(marker.parent)
                if said["format"] == FORMAT:  # others may hold bytecode that we did not make
                    yield marker.parent, list(said["lock"])
            except (OSError, ValueError, KeyError):
                continue


def _site_packages(folder: Path) -> Path:
    return next(folder.glob("lib/python*/site-packages"))
