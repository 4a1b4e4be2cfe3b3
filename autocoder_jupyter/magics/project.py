"""Read `[tool.autocode]` of the nearest pyproject.toml. The file is not trusted: some settings need permission."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.trust import Permission
from autocoder_jupyter.trust.permissions import machine_of
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_toml import parse

NAME = "pyproject.toml"

PART = "settings"
"""The name of the part (`Permission.part`) for settings."""

MOST_BYTES = 2**19
"""A larger file is refused without reading it."""

_LONGEST_KEY = 60

_KEY = re.compile(r"key|token|secret|passw|auth|credential|cookie|signature", re.IGNORECASE)
_OF_LITELLM = ("os.environ/", "oidc/")
"""Beginnings of values by which litellm reads a variable, a file or an address."""

_PATH = re.compile(r"~|\.{0,2}/|[A-Za-z]:[\\/]|\\\\")

_NAME_OF_A_VARIABLE = re.compile(r"os\.environ/\w+")


@dataclass(frozen=True)
class Project:
    """The settings of a folder.

    Args:
        folder: the folder of the pyproject.toml; if there is none, the folder where the search began.
        values: the checked values, by setting.
    """

    folder: Path
    values: Mapping[str, Any] = field(default_factory=dict)

    def permissions(self, defaults: Mapping[str, Any]) -> tuple[Permission, ...]:
        """The settings that need the user's permission. They do not depend on the machine or on the user's settings.

        Args:
            defaults: the default values. A value that allows no more than its default needs no permission.
        """
        return tuple(
            _permission(SETTINGS[name], value, self.values)
            for name, value in sorted(self.values.items())
            if _asks(SETTINGS[name], value, defaults[name])
        )


def read_project(folder: Path) -> Project:
    """The settings of the nearest pyproject.toml in a folder or its parents.

    Raises:
        InvalidRequest: the file cannot be read or is not TOML, or a key or a value of the table is wrong. Otherwise a
            misspelled limit would be ignored silently.
    """
    place = next((place for place in (folder, *folder.parents) if _has_one(place)), None)
    if place is None:
        return Project(folder)
    where = f"[tool.autocode] in {visible(place / NAME)}"
    table = _read(place / NAME).get("tool", {})
    table = table.get("autocode", {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise InvalidRequest(f"{where} is not a table.")
    return Project(place, {key: _checked(key, value, where) for key, value in table.items()})


def _read(path: Path) -> dict[str, Any]:
    try:
        real = path.resolve(strict=True)  # a symbolic link is followed, but only to a regular file
        return parse(Folder(real.parent).read_text(real.name, MOST_BYTES))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else visible(error)
        raise InvalidRequest("pyproject.toml cannot be read.", why=f"{visible(path)}: {why}") from None


def _checked(key: str, value: Any, where: str) -> Any:
    option = SETTINGS.get(key)
    if option is None:
        written = key[:_LONGEST_KEY]
        raise InvalidRequest(
            f"There is no setting {written!r}.", why=f"It is in {where}.", hint=did_you_mean(written, SETTINGS)
        )
    try:
        return option.checked(value)
    except InvalidRequest as error:
        error.why = " ".join(filter(None, (f"It is in {where}.", error.why)))
        raise


def _has_one(folder: Path) -> bool:
    try:
        return (folder / NAME).is_file()
    except OSError:
        return False


def _asks(option: Option, value: Any, default: Any) -> bool:
    if option.rule == "stricter":
        return option.allows_more(value, default)
    return option.rule != "free"


def _permission(option: Option, value: Any, values: Mapping[str, Any]) -> Permission:
    shown, risk = _shown(value), option.risk
    if option.name == "api_key":
        risk = _risk_of_key(value, values)
    elif machines := ", ".join(dict.fromkeys(map(machine_of, _addresses(value)))):
        risk = f"{risk}, to {machines}" if option.name == "api_base" else f"{risk}; the addresses are {machines}"
    return Permission(PART, option.name, shown, risk, hidden=json.dumps(value, sort_keys=True, default=str))


def _risk_of_key(variable: str, values: Mapping[str, Any]) -> str:
    """The service to which the value of a variable would be sent, and whether the variable is a key of a provider."""
    from autocoder_jupyter.models.preflight import belongs_to_provider

    if {"api_base", "base_url"} & values.get("litellm_params", {}).keys():  # they override api_base
        where = "the address in litellm_params"
    else:
        where = "the address in api_base" if "api_base" in values else "the service of the model"
    goes = f"the value of this environment variable is sent to {where}, as the key"
    return goes if belongs_to_provider(variable) else f"{goes}; it belongs to no provider of models"


def _shown(value: Any) -> str:
    """A value as text. Values in it that may be keys are replaced."""
    if isinstance(value, tuple | list):
        return ", ".join(_without_keys(str(item)) for item in value) or "none"
    if isinstance(value, Mapping):
        return json.dumps(_without_keys(value), ensure_ascii=False, default=str)
    return str(_without_keys(str(value)))


def _without_keys(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {_without_keys(str(key)): _without_keys(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_keys(inner, name) for inner in value]
    if not isinstance(value, str):
        return value
    from autocoder_jupyter.redaction.masking import Masker

    may_be_key = _KEY.search(name) or Masker().mask(value, secrets_only=True) != value
    return _kind_of(value) if may_be_key else value


def _addresses(value: Any) -> Iterator[str]:
    """The addresses in a value."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _addresses(inner)
    elif isinstance(value, str) and "://" in value:
        yield value


def _kind_of(value: str) -> str:
    """A value that may be a key: whole if it only names where one is, else its kind. It may also be a place."""
    if _NAME_OF_A_VARIABLE.fullmatch(value) or value.startswith(_OF_LITELLM):
        return value
    if "://" in value or value.startswith("//"):
        return f"(an address: {machine_of(value)})"
    if _PATH.match(value):
        return f"(a path: {value})"
    return f"(not shown: a text of {len(value)} characters, neither an address nor a path)"
