"""Run uv with the package indexes that the user configured, and turn its failures into errors.

uv is installed as a wheel with a binary; if it is missing, the one on PATH is used. It runs as a subprocess with its
own environment variables, so the notebook's process is not changed.

uv reads settings (indexes, versions of Python and others) from its working directory and the parents of it. These files
may be untrusted, so uv runs in the root directory. The settings of the user and the machine are read as usual. The
indexes of the notebook's folder are a permission to which the user can agree (`index_permissions`).
"""

from __future__ import annotations

import configparser
import difflib
import functools
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from autocoder_jupyter.errors import PackageError, PackageRefused, SandboxUnavailable, working_folder
from autocoder_jupyter.sandbox.protocol import UNWATCHED, BuildWatch, CancellationToken, run_cancellable
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.trust.permissions import machine_of
from autocoder_jupyter.untrusted import plain_toml
from autocoder_jupyter.untrusted.folder import Folder

# Package indexes
#
# Users and administrators configure pip: an index of the company, a proxy, a CA bundle. uv does not read these
# settings, so they are read here and passed to uv in environment variables of the subprocess. If the indexes of uv
# itself are configured (`UV_…` variables, a `uv.toml` of the user or the machine), only those are used.
#
# A `uv.toml` or `[tool.uv]` in the notebook's folder is untrusted. Only the addresses of indexes are read from it, and
# they are used if the user has agreed to them.

_UV_INDEX_VARIABLES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
_CREDENTIALS = re.compile(r"://[^/@\s\"]*@")
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")

Address = tuple[str, str]
"""A kind (`default index`, `index`, `find-links`, `no-index`) and an address. A named index is `name=https://…`."""

FILE_BYTES = 2**20
"""Bytes. A larger settings file is ignored."""

_FILES = 8
"""Most settings files whose indexes are kept. Parsing a `pyproject.toml` takes milliseconds."""


@dataclass(frozen=True)
class UvSettings:
    """Additional settings for uv: environment variables, and options of its `pip` commands."""

    variables: Mapping[str, str]
    options: tuple[str, ...] = ()


def uv_settings(environ: Mapping[str, str], folder: Sequence[Address] = ()) -> UvSettings:
    """The settings of pip, translated for uv."""
    pip = pip_settings(environ)
    connection = _connection(pip, environ)
    if any(environ.get(name) for name in _UV_INDEX_VARIABLES):
        return UvSettings(connection)
    if folder:
        return UvSettings(connection | _variables_of(folder), ("--no-index",) if _forbids_index(folder) else ())
    if any(_addresses(file) for file in _uv_files(environ)):
        return UvSettings(connection)
    no_index = pip.get("no-index", "").strip().lower() in ("1", "true", "yes", "on")
    return UvSettings(connection | _indexes(pip, environ), ("--no-index",) if no_index else ())


def folder_indexes(folder: Path) -> tuple[Address, ...]:
    """The indexes in the nearest `uv.toml` or `[tool.uv]` of the notebook's folder or a parent; () if there is none."""
    for parent in (folder, *folder.parents):
        for name in ("uv.toml", "pyproject.toml"):
            indexes = _indexes_in(parent / name)
            if indexes is not None:
                return indexes
    return ()


def hash_of_indexes(environ: Mapping[str, str], settings: UvSettings) -> str:
    """A hash of the indexes, without credentials; "" for the default index. Equal addresses give equal hashes."""
    variables = [(name, environ[name]) for name in (*_UV_INDEX_VARIABLES, "UV_NO_INDEX") if environ.get(name)]
    files = [address for file in _uv_files(environ) for address in _addresses(file)]
    if not variables and not files and not settings.options:
        return ""
    bare = _CREDENTIALS.sub("://", json.dumps([variables, files, settings.options]))
    return hashlib.sha256(bare.encode()).hexdigest()[:20]


def without_credentials(address: str) -> str:
    """An address without user name and password."""
    return _CREDENTIALS.sub("://", address)


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings of pip for an installation, by long option name. As in pip, later sources have priority."""
    settings: dict[str, str] = {}
    for file in _pip_files(environ):
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                settings |= {key.replace("_", "-"): value for key, value in parser.items(section)}
    for name, value in environ.items():
        if name.startswith("PIP_") and value and name != "PIP_CONFIG_FILE":
            settings[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return settings


def _pip_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The configuration files of pip, from the weakest to the strongest."""
    chosen = environ.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if sys.platform == "win32":
        yield Path(environ.get("PROGRAMDATA", "C:/ProgramData")) / "pip" / "pip.ini"
        yield home / "pip" / "pip.ini"
        yield Path(environ.get("APPDATA", home)) / "pip" / "pip.ini"
        yield Path(sys.prefix) / "pip.ini"
    else:
        if sys.platform == "darwin":
            yield Path("/Library/Application Support/pip/pip.conf")
        for folder in reversed(environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep)):
            yield Path(folder) / "pip" / "pip.conf"
        yield Path("/etc/pip.conf")
        yield home / ".pip" / "pip.conf"
        if sys.platform == "darwin":
            yield home / "Library" / "Application Support" / "pip" / "pip.conf"
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
        yield Path(sys.base_prefix) / "pip.conf"
        yield Path(sys.prefix) / "pip.conf"
    if chosen:
        yield Path(chosen)


def _indexes(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    added: dict[str, str] = {}
    if index := pip.get("index-url"):
        added["UV_DEFAULT_INDEX"] = index.strip()
    if extra := pip.get("extra-index-url", "").split():
        added["UV_INDEX"] = " ".join(extra)
        # pip takes the best version of all indexes. By default uv uses only the first index that has the name, and
        # might not find a version that pip has installed.
        if not environ.get("UV_INDEX_STRATEGY"):
            added["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if links := pip.get("find-links", "").split():
        added["UV_FIND_LINKS"] = ",".join(links)
    return added


def _connection(pip: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    added: dict[str, str] = {}
    authorities = next(filter(None, (pip.get("cert"), *(environ.get(name) for name in _CA_VARIABLES))), None)
    if authorities and not environ.get("SSL_CERT_FILE"):
        added["SSL_CERT_FILE"] = authorities.strip()
    if hosts := pip.get("trusted-host", "").split():
        added["UV_INSECURE_HOST"] = environ.get("UV_INSECURE_HOST") or " ".join(hosts)
    if (proxy := pip.get("proxy")) and not any(environ.get(n) for n in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")):
        added |= {"HTTPS_PROXY": proxy.strip(), "HTTP_PROXY": proxy.strip()}
    if (seconds := pip.get("timeout") or pip.get("default-timeout")) and not environ.get("UV_HTTP_TIMEOUT"):
        added["UV_HTTP_TIMEOUT"] = seconds.strip()
    return added


def _uv_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The settings files of the user and the machine, which uv itself reads."""
    if chosen := environ.get("UV_CONFIG_FILE"):
        yield Path(chosen)
        return
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    configuration = environ.get("APPDATA") if sys.platform == "win32" else environ.get("XDG_CONFIG_HOME")
    yield Path(configuration or home / ".config") / "uv" / "uv.toml"
    if sys.platform == "win32":
        yield Path(environ.get("PROGRAMDATA", "C:/ProgramData")) / "uv" / "uv.toml"
        return
    for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep):
        yield Path(folder) / "uv" / "uv.toml"
    yield Path("/etc/uv/uv.toml")


def _addresses(file: Path) -> list[Address]:
    try:
        return list(_addresses_in(tomllib.loads(file.read_text("utf-8")), file.parent))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return []


def _indexes_in(file: Path) -> tuple[Address, ...] | None:
    """The indexes in an untrusted file; None if it has no settings for uv."""
    try:
        return _read_indexes(Folder(file.parent).read_text(file.name, FILE_BYTES), file)
    except (OSError, ValueError):
        return None


@functools.lru_cache(_FILES)
def _read_indexes(text: str, file: Path) -> tuple[Address, ...] | None:
    """`_indexes_in` for the text of a file. It is kept, because a generation asks for it three times."""
    settings: Any = plain_toml.parse(text)
    if file.name == "pyproject.toml":
        tool = settings.get("tool")
        settings = tool.get("uv") if isinstance(tool, dict) else None
    if not settings or not isinstance(settings, dict):
        return None
    return tuple((kind, url) for kind, url in _addresses_in(settings, file.parent) if "," not in url)  # uv reads two


def _addresses_in(settings: Mapping[str, Any], place: Path) -> Iterator[Address]:
    """The addresses in the order of their priority. Relative folders are relative to `place`."""
    for index in _tables(settings.get("index")):
        name = index.get("name")
        named = f"{name}=" if isinstance(name, str) and name.isidentifier() else ""
        kind = "default index" if index.get("default") else "index"
        yield from ((kind, f"{named}{url}") for url in _texts(index.get("url")) if not index.get("explicit"))
    for table in (settings, settings.get("pip")):
        if isinstance(table, dict):
            yield from (("default index", url) for url in _texts(table.get("index-url")))
            yield from (("index", url) for url in _texts(table.get("extra-index-url")))
            yield from (("find-links", _absolute(url, place)) for url in _texts(table.get("find-links")))
            if table.get("no-index") is True:
                yield ("no-index", "true")


def _tables(value: object) -> list[dict[str, Any]]:
    return [table for table in value if isinstance(table, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    return [text for text in texts if isinstance(text, str) and text and not any(map(str.isspace, text))]


def _absolute(address: str, place: Path) -> str:
    return address if "://" in address else str(place / address)


def _variables_of(addresses: Sequence[Address]) -> dict[str, str]:
    by_kind: dict[str, list[str]] = {}
    for kind, where in addresses:
        by_kind.setdefault(kind, []).append(where)
    joined = {
        "UV_DEFAULT_INDEX": " ".join(by_kind.get("default index", ())[:1]),
        "UV_INDEX": " ".join(by_kind.get("index", ())),
        "UV_FIND_LINKS": ",".join(by_kind.get("find-links", ())),
    }
    return {name: value for name, value in joined.items() if value}


def _forbids_index(addresses: Sequence[Address]) -> bool:
    return any(kind == "no-index" for kind, _ in addresses)


# Runs of uv

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
    """Run uv and return its standard output. If the network fails, uv runs again with only its cache."""
    done = _run(arguments, input, watch.token)
    if done.returncode and _is_network_failure(done.stderr):
        watch.on_step("the package index does not answer; trying with the packages of the cache")
        offline = _run([*arguments, "--offline"], input, watch.token)
        if not offline.returncode:
            return offline.stdout
    if done.returncode:
        raise package_error(done.stderr, suspects)
    for pin, reason in _YANKED.findall(done.stderr[:_LONGEST_COMPLAINT]):
        watch.on_step(f"{WITHDRAWN}{pin}{f', because: {reason[:200]}' if reason else ''}")
    return done.stdout


def package_error(stderr: str, suspects: Sequence[str] = ()) -> PackageError:
    """The error for a failure of uv, with the distribution that caused it and the important sentence of the output."""
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
    """The path of uv's binary."""
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
    return hash_of_indexes(variables, settings)


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
