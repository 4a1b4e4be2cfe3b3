"""Read a `pylock.toml` (PEP 751) as lines of a lock: exact versions with the hashes of their wheels.

The file is not trusted. Its addresses are not used: wheels come from the configured index, and must have the hashes of
the file. Packages without a wheel (a source archive, a folder, a repository) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from autocoder_jupyter.errors import InvalidRequest, PackageRefused
from autocoder_jupyter.sandbox.environments.pins import is_lock
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_toml import parse

MOST_BYTES = 4 * 2**20


def read_pylock(path: Path, python_version: tuple[int, int]) -> tuple[str, ...]:
    """Read the lines for one Python on this platform.

    Args:
        path: of the file.
        python_version: (major, minor) of the Python in the sandbox.

    Raises:
        InvalidRequest: the file cannot be read, is not a valid `pylock.toml`, or is for another Python.
        PackageRefused: a package has no wheel with a SHA-256.
    """
    shown = visible(path)
    try:
        real = path.expanduser().resolve(strict=True)
        content = parse(Folder(real.parent).read_text(real.name, MOST_BYTES))
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
        lines = tuple(_lines(packages, version))
    except (InvalidSpecifier, InvalidMarker, TypeError, KeyError, AttributeError) as error:
        raise InvalidRequest(f"{shown} is not a pylock.toml.", why=visible(error)[:300]) from None
    if not is_lock(lines):
        raise InvalidRequest(f"{shown} is not a pylock.toml.", why="A name, a version or a hash is invalid.")
    return lines


def _lines(packages: list[Any], version: str) -> Iterator[str]:
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
