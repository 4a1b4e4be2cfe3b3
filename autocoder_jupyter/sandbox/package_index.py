"""Make uv find packages where this machine's pip finds them.

People and administrators configure pip: an index of the company, a proxy, a CA bundle. uv reads none of it. This module
reads pip's settings and says them in uv's environment variables, for the subprocess only. Where uv is configured
itself (`UV_…` variables, `uv.toml`, `[tool.uv]`), uv's own settings stand alone.
"""

from __future__ import annotations

import configparser
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UV_INDEX_VARIABLES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
_UV_INDEX_SETTINGS = ("index", "index-url", "extra-index-url", "find-links", "no-index")
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True)
class UvSettings:
    """What uv must be told beyond what it knows: environment variables, and options of its `pip` commands."""

    variables: Mapping[str, str]
    options: tuple[str, ...] = ()


def uv_settings(environ: Mapping[str, str], folder: Path) -> UvSettings:
    """Pip's settings, translated.

    Args:
        environ: the notebook's environment variables.
        folder: where uv runs; its own configuration is searched from there upwards.
    """
    pip = pip_settings(environ)
    connection = _connection(pip, environ)
    if any(environ.get(name) for name in _UV_INDEX_VARIABLES) or _uv_files_name_an_index(environ, folder):
        return UvSettings(connection)
    no_index = pip.get("no-index", "").strip().lower() in ("1", "true", "yes", "on")
    return UvSettings(connection | _indexes(pip, environ), ("--no-index",) if no_index else ())


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What pip is told for an installation, by long option name; later sources win, as in pip."""
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
        # pip takes the best version over all indexes; uv would stop at the first that knows the name, and then
        # not find a version that pip has installed.
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


def _uv_files_name_an_index(environ: Mapping[str, str], folder: Path) -> bool:
    return any(_names_an_index(file) for file in _uv_files(environ, folder))


def _uv_files(environ: Mapping[str, str], folder: Path) -> Iterator[Path]:
    if chosen := environ.get("UV_CONFIG_FILE"):
        yield Path(chosen)
        return
    for parent in (folder, *folder.parents):
        yield parent / "uv.toml"
        yield parent / "pyproject.toml"
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    configuration = environ.get("APPDATA") if sys.platform == "win32" else environ.get("XDG_CONFIG_HOME")
    yield Path(configuration or home / ".config") / "uv" / "uv.toml"
    yield Path("/etc/uv/uv.toml")


def _names_an_index(file: Path) -> bool:
    try:
        settings: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    if file.name == "pyproject.toml":
        settings = settings.get("tool", {}).get("uv", {})
    return any(name in table for table in (settings, settings.get("pip", {})) for name in _UV_INDEX_SETTINGS)
