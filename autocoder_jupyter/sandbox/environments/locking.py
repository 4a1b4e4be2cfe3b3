"""Resolve, name and install environments by their content.

An `EnvironmentSpec` becomes a *lock* (exact versions with hashes, wheels only, resolved by uv), and the lock with the
Python, the platform, the package index and the system packages becomes the *key* under which the environment is kept.
`local` makes a virtual environment of it (`local_environments`), `docker` an image layer.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform as machine
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import platformdirs
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from autocoder_jupyter.errors import PackageError, PackageRefused
from autocoder_jupyter.sandbox.cancellation import CancellationToken
from autocoder_jupyter.sandbox.environments.pins import check_pins, is_lock, name_of, pin_of, read_lock
from autocoder_jupyter.sandbox.environments.uv import IndexUnreachable, index_identity, run_uv
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

FORMAT = 2
"""Part of every key; raised when environments or locks are made differently."""

BASE_PACKAGES = ("numpy", "pandas", "pyarrow", "pytest")
"""In every environment, asked for or not: what the worker itself needs, and what runs the tests."""

PINNED_TO_NOTEBOOK = ("pandas", "pyarrow")
"""Of those, what decides how dtypes look; the same version as beside the notebook, when the rest allows it."""

LOCK_SECONDS = 7 * 24 * 3600
"""How long the same request gives the same lock without asking the index again."""

INSTALL = (
    *("pip", "install", "--no-deps", "--only-binary", ":all:", "--requirements", "-"),
    "--require-hashes",
    "--no-compile-bytecode",  # uv's own compiler runs `.pth` files of packages, here, outside of any sandbox
)
"""How uv installs a lock, which it reads: nothing is resolved, built or run, and contents are the lock's. It is not
told to be quiet, because it would then not say that a version was withdrawn."""

LEFT_OVER = ".tmp-"
"""After its key, the name of a folder in which an environment is being made or removed."""

Progress = Callable[[str], None]


def cache_folder() -> Path:
    """The folder of environments, locks and temporary folders; `AUTOCODE_CACHE_DIR` overrides it."""
    chosen = os.environ.get("AUTOCODE_CACHE_DIR")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("autocoder-jupyter")


def host_platform() -> str:
    """The machine, as far as wheels can tell: system, architecture and C library."""
    libc = "-".join(machine.libc_ver())
    return f"{sysconfig.get_platform()}-{libc}"


def environment_key(
    python_version: tuple[int, int],
    platform: str,
    lock: Sequence[str],
    system_packages: Sequence[str] = (),
    *,
    index: str,
) -> str:
    """Hash of all that an environment holds, and of where it comes from.

    Args:
        python_version: (major, minor).
        platform: the machine and the interpreter, or the image below.
        lock: exact requirements with their hashes.
        system_packages: of apt.
        index: see `index_identity`. What one project's index gave is never another project's environment.
    """
    return _digest([python_version, platform, sorted(lock), sorted(system_packages), index])


def lock(
    spec: EnvironmentSpec,
    *,
    platform: str | None = None,
    on_progress: Progress | None = None,
    token: CancellationToken | None = None,
) -> tuple[str, ...]:
    """Exact versions, with hashes, of all that `spec` needs, its dependencies and `BASE_PACKAGES` (see `pins`).

    A lock that `spec` brings along is used as it is; when it has no hashes, the index is asked for those of its
    versions. One that was resolved lately is taken from the cache.

    Args:
        spec: what is wanted.
        platform: as uv's `--python-platform` ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28"); this machine's
            by default.
        on_progress: gets a line before anything slow.
        token: ends the resolver.

    Raises:
        PackageRefused: a URL, a path or an option in place of a name, or a package without a fitting wheel.
        PackageError: unknown package, conflict, or no network.
        Cancelled: it was stopped.
    """
    if is_lock(spec.lock) and spec.lock:
        return spec.lock
    if spec.lock:
        return _hashed(spec, platform, on_progress, token)
    wanted = (*_check_requirements(spec.packages), *map(pin_of, spec.pinned))
    pinned = _base(spec.python_version, pinned=True)
    plain = _base(spec.python_version, pinned=False)
    remembered = _remembered_lock_file(spec.python_version, platform, (*pinned, *wanted, *spec.pinned))
    if found := _read_lock(remembered):
        return found
    if on_progress is not None:
        on_progress(f"resolving {', '.join(wanted) or 'the base packages'}")
    try:
        resolved = _resolve((*pinned, *wanted), spec.python_version, platform, wanted, on_progress, token)
    except (IndexUnreachable, PackageRefused):
        raise
    except PackageError:
        if pinned == plain:
            raise
        # Better other versions of pandas and pyarrow than no environment: values cross by Arrow, not by version.
        resolved = _resolve((*plain, *wanted), spec.python_version, platform, wanted, on_progress, token)
    own = {name_of(line): line for line in spec.pinned}
    resolved = tuple(own.get(name_of(line), line) for line in resolved)  # the index does not say what is in them
    _write_lock(remembered, resolved)
    return resolved


def install_target(
    lock: Sequence[str],
    python_version: tuple[int, int],
    platform: str | None,
    target: Path,
    *,
    on_progress: Progress | None = None,
    token: CancellationToken | None = None,
) -> None:
    """Install a lock into a plain folder, for a Python and a platform that need not be this one's.

    Args:
        lock: exact requirements with hashes; nothing is resolved.
        python_version: (major, minor) that will import from the folder.
        platform: as in `lock()`.
        target: the folder; made when missing.
        on_progress: gets a line before the installation.
        token: ends it; the folder is then half filled.

    Raises:
        PackageError, Cancelled: as in `lock()`.
    """
    check_pins(lock)
    if on_progress is not None:
        on_progress(f"installing {len(lock)} packages")
    run_uv(
        [
            *INSTALL,
            *("--target", str(target), "--python", host_python()),
            *_for_target(python_version, platform),
        ],
        input="\n".join(lock),
        suspects=list(map(name_of, lock)),
        on_progress=on_progress,
        token=token,
    )


def host_python() -> str:
    """The interpreter below the notebook's own; a virtual environment's is only a link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def write_atomically(file: Path, text: str) -> None:
    """Replace `file`, so that no reader ever sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(temporary).replace(file)


def _hashed(
    spec: EnvironmentSpec, platform: str | None, on_progress: Progress | None, token: CancellationToken | None
) -> tuple[str, ...]:
    """The versions of a lock that has no hashes, with those that the index gives."""
    check_pins(spec.lock)
    versions = sorted(map(pin_of, spec.lock))
    remembered = _remembered_lock_file(spec.python_version, platform, ("exactly", *versions))
    if found := _read_lock(remembered):
        return found
    if on_progress is not None:
        on_progress("looking up the hashes of the packages")
    resolved = _resolve(versions, spec.python_version, platform, versions, on_progress, token)
    locked = tuple(line for line in resolved if pin_of(line) in versions)
    _write_lock(remembered, locked)
    return locked


def _resolve(
    requirements: Sequence[str],
    python_version: tuple[int, int],
    platform: str | None,
    wanted: Sequence[str],
    on_progress: Progress | None,
    token: CancellationToken | None,
) -> tuple[str, ...]:
    printed = run_uv(
        [
            *("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "-"),
            *("--generate-hashes", "--python", host_python()),
            *_for_target(python_version, platform),
        ],
        input="\n".join(requirements),
        suspects=_names([*wanted, *requirements]),
        on_progress=on_progress,
        token=token,
    )
    return read_lock(printed)


def _for_target(python_version: tuple[int, int], platform: str | None) -> list[str]:
    arguments = ["--python-version", ".".join(map(str, python_version))]
    return [*arguments, "--python-platform", platform] if platform else arguments


def _base(python_version: tuple[int, int], *, pinned: bool) -> tuple[str, ...]:
    if not pinned or python_version != sys.version_info[:2]:
        return BASE_PACKAGES
    return tuple(f"{name}=={_installed(name)}" if name in PINNED_TO_NOTEBOOK else name for name in BASE_PACKAGES)


def _installed(name: str) -> str:
    return importlib.metadata.version(name)


def _check_requirements(requirements: Iterable[str]) -> tuple[str, ...]:
    """The requirements in a canonical order and spelling; only names, extras, versions and markers are allowed."""
    checked: set[str] = set()
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            raise _refused(text) from None
        if requirement.url is not None:
            raise _refused(text)
        requirement.name = canonicalize_name(requirement.name)
        checked.add(str(requirement))
    return tuple(sorted(checked))


def _refused(text: str) -> PackageRefused:
    return PackageRefused(
        f"{text!r} is not the name of a package, with or without versions.",
        why="URLs, paths, repositories and options are refused: what they install cannot be checked.",
        hint="Write for instance scikit-learn or scikit-learn>=1.5.",
        package=text,
    )


def _names(requirements: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(Requirement(text).name for text in requirements))


def _remembered_lock_file(python_version: tuple[int, int], platform: str | None, requirements: Sequence[str]) -> Path:
    key = _digest([python_version, platform or host_platform(), list(requirements), index_identity()])
    return cache_folder() / "locks" / f"{key}.json"


def _read_lock(file: Path) -> tuple[str, ...]:
    """A lock of lately; () when there is none, or the file holds anything else."""
    try:
        if time.time() - file.stat().st_mtime > LOCK_SECONDS:
            return ()
        found = parse(Folder(file.parent).read_bytes(file.name))
    except (OSError, ValueError):
        return ()
    return tuple(found) if is_lock(found) else ()


def _write_lock(file: Path, lock: Sequence[str]) -> None:
    write_atomically(file, json.dumps(list(lock)))


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps([FORMAT, content]).encode()).hexdigest()[:20]
