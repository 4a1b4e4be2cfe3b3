"""Where a setting comes from: flag, then `%config`, pyproject.toml, JupyterLab's page, environment, default."""

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
from autocoder_jupyter.settings.option import Option
from autocoder_jupyter.settings.tiers import SandboxMinimum
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.request import AgentConfig


class _Setting(TraitType[Any, Any]):
    """A trait made from an option. None means *not set here*."""

    allow_none = True
    default_value = None

    def __init__(self, option: Option) -> None:
        super().__init__(help=f"{option.help}. {option.expects[0].upper()}{option.expects[1:]}.")
        self.option = option
        self.info_text = option.expects

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse what the option does not take, and remember it: `%config` reports a refusal in passing only."""
        try:
            checked = self.option.check(value)
        except ValueError:
            obj.refused[self.option.name] = value
            raise TraitError(
                f"Autocode.{self.option.name} takes {self.option.expects}, not {self.option.quoted(value)}"
            ) from None
        obj.refused.pop(self.option.name, None)
        return checked


class AutocodeTraits(Configurable):
    """Settings of %%autocode, for this notebook. None means that pyproject.toml, environment or default decide."""

    def __init__(self, **kwargs: Any) -> None:
        self.refused: dict[str, Any] = {}
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
"""One trait a setting, so that `%config Autocode.share = "stats"` works, and completes."""


@dataclass(frozen=True)
class Settings:
    """What holds for one cell.

    Args:
        values: by setting.
        origins: where each value comes from: `flag`, `%config`, `pyproject.toml`, `JupyterLab`, `environment`,
            `default`.
        folder: which holds the pyproject.toml.
        permissions: what that file asks for and no folder has without the person's yes.
        waiting: those of them that would hold now, had the person agreed.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    folder: Path
    permissions: tuple[Permission, ...] = ()
    waiting: tuple[Permission, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def agent_config(self) -> AgentConfig:
        """The same as the engine takes it, checked as an agent's settings are.

        Raises:
            InvalidRequest: a value that a setting cannot have.
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
        """What is demanded of the sandbox, and where that is written."""
        return SandboxMinimum(self.values["sandbox_minimum"], by=self._place_of("sandbox_minimum"))

    def _place_of(self, name: str) -> str:
        """Where a setting is written, for a person who wants to change it."""
        option = SETTINGS[name]
        places = {
            "flag": f"{option.flags[0] if option.flags else name} of the cell",
            "%config": f"%config Autocode.{name}, or a configuration of IPython",
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
    """The settings that hold.

    A folder may be a stranger's. What its pyproject.toml sets holds as far as each option's rule goes; beyond that only
    where the person agreed to it, and never where it allows more than they themselves do on JupyterLab's page or in the
    environment. Flags and `%config` are theirs too, and win.

    Args:
        flags: what the cell gives.
        traits: what `%config` gives.
        folder: where the search for the nearest pyproject.toml begins, upwards.
        environ: environment variables.
        lab: what JupyterLab's settings page gives, checked.

    Raises:
        InvalidRequest: pyproject.toml or the environment give something that cannot be used.
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
    """By setting, where it comes from and its value; a later layer wins."""
    return {name: (origin, value) for origin, layer in layers for name, value in layer.items()}


def _standing(option: Option, wanted: Any, otherwise: Any, *, own: bool) -> Literal["holds", "waits", "never"]:
    """How it is with what a folder sets: it holds, it waits for the person's yes, or they have ruled it out.

    Args:
        option: the setting.
        wanted: what the folder sets.
        otherwise: what holds else.
        own: whether that is the person's own choice.
    """
    if option.rule == "free":
        return "holds"
    if option.rule == "stricter":
        if not option.allows_more(wanted, otherwise):
            return "holds"
        return "never" if own else "waits"
    return "waits"


def defaults() -> dict[str, Any]:
    """What holds when nobody says anything; those of `AgentConfig`, and False for the rest."""
    from autocoder_jupyter.request import AgentConfig

    config = AgentConfig()
    return {option.name: attrgetter(option.field)(config) if option.field else False for option in SETTINGS.values()}


def read_lab(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings that JupyterLab's settings page gives; None and "" give nothing.

    Returns:
        What can be used, by name; and of what cannot, one sentence each. A page cannot be made to fail as a cell can,
        and one wrong value must not take the others with it.
    """
    usable, refused = {}, {}
    for name, value in values.items():
        if value is None or value == "":
            continue
        option = SETTINGS.get(name)
        if option is None:
            refused[name] = f"There is no setting {name!r}. {did_you_mean(name, SETTINGS)}".strip()
            continue
        try:
            usable[name] = option.check(value)
        except (ValueError, TypeError):
            refused[name] = f"{name} takes {option.expects}, not {option.quoted(value)}."
    return usable, refused


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that `AUTOCODE_…` variables give; an empty one gives nothing.

    Raises:
        InvalidRequest: a value cannot be used.
    """
    values = {}
    for option in SETTINGS.values():
        text = environ.get(option.variable, "")
        if not text:
            continue
        try:
            values[option.name] = option.from_text(text)
        except ValueError:
            raise InvalidRequest(
                f"The environment variable {option.variable} takes {option.expects}, not {option.quoted(text)}."
            ) from None
    return values
