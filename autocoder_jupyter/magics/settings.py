"""Resolve the settings of a cell: flag, `%config`, pyproject.toml, JupyterLab's page, environment, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from traitlets import TraitError, TraitType
from traitlets.config import Configurable

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.options import SETTINGS
from autocoder_jupyter.magics.project import NAME, read_project
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.settings.setting import Option
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.untrusted.parsing import visible

if TYPE_CHECKING:
    from autocoder_jupyter.request import AgentConfig


class _Setting(TraitType[Any, Any]):
    """A trait that is generated from an option. None means *not set here*."""

    allow_none = True
    default_value = None

    def __init__(self, option: Option) -> None:
        super().__init__(help=f"{option.help}. {option.accepted[0].upper()}{option.accepted[1:]}.")
        self.option = option
        self.info_text = option.accepted

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse an invalid value, and store it for `%autocode config`, because `%config` only prints a warning."""
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
        values: the values, by setting.
        origins: the source of each value: `flag`, `%config`, `pyproject.toml`, `JupyterLab`, `environment`,
            `default`.
        folder: the folder of the pyproject.toml.
        permissions: the settings of that file that need the user's permission.
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
        """The settings as the `AgentConfig` of the engine, checked like those of `AutoCoderAgent`.

        Raises:
            InvalidRequest: a setting has a value that is not allowed.
        """
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

    Args:
        flags: the settings of the cell.
        traits: the settings of `%config`.
        folder: the folder where the search for pyproject.toml begins; it continues in the parents.
        environ: environment variables.
        lab: the checked settings of JupyterLab's settings page.

    Raises:
        InvalidRequest: pyproject.toml or the environment has a value that is not allowed.
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
    """The status of a value of a folder: it is used, it waits for permission, or the user's own setting excludes it.

    Args:
        option: the setting.
        wanted: the value of the folder.
        otherwise: the value that is used without the folder.
        own: whether `otherwise` was set by the user.
    """
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
    """Check the settings of JupyterLab's settings page. None, "" and a dictionary without values mean *not set*.

    Returns:
        The valid settings by name, and one sentence for each invalid one. No exception is raised, because one wrong
        value must not disable the others.
    """
    usable, refused = {}, {}
    for name, value in values.items():
        if value is None or value in ("", {}):
            continue
        option = SETTINGS.get(name)
        if option is None:
            refused[name] = f"There is no setting {name!r}. {did_you_mean(name, SETTINGS)}".strip()
            continue
        try:
            usable[name] = option.checked(value)
        except InvalidRequest as error:
            refused[name] = error.what
    return usable, refused


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read the settings of `AUTOCODE_…` variables. An empty variable means *not set*.

    Raises:
        InvalidRequest: a value is not allowed.
    """
    values = {}
    for option in SETTINGS.values():
        text = environ.get(option.variable, "")
        if not text:
            continue
        values[option.name] = option.from_text(text, f"The environment variable {option.variable}")
    return values
