"""The settings of a cell: from a flag, `%config`, pyproject.toml, JupyterLab's page, environment, or the default."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from traitlets import TraitError, TraitType
from traitlets.config import Configurable

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.trust.permissions import machine_of
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_toml import parse
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.request import AgentConfig


# Suggestions for misspelled names


def suggestion(word: str, known: Iterable[str], *, mark: str = "") -> str:
    """One line that suggests similar names, or else lists the known names; empty if there are none. Names may be those
    of columns or of folders, with any characters.
    """
    names = [name for name in dict.fromkeys(known) if name != word]  # the same name would be no help
    folded = {name.casefold(): name for name in names}
    wanted = word.casefold()
    # A word of three times the length of a name is below the cutoff, and a long word takes long to compare.
    candidates = [name for name in folded if len(wanted) < 3 * len(name)]
    close = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.6) if candidates else []
    if close:
        return f"Did you mean {mark}{visible(folded[close[0]])}?"
    if not names:
        return ""
    shown = ", ".join(f"{mark}{visible(name)}" for name in names[:12])
    return f"Available: {shown}{' …' if len(names) > 12 else ''}."


# `[tool.autocode]` of the nearest pyproject.toml
#
# The file is not trusted: some settings need permission.

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
    """

    folder: Path
    values: Mapping[str, Any] = field(default_factory=dict)

    def permissions(self, defaults: Mapping[str, Any]) -> tuple[Permission, ...]:
        """The settings that need the user's permission. They do not depend on the machine or on the user's settings."""
        return tuple(
            _permission(SETTINGS[name], value, self.values)
            for name, value in sorted(self.values.items())
            if _asks(SETTINGS[name], value, defaults[name])
        )


def read_project(folder: Path) -> Project:
    """The settings of the nearest pyproject.toml in a folder or its parents."""
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
            f"There is no setting {written!r}.", why=f"It is in {where}.", hint=suggestion(written, SETTINGS)
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
    return goes if belongs_to_provider(variable) else f"{goes}; it is not the variable of a known model provider"


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


# `%config`, and the effective settings


class _Setting(TraitType[Any, Any]):
    """A trait that is generated from an option. None means *not set here*."""

    allow_none = True
    default_value = None

    def __init__(self, option: Option) -> None:
        super().__init__(help=f"{option.help}. {option.accepted[0].upper()}{option.accepted[1:]}.")
        self.option = option
        self.info_text = option.accepted

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse an invalid value, and store it for `%autocode setup`, because `%config` only prints a warning."""
        try:
            checked = self.option.checked(value, f"Autocode.{self.option.name}")
        except InvalidRequest as error:
            obj.refused[self.option.name] = error.what
            raise TraitError(str(error)) from None
        obj.refused.pop(self.option.name, None)
        return checked


class AutocodeTraits(Configurable):
    """Settings of %%autocode for this notebook. None means that the setting is not set here."""

    def __init__(self, **kwargs: Any) -> None:
        self.refused: dict[str, str] = {}
        super().__init__(**kwargs)

    def given(self) -> dict[str, Any]:
        """The settings that are set here."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in values.items() if value is not None}


Autocode: type[AutocodeTraits] = type(
    "Autocode",
    (AutocodeTraits,),
    {
        "__doc__": AutocodeTraits.__doc__,
        "__module__": __name__,
        **{option.name: _Setting(option).tag(config=True) for option in SETTINGS.values()},
    },
)
"""One trait per setting, so that `%config Autocode.share = "stats"` works and is completed."""


@dataclass(frozen=True)
class Settings:
    """The effective settings of one cell.

    Args:
        origins: the source of each value: `flag`, `%config`, `pyproject.toml`, `JupyterLab`, `environment`,
            `default`.
        permissions: the settings of pyproject.toml that need the user's permission.
        waiting: those of them that are not used because the permission is missing.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    folder: Path
    permissions: tuple[Permission, ...] = ()
    waiting: tuple[Permission, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def agent_config(self) -> AgentConfig:
        """The settings as the `AgentConfig` of the engine, checked like those of `AutoCoderAgent`."""
        from autocoder_jupyter.agent.settings import agent_config
        from autocoder_jupyter.settings.parameters import SYSTEM
        from autocoder_jupyter.types import ImageConfig, Resources

        values = self.values
        major, _, minor = (values["python_version"] or "").partition(".")
        python_version = (int(major), int(minor)) if minor else None
        plain = [option for option in SETTINGS.values() if option.field and "." not in option.field]
        fields = {option.field: values[option.name] for option in plain}
        fields["secrets"] = tuple(values["secrets"])
        fields["base_packages"] = tuple(name for name in values["packages"] if not name.startswith(SYSTEM))
        return agent_config(
            **fields,
            resources=Resources(cpu=values["cpu"], memory=values["memory"]),
            image_config=ImageConfig(python_version=python_version, base_image=values["base_image"]),
            sandbox_minimum=self.sandbox_minimum,
            block_network=not values["allow_network"],
            approved_packages=tuple(values["packages"]),
        )

    @property
    def sandbox_minimum(self) -> SandboxMinimum:
        """The required minimum of the sandbox, and where it is set."""
        return SandboxMinimum(self.values["sandbox_minimum"], by=self._place_of("sandbox_minimum"))

    def _place_of(self, name: str) -> str:
        """A description of the place where a setting is set, for a user who wants to change it."""
        option = SETTINGS[name]
        places = {
            "flag": f"{option.flags[0] if option.flags else name} of the cell",
            "%config": f"%config Autocode.{name}, or the configuration of IPython",
            NAME: f"[tool.autocode] in {visible(self.folder / NAME)}",
            "JupyterLab": "JupyterLab's settings of Autocode",
            "environment": f"the environment variable {option.variable}",
        }
        return places.get(self.origins[name], "the default")


def resolve(
    flags: Mapping[str, Any],
    traits: Mapping[str, Any],
    folder: Path,
    environ: Mapping[str, str],
    lab: Mapping[str, Any] | None = None,
) -> Settings:
    """Resolve the effective settings.

    The folder is not trusted. A value of its pyproject.toml is used as far as the option's `rule` allows. Beyond that
    it is used only with the user's permission, and never if it allows more than the user's own value on JupyterLab's
    page or in the environment. Flags and `%config` are the user's and take precedence.
    """
    default = defaults()
    otherwise = _merged(("default", default), ("environment", read_environment(environ)), ("JupyterLab", lab or {}))
    first = _merged(("%config", traits), ("flag", flags))
    project = read_project(folder)
    permissions = project.permissions(default)
    agreed = not permissions or trust_in(project.folder).covers(permissions)
    values, origins, waiting = {}, {}, set()
    for name, option in SETTINGS.items():
        origin, value = otherwise[name]
        if name in project.values:
            standing = _standing(option, project.values[name], value, own=origin != "default")
            if standing == "holds" or (standing == "waits" and agreed):
                origin, value = NAME, project.values[name]
            elif standing == "waits" and name not in first:
                waiting.add(name)
        origins[name], values[name] = first.get(name, (origin, value))
    return Settings(
        values,
        origins,
        project.folder,
        permissions,
        tuple(permission for permission in permissions if permission.name in waiting),
    )


def _merged(*layers: tuple[str, Mapping[str, Any]]) -> dict[str, tuple[str, Any]]:
    """The source and the value of each setting. A later layer overrides an earlier one."""
    return {name: (origin, value) for origin, layer in layers for name, value in layer.items()}


def _standing(option: Option, wanted: Any, otherwise: Any, *, own: bool) -> Literal["holds", "waits", "never"]:
    """The status of a value of a folder: it is used, it waits for permission, or the user's own setting excludes it."""
    if option.rule == "free":
        return "holds"
    if option.rule == "stricter":
        if not option.allows_more(wanted, otherwise):
            return "holds"
        return "never" if own else "waits"
    # Columns that the user withholds stay withheld.
    return "never" if own and option.kind == "columns" and option.allows_more(wanted, otherwise) else "waits"


def defaults() -> dict[str, Any]:
    """The default values: those of `AgentConfig`, and False for the others."""
    from autocoder_jupyter.request import AgentConfig

    config = AgentConfig()
    return {option.name: attrgetter(option.field)(config) if option.field else False for option in SETTINGS.values()}


def read_lab(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Check the settings of JupyterLab's settings page. None, "" and a dictionary without values mean *not set*."""
    usable, refused = {}, {}
    for name, value in values.items():
        if value is None or value in ("", {}):
            continue
        option = SETTINGS.get(name)
        if option is None:
            refused[name] = f"There is no setting {name!r}. {suggestion(name, SETTINGS)}".strip()
            continue
        try:
            usable[name] = option.checked(value)
        except InvalidRequest as error:
            refused[name] = error.what
    return usable, refused


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read the settings of `AUTOCODE_…` variables. An empty variable means *not set*."""
    values = {}
    for option in SETTINGS.values():
        text = environ.get(option.variable, "")
        if not text:
            continue
        values[option.name] = option.from_text(text, f"The environment variable {option.variable}")
    return values
