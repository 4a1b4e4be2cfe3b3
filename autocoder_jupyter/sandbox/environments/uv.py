"""Run uv, and turn its failures into errors.

uv is installed as a wheel with a binary; if it is missing, the one on PATH is used. It runs as a subprocess with its
own environment variables, so the notebook's process is not changed.

uv reads settings (indexes, versions of Python and others) from its working directory and the parents of it. These files
may be untrusted, so uv runs in the root directory. The settings of the user and the machine are read as usual. The
indexes of the notebook's folder are a permission to which the user can agree (`index_permissions`).
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from autocoder_jupyter.errors import PackageError, PackageRefused, SandboxUnavailable, working_folder
from autocoder_jupyter.sandbox.cancellation import UNWATCHED, BuildWatch, CancellationToken, run_cancellable
from autocoder_jupyter.sandbox.environments import package_index
from autocoder_jupyter.sandbox.environments.package_index import (
    Address,
    UvSettings,
    folder_indexes,
    uv_settings,
    without_credentials,
)
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.trust.permissions import machine_of

_NETWORK_SIGNS = (
    "failed to fetch",
    "error sending request",
    "dns error",
    "connection refused",
    "could not connect",
    "operation timed out",
    "request failed after",
    "network connectivity is disabled",
    "error decoding response body",
    "the network was disabled",
    "index lookups were disabled",
    "lack of valid authentication credentials",
)
_NO_INDEX = ("Packages were unavailable", "An index URL")
"""The beginnings of uv's sentences about an index that it may not, or cannot, ask."""

_REMOVED_VARIABLES = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_SYSTEM_PYTHON"),  # they select another Python
    *("UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY"),  # they select another working directory
    "UV_COMPILE_BYTECODE",  # its interpreter runs `.pth` files of packages
)
_PATHS = {"UV_CACHE_DIR", "UV_CONFIG_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR"}
WITHDRAWN = "withdrawn from the package index: "
"""The beginning of a progress line that must stay visible: the authors of a version in the lock have withdrawn it."""

_YANKED = re.compile(r"warning: `([^`]{1,200})` is yanked(?: \(reason: \"([^\n]*)\"\))?")
_CHATTER = (
    "Using Python",
    "Resolved ",
    "Prepared ",
    "Installed ",
    "Uninstalled ",
    "Downloading ",
    "Downloaded ",
    "+ ",
    "- ",
)
_BOX = re.compile(r"^[\s×╰├│─▶]+|^\s*(?:error|cause|hint|Caused by):\s*")
_ADDRESS = re.compile(r"(?:https?|file)://\S+")
_LONGEST_COMPLAINT = 100_000
"""Most characters that are read of uv's output. It has names from an index, which may be hostile."""

_NAME = r"(?<![A-Za-z0-9._-])(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*+)(?:\[[^\[\]]*+\])?"


class IndexUnreachable(PackageError):
    """The package index could not be reached."""


def run_uv(
    arguments: Sequence[str],
    *,
    input: str = "",
    suspects: Sequence[str] = (),
    watch: BuildWatch = UNWATCHED,
) -> str:
    """Run uv and return its standard output. If the network fails, uv runs again with only its cache.

    Args:
        arguments: of uv.
        input: its standard input.
        suspects: names of distributions, the most likely cause of an error first. The error may name one of them.
        watch: who waits for it.

    Raises:
        PackageError: uv failed.
        Cancelled: it was cancelled.
        SandboxUnavailable: uv is not installed.
    """
    done = _run(arguments, input, watch.token)
    if done.returncode and _is_network_failure(done.stderr):
        watch.tell("the package index does not answer; trying with the packages of the cache")
        offline = _run([*arguments, "--offline"], input, watch.token)
        if not offline.returncode:
            return offline.stdout
    if done.returncode:
        raise package_error(done.stderr, suspects)
    for pin, reason in _YANKED.findall(done.stderr[:_LONGEST_COMPLAINT]):
        watch.tell(f"{WITHDRAWN}{pin}{f', because: {reason[:200]}' if reason else ''}")
    return done.stdout


def package_error(stderr: str, suspects: Sequence[str] = ()) -> PackageError:
    """The error for a failure of uv, with the distribution that caused it and the important sentence of the output.

    Args:
        stderr: the error output of uv.
        suspects: see `run_uv`.
    """
    stderr = stderr[:_LONGEST_COMPLAINT]
    lines = [line for line in map(_clean, stderr.splitlines()) if line and not line.startswith(_CHATTER)]
    text = " ".join(lines)
    if _is_network_failure(stderr):
        return IndexUnreachable(
            "The package index cannot be reached, and the packages are not all in uv's cache.",
            why=_first(lines, "Failed to fetch", "error sending request", "dns error", *_NO_INDEX) or text[:300],
            hint="Check the connection, the proxy and the index configuration of pip or uv.",
        )
    if "os error 28" in stderr or "no space left on device" in stderr.lower():
        return disk_is_full()
    if unknown := re.search(rf"{_NAME} (?:was not found in the (?:package registry|provided)|is not in the)", text):
        return _unknown(unknown["name"], has_index="not found in the provided" not in unknown[0])
    if wheelless := re.search(rf"{_NAME}(?:[=<>!~][^ ]{{0,200}})? has no (?:usable )?wheels", text):
        name = wheelless["name"]
        return PackageRefused(
            f"No wheel of {name} fits this Python and platform, and source distributions are never built.",
            why=_essence(lines),
            hint="Ask for another version or another package.",
            package=name,
        )
    if missing := re.search(rf"there is no version of {_NAME}==(?P<version>[^ ,]{{1,100}})", text):
        return PackageError(
            f"The package index has no {missing['name']}=={missing['version']}.",
            why=_essence(lines),
            hint="Ask for another version, or check the index configuration of pip or uv: without an index, there are "
            "only the packages of uv's cache.",
            package=missing["name"],
        )
    if mismatch := re.search(rf"Hash mismatch for `{_NAME}", text):
        return PackageRefused(
            f"The file of {mismatch['name']} on the package index is not the one that the lock names.",
            why="Its SHA-256 is another: it was exchanged, there or on the way, or the lock was.",
            hint="Use the index that the lock was made with, or run the cell again, which makes a new lock.",
            package=mismatch["name"],
        )
    package = next((name for name in suspects if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)), None)
    return PackageError(
        f"The packages cannot be installed together{f', because of {package}' if package else ''}.",
        why=_essence(lines),
        hint="Loosen or drop one of the requirements.",
        package=package,
    )


def disk_is_full() -> PackageError:
    """The error for a full disk. It names no package."""
    return PackageError(
        "There is no room on the disk for the packages.",
        why="No space is left where environments are kept, or in uv's cache.",
        hint="Make room: %autocode cache shows what our own take, %autocode cache prune removes what is not used.",
    )


def find_uv() -> str:
    """The path of uv's binary.

    Raises:
        SandboxUnavailable: neither the wheel nor PATH has it.
    """
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise SandboxUnavailable("uv, which installs packages, is missing.", hint="pip install uv")
    return found


def index_permissions(folder: Path) -> tuple[Permission, ...]:
    """The package indexes of a folder, as permissions to which the user can agree."""
    return _permissions(folder_indexes(folder))


def index_identity() -> str:
    """A hash of the package indexes that uv uses now, for the keys of environments."""
    variables, settings = _configuration()
    return package_index.index_identity(variables, settings)


def _run(arguments: Sequence[str], input: str, token: CancellationToken) -> subprocess.CompletedProcess[str]:
    variables, settings = _configuration()
    options = settings.options if arguments[0] == "pip" else ()
    command = [find_uv(), *arguments, *options]
    return run_cancellable(command, input=input, env=variables, folder=Path(Path(sys.executable).anchor), token=token)


def _configuration() -> tuple[dict[str, str], UvSettings]:
    """All environment variables of uv, and the additional settings."""
    here = working_folder()
    wanted = folder_indexes(here)
    is_agreed = bool(wanted) and trust_in(here).covers(_permissions(wanted))
    settings = uv_settings(os.environ, wanted if is_agreed else ())
    variables = {
        **os.environ,
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "NO_COLOR": "1",
        **settings.variables,
    }
    for name in _REMOVED_VARIABLES:
        variables.pop(name, None)
    # uv runs in another folder, so relative paths of the user are made absolute.
    for name in _PATHS & variables.keys():
        variables[name] = str(here / variables[name])
    if links := variables.get("UV_FIND_LINKS"):
        variables["UV_FIND_LINKS"] = ",".join(link if "://" in link else str(here / link) for link in links.split(","))
    return variables, settings


def _permissions(addresses: Sequence[Address]) -> tuple[Permission, ...]:
    return tuple(
        Permission(
            part="package index",
            name=kind,
            value=without_credentials(where),
            why=f"packages are installed from there{_machine(where)}, and run in the sandbox",
            hidden=where,
        )
        for kind, where in addresses
    )


def _machine(where: str) -> str:
    """The machine of an index, which may have a name before its address; "" for a folder."""
    _, scheme, rest = where.partition("://")
    return f", from {machine_of(scheme.join(('https', rest)))}" if scheme and not where.startswith("file:") else ""


def _is_network_failure(stderr: str) -> bool:
    lowered = stderr.lower()
    return any(sign in lowered for sign in _NETWORK_SIGNS)


def _clean(line: str) -> str:
    """A line of uv's output without box characters, and without addresses, which may have user names and passwords."""
    previous = None
    while previous != line:
        previous, line = line, _BOX.sub("", line)
    return _ADDRESS.sub("(the package index)", line).strip()


def _first(lines: Sequence[str], *starts: str) -> str:
    return next((line for start in starts for line in lines if line.startswith(start)), "")


def _essence(lines: Sequence[str]) -> str:
    """The sentences from the first "Because" on; without one, all lines. At most 600 characters."""
    start = next((number for number, line in enumerate(lines) if line.startswith("Because")), 0)
    sentences = [line for line in lines[start:] if not line.startswith("No solution found")]
    return " ".join(sentences)[:600]


def _unknown(name: str, has_index: bool) -> PackageError:
    """The error for an unknown package. It suggests a distribution of the notebook with a similar name, if any."""
    installed = {canonicalize_name(found) for d in importlib.metadata.distributions() if (found := d.metadata["Name"])}
    close = difflib.get_close_matches(canonicalize_name(name), installed, n=1, cutoff=0.8)
    return PackageError(
        f"There is no package {name} "
        + ("on the package index." if has_index else "in the configured folders, and no package index is asked."),
        hint=_other_name(canonicalize_name(name), close),
        package=name,
    )


def _other_name(name: str, close: Sequence[str]) -> str:
    if not close:
        return "Check the spelling, and the index configuration of pip or uv; the model may have made the name up."
    if close[0] == name:  # the notebook has it, so it exists
        return "The configured index does not have it: check the index configuration of pip or uv."
    return f"Did you mean {close[0]}?"
