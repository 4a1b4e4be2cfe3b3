"""Make uv use the package indexes of this machine's pip, and those of the notebook's folder if the user permitted them.

Users and administrators configure pip: an index of the company, a proxy, a CA bundle. uv does not read these settings.
This module reads them and passes them to uv in environment variables of the subprocess. If the indexes of uv itself are
configured (`UV_…` variables, a `uv.toml` of the user or the machine), only those are used.

A `uv.toml` or `[tool.uv]` in the notebook's folder is untrusted, and uv does not read it (see `uv`). Only the addresses
of indexes are read from it here, and they are used if the user has agreed to them.
"""

from __future__ import annotations

import configparser
import functools
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.untrusted import plain_toml
from autocoder_jupyter.untrusted.folder import Folder

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
    """The settings of pip, translated for uv.

    Args:
        environ: the notebook's environment variables.
        folder: the indexes of the notebook's folder, if the user agreed to them (see `folder_indexes`).
    """
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


def index_identity(environ: Mapping[str, str], settings: UvSettings) -> str:
    """A hash of the indexes, without credentials; "" for the default index. Equal addresses give equal hashes.

    Args:
        environ: the environment variables of uv, including `settings.variables`.
        settings: the additional settings.
    """
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
