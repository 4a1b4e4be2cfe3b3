"""Lock the packages of an environment, read the user's own lock file, and install a lock.

uv resolves an `EnvironmentSpec` to a *lock*: exact versions with hashes, only wheels. The *key* of an environment is a
hash of the lock, the Python, the platform, the package index and the system packages. The local sandbox builds a
virtual environment from a lock (`local.environments`), the Docker sandbox a layer of an image (`docker.environments`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform as machine
import re
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.errors import InvalidRequest, PackageError, PackageRefused
from autocoder_jupyter.sandbox.environments.uv import IndexUnreachable, index_identity, run_uv
from autocoder_jupyter.sandbox.protocol import UNWATCHED, BuildWatch, EnvironmentSpec
from autocoder_jupyter.untrusted import plain_toml
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible

# The lines of a lock
#
#     pandas==3.1.1 --hash=sha256:0a1b… --hash=sha256:2c3d…
#
# A line has an exact version and the SHA-256 of all its files, so a lock works on every platform. uv takes the wheel
# that fits, and refuses a file with another hash. A lock may be untrusted, so a line must have nothing else.

_PIN = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*"
_HASH = r"--hash=sha256:[0-9a-f]{64}"
_LINE = re.compile(rf"{_PIN}(?: {_HASH})*")
_HASHED_LINE = re.compile(rf"{_PIN}(?: {_HASH})+")

MAX_LINES = 2_000
MAX_CHARACTERS = 200_000
"""Most characters of a line. A version with many wheels has a hundred hashes of 80 characters."""


def pin_of(line: str) -> str:
    """The name and version of a line: `pandas==3.1.1`."""
    return line.partition(" ")[0]


def name_of(line: str) -> str:
    """The name of the package of a line: `pandas`."""
    return line.partition("==")[0]


def is_lock(lines: object) -> bool:
    """Whether this is a list of valid lines of a lock, each with hashes."""
    return (
        isinstance(lines, list | tuple)
        and len(lines) <= MAX_LINES
        and all(isinstance(line, str) and len(line) <= MAX_CHARACTERS for line in lines)
        and all(_HASHED_LINE.fullmatch(line) for line in lines)
    )


def check_pins(lines: Iterable[str]) -> None:
    """Check that each line is an exact version, with or without hashes.

    Raises:
        PackageRefused: a line is not.
    """
    for line in lines:
        if len(line) > MAX_CHARACTERS or not _LINE.fullmatch(line):
            raise PackageRefused(
                f"{line[:80]!r} is not an exact requirement.",
                hint="A lock holds lines such as pandas==3.0.1, with the hashes of its files behind.",
                package=line[:80],
            )


def read_lock(printed: str) -> tuple[str, ...]:
    """The lines of a lock from the output of `uv pip compile --generate-hashes`."""
    lines = []
    for text in printed.replace("\\\n", " ").splitlines():
        pin, *words = text.split() or [""]
        line = " ".join([pin, *(word for word in words if re.fullmatch(_HASH, word))])
        if _HASHED_LINE.fullmatch(line):
            lines.append(line)
        elif re.fullmatch(_PIN, pin):
            raise PackageError(
                f"The package index names no SHA-256 for the files of {pin}.",
                why="Without one, nobody can tell whether what is installed is what was tested.",
                hint="Use another index, or ask its version_manager.",
                package=name_of(pin),
            )
    return tuple(lines)


# Locks

FORMAT = 2
"""A part of every key. It is increased when environments or locks are built in another way."""

BASE_PACKAGES = ("numpy", "pandas", "pyarrow", "pytest")
"""The packages of every environment. The worker needs them, and pytest runs the tests."""

PINNED_TO_NOTEBOOK = ("pandas", "pyarrow")
"""Packages that determine the dtypes. They have the versions of the notebook if the other requirements allow it."""

PYTEST = "pytest==9.2.0"
"""The version that runs the tests, because it decides what a test means: `None == pytest.approx(None)` is an error in
one version and true in another."""

LOCK_SECONDS = 7 * 24 * 3600
"""How long the lock of a request is reused without resolving it again."""

INSTALL = (
    *("pip", "install", "--no-deps", "--only-binary", ":all:", "--requirements", "-"),
    "--require-hashes",
    "--no-compile-bytecode",  # uv's own compiler would run `.pth` files of packages outside of the sandbox
)
"""The arguments with which uv installs a lock from its standard input. Nothing is resolved, built or run; hashes are
checked. There is no `--quiet`, because uv must report that a version was withdrawn."""

LEFT_OVER = ".tmp-"
"""Follows the key in the name of a folder in which an environment is being built or removed."""


def host_platform() -> str:
    """The platform for wheels: system, architecture and C library."""
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
    """The key of an environment: a hash of its content and of the source of its packages."""
    return _digest([python_version, platform, sorted(lock), sorted(system_packages), index])


def lock(
    spec: EnvironmentSpec,
    *,
    platform: str | None = None,
    watch: BuildWatch = UNWATCHED,
) -> tuple[str, ...]:
    """The lock of `spec`: exact versions with hashes of its packages, their dependencies and `BASE_PACKAGES`.

    If `spec` has a lock, that is used. If it has no hashes, they are read from the index. A lock of the same request
    that was resolved within a week is taken from the cache.
    """
    if is_lock(spec.lock) and spec.lock:
        return spec.lock
    if spec.lock:
        return _hashed(spec, platform, watch)
    wanted = (*_check_requirements(spec.packages), *map(pin_of, spec.pinned))
    bases = _bases(spec.python_version)
    cached = _cached_lock_file(spec.python_version, platform, (*bases[0], *wanted, *spec.pinned))
    if found := _read_lock(cached):
        return found
    watch.on_step(f"resolving {', '.join(wanted) or 'the base packages'}")
    for base in bases:
        try:
            resolved = _resolve((*base, *wanted), spec.python_version, platform, wanted, watch)
            break
        except (IndexUnreachable, PackageRefused):
            raise
        except PackageError:
            if base == bases[-1]:
                raise
    own = {name_of(line): line for line in spec.pinned}
    resolved = tuple(own.get(name_of(line), line) for line in resolved)  # the hashes of the user's lock are kept
    _write_lock(cached, resolved)
    return resolved


def install_target(
    lock: Sequence[str],
    python_version: tuple[int, int],
    platform: str | None,
    target: Path,
    *,
    watch: BuildWatch = UNWATCHED,
) -> None:
    """Install a lock into a folder, also for another Python or platform than that of this machine."""
    check_pins(lock)
    watch.on_step(f"installing {len(lock)} packages")
    run_uv(
        [
            *INSTALL,
            *("--target", str(target), "--python", host_python()),
            *_for_target(python_version, platform),
        ],
        input="\n".join(lock),
        suspects=list(map(name_of, lock)),
        watch=watch,
    )


def host_python() -> str:
    """The base interpreter of the notebook. The interpreter of a virtual environment is a link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def write_atomically(file: Path, text: str) -> None:
    """Replace the content of `file` in one step, so that no reader gets an incomplete file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(temporary).replace(file)


def _hashed(spec: EnvironmentSpec, platform: str | None, watch: BuildWatch) -> tuple[str, ...]:
    """Add the hashes of the index to a lock without hashes."""
    check_pins(spec.lock)
    versions = sorted(map(pin_of, spec.lock))
    cached = _cached_lock_file(spec.python_version, platform, ("exactly", *versions))
    if found := _read_lock(cached):
        return found
    watch.on_step("looking up the hashes of the packages")
    resolved = _resolve(versions, spec.python_version, platform, versions, watch)
    locked = tuple(line for line in resolved if pin_of(line) in versions)
    _write_lock(cached, locked)
    return locked


def _resolve(
    requirements: Sequence[str],
    python_version: tuple[int, int],
    platform: str | None,
    wanted: Sequence[str],
    watch: BuildWatch,
) -> tuple[str, ...]:
    printed = run_uv(
        [
            *("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:", "-"),
            *("--generate-hashes", "--python", host_python()),
            *_for_target(python_version, platform),
        ],
        input="\n".join(requirements),
        suspects=_names([*wanted, *requirements]),
        watch=watch,
    )
    return read_lock(printed)


def _for_target(python_version: tuple[int, int], platform: str | None) -> list[str]:
    arguments = ["--python-version", ".".join(map(str, python_version))]
    return [*arguments, "--python-platform", platform] if platform else arguments


def _bases(python_version: tuple[int, int]) -> list[tuple[str, ...]]:
    """The base packages with versions; then with fewer, for requirements or an index that do not allow these.

    Other versions of pandas and pyarrow are possible, because values are transferred as Arrow.
    """
    notebook = {name: f"{name}=={_installed(name)}" for name in PINNED_TO_NOTEBOOK}
    notebook = notebook if python_version == sys.version_info[:2] else {}
    bases: tuple[dict[str, str], ...] = ({**notebook, "pytest": PYTEST}, notebook, {})
    return list(dict.fromkeys(tuple(versions.get(name, name) for name in BASE_PACKAGES) for versions in bases))


def _installed(name: str) -> str:
    return importlib.metadata.version(name)


def _check_requirements(requirements: Iterable[str]) -> tuple[str, ...]:
    """The requirements, normalized and sorted. Only names, extras, versions and markers are allowed."""
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


def _cached_lock_file(python_version: tuple[int, int], platform: str | None, requirements: Sequence[str]) -> Path:
    key = _digest([python_version, platform or host_platform(), list(requirements), index_identity()])
    return cache_folder() / "locks" / f"{key}.json"


def _read_lock(file: Path) -> tuple[str, ...]:
    """Read a lock from the cache; () if it is missing, too old or invalid."""
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


# The user's own pylock.toml (PEP 751)
#
# The file is not trusted. Its addresses are not used: wheels come from the configured index, and must have the hashes
# of the file. Packages without a wheel (a source archive, a folder, a repository) are refused.

MOST_PYLOCK_BYTES = 4 * 2**20


def read_pylock(path: Path, python_version: tuple[int, int]) -> tuple[str, ...]:
    """Read the lines for one Python on this platform.

    Raises:
        InvalidRequest: the file cannot be read, is not a valid `pylock.toml`, or is for another Python.
        PackageRefused: a package has no wheel with a SHA-256.
    """
    shown = visible(path)
    try:
        real = path.expanduser().resolve(strict=True)
        content = plain_toml.parse(Folder(real.parent).read_text(real.name, MOST_PYLOCK_BYTES))
    except OSError as error:
        raise InvalidRequest(f"{shown} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise InvalidRequest(f"{shown} is not TOML.", why=visible(error)[:300]) from None
    packages = content.get("packages")
    if not str(content.get("lock-version", "")).startswith("1.") or not isinstance(packages, list):
        raise InvalidRequest(
            f"{shown} is not a pylock.toml.", hint="Write one with uv export --format pylock.toml, or pip lock."
        )
    version = ".".join(map(str, python_version))
    try:
        if not SpecifierSet(str(content.get("requires-python", ""))).contains(f"{version}.99", prereleases=True):
            made_for = visible(content["requires-python"])
            raise InvalidRequest(f"{shown} is made for Python {made_for}, not for {version}.")
        lines = tuple(_pylock_lines(packages, version))
    except (InvalidSpecifier, InvalidMarker, TypeError, KeyError, AttributeError) as error:
        raise InvalidRequest(f"{shown} is not a pylock.toml.", why=visible(error)[:300]) from None
    if not is_lock(lines):
        raise InvalidRequest(f"{shown} is not a pylock.toml.", why="A name, a version or a hash is invalid.")
    return lines


def _pylock_lines(packages: list[Any], version: str) -> Iterator[str]:
    seen: set[str] = set()
    here = {"python_version": version, "python_full_version": f"{version}.0"}
    for package in packages:
        marker = package.get("marker")
        if marker is not None and not Marker(marker).evaluate(here):
            continue
        name = canonicalize_name(package["name"])
        if name in seen:
            raise KeyError(f"{name} is there twice for this Python")
        seen.add(name)
        hashes = sorted({_sha256(wheel) for wheel in package.get("wheels") or ()} - {""})
        if not hashes or "version" not in package:
            raise PackageRefused(
                f"{visible(name)} of the pylock.toml has no wheel with a SHA-256, and nothing else is installed.",
                hint="Lock it from the package index.",
                package=name,
            )
        yield " ".join([f"{name}=={package['version']}", *(f"--hash=sha256:{one}" for one in hashes)])


def _sha256(wheel: Mapping[str, Any]) -> str:
    return str(wheel.get("hashes", {}).get("sha256", "")).lower()
